package ledger_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"ledgerhook/delivery"
	"ledgerhook/ledger"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

const day = 24 * time.Hour

type ticket = delivery.Ticket

// store appends an event and fails the test if the ledger refuses it.
func store(t *testing.T, b *ledgertest.Bench, e delivery.NewEvent) delivery.Appended {
	t.Helper()
	a, err := b.Append(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// storeMany appends n events about different objects and returns the ids of their deliveries.
func storeMany(t *testing.T, b *ledgertest.Bench, partner string, n int) (deliveries []string) {
	t.Helper()
	events := make([]delivery.NewEvent, n)
	for i := range events {
		events[i] = ledgertest.NewEvent(partner, webhook.NewID("tp_"), "Pending")
	}
	answers, errs := b.AppendAll(t.Context(), events)
	for i, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
		deliveries = append(deliveries, answers[i].DeliveryIDs...)
	}
	return deliveries
}

// typed is an event of another type than top-ups.
func typed(partner string, typ webhook.Type, object, status string) delivery.NewEvent {
	e := ledgertest.NewEvent(partner, object, status)
	e.Event.Type = typ
	return e
}

// take claims one ticket, which must be current.
func take(t *testing.T, b *ledgertest.Bench, ticket delivery.Ticket) delivery.Job {
	t.Helper()
	job, claimed, err := b.Claim(t.Context(), ticket, worker)
	if err != nil || !claimed {
		t.Fatalf("claim of %+v: %v %v", ticket, claimed, err)
	}
	return job
}

// refused claims one ticket, which must not be current any more.
func refused(t *testing.T, b *ledgertest.Bench, ticket delivery.Ticket) {
	t.Helper()
	if _, claimed, err := b.Claim(t.Context(), ticket, worker); err != nil || claimed {
		t.Errorf("a stale ticket was claimed: %v %v", claimed, err)
	}
}

func record(t *testing.T, b *ledgertest.Bench, job delivery.Job, a webhook.Attempt, v delivery.Verdict) {
	t.Helper()
	if err := tryRecord(t, b.Ledger, result(job, a, v)); err != nil {
		t.Fatal(err)
	}
}

// one returns the only ticket handed out since the last look.
func one(t *testing.T, b *ledgertest.Bench) delivery.Ticket {
	t.Helper()
	tickets := b.Tickets()
	if len(tickets) != 1 {
		t.Fatalf("%d tickets, want one: %+v", len(tickets), tickets)
	}
	return tickets[0]
}

// none fails the test if a ticket was handed out.
func none(t *testing.T, b *ledgertest.Bench) {
	t.Helper()
	if tickets := b.Tickets(); len(tickets) != 0 {
		t.Fatalf("%d tickets, want none: %+v", len(tickets), tickets)
	}
}

// drain delivers whatever is handed out, all of a look at once, and returns the
// deliveries in the order of their tickets.
func drain(t *testing.T, b *ledgertest.Bench) (sent []string) {
	t.Helper()
	for tickets := b.Tickets(); len(tickets) > 0; tickets = b.Tickets() {
		var workers errgroup.Group
		for _, ticket := range tickets {
			sent = append(sent, ticket.DeliveryID)
			workers.Go(func() error {
				job, claimed, err := b.Claim(t.Context(), ticket, worker)
				if err != nil || !claimed {
					return err
				}
				return tryRecord(t, b.Ledger, result(job, ok, delivered))
			})
		}
		if err := workers.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	return sent
}

func look(t *testing.T, b *ledgertest.Bench, id string) delivery.DeliveryWithWindow {
	t.Helper()
	d, err := b.Delivery(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func windowOf(t *testing.T, b *ledgertest.Bench, id string) webhook.Window {
	t.Helper()
	e, err := b.Ledger.Endpoint(t.Context(), partners.Everything(), id)
	if err != nil {
		t.Fatal(err)
	}
	return e.Window
}

// set changes an endpoint.
func set(t *testing.T, b *ledgertest.Bench, id string, change func(*webhook.Endpoint)) {
	t.Helper()
	_, err := b.UpdateEndpoint(t.Context(), partners.Everything(), id, func(e *webhook.Endpoint) error { change(e); return nil })
	if err != nil {
		t.Fatal(err)
	}
}

func pause(e *webhook.Endpoint)  { e.Window.Paused = true }
func resume(e *webhook.Endpoint) { e.Window.Paused = false }

// promote runs the promoter once.
func promote(t *testing.T, b *ledgertest.Bench) int {
	t.Helper()
	n, err := b.Promote(t.Context(), 128)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// change runs a statement beside the ledger.
func change(t *testing.T, b *ledgertest.Bench, statement string, args ...any) {
	t.Helper()
	if _, err := b.Raw.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

// reopenWaiting opens the ledger again with the waits before each attempt.
func reopenWaiting(t *testing.T, b *ledgertest.Bench, waits ...time.Duration) {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b.Options.Retry = webhook.RetryPolicy{Waits: waits}
	b.Reopen(t)
}

// allDue makes everything that waits for its time due now.
func allDue(t *testing.T, b *ledgertest.Bench) {
	t.Helper()
	change(t, b, "UPDATE deliveries SET due_at = 1 WHERE due_at > 1")
	change(t, b, "UPDATE windows SET wake_at = 1 WHERE wake_at IS NOT NULL")
}

// together runs calls so that their operations share one transaction.
func together(l *ledger.Ledger, calls ...func()) {
	var wg sync.WaitGroup
	l.TogetherIn(len(calls), func() {
		for _, call := range calls {
			wg.Go(call)
		}
	})
	wg.Wait()
}

// inOneBatch runs n operations of a kind like that, none of which may fail.
func inOneBatch(t *testing.T, b *ledgertest.Bench, n int, do func(i int) error) {
	t.Helper()
	calls := make([]func(), n)
	for i := range calls {
		calls[i] = func() {
			if err := do(i); err != nil {
				t.Error(err)
			}
		}
	}
	together(b.Ledger, calls...)
}

func wantKind(t *testing.T, err error, kind webhook.Kind) {
	t.Helper()
	if err == nil || webhook.KindOf(err) != kind {
		t.Errorf("error %v, want one of kind %d", err, kind)
	}
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

var exhausted = delivery.Verdict{State: webhook.Exhausted, Reason: "no more"}

// deliveredOrGone ends a delivery with its attempt.
func deliveredOrGone(a webhook.Attempt) delivery.Verdict {
	if a.Outcome == webhook.OutcomeDelivered {
		return delivered
	}
	return exhausted
}

// filter lists up to a hundred deliveries in a state.
func filter(s webhook.State) delivery.Filter { return delivery.Filter{State: s, Limit: 100} }

// closed runs do while the ledger is closed: SQLite is alone on its folder.
func closed(t *testing.T, b *ledgertest.Bench, do func()) {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	do()
	b.Reopen(t)
}
