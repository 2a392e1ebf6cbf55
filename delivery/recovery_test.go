package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/delivery/queue/queuetest"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/webhook"
)

// endpoints registers n URLs with one receiver.
func (g *gateway) endpoints(t *testing.T, n int, partner *receiver) {
	t.Helper()
	for i := range n {
		g.endpoint(t, fmt.Sprintf("%s/%d", partner.URL, i))
	}
}

// forgetful loses the first ten tickets it is handed and says it has them.
type forgetful struct {
	delivery.Enqueuer
	mu   sync.Mutex
	lost []string // of deliveries
}

func (f *forgetful) Enqueue(ctx context.Context, t delivery.Ticket) error {
	f.mu.Lock()
	lose := len(f.lost) < 10
	if lose {
		f.lost = append(f.lost, t.DeliveryID)
	}
	f.mu.Unlock()
	if lose {
		return nil
	}
	return f.Enqueuer.Enqueue(ctx, t)
}

func TestLostTicketsComeBack(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		queue := &forgetful{}
		g := start(t, b, setup{enqueuer: func(e delivery.Enqueuer) delivery.Enqueuer { queue.Enqueuer = e; return queue }})
		partner := receive(t, accept)
		g.run(t, parts{}) // before there is anything to deliver: it begins with a new epoch of the queue
		eventually(t, "the queue's epoch is known", func() bool {
			epoch, err := g.QueueEpoch(t.Context(), g.queue.Shards()[0])
			return err == nil && epoch != ""
		})
		g.endpoints(t, 10, partner)
		g.append(t, webhook.CreateCard)
		g.append(t, webhook.TopupCard)
		g.waitAll(t, 20)
		if n := partner.duplicates(); n > 0 {
			t.Errorf("%d notifications were sent twice", n)
		}
		// A delivery has one generation more than attempts, and one more with each repair.
		queue.mu.Lock()
		defer queue.mu.Unlock()
		if len(queue.lost) != 10 {
			t.Errorf("%d tickets were lost, want 10", len(queue.lost))
		}
		for _, id := range queue.lost {
			if g.Count(t, "SELECT COUNT(*) FROM deliveries WHERE id = $1 AND generation > attempts + 1", id) != 1 {
				t.Errorf("%s was delivered without another ticket", id)
			}
		}
		// On a busy machine a ticket may be late, too, but what was sent in time needed no repair.
		if n := g.Count(t, "SELECT COUNT(*) FROM deliveries WHERE generation > attempts + 1 AND first_at < created_at + $1", (3 * time.Second).Microseconds()); n != 0 {
			t.Errorf("%d deliveries were repaired that were sent within 3 s", n)
		}
		repaired := g.Count(t, "SELECT CAST(SUM(generation - attempts - 1) AS BIGINT) FROM deliveries")
		eventually(t, fmt.Sprintf("%d repairs are counted", repaired), func() bool {
			return g.metric(t, "ledgerhook_reconciler_repaired_total", "ticket_lost") == float64(repaired)
		})
	})
}

func TestAnEmptiedRedisLosesNothing(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		const slots = 16
		redis := queuetest.Start(t)
		g := start(t, b, setup{redisURL: redis.URL})
		partner := receive(t, accept)
		g.endpoints(t, 20, partner)
		for range 25 {
			g.append(t, webhook.CardTransaction)
		}
		g.run(t, parts{slots: slots})
		partner.wait(t, 100)
		redis.Flush(t)
		partner.wait(t, 300)
		redis.Flush(t)
		g.waitAll(t, 500)
		if n := partner.duplicates(); n > 2*slots {
			t.Errorf("%d notifications were sent twice, at most %d were in flight", n, slots)
		}
	})
}

func TestARedisThatWasAwayLosesNothing(t *testing.T) {
	t.Parallel()
	const slots = 16
	redis := queuetest.Start(t)
	g := start(t, ledgertest.New(t, "postgres"), setup{redisURL: redis.URL})
	partner := receive(t, accept)
	g.endpoints(t, 20, partner)
	g.run(t, parts{slots: slots})
	g.append(t, webhook.CreateCard)
	g.waitAll(t, 20)
	redis.Kill()
	began := time.Now()
	for range 10 {
		g.append(t, webhook.TopupCard)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("events waited %s for a queue that is only a hint", took)
	}
	eventually(t, "the queue's silence is noticed", func() bool {
		return g.metric(t, "ledgerhook_queue_enqueue_failures_total") > 0
	})
	redis.Restart(t)
	g.waitAll(t, 220)
	if n := partner.duplicates(); n > slots {
		t.Errorf("%d notifications were sent twice, at most %d were in flight", n, slots)
	}
}

// mute is a ledger as a worker sees it that is being killed: whatever it
// records is never heard.
type mute struct {
	delivery.Ledger
	killed chan struct{}
}

func (m mute) Record(context.Context, delivery.Result) (bool, error) {
	<-m.killed
	return false, errors.New("killed")
}

