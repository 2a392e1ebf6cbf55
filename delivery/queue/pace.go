package queue

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// asynq asks an empty queue for work at one interval, whatever it is worth.
// Here the question waits until somebody told of work, and comes after idleFor
// for what nobody told of: an announcement that was lost, a task that a
// stopping server has put back.
const (
	idleFor = 250 * time.Millisecond
	// askAgain is asynq's own interval, which the waiting comes on top of.
	askAgain = time.Millisecond
)

// paced is the Redis of one server, which fetches from one shard.
type paced struct {
	redis.UniversalClient
	shard    string
	news     *news
	told     chan struct{} // there may be work
	idle     time.Duration
	stopping chan struct{} // closed: nothing waits any more
	more     bool          // the newest answer was a task; for the one goroutine that fetches
}

func (q *Queue) pace(shard string) *paced {
	p := &paced{UniversalClient: q.redis, shard: shard, news: q.news, told: make(chan struct{}, 1), idle: q.idle, stopping: make(chan struct{})}
	q.news.listen(shard, p.told)
	return p
}

func (p *paced) stop() {
	close(p.stopping)
	p.news.leave(p.shard, p.told)
}

// EvalSha implements redis.Scripter. It lets a script that fetches wait, and
// tells of what one that forwards has made ready.
func (p *paced) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	if p.fetches(keys) {
		p.wait()
		return p.fetched(p.UniversalClient.EvalSha(ctx, sha, keys, args...))
	}
	done := p.UniversalClient.EvalSha(ctx, sha, keys, args...)
	if moved, err := done.Int(); err == nil && moved > 0 && p.forwards(keys) {
		p.news.spread(p.shard)
	}
	return done
}

// Eval implements redis.Scripter, for scripts that Redis does not know yet.
func (p *paced) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	done := p.UniversalClient.Eval(ctx, script, keys, args...)
	if p.fetches(keys) {
		return p.fetched(done)
	}
	return done
}

func (p *paced) wait() {
	if p.more {
		return
	}
	idle := time.NewTimer(p.idle)
	defer idle.Stop()
	select {
	case <-p.told:
	case <-idle.C:
	case <-p.stopping:
	}
}

func (p *paced) fetched(answer *redis.Cmd) *redis.Cmd {
	p.more = answer.Err() == nil
	return answer
}
