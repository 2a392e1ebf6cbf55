package ledger_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// sendAtOnce is send by one worker per ticket, all at the same time.
func sendAtOnce(t *testing.T, b *ledgertest.Bench, tickets []delivery.Ticket, a webhook.Attempt, v delivery.Verdict) int {
	t.Helper()
	var sent atomic.Int64
	var workers sync.WaitGroup
	for _, ticket := range tickets {
		workers.Go(func() {
			job, claimed, err := b.Claim(t.Context(), ticket, worker)
			if err == nil && claimed {
				sent.Add(1)
				err = tryRecord(t, b.Ledger, result(job, a, v))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	workers.Wait()
	return int(sent.Load())
}

func TestAReceiverThatAsksForAPauseGetsIt(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 32)
		ids := storeMany(t, b, "acme", 3)
		tickets := b.Tickets()
		asks := delivery.Verdict{State: webhook.Pending, NextAt: time.Now().Add(time.Hour), AskedByReceiver: true, EndpointPause: 10 * time.Minute}
		record(t, b, take(t, b, tickets[0]), failed, asks)
		none(t, b)
		refused(t, b, tickets[1]) // was on its way already, and uses no attempt
		b.Settle()
		ids = append(ids, storeMany(t, b, "acme", 1)...)
		none(t, b)
		w := windowOf(t, b, e.ID)
		for i, id := range ids {
			d := look(t, b, id)
			reason, until := d.WaitingFor(w, time.Now())
			want := w.NotBefore
			if i == 0 {
				want = asks.NextAt.Truncate(time.Microsecond)
			}
			if reason != webhook.WaitRetryAfter || !until.Equal(want) || (d.Attempts == 1) != (i == 0) {
				t.Errorf("delivery %d waits for %s until %s after %d attempts, want until %s", i+1, reason, until, d.Attempts, want)
			}
		}
		// The retry is due much later: what waits for the pause must not sleep until then.
		if !w.WakeAt.Equal(w.NotBefore) {
			t.Errorf("looked at again at %s, want %s", w.WakeAt, w.NotBefore)
		}
		same(t, "looked at meanwhile", promote(t, b), 0)
		change(t, b, "UPDATE windows SET not_before = 1, wake_at = 1")
		promote(t, b)
		same(t, "sent afterwards", len(drain(t, b)), 3)
		b.CheckWindows(t)
	})
}

func TestARateLetsOneSecondsWorthLeaveAtOnce(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 32)
		// As if one delivery a minute were allowed, so that this test may take its time.
		set(t, b, e.ID, func(e *webhook.Endpoint) { e.Window.RateEvery = time.Minute })
		change(t, b, "UPDATE windows SET grown = 32")
		retried := storeMany(t, b, "acme", 1)
		record(t, b, take(t, b, one(t, b)), failed, retryAt(time.Now().Add(time.Hour)))
		waiting := storeMany(t, b, "acme", 5)
		none(t, b)
		w := windowOf(t, b, e.ID)
		if reason, until := look(t, b, waiting[0]).WaitingFor(w, time.Now()); reason != webhook.WaitRate || until.IsZero() {
			t.Errorf("it waits for %s until %s", reason, until)
		}
		if wait := time.Until(w.WakeAt); wait > time.Minute {
			t.Errorf("looked at in %s, although the rate allows one in a minute and only %s waits longer", wait, retried)
		}
		for i := range waiting {
			change(t, b, "UPDATE windows SET rate_next = rate_next - 60000000, wake_at = wake_at - 60000000")
			promote(t, b)
			ticket := one(t, b)
			same(t, "order", ticket.DeliveryID, waiting[i])
			record(t, b, take(t, b, ticket), ok, delivered)
			none(t, b)
		}
		set(t, b, e.ID, func(e *webhook.Endpoint) { e.Window.RateEvery = time.Second / 5 })
		change(t, b, "UPDATE windows SET rate_next = 0")
		set(t, b, e.ID, pause)
		storeMany(t, b, "acme", 30)
		set(t, b, e.ID, resume)
		if n := len(b.Tickets()); n != 5 {
			t.Errorf("%d admitted at once at 5 a second", n)
		}
		b.CheckWindows(t)
	})
}

