package queue

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"ledgerhook/delivery/queue/queuetest"
)

// never lets servers that q starts ask an empty queue only when they were told
// of work.
func never(q *Queue) { q.idle = time.Hour }

// questions counts how often a Redis is asked for a task.
type questions struct{ asked atomic.Int32 }

func (c *questions) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *questions) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (c *questions) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); cmd.Name() == "evalsha" && len(args) > 4 && args[2] == 4 && strings.HasSuffix(args[4].(string), ":paused") {
			c.asked.Add(1)
		}
		return next(ctx, cmd)
	}
}

func TestATicketIsFetchedAtOnceAndAnEmptyQueueIsLeftAlone(t *testing.T) {
	each(t, func(t *testing.T, q *Queue) {
		never(q)
		var c questions
		q.redis.AddHook(&c)
		f := newFetched()
		serve(t, q, 8, f.handle)
		const many = 20
		for i := range many {
			enqueue(t, q, newTicket())
			f.wait(t, i+1)
		}
		// One that finds it, one that finds nothing behind it, and one for the
		// telling that came while it was found; a script is loaded once a server.
		if asked, most := c.asked.Load(), int32(3*many+len(q.Shards())); asked > most {
			t.Errorf("the queue was asked %d times for %d tickets, want %d at most", asked, many, most)
		} else {
			t.Logf("the queue was asked %d times for %d tickets", asked, many)
		}
	})
}

func TestATicketThatHasComeDueIsFetchedAtOnce(t *testing.T) {
	each(t, func(t *testing.T, q *Queue) {
		never(q)
		f := newFetched()
		serve(t, q, 8, f.handle)
		later := newTicket()
		later.DueAt = time.Now().Add(time.Second)
		enqueue(t, q, later)
		f.wait(t, 1)
	})
}

func TestAnotherProcessTellsOfWork(t *testing.T) {
	t.Parallel()
	server := queuetest.Start(t)
	q, other := open(t, server.URL), open(t, server.URL)
	never(q)
	f := newFetched()
	serve(t, q, 8, f.handle)
	eventually(t, "the other process is listened to", func() bool {
		return q.redis.PubSubNumSub(t.Context(), newsChannel).Val()[newsChannel] > 0
	})
	for i := range 20 {
		enqueue(t, other, newTicket())
		f.wait(t, i+1)
	}
	server.Kill()
	server.Restart(t)
	eventually(t, "it is listened to again", func() bool {
		return other.redis.PubSubNumSub(t.Context(), newsChannel).Val()[newsChannel] > 0
	})
	enqueue(t, other, newTicket())
	f.wait(t, 21)
}

func TestWorkThatNobodyTellsOfIsFound(t *testing.T) {
	each(t, func(t *testing.T, q *Queue) {
		q.idle = time.Millisecond
		f := newFetched()
		serve(t, q, 8, f.handle)
		ticket := newTicket()
		task := asynq.NewTask(taskType, []byte(taskID(ticket)))
		if _, err := q.client.EnqueueContext(t.Context(), task, q.options(q.Shards()[0])...); err != nil {
			t.Fatal(err)
		}
		f.wait(t, 1)
	})
}

func TestServersThatWaitForWorkStopAtOnce(t *testing.T) {
	each(t, func(t *testing.T, q *Queue) {
		never(q)
		s := serve(t, q, 8, newFetched().handle)
		down := make(chan struct{})
		go func() { s.Stop(); s.Shutdown(); close(down) }()
		receive(t, "they have stopped", down)
		if left := q.news.listeners[q.Shards()[0]]; len(left) > 0 {
			t.Errorf("%d of them are still told of work", len(left))
		}
	})
}

func TestAsynqMakesNoLinesThatNobodyReads(t *testing.T) {
	t.Parallel()
	for level, want := range map[slog.Level]asynq.LogLevel{
		slog.LevelDebug: asynq.DebugLevel, slog.LevelInfo: asynq.WarnLevel, slog.LevelWarn: asynq.ErrorLevel, slog.LevelError: asynq.FatalLevel,
	} {
		log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: level}))
		if got := asynqLevel(log); got != want {
			t.Errorf("for a log from %s on asynq's level is %s, want %s", level, &got, &want)
		}
		redisLog{log}.Printf(t.Context(), "%s", unread{t, level <= slog.LevelDebug})
	}
}

// unread is an argument of a line that must not be made unless it is wanted.
type unread struct {
	t      *testing.T
	wanted bool
}

func (u unread) String() string {
	if !u.wanted {
		u.t.Error("a line was made that nobody reads")
	}
	return ""
}
