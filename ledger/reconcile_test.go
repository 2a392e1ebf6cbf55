package ledger_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/webhook"
)

func TestWhatDeadWorkersWereSendingIsFound(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 8)
		change(t, b, "UPDATE windows SET grown = 8")
		probe := ledgertest.NewEvent("acme", "test", "Pending")
		probe.Event.Test, probe.EndpointID = true, e.ID
		storeMany(t, b, "acme", 4)
		store(t, b, probe)
		began := time.Now()
		claimedBy := map[string]string{}
		tickets := b.Tickets()
		for i, w := range []string{"wrk_alive", "wrk_dead", "wrk_unheard", "wrk_own", "wrk_dead"} {
			if w != "wrk_unheard" {
				if err := b.Heartbeat(t.Context(), w, "host"); err != nil {
					t.Fatal(err)
				}
			}
			if _, claimed, err := b.Claim(t.Context(), tickets[i], w); !claimed || err != nil {
				t.Fatal(claimed, err)
			}
			claimedBy[w] += tickets[i].DeliveryID
		}
		workers := func(found []delivery.InFlight, err error) (by string) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range found {
				by += f.WorkerID + " "
				if f.ClaimedAt.Before(began.Add(-time.Second)) || f.Job.Delivery.State != webhook.Sending || f.Job.Delivery.Attempts != 1 ||
					f.Job.Event.Test != (f.Job.Delivery.Trigger == webhook.TriggerTest) || f.Job.Trigger != f.Job.Delivery.Trigger {
					t.Errorf("in flight %+v", f)
				}
			}
			return by
		}
		abandoned := func() string { t.Helper(); return workers(b.Abandoned(t.Context(), "wrk_own", 10)) }
		claimed := func(before time.Time) string {
			t.Helper()
			return workers(b.Claimed(t.Context(), "wrk_own", before, 10))
		}
		same(t, "while all that were heard of live", abandoned(), "wrk_unheard ")
		change(t, b, "UPDATE workers SET seen_at = seen_at - 6000000 WHERE id = 'wrk_dead'")
		same(t, "after six seconds of silence", abandoned(), "wrk_dead wrk_unheard wrk_dead ")
		same(t, "its own from before", claimed(time.Now().Add(time.Minute)), "wrk_own ")
		same(t, "its own, just now", claimed(began.Add(-time.Hour)), "")
		if err := b.Heartbeat(t.Context(), "wrk_dead", "host"); err != nil {
			t.Fatal(err)
		}
		same(t, "after a sign of life", abandoned(), "wrk_unheard ")
		if err := b.Deregister(t.Context(), "wrk_alive"); err != nil {
			t.Fatal(err)
		}
		same(t, "after it deregistered", abandoned(), "wrk_alive wrk_unheard ")
		if err := b.EndLeases(t.Context()); err != nil {
			t.Fatal(err)
		}
		same(t, "after all leases ended", abandoned(), "wrk_alive wrk_dead wrk_unheard wrk_dead ")
		b.CheckWindows(t)
	})
}

func TestALostTicketIsReplacedByOneOfTheNextGeneration(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 8)
		change(t, b, "UPDATE windows SET grown = 8")
		storeMany(t, b, "acme", 4)
		tickets := b.Tickets()
		before := time.Now()
		queued, err := b.Queued(t.Context(), delivery.Queued{}, 3)
		if err != nil || len(queued) != 3 || queued[0].DeliveryID != tickets[0].DeliveryID || queued[0].At.After(before) ||
			queued[0].EndpointID == "" || queued[0].Generation != 1 {
			t.Fatalf("queued %+v (%v)", queued, err)
		}
		behind, err := b.Queued(t.Context(), queued[2], 3)
		if err != nil || len(behind) != 1 || behind[0].DeliveryID != tickets[3].DeliveryID {
			t.Fatalf("queued behind the third: %+v (%v)", behind, err)
		}
		take(t, b, tickets[1])
		lost := append(tickets[:3:3], delivery.Ticket{DeliveryID: "dlv_none", Generation: 1})
		again, err := b.Requeue(t.Context(), lost)
		if len(again) != 2 || err != nil {
			t.Fatalf("requeued %v (%v)", again, err)
		}
		none(t, b)
		refused(t, b, tickets[0])
		same(t, "attempts", take(t, b, again[0]).Delivery.Attempts, 1)
		if more, err := b.Requeue(t.Context(), lost); len(more) != 0 || err != nil {
			t.Errorf("requeued %v of the old ones (%v)", more, err)
		}
		if more, err := b.Requeue(t.Context(), nil); len(more) != 0 || err != nil {
			t.Errorf("requeued %v of none (%v)", more, err)
		}
		queued, err = b.Queued(t.Context(), delivery.Queued{}, 10)
		if err != nil || len(queued) != 2 || queued[0].DeliveryID != tickets[3].DeliveryID { // the longest first
			t.Errorf("queued %+v (%v)", queued, err)
		}
		b.CheckWindows(t)
	})
}

