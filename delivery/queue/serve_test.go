package queue

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ledgerhook/delivery"
	"ledgerhook/delivery/queue/queuetest"
)

// blocked is a handler whose calls wait until they are let go or the servers' context ends.
type blocked struct {
	began chan delivery.Ticket
	goOn  chan struct{}

	mu       sync.Mutex
	now, top int
}

func newBlocked(t *testing.T) *blocked {
	b := &blocked{began: make(chan delivery.Ticket, 1000), goOn: make(chan struct{})}
	t.Cleanup(b.release)
	return b
}

func (b *blocked) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.goOn:
	default:
		close(b.goOn)
	}
}

func (b *blocked) handle(ctx context.Context, ticket delivery.Ticket) {
	b.count(1)
	defer b.count(-1)
	b.began <- ticket
	select {
	case <-b.goOn:
	case <-ctx.Done():
	}
}

func (b *blocked) count(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now += n
	b.top = max(b.top, b.now)
}

// counts returns how many calls run now, and ran at most.
func (b *blocked) counts() (now, top int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now, b.top
}

func TestNoMoreThanTheSlotsAreInUse(t *testing.T) {
	each(t, func(t *testing.T, q *Queue) {
		const slots = 8
		b := newBlocked(t)
		serve(t, q, slots, b.handle)
		// Enough for every shard to fill its share, whatever the ids' hashes.
		var tickets []delivery.Ticket
		perShard := map[string]int{}
		for full := 0; full < len(q.Shards()); {
			ticket := newTicket()
			shard := q.ShardOf(ticket.EndpointID)
			if perShard[shard]++; perShard[shard] == 2*q.SlotsPerShard(slots) {
				full++
			}
			tickets = append(tickets, ticket)
		}
		enqueue(t, q, tickets...)
		for range slots {
			receive(t, "all slots are in use", b.began)
		}
		b.release()
		for range len(tickets) - slots {
			receive(t, "all tickets are handled", b.began)
		}
		if _, top := b.counts(); top != slots {
			t.Errorf("%d tickets were handled at once, want %d", top, slots)
		}
	})
}

func TestEveryShardHasASlot(t *testing.T) {
	t.Parallel()
	q := open(t, queuetest.Start(t).URL)
	for slots, want := range map[int]int{1: 1, 4: 1, 7: 1, 8: 2, 500: 125} {
		if got := q.SlotsPerShard(slots); got != want {
			t.Errorf("%d slots are %d a shard, want %d", slots, got, want)
		}
	}
	if got := open(t, "").SlotsPerShard(7); got != 7 {
		t.Errorf("the embedded shard has %d of 7 slots", got)
	}
}

func TestAfterStopNothingIsFetchedAndWhatRunsGoesOn(t *testing.T) {
	each(t, func(t *testing.T, q *Queue) {
		b := newBlocked(t)
		s := serve(t, q, 8, b.handle)
		running := newTicket()
		enqueue(t, q, running)
		receive(t, "a ticket is handled", b.began)
		s.Stop()
		waiting := newTicket()
		enqueue(t, q, waiting)
		b.release()
		s.Shutdown()
		if now, _ := b.counts(); now != 0 {
			t.Error("Shutdown did not wait for what ran")
		}
		if len(b.began) > 0 {
			t.Error("a ticket was fetched after Stop")
		}
		if found := lost(t, q, waiting); len(found) > 0 {
			t.Error("the ticket that was not fetched is lost")
		}
	})
}

func TestTheServersContextEndsWhatRunsAndShutdownWaitsForIt(t *testing.T) {
	each(t, func(t *testing.T, q *Queue) {
		ctx, cancel := context.WithCancel(context.Background())
		began, ended := make(chan struct{}), make(chan struct{})
		s, err := q.Serve(ctx, 8, willing(func(ctx context.Context, _ delivery.Ticket) {
			close(began)
			<-ctx.Done()
			runtime.Gosched() // whoever did not wait would be gone by now
			close(ended)
		}))
		if err != nil {
			t.Fatal(err)
		}
		enqueue(t, q, newTicket())
		receive(t, "a ticket is handled", began)
		cancel()
		s.Shutdown()
		select {
		case <-ended:
		default:
			t.Error("Shutdown returned before the handler had ended")
		}
	})
}

func TestShutdownDoesNotWaitForWhoeverDoesNotEnd(t *testing.T) {
	t.Parallel()
	q := open(t, "")
	goOn, ended, began := make(chan struct{}), make(chan struct{}), make(chan struct{})
	s, err := q.Serve(context.Background(), 1, willing(func(context.Context, delivery.Ticket) {
		close(began)
		<-goOn
		close(ended)
	}))
	if err != nil {
		t.Fatal(err)
	}
	enqueue(t, q, newTicket())
	receive(t, "the ticket is handled", began)
	down := make(chan struct{})
	go func() { s.Shutdown(); close(down) }()
	receive(t, "Shutdown returns", down)
	close(goOn)
	receive(t, "the handler ends", ended)
}

