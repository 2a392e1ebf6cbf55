// Package queue hands tickets from the ledger to workers through asynq, on
// Redis or on a Redis of its own inside the process.
//
// It may lose everything at any moment: what it carries is a hint, and the
// reconciler finds out what it no longer holds.
package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"ledgerhook/delivery"
)

// shardsOnRedis is how many queues deliveries are spread over by endpoint. A
// queue has one fetch loop a process and lives on one node of a cluster, and
// many queues cost every loop time.
const shardsOnRedis = 4

// taskType names our one kind of task.
const taskType = "deliver"

// partnerHeader is the header of a task that says whose delivery it is. One
// without it is of a version that did not say.
const partnerHeader = "partner"

// Queue is an open queue. It is safe for concurrent use.
type Queue struct {
	redis     redis.UniversalClient
	url       string // empty: embedded
	client    *asynq.Client
	inspector *asynq.Inspector
	embedded  *embedded // nil on a Redis elsewhere
	shards    []string
	news      *news
	quiet     func()        // ends the telling of others
	idle      time.Duration // between two questions to a queue that nobody tells work of
	timeout   time.Duration
	log       *slog.Logger
}

// Options set up a Queue.
type Options struct {
	URL     string        // redis://, rediss://, redis-sentinel:// or redis-cluster://; empty: embedded
	Timeout time.Duration // of one attempt
	Log     *slog.Logger
}

// taskMargin is what a task may take beyond its attempt: waiting for the
// ledger, claiming and recording.
const taskMargin = 30 * time.Second

// redisLogger: go-redis has one logger for the whole process, not to be
// changed while a client is in use.
var redisLogger sync.Once

// Open connects to the queue; the embedded one starts empty.
func Open(ctx context.Context, o Options) (*Queue, error) {
	redisLogger.Do(func() { redis.SetLogger(redisLog{o.Log}) })
	q := &Queue{url: o.URL, timeout: o.Timeout + taskMargin, idle: idleFor, quiet: func() {}, news: newNews(nil), log: o.Log}
	shards := shardsOnRedis
	if o.URL == "" {
		server, err := startEmbedded()
		if err != nil {
			return nil, err
		}
		q.embedded, q.redis, shards = server, server.client(0), 1
	} else {
		client, err := connect(o.URL, 0)
		if err != nil {
			return nil, err
		}
		q.redis = client
		q.tellOthers()
	}
	for i := range shards {
		q.shards = append(q.shards, "deliver-"+strconv.Itoa(i))
	}
	q.client, q.inspector = asynq.NewClientFromRedisClient(q.redis), asynq.NewInspectorFromRedisClient(q.redis)
	if err := q.Ping(ctx); err != nil {
		return nil, errors.Join(err, q.Close())
	}
	if policy := q.EvictionPolicy(ctx); policy != "" && policy != "noeviction" {
		q.log.Warn("Redis may evict queued deliveries: set its maxmemory-policy to noeviction", "policy", policy)
	}
	return q, nil
}

// Close ends the connections, and the embedded server with all it holds.
func (q *Queue) Close() error {
	q.quiet()
	err := q.redis.Close()
	if q.embedded != nil {
		q.embedded.stop()
	}
	return err
}

// tellOthers begins to tell other processes of work.
func (q *Queue) tellOthers() {
	q.news = newNews(q.redis)
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { q.news.publish(ctx) })
	q.quiet = func() { cancel(); done.Wait() }
}

// answerTime is how long maintenance waits for a node of Redis, so that
// one that hangs does not hold up what others hold.
const answerTime = 3 * time.Second

// Ping reports whether the queue answers.
func (q *Queue) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if err := q.redis.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("reach the queue's Redis: %w", err)
	}
	return nil
}

