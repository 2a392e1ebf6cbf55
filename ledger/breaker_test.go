package ledger_test

import (
	"strings"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// parked is an endpoint whose breaker has just opened before n deliveries.
func parked(t *testing.T, b *ledgertest.Bench, n int) (endpointID string) {
	t.Helper()
	b.Partner(t, "acme")
	e := b.Endpoint(t, "acme", 32)
	storeMany(t, b, "acme", n+1)
	tickets := b.Tickets()
	if err := tryRecord(t, b.Ledger, trip(take(t, b, tickets[0]))); err != nil {
		t.Fatal(err)
	}
	for _, ticket := range tickets[1:] {
		refused(t, b, ticket)
	}
	b.Settle()
	none(t, b)
	same(t, "breaker", breakerOf(t, b, e.ID).State, webhook.BreakerOpen)
	return e.ID
}

func breakerOf(t *testing.T, b *ledgertest.Bench, id string) webhook.Breaker {
	t.Helper()
	return windowOf(t, b, id).Breaker
}

// probeTime lets an open breaker's time come and returns the probe's ticket.
func probeTime(t *testing.T, b *ledgertest.Bench) delivery.Ticket {
	t.Helper()
	change(t, b, "UPDATE windows SET open_until = 1, wake_at = 1 WHERE breaker = 'open' AND open_until > 0")
	promote(t, b)
	return one(t, b)
}

func TestABreakerHearsOnlyJudgesOfItsEpoch(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 32)
		change(t, b, "UPDATE windows SET grown = 32")
		storeMany(t, b, "acme", 4)
		tickets := b.Tickets()
		old, first, second := trip(take(t, b, tickets[0])), trip(take(t, b, tickets[1])), trip(take(t, b, tickets[2]))
		old.BreakerEpoch--
		for i, r := range []delivery.Result{old, first, second} {
			if err := tryRecord(t, b.Ledger, r); err != nil {
				t.Fatal(err)
			}
			same(t, "epoch", breakerOf(t, b, e.ID).Epoch, []int{0, 1, 1}[i])
		}
		refused(t, b, tickets[3])
		same(t, "the failure is said", breakerOf(t, b, e.ID).Reason, first.Trip)
	})
}

// That a breaker opens and closes is counted once each, whatever its probes come
// to; what people do with it is not.
func TestABreakerThatOpensAndClosesIsCounted(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		began := time.Now()
		id := parked(t, b, 5)
		counted := func(what string, opened, closed int64) {
			t.Helper()
			for _, partner := range []string{"acme", ""} {
				var sum reports.PeriodCount
				for _, h := range series(t, b, partners.Everything(), partner, began, time.Now()) {
					sum.BreakersOpened += h.BreakersOpened
					sum.BreakersClosed += h.BreakersClosed
				}
				same(t, what, []int64{sum.BreakersOpened, sum.BreakersClosed}, []int64{opened, closed})
			}
		}
		counted("opened", 1, 0)
		record(t, b, take(t, b, probeTime(t, b)), failed, retryAt(time.Now().Add(time.Hour)))
		counted("still open", 1, 0)
		record(t, b, take(t, b, probeTime(t, b)), ok, delivered)
		for range webhook.BreakerProbes - 1 {
			record(t, b, take(t, b, one(t, b)), ok, delivered)
		}
		same(t, "breaker", breakerOf(t, b, id).State, webhook.BreakerClosed)
		counted("closed", 1, 1)
		set(t, b, id, func(e *webhook.Endpoint) { e.Window.Breaker.OpenByHand("maintenance") })
		counted("opened by hand", 1, 1)
	})
}

func TestNothingIsClaimedOnceABreakerIsOpen(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 32)
		storeMany(t, b, "acme", 2)
		tickets := b.Tickets()
		opens := trip(take(t, b, tickets[0]))
		open := func() {
			if err := tryRecord(t, b.Ledger, opens); err != nil {
				t.Error(err)
			}
		}
		claim := func() { refused(t, b, tickets[1]) }
		if b.DB.Embedded() {
			together(b.Ledger, open, claim)
		} else { // which claims in transactions of their own
			open()
			claim()
		}
		b.Settle()
		b.CheckWindows(t)
	})
}

func TestAProbeThatFailsOrWhoseWorkerDiesOpensForTwiceAsLong(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		id := parked(t, b, 5)
		pause := webhook.BreakerFirstPause
		for _, a := range []webhook.Attempt{failed, {Outcome: webhook.OutcomeUnknown}} {
			job := take(t, b, probeTime(t, b))
			same(t, "trigger", job.Trigger, webhook.TriggerProbe)
			record(t, b, job, a, retryAt(time.Now().Add(time.Hour)))
			none(t, b)
			pause *= 2
			k := breakerOf(t, b, id)
			if left := time.Until(k.OpenUntil); k.State != webhook.BreakerOpen || left > pause || left < pause-25*time.Second {
				t.Errorf("after a probe that was %s: %s for %s, want open for %s", a.Outcome, k.State, left, pause)
			}
		}
		// One that never left the gateway says nothing: another follows at once.
		record(t, b, take(t, b, probeTime(t, b)), webhook.Attempt{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorInternal}, retryAt(time.Now().Add(time.Hour)))
		same(t, "trigger", take(t, b, one(t, b)).Trigger, webhook.TriggerProbe)
		b.CheckWindows(t)
	})
}

