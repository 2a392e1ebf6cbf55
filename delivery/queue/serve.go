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

// Servers fetch tickets and call their handler, one server a shard.
type Servers struct {
	servers []*asynq.Server
}

// Serve starts fetching. At most slots tickets are handled at once, spread
// evenly over the shards, but at least one a shard. ctx goes to every handler
// as it is, and asynq has another: its own ends when Redis is away for its
// lease of 30 s, and what is being sent must not be cut off for that; and
// asynq does not wait for handlers whose context it has seen end.
func (q *Queue) Serve(ctx context.Context, slots int, handle func(context.Context, delivery.Ticket)) (*Servers, error) {
	poll := pollRedis
	if q.embedded != nil {
		poll = pollEmbedded
	}
	s := &Servers{}
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
			handle(ctx, ticket)
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
}