func TestWhatAKilledWorkerWasSendingIsUnknownAndSentAgain(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		g := start(t, b, setup{})
		partner := receive(t, accept)
		g.endpoints(t, 4, partner)
		ledger := mute{g.Ledger, make(chan struct{})}
		victim := g.run(t, parts{ledger: ledger, idle: true})
		t.Cleanup(func() { close(ledger.killed) }) // its handlers end before its own cleanup waits for them
		for range 2 {
			g.append(t, webhook.CreateCard)
		}
		partner.wait(t, 8)
		victim.silence() // kill -9: no heartbeat, no record, no further ticket
		victim.servers.Stop()

		g.run(t, parts{})
		g.waitAll(t, 8)
		if n := g.Count(t, "SELECT COUNT(*) FROM attempts WHERE outcome = 'unknown' AND number = 1 AND worker_id = $1", victim.id); n != 8 {
			t.Errorf("%d attempts of the killed worker are unknown, want 8", n)
		}
		if n := g.Count(t, "SELECT COUNT(*) FROM attempts WHERE outcome = 'delivered' AND number = 2"); n != 8 {
			t.Errorf("%d second attempts were made, want 8", n)
		}
		if n := partner.duplicates(); n != 8 {
			t.Errorf("%d notifications were sent again, want the 8 in flight", n)
		}
		if n := g.metric(t, "ledgerhook_reconciler_repaired_total", "worker_dead"); n != 8 {
			t.Errorf("%g repairs are counted, want 8", n)
		}
	})
}

// unreachable is a ledger that can be read but not written to for a while.
type unreachable struct {
	delivery.Ledger
	away              atomic.Bool
	noClaim, noRecord bool
	refused           atomic.Int32
}

var errAway = &webhook.Error{Kind: webhook.KindUnavailable, Message: "the ledger cannot be reached"}

func (u *unreachable) Claim(ctx context.Context, t delivery.Ticket, workerID string) (delivery.Job, bool, error) {
	if u.noClaim && u.away.Load() {
		u.refused.Add(1)
		return delivery.Job{}, false, errAway
	}
	return u.Ledger.Claim(ctx, t, workerID)
}

func (u *unreachable) Record(ctx context.Context, r delivery.Result) (bool, error) {
	if u.noRecord && u.away.Load() {
		u.refused.Add(1)
		return false, errAway
	}
	return u.Ledger.Record(ctx, r)
}

func TestALedgerThatIsAwayStopsSendingUntilItIsBack(t *testing.T) {
	t.Parallel()
	const slots = 8
	for _, test := range []struct {
		name    string
		noClaim bool // else: no record
		sending int  // how many requests may be made meanwhile
	}{
		{"it takes no records", false, slots},
		{"it takes no claims", true, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
				g := start(t, b, setup{})
				partner := receive(t, accept)
				g.endpoints(t, 20, partner)
				ledger := &unreachable{Ledger: g.Ledger, noClaim: test.noClaim, noRecord: !test.noClaim}
				ledger.away.Store(true)
				g.run(t, parts{slots: slots, ledger: ledger, alone: true})
				g.append(t, webhook.CreateCard)
				g.append(t, webhook.TopupCard)
				eventually(t, "the worker has tried again and again", func() bool {
					if test.noClaim { // dropped tickets come back, and are dropped again
						return g.metric(t, "ledgerhook_reconciler_repaired_total", "ticket_lost") >= 20
					}
					return ledger.refused.Load() >= 10
				})
				if n := len(partner.requests()); n > test.sending {
					t.Errorf("%d notifications were sent that could not be recorded, want at most %d", n, test.sending)
				}
				ledger.away.Store(false)
				g.waitAll(t, 40)
				if n := partner.duplicates(); n > 0 {
					t.Errorf("%d notifications were sent twice", n)
				}
				if n := g.Count(t, "SELECT COUNT(*) FROM attempts WHERE outcome = 'delivered' AND number = 1"); n != 40 {
					t.Errorf("%d first attempts are recorded as delivered, want 40", n)
				}
			})
		})
	}
}

func TestAWorkerThatAloneCannotReachTheLedgerLeavesTheWorkToOthers(t *testing.T) {
	t.Parallel()
	const slots = 8
	g := start(t, ledgertest.New(t, "postgres"), setup{redisURL: queuetest.Start(t).URL})
	partner := receive(t, accept)
	g.endpoints(t, 20, partner)
	ledger, leases := &unreachable{Ledger: g.Ledger, noClaim: true}, &patchy{Leases: g.Ledger}
	g.run(t, parts{slots: slots, ledger: ledger, leases: leases, idle: true})
	ledger.away.Store(true)
	leases.dead.Store(true)
	for range 10 {
		g.append(t, webhook.CreateCard)
	}
	eventually(t, "it has tried", func() bool { return ledger.refused.Load() > 0 })
	other := g.run(t, parts{slots: slots})
	g.waitAll(t, 200)
	if n := ledger.refused.Load(); n > slots {
		t.Errorf("the worker that is cut off has dropped %d tickets, want at most those of its %d slots", n, slots)
	}
	if n := g.Count(t, "SELECT COUNT(*) FROM attempts WHERE outcome = 'delivered' AND number = 1 AND worker_id = $1", other.id); n != 200 {
		t.Errorf("the other has made %d deliveries at the first attempt, want 200", n)
	}
}

