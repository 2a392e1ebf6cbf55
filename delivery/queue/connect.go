package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// connect reads a Redis address. Several nodes of a Sentinel or a Cluster are
// separated by commas; a Sentinel's master is the path:
// redis-sentinel://host1:26379,host2:26379/mymaster. The client keeps to the
// deadlines of its callers, also while a Redis that is there does not answer.
// It opens at most pool connections to a node; 0: the library's ten for each
// processor, or what the address says.
func connect(address string, pool int) (redis.UniversalClient, error) {
	scheme, rest, _ := strings.Cut(address, "://")
	switch scheme {
	case "redis", "rediss":
		options, err := redis.ParseURL(address)
		if err != nil {
			return nil, errors.New("LEDGERHOOK_REDIS_URL is not an address like redis://:password@host:6379/0")
		}
		options.ContextTimeoutEnabled = true
		options.PoolSize = cmp.Or(pool, options.PoolSize)
		return redis.NewClient(options), nil
	case "redis-sentinel", "redis-cluster":
		user, hosts, path, err := splitHosts(rest)
		if err != nil {
			return nil, err
		}
		password, _ := user.Password()
		if scheme == "redis-cluster" {
			return redis.NewClusterClient(&redis.ClusterOptions{Addrs: hosts, Username: user.Username(), Password: password, ContextTimeoutEnabled: true, PoolSize: pool,
				ClusterStateReloadInterval: clusterReload}), nil
		}
		if path == "" {
			return nil, errors.New("LEDGERHOOK_REDIS_URL names no master: redis-sentinel://host:26379/mymaster")
		}
		return redis.NewFailoverClient(&redis.FailoverOptions{MasterName: path, SentinelAddrs: hosts, Username: user.Username(), Password: password, ContextTimeoutEnabled: true, PoolSize: pool}), nil
	}
	return nil, errors.New("LEDGERHOOK_REDIS_URL must begin with redis://, rediss://, redis-sentinel:// or redis-cluster://")
}

// clusterReload is how often a client asks a Cluster which node has what. A node
// that is gone sends nobody to its successor: without asking, what it had would be
// out of reach for the library's minute.
const clusterReload = time.Second

func splitHosts(rest string) (user *url.Userinfo, hosts []string, path string, err error) {
	user = url.User("")
	authority, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		parsed, err := url.Parse("redis://" + authority[:at] + "@host")
		if err != nil {
			return nil, nil, "", errors.New("LEDGERHOOK_REDIS_URL has a user or password that is not URL-encoded")
		}
		user, authority = parsed.User, authority[at+1:]
	}
	for host := range strings.SplitSeq(authority, ",") {
		if host == "" {
			return nil, nil, "", errors.New("LEDGERHOOK_REDIS_URL names no host")
		}
		hosts = append(hosts, host)
	}
	return user, hosts, path, nil
}

// redisLog passes go-redis's own messages on.
type redisLog struct{ log *slog.Logger }

func (l redisLog) Printf(ctx context.Context, format string, v ...any) {
	if !l.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	l.log.Debug("redis: " + fmt.Sprintf(format, v...))
}

// asynqLevel is the lowest level of asynq's at which asynqLog passes on what
// log takes: asynq makes no lines below it, of which it has one for every
// question to an empty queue.
func asynqLevel(log *slog.Logger) asynq.LogLevel {
	for _, level := range []struct {
		ours   slog.Level
		theirs asynq.LogLevel
	}{{slog.LevelDebug, asynq.DebugLevel}, {slog.LevelInfo, asynq.WarnLevel}, {slog.LevelWarn, asynq.ErrorLevel}} {
		if log.Enabled(context.Background(), level.ours) {
			return level.theirs
		}
	}
	return asynq.FatalLevel
}

// asynqLog passes asynq's own messages on. Its errors are no news: whatever it
// could not do, the reconciler sees in the ledger.
type asynqLog struct{ log *slog.Logger }

func (l asynqLog) Debug(args ...any) { l.log.Debug("asynq: " + fmt.Sprint(args...)) }
func (l asynqLog) Info(args ...any)  { l.log.Debug("asynq: " + fmt.Sprint(args...)) }
func (l asynqLog) Warn(args ...any)  { l.log.Info("asynq: " + fmt.Sprint(args...)) }
func (l asynqLog) Error(args ...any) { l.log.Warn("asynq: " + fmt.Sprint(args...)) }
func (l asynqLog) Fatal(args ...any) { l.log.Error("asynq: " + fmt.Sprint(args...)) }