// A retry may be admitted before its time, which its receiver may have asked for.
func TestATicketThatReplacesOneIsNotDueBeforeIt(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 8)
		storeMany(t, b, "acme", 1)
		due := time.Now().Add(900 * time.Millisecond).Truncate(time.Microsecond)
		record(t, b, take(t, b, one(t, b)), failed, retryAt(due))
		ticket := one(t, b)
		if !ticket.DueAt.Equal(due) {
			t.Fatalf("due at %v, want %v", ticket.DueAt, due)
		}
		for range 2 {
			again, err := b.Requeue(t.Context(), []delivery.Ticket{ticket})
			if len(again) != 1 || err != nil {
				t.Fatalf("requeued %v (%v)", again, err)
			}
			if ticket = again[0]; ticket.DueAt.Before(due) {
				t.Errorf("the ticket is due %v too early", due.Sub(ticket.DueAt))
			}
		}
		same(t, "attempt", take(t, b, ticket).Delivery.Attempts, 2)
		b.CheckWindows(t)
	})
}

// TestWhatAGateHoldsBackIsNotLookedAtBeforeItOpens: a retry is admitted up to
// a second before its time, but there is no room before a rate, a breaker or a
// receiver's pause gives any.
func TestWhatAGateHoldsBackIsNotLookedAtBeforeItOpens(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 8)
		storeMany(t, b, "acme", 3)
		const second = int64(time.Second / time.Microsecond)
		for _, test := range []struct {
			name, gate string
			wake       time.Duration
			want       int
		}{
			{"none", "rate_every = 0", 500 * time.Millisecond, 1},
			{"a rate", "rate_every = 1000000", 500 * time.Millisecond, 0},
			{"a rate, in time", "rate_every = 1000000", -time.Millisecond, 1},
			{"a breaker", "breaker = 'open'", 500 * time.Millisecond, 0},
			{"a pause", fmt.Sprintf("not_before = %d", time.Now().UnixMicro()+3600*second), 500 * time.Millisecond, 0},
		} {
			for {
				change(t, b, "UPDATE windows SET used = 0, grown = 2, rate_every = 0, rate_next = 0, breaker = 'closed', not_before = 0")
				wake := time.Now().Add(test.wake)
				change(t, b, "UPDATE windows SET wake_at = $1, "+test.gate, wake.UnixMicro())
				n, err := b.Promote(t.Context(), 10)
				if test.wake > 0 && time.Now().After(wake) {
					continue // its time came meanwhile
				}
				same(t, test.name, []any{n, err}, []any{test.want, error(nil)})
				break
			}
		}
	})
}

func TestTheEpochOfAShardIsRemembered(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		for _, epoch := range []string{"", "one", "two"} {
			if epoch != "" {
				if err := b.SetQueueEpoch(t.Context(), "deliver-0", epoch); err != nil {
					t.Fatal(err)
				}
			}
			got, err := b.QueueEpoch(t.Context(), "deliver-0")
			same(t, "epoch", []any{got, err}, []any{epoch, error(nil)})
		}
		got, err := b.QueueEpoch(t.Context(), "deliver-1")
		same(t, "another shard's", []any{got, err}, []any{"", error(nil)})
		if skew, err := b.DB.ClockSkew(t.Context()); err != nil || skew.Abs() > time.Minute {
			t.Errorf("skew %v (%v)", skew, err)
		}
	})
}

func TestOfProcessesThatGiveTheSameAttemptUpOneCounts(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 8)
		storeMany(t, b, "acme", 1)
		lost := result(take(t, b, one(t, b)), webhook.Attempt{Outcome: webhook.OutcomeUnknown}, retryAt(time.Now()))
		var counted atomic.Int32
		var processes sync.WaitGroup
		for range 4 {
			processes.Go(func() {
				first, err := b.Record(t.Context(), lost)
				if err != nil {
					t.Error(err)
				}
				if first {
					counted.Add(1)
				}
			})
		}
		processes.Wait()
		same(t, "counted", counted.Load(), int32(1))
		b.CheckWindows(t)
		b.CheckAttempts(t)
	})
}