func TestABreakerThatAUniformRefusalOpenedIsClosedByOtherAnswers(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 1)
		storeMany(t, b, "acme", 6)
		refusal := func(status int) webhook.Attempt {
			return webhook.Attempt{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorHTTP4xx, StatusCode: status}
		}
		opens := trip(take(t, b, one(t, b)))
		opens.Attempt, opens.Trip, opens.Refused = refusal(401), "20 attempts were answered 401", 401
		if err := tryRecord(t, b.Ledger, opens); err != nil {
			t.Fatal(err)
		}
		k := breakerOf(t, b, e.ID)
		same(t, "breaker", []any{k.State, k.Refused, k.Reason}, []any{webhook.BreakerOpen, 401, opens.Trip})
		later := retryAt(time.Now().Add(time.Hour))
		record(t, b, take(t, b, probeTime(t, b)), refusal(401), later)
		k = breakerOf(t, b, e.ID)
		same(t, "after a probe that was refused as well", []any{k.State, k.Refused, k.Opened}, []any{webhook.BreakerOpen, 401, 2})
		if !strings.Contains(k.Reason, "401") {
			t.Errorf("the reason is %q, want the status in it", k.Reason)
		}
		// The message of this one is wrong, the receiver is well.
		record(t, b, take(t, b, probeTime(t, b)), refusal(400), later)
		record(t, b, take(t, b, one(t, b)), ok, delivered)
		record(t, b, take(t, b, one(t, b)), ok, delivered)
		same(t, "after three probes with other answers", breakerOf(t, b, e.ID).State, webhook.BreakerClosed)
		b.CheckWindows(t)
	})
}

func TestAProbeThatIsHandedBackOrCancelledMakesWayForAnother(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		id := parked(t, b, 5)
		probe := probeTime(t, b)
		storeMany(t, b, "acme", 1)
		none(t, b) // one at a time
		set(t, b, id, pause)
		refused(t, b, probe)
		b.Settle()
		same(t, "probe", breakerOf(t, b, id).Probe, "")
		same(t, "attempts used", look(t, b, probe.DeliveryID).Attempts, 0)
		none(t, b)
		set(t, b, id, resume)
		again := one(t, b)
		if err := b.CancelDelivery(t.Context(), again.DeliveryID, "not needed"); err != nil {
			t.Fatal(err)
		}
		next := one(t, b)
		same(t, "trigger", take(t, b, next).Trigger, webhook.TriggerProbe)
		same(t, "epoch", breakerOf(t, b, id).Epoch, 1)
		b.CheckWindows(t)
	})
}

func TestPauseAndBreakerDoNotTouchEachOther(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		id := parked(t, b, 5)
		before := breakerOf(t, b, id)
		set(t, b, id, pause)
		set(t, b, id, resume)
		same(t, "breaker after pause and resume", breakerOf(t, b, id), before)
		none(t, b)
		set(t, b, id, pause)
		set(t, b, id, func(e *webhook.Endpoint) { e.Window.Breaker.Close() })
		if w := windowOf(t, b, id); !w.Paused || w.Breaker.State != webhook.BreakerClosed {
			t.Errorf("closing the breaker makes of the pause %+v", w)
		}
		none(t, b)
		set(t, b, id, func(e *webhook.Endpoint) { e.Window.Breaker.OpenByHand("maintenance") })
		set(t, b, id, resume)
		none(t, b)
		if w := windowOf(t, b, id); !w.WakeAt.IsZero() {
			t.Errorf("a breaker that only people close is looked at at %s", w.WakeAt)
		}
		set(t, b, id, func(e *webhook.Endpoint) { e.Window.Breaker.Close() })
		same(t, "sent once it is closed", len(drain(t, b)), 5)
		b.CheckWindows(t)
	})
}

func TestParkedDeliveriesCostNothingAndComeBackWithoutAHerd(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		const n = 120
		id := parked(t, b, n)
		w := windowOf(t, b, id)
		if w.Used != 0 || w.WaitingFirst != n || !w.WakeAt.Equal(w.Breaker.OpenUntil) {
			t.Errorf("parked: %+v", w)
		}
		same(t, "looked at while parked", promote(t, b), 0)
		same(t, "attempts used", b.Count(t, "SELECT COALESCE(SUM(attempts), 0) FROM deliveries WHERE state = 'pending' AND lane = 0"), 0)
		tickets := []delivery.Ticket{probeTime(t, b)}
		for round, sent := 0, 0; sent < n; round++ {
			if most := max(1, webhook.StartWindow<<max(0, round-webhook.BreakerProbes)); len(tickets) > most || round < webhook.BreakerProbes && len(tickets) != 1 {
				t.Fatalf("round %d: %d at once, want at most %d", round, len(tickets), most)
			}
			if len(tickets) == 0 {
				t.Fatalf("%d of %d sent, and nothing follows", sent, n)
			}
			sent += sendAtOnce(t, b, tickets, ok, delivered)
			tickets = b.Tickets()
		}
		b.CheckWindows(t)
	})
}
