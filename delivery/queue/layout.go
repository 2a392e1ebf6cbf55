package queue

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"ledgerhook/delivery"
)

// This file alone knows where asynq keeps its tasks. layout_test.go holds it
// against the real library.

func key(shard, part string) string { return "asynq:{" + shard + "}:" + part }

// settled is how long a task that asynq calls active may stay queued in the
// ledger: claiming takes milliseconds, so whoever fetched it is gone.
const settled = 10 * time.Second

// Lost returns those of the queued deliveries that no worker will ever fetch:
// the queue does not know them, or holds only a piece of them. Such pieces,
// which asynq never clears, are cleared.
func (q *Queue) Lost(ctx context.Context, queued []delivery.Queued) ([]delivery.Ticket, error) {
	states, err := q.states(ctx, queued)
	if err != nil {
		return nil, err
	}
	present, err := q.present(ctx, queued, states)
	if err != nil {
		return nil, err
	}
	var lost []delivery.Ticket
	for i, d := range queued {
		if !present[i] {
			lost = append(lost, d.Ticket)
		}
	}
	return lost, q.clear(ctx, lost)
}

// states reads what asynq says of each task; empty: nothing.
func (q *Queue) states(ctx context.Context, queued []delivery.Queued) ([]string, error) {
	replies := make([]*redis.StringCmd, len(queued))
	_, err := q.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, d := range queued {
			replies[i] = p.HGet(ctx, key(q.ShardOf(d.EndpointID), "t:"+taskID(d.Ticket)), "state")
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	states := make([]string, len(queued))
	for i, reply := range replies {
		states[i] = reply.Val()
	}
	return states, nil
}

// present checks that each task also stands where its state says.
func (q *Queue) present(ctx context.Context, queued []delivery.Queued, states []string) ([]bool, error) {
	present := make([]bool, len(queued))
	checks := make([]redis.Cmder, len(queued))
	_, err := q.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, d := range queued {
			shard, id := q.ShardOf(d.EndpointID), taskID(d.Ticket)
			switch states[i] {
			case "pending":
				checks[i] = p.LPos(ctx, key(shard, "pending"), id, redis.LPosArgs{})
			case "scheduled":
				checks[i] = p.ZScore(ctx, key(shard, "scheduled"), id)
			case "active":
				present[i] = time.Since(d.At) < settled
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	for i, check := range checks {
		if check != nil {
			present[i] = check.Err() == nil
		}
	}
	return present, nil
}

// clear removes what is left of lost tasks.
func (q *Queue) clear(ctx context.Context, lost []delivery.Ticket) error {
	if len(lost) == 0 {
		return nil
	}
	_, err := q.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, t := range lost {
			shard, id := q.ShardOf(t.EndpointID), taskID(t)
			for _, list := range []string{"pending", "active"} {
				p.LRem(ctx, key(shard, list), 0, id)
			}
			for _, set := range []string{"lease", "scheduled", "retry", "archived"} {
				p.ZRem(ctx, key(shard, set), id)
			}
			p.Del(ctx, key(shard, "t:"+id))
		}
		return nil
	})
	return err
}

// Depth is how many tasks a shard holds in each state.
type Depth struct {
	Shard                      string
	Pending, Active, Scheduled int64
}

// Depths counts the tasks of every shard.
func (q *Queue) Depths(ctx context.Context) ([]Depth, error) {
	depths := make([]Depth, len(q.shards))
	for i, shard := range q.shards {
		p := q.redis.Pipeline()
		pending, active := p.LLen(ctx, key(shard, "pending")), p.LLen(ctx, key(shard, "active"))
		scheduled := p.ZCard(ctx, key(shard, "scheduled"))
		if _, err := p.Exec(ctx); err != nil {
			return nil, err
		}
		depths[i] = Depth{shard, pending.Val(), active.Val(), scheduled.Val()}
	}
	return depths, nil
}