// deaf are slots that do not hear what the ledger claimed for them.
type deaf struct{ delivery.Slots }

func (d deaf) Begin(t delivery.Ticket, _ delivery.Job) { d.Leave(t, true) }

func TestWhatMayHaveBeenClaimedIsSoonSentAgain(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		g := start(t, b, setup{})
		partner := receive(t, accept)
		g.endpoint(t, partner.URL)
		run := g.run(t, parts{alone: b.DB.Embedded()})
		g.dispatcher.Use(deaf{run.servers})
		g.append(t, webhook.CreateCard)
		g.append(t, webhook.TopupCard)
		g.waitAll(t, 2)
		if n := partner.duplicates(); n > 0 {
			t.Errorf("%d notifications were sent twice", n)
		}
		if n := g.Count(t, "SELECT COUNT(*) FROM attempts WHERE outcome = 'unknown' AND number = 1"); n != 2 {
			t.Errorf("%d attempts are recorded as unknown, want those 2 of which the worker did not hear", n)
		}
		b.CheckWindows(t)
		b.CheckAttempts(t)
	})
}

// What finds a free slot asks the queue nothing, and the ledger for no claim.
func TestAFirstAttemptThatFindsAFreeSlotIsClaimedWithItsAdmission(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		g := start(t, b, setup{})
		partner := receive(t, accept)
		g.endpoint(t, partner.URL)
		none := &unreachable{Ledger: g.Ledger, noClaim: true}
		none.away.Store(true)
		run := g.run(t, parts{slots: 4 * len(g.queue.Shards()), ledger: none, idle: true})
		g.dispatcher.Use(run.servers)
		const many = 10
		for n := range many {
			g.append(t, webhook.CreateCard)
			g.waitAll(t, n+1)
		}
		if n := none.refused.Load(); n > 0 {
			t.Errorf("%d tickets were claimed", n)
		}
		if n := g.metric(t, "ledgerhook_first_attempts_total", "direct"); n != many {
			t.Errorf("%g first attempts went to a slot, want %d", n, many)
		}
	})
}

func TestOnlyTheCurrentTicketOfADeliveryIsSent(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		var handed atomic.Pointer[delivery.Ticket]
		g := start(t, b, setup{enqueuer: func(e delivery.Enqueuer) delivery.Enqueuer {
			return enqueueFunc(func(ctx context.Context, t delivery.Ticket) error {
				handed.Store(&t)
				return e.Enqueue(ctx, t)
			})
		}})
		partner := receive(t, accept)
		g.endpoint(t, partner.URL)
		run := g.run(t, parts{})
		a := g.append(t, webhook.CreateCard)
		g.waitState(t, a.DeliveryIDs[0], webhook.Delivered)
		ticket := *handed.Load()
		for _, generation := range []int64{ticket.Generation - 1, ticket.Generation, ticket.Generation + 1} {
			ticket.Generation = generation
			run.worker.Take(t.Context(), ticket)
		}
		run.worker.Take(t.Context(), delivery.Ticket{DeliveryID: webhook.NewID(webhook.DeliveryPrefix), Generation: 1})
		if n := len(partner.requests()); n != 1 {
			t.Errorf("%d requests were made of one delivery", n)
		}
	})
}

type enqueueFunc func(context.Context, delivery.Ticket) error

func (f enqueueFunc) Enqueue(ctx context.Context, t delivery.Ticket) error { return f(ctx, t) }

func TestAWorkerThatIsStoppingTakesNoTicket(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		g := start(t, b, setup{enqueuer: func(delivery.Enqueuer) delivery.Enqueuer {
			return enqueueFunc(func(context.Context, delivery.Ticket) error { return nil })
		}})
		partner := receive(t, accept)
		g.endpoint(t, partner.URL)
		run := g.run(t, parts{idle: true})
		a := g.append(t, webhook.CreateCard)
		stopped, cancel := context.WithCancel(t.Context())
		cancel()
		run.worker.Take(stopped, delivery.Ticket{DeliveryID: a.DeliveryIDs[0], Generation: 1})
		if d, _ := g.waitState(t, a.DeliveryIDs[0], webhook.Queued); d.Attempts != 0 {
			t.Errorf("%d attempts were used", d.Attempts)
		}
	})
}

// TestFullWindowsCostThePromoterNothing: only a window with room can take
// what waits, however long its wake-up is past.
func TestFullWindowsCostThePromoterNothing(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		g := start(t, b, setup{})
		partner := receive(t, func(context.Context, int) int { return http.StatusOK })
		g.endpoint(t, partner.URL)
		for range webhook.StartWindow + 1 {
			g.append(t, webhook.CreateCard)
		}
		if _, err := b.Raw.ExecContext(t.Context(), "UPDATE windows SET wake_at = 1"); err != nil {
			t.Fatal(err)
		}
		if n, err := g.Promote(t.Context(), 10); n != 0 || err != nil {
			t.Errorf("%d full windows were looked at (%v)", n, err)
		}
		g.run(t, parts{})
		g.waitAll(t, webhook.StartWindow+1)
	})
}