// Ready reports whether every shard accepts writes: a Redis that
// only reads, whose memory is full or that lacks replicas answers a ping all
// the same. The error names what Redis says.
func (q *Queue) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	for _, shard := range q.shards {
		if err := q.redis.Set(ctx, "ledgerhook:{"+shard+"}:ready", "1", time.Minute).Err(); err != nil {
			return fmt.Errorf("write to the queue's Redis (%s): %w", shard, err)
		}
	}
	return nil
}

// EvictionPolicy is what Redis does when its memory is short; empty when it
// does not say. Anything but noeviction throws tasks away: they come back, but
// late.
func (q *Queue) EvictionPolicy(ctx context.Context) string {
	policy, err := q.redis.ConfigGet(ctx, "maxmemory-policy").Result()
	if q.embedded != nil || err != nil {
		return ""
	}
	return policy["maxmemory-policy"]
}

// asidePool is how many connections to a node the client of Aside may open.
const asidePool = 8

// Aside returns a client of the queue's Redis for others that share state
// through it. It has connections of its own, at most 8 to a node, so that
// however much is asked through it no task waits for one. The caller closes it.
func (q *Queue) Aside() (redis.UniversalClient, error) {
	if q.embedded != nil {
		return q.embedded.client(asidePool), nil
	}
	return connect(q.url, asidePool)
}

// Shards names the queues.
func (q *Queue) Shards() []string { return q.shards }

// ShardOf names the queue of an endpoint's deliveries.
func (q *Queue) ShardOf(endpointID string) string {
	hash := fnv.New32a()
	hash.Write([]byte(endpointID))
	return q.shards[hash.Sum32()%uint32(len(q.shards))]
}

func taskID(t delivery.Ticket) string {
	return t.DeliveryID + ":" + strconv.FormatInt(t.Generation, 10)
}

func readTaskID(id string) (t delivery.Ticket, err error) {
	deliveryID, generation, _ := strings.Cut(id, ":")
	t.DeliveryID = deliveryID
	t.Generation, err = strconv.ParseInt(generation, 10, 64)
	return t, err
}

// Enqueue hands a ticket over, to be fetched at its due time. One that is in
// the queue already is no error.
func (q *Queue) Enqueue(ctx context.Context, t delivery.Ticket) error {
	id, shard, later := taskID(t), q.ShardOf(t.EndpointID), t.DueAt.After(time.Now())
	options := append(q.options(shard), asynq.TaskID(id))
	if later {
		// Scheduled times are cut to whole seconds; never before the due time.
		options = append(options, asynq.ProcessAt(t.DueAt.Add(time.Second-time.Nanosecond).Truncate(time.Second)))
	}
	_, err := q.client.EnqueueContext(ctx, asynq.NewTaskWithHeaders(taskType, []byte(id), map[string]string{partnerHeader: t.PartnerCode}), options...)
	if err != nil && !errors.Is(err, asynq.ErrTaskIDConflict) {
		return fmt.Errorf("enqueue %s: %w", id, err)
	}
	if !later {
		q.news.spread(shard)
	}
	return nil
}

// options are those of every task of a shard.
func (q *Queue) options(shard string) []asynq.Option {
	return []asynq.Option{asynq.Queue(shard), asynq.Timeout(q.timeout),
		asynq.MaxRetry(1000)} // never archived: the ledger decides what is tried again
}

func epochKey(shard string) string { return "ledgerhook:{" + shard + "}:epoch" }

// Epoch returns the mark that a shard carries for as long as it keeps its
// tasks. A shard without one was emptied: it gets a new mark.
func (q *Queue) Epoch(ctx context.Context, shard string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	epoch, err := q.redis.Get(ctx, epochKey(shard)).Result()
	if !errors.Is(err, redis.Nil) {
		return epoch, err
	}
	// asynq registers a queue once per process and would not do it again.
	if err := q.redis.SAdd(ctx, "asynq:queues", shard).Err(); err != nil {
		return "", err
	}
	if err := q.redis.SetNX(ctx, epochKey(shard), rand.Text(), 0).Err(); err != nil {
		return "", err
	}
	return q.redis.Get(ctx, epochKey(shard)).Result()
}
