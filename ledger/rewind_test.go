package ledger_test

import (
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/webhook"
)

// What a clock that was 400 s ahead left in the ledger holds nothing up for
// longer than one normal interval.
func TestAClockThatStepsBackDelaysNothingByMoreThanANormalInterval(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		const ahead = 400 * time.Second
		b.Options.Retry = webhook.RetryPolicy{Waits: []time.Duration{0, 5 * time.Second, 24 * time.Hour}}
		reopen := func() {
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			b.Reopen(t)
		}
		reopen()
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 32)
		ids := storeMany(t, b, "acme", 2)
		tickets := b.Tickets()
		record(t, b, take(t, b, tickets[0]), failed, retryAt(time.Now().Add(ahead+5*time.Second)))
		asked := retryAt(time.Now().Add(time.Hour))
		asked.AskedByReceiver = true
		record(t, b, take(t, b, tickets[1]), failed, asked)
		future := time.Now().Add(ahead).UnixMicro()
		change(t, b, "UPDATE windows SET rate_every = 1000000, rate_next = $1, not_before = $1, wake_at = $1", future)
		reopen() // a process that begins, or sees its clock set back
		began := time.Now()
		if err := b.Rewind(t.Context()); err != nil {
			t.Fatal(err)
		}
		if due := look(t, b, ids[0]).DueAt; due.After(time.Now().Add(6*time.Second)) || due.Before(began) {
			t.Errorf("a retry after 5 s is due in %s", time.Until(due))
		}
		if due := look(t, b, ids[1]).DueAt; time.Until(due) < 59*time.Minute {
			t.Errorf("the hour that a receiver asked for has become %s", time.Until(due))
		}
		w := windowOf(t, b, e.ID)
		if w.RateNext.After(time.Now().Add(time.Second)) {
			t.Errorf("the rate stands still for %s", time.Until(w.RateNext))
		}
		if w.WakeAt.IsZero() || w.WakeAt.After(w.NotBefore) || w.NotBefore.After(began.Add(ahead)) {
			t.Errorf("it is looked at in %s, and its receiver's pause ends in %s", time.Until(w.WakeAt), time.Until(w.NotBefore))
		}
		b.CheckWindows(t)
	})
}

func TestADeadWorkerHeardOfByAClockThatWasAheadIsFoundDead(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		for _, id := range []string{"wrk_dead", "wrk_alive"} {
			if err := b.Heartbeat(t.Context(), id, "host"); err != nil {
				t.Fatal(err)
			}
		}
		change(t, b, "UPDATE workers SET seen_at = seen_at + 400000000")
		if err := b.Heartbeat(t.Context(), "wrk_alive", "host"); err != nil {
			t.Fatal(err)
		}
		latest := time.Now().Add(5 * time.Second).UnixMicro()
		same(t, "workers that live longer than a lease", b.Count(t, "SELECT COUNT(*) FROM workers WHERE seen_at > $1", latest), 0)
		same(t, "workers", b.Count(t, "SELECT COUNT(*) FROM workers"), 2)
	})
}
