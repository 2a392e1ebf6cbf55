package queue

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ledgerhook/delivery/queue/queuetest"
)

func textLog(to io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(to, nil)) }

func TestARedisIsReachedByItsAddress(t *testing.T) {
	t.Run("one server", func(t *testing.T) {
		c := connected[*redis.Client](t, "redis://worker:p%40ss@redis.internal:6380/3")
		o := c.Options()
		if o.Addr != "redis.internal:6380" || o.DB != 3 || o.Username != "worker" || o.Password != "p@ss" || o.TLSConfig != nil {
			t.Errorf("options are %s, database %d, user %s", o.Addr, o.DB, o.Username)
		}
	})
	t.Run("over TLS", func(t *testing.T) {
		o := connected[*redis.Client](t, "rediss://:secret@redis.internal").Options()
		if o.Addr != "redis.internal:6379" || o.TLSConfig == nil || o.TLSConfig.ServerName != "redis.internal" {
			t.Errorf("options are %s, TLS %v", o.Addr, o.TLSConfig)
		}
	})
	t.Run("a Cluster", func(t *testing.T) {
		o := connected[*redis.ClusterClient](t, "redis-cluster://worker:p%40ss@a:7000,b:7001").Options()
		if !slices.Equal(o.Addrs, []string{"a:7000", "b:7001"}) || o.Username != "worker" || o.Password != "p@ss" || o.ClusterStateReloadInterval != time.Second {
			t.Errorf("options are %q, user %s, asked every %s", o.Addrs, o.Username, o.ClusterStateReloadInterval)
		}
	})
	t.Run("a Sentinel", func(t *testing.T) {
		o := connected[*redis.Client](t, "redis-sentinel://:p%40ss@a:26379,b:26379/mymaster").Options()
		if o.Addr != "FailoverClient" || o.Password != "p@ss" {
			t.Errorf("options are %s", o.Addr)
		}
	})
}

func connected[T redis.UniversalClient](t *testing.T, address string) T {
	t.Helper()
	c, err := connect(address, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	client, ok := c.(T)
	if !ok {
		t.Fatalf("%s gives a %T", address, c)
	}
	return client
}

func TestAWrongAddressIsRefusedWithoutItsPassword(t *testing.T) {
	tests := []struct{ name, address, want string }{
		{"no scheme", "hunter2@redis:6379", "must begin with redis://"},
		{"another scheme", "http://:hunter2@redis", "must begin with redis://"},
		{"a database that is no number", "redis://:hunter2@redis:6379/x", "redis://:password@host:6379/0"},
		{"a password that is not encoded", "redis://:hunter2%zz@redis:6379", "redis://:password@host:6379/0"},
		{"a Sentinel without master", "redis-sentinel://:hunter2@a:26379", "names no master"},
		{"a Sentinel with an empty master", "redis-sentinel://:hunter2@a:26379/", "names no master"},
		{"a Cluster without host", "redis-cluster://:hunter2@", "names no host"},
		{"a gap between hosts", "redis-cluster://:hunter2@a:7000,,b:7000", "names no host"},
		{"a Cluster's password that is not encoded", "redis-cluster://:hunter2%zz@a:7000", "not URL-encoded"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Open(t.Context(), Options{URL: test.address, Timeout: time.Second, Log: slog.New(slog.DiscardHandler)})
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "LEDGERHOOK_REDIS_URL") {
				t.Fatalf("got %v, want a sentence with %q", err, test.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the password is in %q", err)
			}
		})
	}
}

func TestAnUnreachableRedisIsSaidWhenOpening(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), Options{URL: "redis://:hunter2@127.0.0.1:1/0", Timeout: time.Second, Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "reach the queue's Redis") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

func TestCallersWaitNoLongerThanTheySayForARedisThatHangs(t *testing.T) {
	t.Parallel()
	server := queuetest.Start(t)
	q := open(t, server.URL)
	server.Stall(t)
	for name, call := range map[string]func(context.Context) error{
		"Ping":    q.Ping,
		"Enqueue": func(ctx context.Context) error { return q.Enqueue(ctx, newTicket()) },
		"Depths":  func(ctx context.Context) error { _, err := q.Depths(ctx); return err },
	} {
		wantDeadline(t, name, call)
	}
	for _, address := range []string{strings.TrimSuffix(server.URL, "/0"), "redis-cluster://" + hostOf(server.URL), "redis-sentinel://" + hostOf(server.URL) + "/main"} {
		c := connected[redis.UniversalClient](t, address)
		wantDeadline(t, address, func(ctx context.Context) error { return c.Ping(ctx).Err() })
	}
}

// wantDeadline fails unless call ends with its context and not with the client's
// own limits, which are 3 s and more. A busy machine may take as long, but not
// every time.
func wantDeadline(t *testing.T, name string, call func(context.Context) error) {
	t.Helper()
	var took time.Duration
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		began := time.Now()
		err := call(ctx)
		took = time.Since(began)
		cancel()
		if err == nil {
			t.Errorf("%s: no error after %s", name, took)
			return
		}
		if took < 3*time.Second {
			return
		}
	}
	t.Errorf("%s takes %s again and again", name, took)
}

func hostOf(address string) string {
	return strings.TrimSuffix(address[strings.Index(address, "@")+1:], "/0")
}

func TestWhatIsAskedAsideTakesNoConnectionOfTheQueue(t *testing.T) {
	each(t, func(t *testing.T, q *Queue) {
		aside, err := q.Aside()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = aside.Close() })
		before := q.redis.PoolStats().TotalConns
		var asking sync.WaitGroup
		for range 20 * asidePool {
			asking.Go(func() {
				if err := aside.Get(t.Context(), "nothing").Err(); !errors.Is(err, redis.Nil) {
					t.Error(err)
				}
			})
		}
		enqueue(t, q, newTicket())
		asking.Wait()
		if own, others := q.redis.PoolStats().TotalConns, aside.PoolStats().TotalConns; own > before+1 || others > asidePool {
			t.Errorf("%d connections of the queue, %d before; %d aside", own, before, others)
		}
	})
}