func TestAHandlerThatPanicsHoldsUpNobodyAndItsTicketIsFound(t *testing.T) {
	each(t, func(t *testing.T, q *Queue) {
		poisoned, next := newTicket(), newTicket()
		next.EndpointID = poisoned.EndpointID
		f := newFetched()
		serve(t, q, 1, func(ctx context.Context, ticket delivery.Ticket) {
			if ticket.DeliveryID == poisoned.DeliveryID {
				panic("a fault of ours")
			}
			f.handle(ctx, ticket)
		})
		enqueue(t, q, poisoned, next)
		if got := f.wait(t, 1); got[0].DeliveryID != next.DeliveryID {
			t.Fatalf("fetched %v", got)
		}
		eventually(t, "the ticket is found lost", func() bool { return len(lost(t, q, poisoned)) == 1 })
		if left := where(t, q, poisoned); len(left) > 0 {
			t.Errorf("%q is left of it", left)
		}
	})
}

// barred is a worker that may begin nothing until its context ends.
type barred struct {
	t     *testing.T
	taken atomic.Int32
}

func (b *barred) Ready(ctx context.Context, limit time.Duration) bool {
	if limit == passOnAfter {
		b.taken.Add(1)
		return false
	}
	<-ctx.Done()
	return false
}

func (b *barred) Expect(string, int64, string) string { return "" }
func (b *barred) Forget(string, int64, bool)          {}

func (b *barred) Begin(_ context.Context, job delivery.Job) {
	b.t.Errorf("%s began at a worker that is not ready", job.Delivery.ID)
}

func (b *barred) Take(ctx context.Context, ticket delivery.Ticket) {
	if ctx.Err() == nil {
		b.t.Errorf("%s was handed to a worker that is not ready", ticket.DeliveryID)
	}
}

func TestAWorkerThatIsNotReadyLeavesTheQueueToOthers(t *testing.T) {
	t.Parallel()
	const slots, many = 8, 200
	server := queuetest.Start(t)
	q := open(t, server.URL)
	cutOff := &barred{t: t}
	ctx, cancel := context.WithCancel(context.Background())
	s, err := open(t, server.URL).Serve(ctx, slots, cutOff)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); s.Shutdown() })
	var tickets []delivery.Ticket
	for range many {
		tickets = append(tickets, newTicket())
	}
	enqueue(t, q, tickets...)
	eventually(t, "all its slots are taken", func() bool { return cutOff.taken.Load() == slots })

	var mu sync.Mutex
	done := map[string]bool{}
	serve(t, q, slots, func(_ context.Context, ticket delivery.Ticket) {
		mu.Lock()
		defer mu.Unlock()
		done[taskID(ticket)] = true
	})
	eventually(t, "the other worker has had every ticket", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(done) == many
	})
	if n := cutOff.taken.Load(); n != slots {
		t.Errorf("the worker that was not ready took %d tickets, want those of its %d slots", n, slots)
	}
}

func TestWhoHasFetchedATicketRenewsItsLease(t *testing.T) {
	each(t, func(t *testing.T, q *Queue) {
		fetched, done := newTicket(), newTicket()
		enqueue(t, q, fetched)
		fetchOnly(t, q, fetched, time.Now().Add(10*time.Second))
		h := newHolder(q.redis, nil)
		letGo := h.hold(q.ShardOf(fetched.EndpointID), taskID(fetched))
		h.hold(q.ShardOf(done.EndpointID), taskID(done))
		lease := func(ticket delivery.Ticket) float64 {
			return q.redis.ZScore(t.Context(), key(q.ShardOf(ticket.EndpointID), "lease"), taskID(ticket)).Val()
		}
		h.renew()
		if ends := lease(fetched); ends < float64(time.Now().Add(20*time.Second).Unix()) {
			t.Errorf("the lease ends at %.0f, now it is %d", ends, time.Now().Unix())
		}
		if found := lost(t, q, fetched); len(found) > 0 {
			t.Error("a ticket whose lease was renewed is found lost")
		}
		if ends := lease(done); ends != 0 {
			t.Errorf("a task that is done has a lease to %.0f", ends)
		}
		letGo()
		alter(t, q, func(ctx context.Context, shard, id string) redis.Cmder {
			return q.redis.ZAdd(ctx, key(shard, "lease"), redis.Z{Score: float64(time.Now().Add(10 * time.Second).Unix()), Member: id})
		}, fetched)
		h.renew()
		if found := lost(t, q, fetched); len(found) != 1 {
			t.Error("a ticket that was let go is held on to")
		}
	})
}
