package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

func trip(job delivery.Job) delivery.Result {
	r := result(job, failed, retryAt(time.Now().Add(time.Hour)))
	r.Trip, r.BreakerEpoch = "5 attempts in a row failed", job.BreakerEpoch
	return r
}

func TestAnOpenBreakerParksAndProbesLetItCloseAgain(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 32)
		for i := range 20 {
			if _, err := b.Append(t.Context(), ledgertest.NewEvent("acme", fmt.Sprint("tp_", i), "Pending")); err != nil {
				t.Fatal(err)
			}
		}
		tickets := b.Tickets()
		job, ok, err := b.Claim(t.Context(), tickets[0], worker)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		if err := tryRecord(t, b.Ledger, trip(job)); err != nil {
			t.Fatal(err)
		}
		got, _ := b.Ledger.Endpoint(t.Context(), partners.Everything(), e.ID)
		if got.Window.Breaker.State != webhook.BreakerOpen || got.Window.Breaker.Epoch != 1 {
			t.Fatalf("breaker %+v, want open", got.Window.Breaker)
		}
		// what was queued already is handed back without using its attempt
		if n := send(t, b, append(tickets[1:], b.Tickets()...), okay, delivered); n != 0 {
			t.Errorf("%d sent through an open breaker", n)
		}
		if _, err := b.Promote(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		if n := len(b.Tickets()); n != 0 {
			t.Errorf("%d admitted while the breaker is open", n)
		}
		b.CheckWindows(t)
		if _, err := b.Raw.ExecContext(t.Context(), "UPDATE windows SET open_until = 1, wake_at = 1"); err != nil {
			t.Fatal(err)
		}
		for probe := range webhook.BreakerProbes {
			if probe == 0 {
				if _, err := b.Promote(t.Context(), 10); err != nil {
					t.Fatal(err)
				}
			}
			tickets := b.Tickets()
			if len(tickets) != 1 {
				t.Fatalf("probe %d: %d admitted, want 1", probe, len(tickets))
			}
			job, ok, err := b.Claim(t.Context(), tickets[0], worker)
			if err != nil || !ok || job.Trigger != webhook.TriggerProbe {
				t.Fatal(ok, err, job.Trigger)
			}
			if err := tryRecord(t, b.Ledger, result(job, okay, delivered)); err != nil {
				t.Fatal(err)
			}
		}
		got, _ = b.Ledger.Endpoint(t.Context(), partners.Everything(), e.ID)
		if got.Window.Breaker.State != webhook.BreakerClosed || got.Window.Grown != webhook.StartWindow {
			t.Errorf("window %+v, want closed and small", got.Window)
		}
		b.CheckWindows(t)
		for tickets := b.Tickets(); len(tickets) > 0; tickets = b.Tickets() {
			send(t, b, tickets, okay, delivered)
		}
		inv, err := b.Invariant(t.Context())
		if err != nil || inv.Drift() != 0 || inv.Created != 20 || inv.Delivered != 19 || inv.Unfinished != 1 {
			t.Errorf("%+v drift %d (%v)", inv, inv.Drift(), err)
		}
	})
}

var okay = webhook.Attempt{Outcome: webhook.OutcomeDelivered, StatusCode: 200}

func TestAnOrderedEndpointSendsOnePerOrderingKeyAtATime(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 32)
		if _, err := b.UpdateEndpoint(t.Context(), partners.Everything(), e.ID, func(e *webhook.Endpoint) error { e.Window.Ordered = true; return nil }); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for i := range 4 {
			n := ledgertest.NewEvent("acme", fmt.Sprint("tp_", i), "Pending")
			n.Event.OrderingKey = []string{"a", "a", "b", "a"}[i]
			a, err := b.Append(t.Context(), n)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, a.DeliveryIDs...)
		}
		b.CheckWindows(t)
		tickets := b.Tickets()
		if len(tickets) != 2 || tickets[0].DeliveryID != ids[0] || tickets[1].DeliveryID != ids[2] {
			t.Fatalf("admitted %v of %v, want the first with each ordering key", tickets, ids)
		}
		if d, err := b.Reports.Delivery(t.Context(), ids[1]); err != nil || !d.Blocked {
			t.Errorf("%+v (%v) is not blocked", d, err)
		}
		send(t, b, tickets[:1], failed, retryAt(time.Now().Add(-time.Second))) // the first fails: the second still waits
		send(t, b, tickets[1:], okay, delivered)
		retry := b.Tickets()
		if len(retry) != 1 || retry[0].DeliveryID != ids[0] {
			t.Fatalf("admitted %v, want the retry of %s", retry, ids[0])
		}
		send(t, b, retry, okay, delivered)
		for _, want := range []string{ids[1], ids[3]} {
			next := b.Tickets()
			if len(next) != 1 || next[0].DeliveryID != want {
				t.Fatalf("admitted %v, want %s", next, want)
			}
			send(t, b, next, okay, delivered)
		}
		b.CheckWindows(t)
	})
}

func TestAReplaySendsWhatWasNotDeliveredMeanwhile(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 300)
		exhausted := delivery.Verdict{State: webhook.Exhausted, Reason: "used up"}
		var ids []string
		for i := range 50 {
			a, err := b.Append(t.Context(), ledgertest.NewEvent("acme", fmt.Sprint("tp_", i), "Pending"))
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, a.DeliveryIDs...)
			for tickets := b.Tickets(); len(tickets) > 0; tickets = b.Tickets() {
				send(t, b, tickets, failed, exhausted)
			}
		}
		filter := delivery.Filter{State: webhook.Exhausted}
		preview, err := b.PreviewReplay(t.Context(), partners.Everything(), filter)
		if err != nil || preview.Count != 50 || len(preview.Sample) != delivery.ReplaySample {
			t.Fatalf("%+v (%v)", preview, err)
		}
		r, err := b.StartReplay(t.Context(), partners.Everything(), delivery.Replay{ID: webhook.NewID(webhook.ReplayPrefix), State: delivery.ReplayPaused, Reason: "test", Filter: filter, Rate: 1000, CreatedAt: time.Now()})
		if err != nil || r.Total != 50 {
			t.Fatalf("%+v (%v)", r, err)
		}
		for _, id := range ids[:10] { // delivered by hand meanwhile
			if _, err := b.RetryDelivery(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		for tickets := b.Tickets(); len(tickets) > 0; tickets = b.Tickets() {
			send(t, b, tickets, okay, delivered)
		}
		if n, _, err := b.StepReplays(t.Context()); n != 0 || err != nil {
			t.Fatalf("a paused replay admitted %d (%v)", n, err)
		}
		if err := b.MoveReplay(t.Context(), r.ID, delivery.ReplayRunning); err != nil {
			t.Fatal(err)
		}
		sent := 0
		for range 100 {
			if _, _, err := b.StepReplays(t.Context()); err != nil {
				t.Fatal(err)
			}
			sent += send(t, b, b.Tickets(), okay, delivered)
		}
		r, err = b.Ledger.Replay(t.Context(), partners.Everything(), r.ID)
		if err != nil || sent != 40 || r.State != delivery.ReplayFinished || r.Progress.Skipped != 10 || r.Progress.Delivered != 40 {
			t.Errorf("sent %d, %+v (%v)", sent, r, err)
		}
		b.CheckWindows(t)
	})
}
