package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/hibiken/asynq"

	"ledgerhook/delivery"
)

// How often an idle queue is asked for work. The embedded server answers from
// this very process, so asking costs more there than on Redis.
const (
	pollRedis    = 20 * time.Millisecond
	pollEmbedded = 50 * time.Millisecond
)

// shutdownTimeout is enough to record what was cut off.
const shutdownTimeout = 5 * time.Second

// Worker is whom tickets are handed to.
type Worker interface {
	// Ready waits until the worker may begin a delivery, for limit at most and
	// no longer than ctx lasts, and reports whether it may.
	Ready(ctx context.Context, limit time.Duration) bool
	// Deliver does what the ticket asks for, or drops it.
	Deliver(ctx context.Context, t delivery.Ticket)
}

// A worker that cannot reach the ledger would empty the queue that it shares
// with those that can: whatever it drops makes room for the next ticket. So a
// ticket that it may not begin keeps its slot until it may, and after
// passOnAfter goes to whoever fetches it next as well.
const (
	passOnAfter = 2 * time.Second
	keptAfter   = taskMargin / 2 // for how long it keeps the slot then
)

// Servers fetch tickets and call their handler, one server a shard.
type Servers struct {
	servers []*asynq.Server
	letGo   context.CancelFunc // of the leases
}

// Serve starts fetching for w. At most slots tickets are handled at once, spread
// evenly over the shards, but at least one a shard. ctx goes to w as it is,
// since asynq's own ends when Redis is away for its lease of 30 s, and what is
// being sent must not be cut off for that; and asynq does not wait for handlers
// whose context it has seen end.
func (q *Queue) Serve(ctx context.Context, slots int, w Worker) (*Servers, error) {
	poll := pollRedis
	if q.embedded != nil {
		poll = pollEmbedded
	}
	held := newHolder(q.redis)
	holding, letGo := context.WithCancel(context.WithoutCancel(ctx))
	go held.run(holding)
	s := &Servers{letGo: letGo}
	for _, shard := range q.shards {
		server := asynq.NewServerFromRedisClient(q.redis, asynq.Config{
			Concurrency:              q.SlotsPerShard(slots),
			Queues:                   map[string]int{shard: 1},
			TaskCheckInterval:        poll,
			DelayedTaskCheckInterval: time.Second,
			ShutdownTimeout:          shutdownTimeout,
			Logger:                   asynqLog{q.log},
			LogLevel:                 asynq.DebugLevel,
		})
		err := server.Start(asynq.HandlerFunc(func(_ context.Context, task *asynq.Task) error {
			ticket, err := readTaskID(string(task.Payload()))
			if err != nil {
				return nil // not ours; the reconciler would have sent ours again
			}
			defer held.hold(shard, taskID(ticket))()
			if !w.Ready(ctx, passOnAfter) {
				q.passOn(ctx, shard, task)
				w.Ready(ctx, keptAfter)
			}
			w.Deliver(ctx, ticket)
			return nil // the ledger alone decides whether anything is tried again
		}))
		if err != nil {
			s.Shutdown()
			return nil, fmt.Errorf("start fetching from %s: %w", shard, err)
		}
		s.servers = append(s.servers, server)
	}
	return s, nil
}

// passOn hands a task's ticket out once more, in about a second. Which of the
// two comes too late does not matter.
func (q *Queue) passOn(ctx context.Context, shard string, task *asynq.Task) {
	_, err := q.client.EnqueueContext(ctx, asynq.NewTask(taskType, task.Payload()), append(q.options(shard), asynq.ProcessIn(time.Second))...)
	if err != nil {
		q.log.Debug("a ticket was not passed on", "ticket", string(task.Payload()), "error", err)
	}
}

// SlotsPerShard is how many of a process's slots each shard gets.
func (q *Queue) SlotsPerShard(slots int) int { return max(1, slots/len(q.shards)) }

// Stop ends fetching; what runs goes on.
func (s *Servers) Stop() {
	for _, server := range s.servers {
		server.Stop()
	}
}

// Shutdown waits up to shutdownTimeout for what still runs and ends the servers.
func (s *Servers) Shutdown() {
	done := make(chan struct{})
	for _, server := range s.servers {
		go func() { server.Shutdown(); done <- struct{}{} }()
	}
	for range s.servers {
		<-done
	}
	s.letGo()
}
