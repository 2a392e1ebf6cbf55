package ledger_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

const worker = "wrk_test"

// send plays a worker: it claims each ticket and records what the attempt came to.
func send(t *testing.T, b *ledgertest.Bench, tickets []delivery.Ticket, a webhook.Attempt, v delivery.Verdict) (sent int) {
	t.Helper()
	for _, ticket := range tickets {
		job, ok, err := b.Claim(t.Context(), ticket, worker)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			continue
		}
		sent++
		if err := tryRecord(t, b.Ledger, result(job, a, v)); err != nil {
			t.Fatal(err)
		}
	}
	return sent
}

// tryRecord records r for those whom it does not matter whether it counted.
func tryRecord(t interface{ Context() context.Context }, l *ledger.Ledger, r delivery.Result) error {
	_, err := l.Record(t.Context(), r)
	return err
}

func result(job delivery.Job, a webhook.Attempt, v delivery.Verdict) delivery.Result {
	a.ID, a.Number, a.Trigger, a.StartedAt = webhook.NewID(webhook.AttemptPrefix), job.Delivery.Attempts, job.Trigger, time.Now()
	return delivery.Result{DeliveryID: job.Delivery.ID, EndpointID: job.Delivery.EndpointID, Generation: job.Delivery.Generation, Attempt: a, Verdict: v}
}

var (
	ok        = webhook.Attempt{Outcome: webhook.OutcomeDelivered, StatusCode: 200}
	failed    = webhook.Attempt{Outcome: webhook.OutcomeFailed, StatusCode: 500, ErrorClass: webhook.ErrorHTTP5xx}
	delivered = delivery.Verdict{State: webhook.Delivered}
)

func retryAt(at time.Time) delivery.Verdict {
	return delivery.Verdict{State: webhook.Pending, NextAt: at, Reason: "again"}
}

func TestEventsLeaveThroughTheWindowInOrder(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 4)
		var ids []string
		for i := range 20 {
			a, err := b.Append(t.Context(), ledgertest.NewEvent("acme", fmt.Sprint("tp_", i), "Pending"))
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, a.DeliveryIDs...)
		}
		var order []string
		for tickets := b.Tickets(); len(tickets) > 0; tickets = b.Tickets() {
			if len(tickets) > 4 {
				t.Fatalf("%d deliveries in flight, the window allows 4", len(tickets))
			}
			for _, ticket := range tickets {
				order = append(order, ticket.DeliveryID)
			}
			b.CheckWindows(t)
			send(t, b, tickets, ok, delivered)
		}
		if fmt.Sprint(order) != fmt.Sprint(ids) {
			t.Errorf("sent in order\n%v, appended in order\n%v", order, ids)
		}
		b.CheckWindows(t)
		got, err := b.Ledger.Endpoint(t.Context(), partners.Everything(), e.ID)
		if err != nil || got.Window.Grown != 4 || got.Window.NextSequence != 21 {
			t.Errorf("window is %+v (%v)", got.Window, err)
		}
	})
}

func TestParallelCallersShareTransactionsAndKeepTheirOwnErrors(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 32)
		var wg sync.WaitGroup
		errs := make([]error, 200)
		for i := range errs {
			wg.Go(func() {
				partner := "acme"
				if i%10 == 0 {
					partner = "nobody"
				}
				e := ledgertest.NewEvent(partner, fmt.Sprint("tp_", i), "Pending")
				if i%10 == 5 {
					e.IdempotencyKey, e.Digest = "same", []byte("same")
				}
				_, errs[i] = b.Append(t.Context(), e)
			})
		}
		wg.Wait()
		for i, err := range errs {
			if i%10 == 0 && webhook.KindOf(err) != webhook.KindNotFound || i%10 != 0 && err != nil {
				t.Errorf("event %d: %v", i, err)
			}
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM events"); n != 161 {
			t.Errorf("%d events, want 160 and one of the shared key", n)
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM deliveries"); n != 161 {
			t.Errorf("%d deliveries, want 161", n)
		}
		b.CheckWindows(t)
	})
}