func TestAnEndpointBeyondHopeIsDisabledAndHoldsWhatComes(t *testing.T) {
	gone := webhook.Attempt{Outcome: webhook.OutcomeFailed, StatusCode: 410, ErrorClass: webhook.ErrorHTTP4xx}
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 32)
		change(t, b, "UPDATE windows SET grown = 32")
		fail := func(a webhook.Attempt) {
			storeMany(t, b, "acme", 1)
			record(t, b, take(t, b, one(t, b)), a, exhausted)
		}
		fail(gone)
		fail(failed)
		fail(gone)
		same(t, "disabled by 410s that are not in a row", windowOf(t, b, e.ID).Disabled, false)
		change(t, b, "UPDATE windows SET failing_since = $1, failed = 48", time.Now().Add(-25*time.Hour).UnixMicro())
		fail(failed)
		change(t, b, "UPDATE windows SET failing_since = $1", time.Now().Add(-webhook.DisableAfter).UnixMicro())
		fail(failed)
		w := windowOf(t, b, e.ID)
		if !w.Disabled || !strings.Contains(w.Health.DisabledReason, "5 days") {
			t.Fatalf("window %+v", w)
		}
		held := storeMany(t, b, "acme", 3)
		none(t, b)
		d := look(t, b, held[0])
		same(t, "state", d.Shown(d.Window), webhook.Held)
		set(t, b, e.ID, func(e *webhook.Endpoint) {
			e.Window.Disabled, e.Window.Health = false, webhook.Health{LastSuccess: e.Window.Health.LastSuccess}
		})
		same(t, "released in order", strings.Join(drain(t, b), " "), strings.Join(held, " "))
		audit, _, err := b.AuditEntries(t.Context(), partners.AuditFilter{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		var acts []string
		for _, entry := range audit {
			acts = append(acts, entry.Action)
		}
		same(t, "told", strings.Join(acts, " "), "endpoint.disable endpoint.warn")
	})
}

// For how long an endpoint has failed is told by the database's clock, not by
// that of the process that records.
func TestNoEndpointIsDisabledByAClockThatIsAhead(t *testing.T) {
	b := ledgertest.NewFresh(t, "postgres")
	b.Partner(t, "acme")
	e := b.Endpoint(t, "acme", 32)
	ahead := b.Behind(t, "40 days")
	if err := ahead.Heartbeat(t.Context(), worker, "host/1"); err != nil {
		t.Fatal(err)
	}
	now := time.Now().Add(-40 * day) // by the database's
	fail := func(since time.Time) webhook.Window {
		t.Helper()
		change(t, b, "UPDATE windows SET failing_since = $1, failed = $2", since.UnixMicro(), webhook.DisableMinFailed)
		storeMany(t, b, "acme", 1)
		if err := tryRecord(t, ahead.Ledger, result(take(t, b, one(t, b)), failed, exhausted)); err != nil {
			t.Fatal(err)
		}
		return windowOf(t, b, e.ID)
	}
	if w := fail(now.Add(-time.Hour)); w.Disabled || w.Health.Warned != 0 {
		t.Errorf("after an hour: %+v", w)
	}
	if w := fail(now.Add(39 * day)); w.Disabled || w.Health.FailingSince.Sub(now).Abs() > database.MaxClockSkew {
		t.Errorf("failing since a time that has not come: %+v", w)
	}
	if w := fail(now.Add(-webhook.DisableAfter)); !w.Disabled {
		t.Errorf("after five days: %+v", w)
	}
}

func TestTheInvariantHoldsWhateverEndsADelivery(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		check := func(want string) {
			t.Helper()
			i, err := b.Invariant(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			same(t, "created, delivered, exhausted, cancelled, unfinished, drift",
				[]int64{i.Created, i.Delivered, i.Exhausted, i.Cancelled, i.Unfinished, i.Drift()}, want)
			b.CheckWindows(t)
		}
		check("[0 0 0 0 0 0]")
		storeMany(t, b, "acme", 2) // no endpoint yet
		check("[2 0 0 0 2 0]")
		e := b.Endpoint(t, "acme", 32)
		promote(t, b)
		drain(t, b)
		test := ledgertest.NewEvent("acme", "test", "Pending")
		test.Event.Test, test.EndpointID = true, e.ID
		store(t, b, test)
		drain(t, b)
		check("[2 2 0 0 0 0]")
		ended := storeMany(t, b, "acme", 1)[0]
		record(t, b, take(t, b, one(t, b)), failed, exhausted)
		if _, err := b.RetryDelivery(t.Context(), ended); err != nil {
			t.Fatal(err)
		}
		check("[4 2 1 0 1 0]")
		set(t, b, e.ID, pause)
		waiting := storeMany(t, b, "acme", 3)
		if err := b.CancelDelivery(t.Context(), waiting[0], "not needed"); err != nil {
			t.Fatal(err)
		}
		check("[7 2 1 1 3 0]")
		if err := b.RetainAt(t.Context(), time.Now().Add(40*day), 30*day); err != nil { // expires what waits
			t.Fatal(err)
		}
		i, err := b.Invariant(t.Context())
		if err != nil || i.Drift() != 0 || i.Created != 7 {
			t.Errorf("after the retention %+v (%v)", i, err)
		}
		set(t, b, e.ID, resume)
		storeMany(t, b, "acme", 5)
		if err := b.RemoveEndpoint(t.Context(), partners.Everything(), e.ID); err != nil {
			t.Fatal(err)
		}
		for _, ticket := range b.Tickets() {
			refused(t, b, ticket)
		}
		b.Settle()
		i, err = b.Invariant(t.Context())
		if err != nil || i.Drift() != 0 || i.Unfinished != 0 || i.Created != 12 {
			t.Errorf("after the removal %+v (%v)", i, err)
		}
		same(t, "hours counted", b.Count(t, "SELECT COUNT(*) FROM rollups WHERE fact = 'created' AND (hour < $1 OR hour > $2)",
			time.Now().Add(-time.Hour).Unix()/3600, time.Now().Unix()/3600), 0)
	})
}
