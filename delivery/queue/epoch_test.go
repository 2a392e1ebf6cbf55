package queue

import (
	"context"
	"slices"
	"testing"
	"time"

	"ledgerhook/delivery/queue/queuetest"
)

// epochs reads the mark of every shard.
func epochs(t *testing.T, q *Queue) (marks []string) {
	t.Helper()
	for _, shard := range q.Shards() {
		mark, err := q.Epoch(t.Context(), shard)
		if err != nil || mark == "" {
			t.Fatalf("epoch of %s is %q (%v)", shard, mark, err)
		}
		marks = append(marks, mark)
	}
	return marks
}

func TestAnEpochLastsAsLongAsTheTasks(t *testing.T) {
	t.Parallel()
	server := queuetest.Start(t)
	one, other := open(t, server.URL), open(t, server.URL)
	first := epochs(t, one)
	if again := epochs(t, one); !slices.Equal(first, again) {
		t.Errorf("epochs changed from %q to %q by looking", first, again)
	}
	if theirs := epochs(t, other); !slices.Equal(first, theirs) {
		t.Errorf("another process reads the epochs %q, not %q", theirs, first)
	}

	server.Flush(t)
	second := epochs(t, one)
	server.Kill()
	server.Restart(t)
	third := epochs(t, one)
	all := slices.Concat(first, second, third)
	slices.Sort(all)
	if distinct := slices.Compact(slices.Clone(all)); len(distinct) != len(all) {
		t.Errorf("epochs are %q, then %q after FLUSHALL, then %q after a restart", first, second, third)
	}
}

func TestTheEmbeddedQueueBeginsANewEpochEachTime(t *testing.T) {
	t.Parallel()
	first, second := epochs(t, open(t, "")), epochs(t, open(t, ""))
	if first[0] == second[0] {
		t.Errorf("two embedded queues have the epoch %q", first[0])
	}
}

func TestAnEmptiedRedisLearnsOfItsQueuesAgain(t *testing.T) {
	t.Parallel()
	server := queuetest.Start(t)
	q := open(t, server.URL)
	enqueue(t, q, newTicket()) // the client believes from now on that its queue is registered
	server.Flush(t)
	epochs(t, q)
	known, err := inspect(q).Queues()
	slices.Sort(known)
	if err != nil || !slices.Equal(known, q.Shards()) {
		t.Errorf("asynq knows the queues %q (%v), want %q", known, err, q.Shards())
	}
}

func TestServersOutliveTheirRedis(t *testing.T) {
	t.Parallel()
	server := queuetest.Start(t)
	q := open(t, server.URL)
	f := newFetched()
	serve(t, q, 4, f.handle)
	enqueue(t, q, newTicket())
	f.wait(t, 1)
	server.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if err := q.Enqueue(ctx, newTicket()); err == nil {
		t.Error("a ticket was handed to a dead Redis without an error")
	}
	if _, err := q.Epoch(ctx, q.Shards()[0]); err == nil {
		t.Error("a dead Redis has an epoch")
	}
	server.Restart(t)
	back := newTicket()
	eventually(t, "tickets are taken again", func() bool { return q.Enqueue(t.Context(), back) == nil })
	if got := f.wait(t, 2); got[1].DeliveryID != back.DeliveryID {
		t.Errorf("fetched %v", got)
	}
}

func TestShutdownReturnsWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	server := queuetest.Start(t)
	q := open(t, server.URL)
	b := newBlocked(t)
	ctx, cancel := context.WithCancel(context.Background())
	s, err := q.Serve(ctx, 4, willing(b.handle))
	if err != nil {
		t.Fatal(err)
	}
	enqueue(t, q, newTicket())
	receive(t, "a ticket is handled", b.began)
	server.Kill()
	cancel()
	down := make(chan struct{})
	go func() { s.Shutdown(); close(down) }()
	receive(t, "Shutdown returns", down)
}
