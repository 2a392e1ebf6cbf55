package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"ledgerhook/delivery"
	"ledgerhook/webhook"
)

// This file alone knows where asynq keeps its tasks. layout_test.go holds it
// against the real library.

func key(shard, part string) string { return "asynq:{" + shard + "}:" + part }

// fetches reports whether a script of asynq's with these keys takes a task out
// of the shard.
func (p *paced) fetches(keys []string) bool {
	return len(keys) == 4 && keys[0] == key(p.shard, "pending") && keys[1] == key(p.shard, "paused")
}

// forwards reports whether it moves tasks whose time has come to those that are
// fetched; its answer is how many.
func (p *paced) forwards(keys []string) bool {
	return len(keys) == 2 && keys[1] == key(p.shard, "pending") && (keys[0] == key(p.shard, "scheduled") || keys[0] == key(p.shard, "retry"))
}

// lostScript finds those of the given tasks that no server will ever fetch and
// clears what is left of them, in one step: a task that moves on between two
// looks would seem to be nowhere. A task is held if it stands where its state
// says, and an active one as long as the server that fetched it renews its
// lease; see lostAfter. One that waits for its time must not wait longer than
// any does: the clock that it was put there by may have been ahead.
//
// To look for a pending task in the list takes as long as the list is. Its end
// has waited longest: one that has not waited as long is not looked for yet, since
// nobody would fetch it before that one anyway.
var lostScript = redis.NewScript(`
local pending, active, lease, scheduled, retry, archived = unpack(KEYS)
local prefix, renewed, latest, now = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local first = redis.call("LINDEX", pending, -1)
first = first and tonumber(redis.call("HGET", prefix .. first, "pending_since") or nil)
local lost = {}
for i = 5, #ARGV do
	local id, task = ARGV[i], prefix .. ARGV[i]
	local msg, state, since = unpack(redis.call("HMGET", task, "msg", "state", "pending_since"))
	local held = false
	if not msg then
		held = false
	elseif state == "pending" then
		since = since and tonumber(since)
		held = first and since and since >= first and since <= now or redis.call("LPOS", pending, id, "RANK", -1)
	elseif state == "scheduled" or state == "retry" then
		local at = redis.call("ZSCORE", state == "retry" and retry or scheduled, id)
		held = at and tonumber(at) <= latest
	elseif state == "active" then
		local ends = redis.call("ZSCORE", lease, id)
		held = ends and tonumber(ends) >= renewed
	end
	if not held then
		redis.call("LREM", pending, 0, id)
		redis.call("LREM", active, 0, id)
		for _, set in ipairs({lease, scheduled, retry, archived}) do
			redis.call("ZREM", set, id)
		end
		redis.call("DEL", task)
		lost[#lost + 1] = i - 5
	end
end
return lost`)

// lostBatch keeps a run of the script, during which Redis does nothing else,
// short. What the reconciler asks a shard of at once is mostly one.
const lostBatch = 1000

// Lost returns those of the queued deliveries that no worker will ever fetch:
// the queue does not know them, holds only a piece of them, or has set them
// aside. What it holds of them, which asynq might never clear, is cleared.
// With an error it returns what it found in the shards that answered.
func (q *Queue) Lost(ctx context.Context, queued []delivery.Queued) (lost []delivery.Ticket, err error) {
	shards := map[string][]delivery.Ticket{}
	for _, d := range queued {
		shard := q.ShardOf(d.EndpointID)
		shards[shard] = append(shards[shard], d.Ticket)
	}
	for shard, tickets := range shards {
		found, failed := q.lostIn(ctx, shard, tickets)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("look for lost tickets in %s: %w", shard, failed))
		}
		lost = append(lost, found...)
	}
	return lost, err
}

func (q *Queue) lostIn(ctx context.Context, shard string, tickets []delivery.Ticket) (lost []delivery.Ticket, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	var keys []string
	for _, part := range []string{"pending", "active", "lease", "scheduled", "retry", "archived"} {
		keys = append(keys, key(shard, part))
	}
	now := time.Now()
	renewed := float64(now.Add(leaseTime-lostAfter).UnixMilli()) / 1000
	latest := now.Add(keptFor + lostAfter).Unix()
	for batch := range slices.Chunk(tickets, lostBatch) {
		args := []any{key(shard, "t:"), renewed, latest, now.Add(webhook.ClockTolerance).UnixNano()}
		for _, t := range batch {
			args = append(args, taskID(t))
		}
		found, err := lostScript.Run(ctx, q.redis, keys, args...).Int64Slice()
		if err != nil {
			return lost, err
		}
		for _, at := range found {
			lost = append(lost, batch[at])
		}
	}
	return lost, nil
}

// Depth is how many tasks a shard holds in each state. Scheduled are also those
// that are set aside.
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
		scheduled, aside := p.ZCard(ctx, key(shard, "scheduled")), p.ZCard(ctx, key(shard, "retry"))
		if _, err := p.Exec(ctx); err != nil {
			return nil, err
		}
		depths[i] = Depth{shard, pending.Val(), active.Val(), scheduled.Val() + aside.Val()}
	}
	return depths, nil
}
