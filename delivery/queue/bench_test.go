package queue

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"go.uber.org/goleak"

	"ledgerhook/delivery"
	"ledgerhook/delivery/queue/queuetest"
	"ledgerhook/webhook"
)

func TestMain(m *testing.M) {
	// A pool that lost its server looks for it once more a second after its end.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// deadline bounds every wait of these tests; a busy machine is slow.
const deadline = time.Minute

// each runs test on a Redis of its own and on the embedded one.
func each(t *testing.T, test func(t *testing.T, q *Queue)) {
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, open(t, queuetest.Start(t).URL))
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		test(t, open(t, ""))
	})
}

func open(t *testing.T, url string) *Queue {
	t.Helper()
	q, err := Open(t.Context(), Options{URL: url, Timeout: time.Second, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	})
	return q
}

func newTicket() delivery.Ticket {
	return delivery.Ticket{
		DeliveryID: webhook.NewID(webhook.DeliveryPrefix), Generation: 1, EndpointID: webhook.NewID(webhook.EndpointPrefix),
	}
}

func enqueue(t *testing.T, q *Queue, tickets ...delivery.Ticket) {
	t.Helper()
	for _, ticket := range tickets {
		if err := q.Enqueue(t.Context(), ticket); err != nil {
			t.Fatal(err)
		}
	}
}

// willing is a worker that is always ready.
type willing func(context.Context, delivery.Ticket)

func (willing) Ready(context.Context, time.Duration) bool          { return true }
func (w willing) Take(ctx context.Context, ticket delivery.Ticket) { w(ctx, ticket) }
func (willing) Expect(string, int64, string) string                { return "wrk_willing" }
func (willing) Forget(string, int64, bool)                         {}

func (w willing) Begin(ctx context.Context, job delivery.Job) {
	w(ctx, delivery.Ticket{DeliveryID: job.Delivery.ID, Generation: job.Delivery.Generation})
}

// begin has a delivery begin in a free slot, as if it had been claimed, and
// reports whether there was one.
func begin(s *Servers, t delivery.Ticket) bool {
	if s.Hold(t) == "" {
		return false
	}
	s.Begin(t, delivery.Job{Delivery: webhook.Delivery{ID: t.DeliveryID, Generation: t.Generation}})
	return true
}

// serve fetches with handle until the test ends.
func serve(t *testing.T, q *Queue, slots int, handle func(context.Context, delivery.Ticket)) *Servers {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s, err := q.Serve(ctx, slots, willing(handle))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		s.Shutdown()
	})
	return s
}

// fetched collects what servers hand out.
type fetched struct {
	mu      sync.Mutex
	tickets []delivery.Ticket
	times   []time.Time
	changed chan struct{} // holds one value after a change
}

func newFetched() *fetched { return &fetched{changed: make(chan struct{}, 1)} }

func (f *fetched) handle(_ context.Context, ticket delivery.Ticket) {
	f.mu.Lock()
	f.tickets, f.times = append(f.tickets, ticket), append(f.times, time.Now())
	f.mu.Unlock()
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

func (f *fetched) all() []delivery.Ticket {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.tickets)
}

// wait waits until n tickets were handed out.
func (f *fetched) wait(t *testing.T, n int) []delivery.Ticket {
	t.Helper()
	timeout := time.After(deadline)
	for {
		if got := f.all(); len(got) >= n {
			return got
		}
		select {
		case <-f.changed:
		case <-timeout:
			t.Fatalf("%d of %d tickets were fetched in %s", len(f.all()), n, deadline)
		}
	}
}

// eventually waits until condition holds, looking again and again.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(deadline)
	for !condition() {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("not within %s: %s", deadline, what)
		}
	}
}

// receive waits for a value of a channel.
func receive[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(deadline):
		t.Fatalf("not within %s: %s", deadline, what)
		panic("unreachable")
	}
}

// inspect asks asynq's own library about a shard.
func inspect(q *Queue) *asynq.Inspector { return asynq.NewInspectorFromRedisClient(q.redis) }

// queuedAt are the tickets as the ledger lists them.
func queuedAt(at time.Time, tickets ...delivery.Ticket) []delivery.Queued {
	var queued []delivery.Queued
	for _, t := range tickets {
		queued = append(queued, delivery.Queued{Ticket: t, At: at})
	}
	return queued
}

// lost returns which of the tickets the queue has lost, long after they were queued.
func lost(t *testing.T, q *Queue, tickets ...delivery.Ticket) []delivery.Ticket {
	t.Helper()
	found, err := q.Lost(t.Context(), queuedAt(time.Now().Add(-time.Hour), tickets...))
	if err != nil {
		t.Fatal(err)
	}
	return found
}
