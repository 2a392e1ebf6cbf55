package ledger_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"ledgerhook/delivery"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/orders"
	"ledgerhook/webhook"
)

// told are the events of an order, oldest first.
func told(t *testing.T, b *ledgertest.Bench, o orders.Order) []webhook.Event {
	t.Helper()
	events, _, err := b.Events(t.Context(), delivery.EventFilter{PartnerCode: o.PartnerCode, Type: webhook.CashoutOrderUpdated,
		Reference: o.ExternalOrderID, Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(events)
	return events
}

func TestEachStatusChangeIsToldOnceInOrder(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 32)
		o := b.Order(t, "acme", "order-1", orders.DefaultOrderExpiry)
		moves := []orders.Status{orders.StatusPaymentCompleted, orders.StatusProcessingTokenTransfer, orders.StatusSuccess}
		from := o.Status
		var want []orders.Change
		for i, to := range moves {
			m := orders.Move{To: to, Actor: "anna", KeyID: "key_1", Input: orders.TransitionInput{TxHash: "0xabc", Reason: "seen"}}
			moved, changed, err := b.TransitionOrder(t.Context(), o.ID, m)
			if err != nil || !changed || moved.Status != to || moved.Sequence != int64(i+1) {
				t.Fatalf("to %s: %s, sequence %d, changed %t, %v", to, moved.Status, moved.Sequence, changed, err)
			}
			stored, err := b.Ledger.Order(t.Context(), o.ID)
			if diff := cmp.Diff(moved, stored); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
			again, changed, err := b.TransitionOrder(t.Context(), o.ID, m)
			if diff := cmp.Diff(moved, again); err != nil || changed || diff != "" {
				t.Errorf("the same status again: changed %t, %v\n%s", changed, err, diff)
			}
			want = append(want, orders.Change{Sequence: int64(i + 1), From: from, To: to, Actor: "anna", Reason: "seen", At: moved.UpdatedAt})
			from = to
		}
		changes, err := b.OrderChanges(t.Context(), o.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, changes, cmpopts.IgnoreFields(orders.Change{}, "EventID")); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
		events := told(t, b, o)
		if len(events) != len(moves) {
			t.Fatalf("%d events of %d changes", len(events), len(moves))
		}
		for i, e := range events {
			var data struct {
				ID             string
				Status         orders.Status
				PreviousStatus orders.Status
				Sequence       int64
			}
			if err := json.Unmarshal(e.Data, &data); err != nil {
				t.Fatal(err)
			}
			c := changes[i]
			if e.ID != c.EventID || data.ID != e.ID || data.Status != c.To || data.PreviousStatus != c.From || data.Sequence != c.Sequence {
				t.Errorf("event %s says %+v, the history %+v", e.ID, data, c)
			}
			if e.Unexpected || e.KeyID != "key_1" || e.Status != string(c.To) || len(e.Signatures) == 0 {
				t.Errorf("event %+v", e)
			}
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM deliveries"); n != len(moves) {
			t.Errorf("%d deliveries of %d changes", n, len(moves))
		}
		b.CheckWindows(t)
	})
}

func TestARefusedChangeLeavesNoTrace(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 32)
		o := b.Order(t, "acme", "order-1", orders.DefaultOrderExpiry)
		if _, changed, err := b.TransitionOrder(t.Context(), o.ID, orders.Move{To: orders.StatusSuccess}); webhook.KindOf(err) != webhook.KindConflict || changed {
			t.Errorf("changed %t, %v", changed, err)
		}
		now, err := b.Ledger.Order(t.Context(), o.ID)
		if diff := cmp.Diff(o, now); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		if n := len(told(t, b, o)); n != 0 {
			t.Errorf("%d events", n)
		}
	})
}

// Orders move by the batch: one whose event cannot be appended stays as it
// was, and the others do not suffer.
func TestAnOrderNeverChangesWithoutItsEvent(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 32)
		made := make([]orders.Order, 20)
		for i := range made {
			made[i] = b.Order(t, "acme", fmt.Sprint("order-", i), orders.DefaultOrderExpiry)
		}
		taken := made[7]
		event := ledgertest.NewEvent("acme", "tp_1", "Pending")
		event.IdempotencyKey = taken.ID + "\n1"
		if _, err := b.Append(t.Context(), event); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for _, o := range made {
			all.Go(func() {
				_, changed, err := b.TransitionOrder(t.Context(), o.ID, orders.Move{To: orders.StatusError})
				if fails := o.ID == taken.ID; fails == (err == nil) || fails == changed {
					t.Errorf("order %s: changed %t, %v", o.ExternalOrderID, changed, err)
				}
			})
		}
		all.Wait()
		for _, o := range made {
			checkOrder(t, b, o.ID)
		}
		if now, err := b.Ledger.Order(t.Context(), taken.ID); err != nil || now.Status != orders.StatusAwaitingPayment {
			t.Errorf("the order whose event was refused is %s, %v", now.Status, err)
		}
	})
}

// checkOrder holds what is promised of every order at every time: its history
// is one chain of allowed moves, numbered without gaps, ends where the order
// is, and each link was told in exactly one event.
func checkOrder(t *testing.T, b *ledgertest.Bench, id string) {
	t.Helper()
	o, err := b.Ledger.Order(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	changes, err := b.OrderChanges(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	changes = slices.DeleteFunc(changes, func(c orders.Change) bool { return c.Refused != nil })
	at := orders.StatusAwaitingPayment
	for i, c := range changes {
		if c.From != at || c.Sequence != int64(i+1) || !slices.Contains(c.From.Next(), c.To) {
			t.Fatalf("change %d of order %s, which was %s: %+v", i, id, at, c)
		}
		if c.Actor == "expiry" && !o.PayoutAt.IsZero() {
			t.Fatalf("order %s expired after its payout was marked", id)
		}
		at = c.To
	}
	if o.Status != at || o.Sequence != int64(len(changes)) {
		t.Fatalf("order %s is %s with sequence %d, its history says %s after %d changes", id, o.Status, o.Sequence, at, len(changes))
	}
	events := told(t, b, o)
	if len(events) != len(changes) {
		t.Fatalf("order %s: %d events of %d changes", id, len(events), len(changes))
	}
	for i, e := range events {
		if e.ID != changes[i].EventID || e.Status != string(changes[i].To) {
			t.Fatalf("order %s: event %d is %s %s, the history says %+v", id, i, e.ID, e.Status, changes[i])
		}
		deliveries, err := b.EventDeliveries(t.Context(), e.ID)
		if err != nil || len(deliveries) != 1 {
			t.Fatalf("order %s: %d deliveries of event %s to one endpoint, %v", id, len(deliveries), e.ID, err)
		}
	}
}

// Whatever several systems ask of an order at once.
func TestParallelChangesNeverBreakTheLifeCycle(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 32)
		made := 0
		rapid.Check(t, func(r *rapid.T) {
			made++
			expiry := rapid.SampledFrom([]time.Duration{-time.Second, 3 * time.Millisecond, time.Hour}).Draw(r, "expiry")
			o := b.Order(t, "acme", fmt.Sprint("order-", made), expiry)
			var actors sync.WaitGroup
			moved := make([]int, rapid.IntRange(1, 4).Draw(r, "actors"))
			for i := range moved {
				acts := rapid.SliceOfN(rapid.SampledFrom(append(slices.Clone(orders.Statuses), "payout", "expire")), 1, 6).Draw(r, "acts")
				actors.Go(func() {
					for _, act := range acts {
						moved[i] += perform(t, b, o.ID, act)
					}
				})
			}
			actors.Wait()
			checkOrder(t, b, o.ID)
			changes, err := b.OrderChanges(t.Context(), o.ID)
			if err != nil {
				r.Fatal(err)
			}
			changes = slices.DeleteFunc(changes, func(c orders.Change) bool { return c.Actor == "expiry" || c.Refused != nil })
			sum := 0
			for _, n := range moved {
				sum += n
			}
			if sum != len(changes) {
				r.Fatalf("callers were told of %d changes that they made, the history has %d", sum, len(changes))
			}
		})
		b.CheckWindows(t)
	})
}

// perform does one thing to an order and reports how many status changes of
// its own it was told of.
func perform(t *testing.T, b *ledgertest.Bench, id string, act orders.Status) int {
	var changed bool
	var err error
	switch act {
	case "payout":
		_, _, err = b.MarkPayout(t.Context(), id)
	case "expire":
		_, err = b.ExpireOrders(t.Context(), "key_1")
	default:
		_, changed, err = b.TransitionOrder(t.Context(), id, orders.Move{To: act, Actor: "anna", KeyID: "key_1",
			Input: orders.TransitionInput{ByOperator: true, Reason: "proved", TxHash: "0x1"}})
	}
	if err != nil && webhook.KindOf(err) != webhook.KindConflict {
		t.Errorf("%s: %v", act, err)
	}
	if changed {
		return 1
	}
	return 0
}

func TestUnpaidOrdersExpireAndOthersDoNot(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 32)
		const many = 140 // more than one step
		var due []orders.Order
		for i := range many {
			due = append(due, b.Order(t, "acme", fmt.Sprint("due-", i), -time.Duration(i)*time.Millisecond))
		}
		early := b.Order(t, "acme", "early", time.Hour)
		paid := b.Order(t, "acme", "paid", -time.Second)
		if _, _, err := b.TransitionOrder(t.Context(), paid.ID, orders.Move{To: orders.StatusPaymentCompleted}); err != nil {
			t.Fatal(err)
		}
		expired := make([]int, 3)
		var processes sync.WaitGroup
		for i := range expired {
			processes.Go(func() {
				var err error
				if expired[i], err = b.ExpireOrders(t.Context(), "key_1"); err != nil {
					t.Error(err)
				}
			})
		}
		processes.Wait()
		if sum := expired[0] + expired[1] + expired[2]; sum != many {
			t.Errorf("%d orders expired, want %d", sum, many)
		}
		for _, o := range due[:5] {
			checkOrder(t, b, o.ID)
			if now, err := b.Ledger.Order(t.Context(), o.ID); err != nil || now.Status != orders.StatusFail || now.Description == "" {
				t.Errorf("%s %q, %v", now.Status, now.Description, err)
			}
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM events"); n != many+1 {
			t.Errorf("%d events, want %d", n, many+1)
		}
		for id, want := range map[string]orders.Status{early.ID: orders.StatusAwaitingPayment, paid.ID: orders.StatusPaymentCompleted} {
			if now, err := b.Ledger.Order(t.Context(), id); err != nil || now.Status != want {
				t.Errorf("%s became %s, %v", want, now.Status, err)
			}
		}
		b.CheckWindows(t)
	})
}

func TestAnOrderNeverFailsOnceItsPayoutIsMarked(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		other := b.Ledger // of another process, where there can be one
		if b.At.DatabaseURL != "" {
			other = b.Another(t).Ledger
		}
		paid, expired := 0, 0
		for round := range 60 {
			o := b.Order(t, "acme", fmt.Sprint("order-", round), time.Hour)
			var race sync.WaitGroup
			var marked bool
			race.Go(func() {
				_, changed, err := b.MarkPayout(t.Context(), o.ID)
				if err != nil && webhook.KindOf(err) != webhook.KindConflict {
					t.Error(err)
				}
				marked = changed
			})
			race.Go(func() { // its time comes
				if _, err := b.Raw.ExecContext(t.Context(), "UPDATE orders SET expires_at = 1 WHERE id = $1", o.ID); err != nil {
					t.Error(err)
				}
				if _, err := other.ExpireOrders(t.Context(), "key_1"); err != nil {
					t.Error(err)
				}
			})
			race.Wait()
			if marked {
				paid++
			} else {
				expired++
			}
			now, err := b.Ledger.Order(t.Context(), o.ID)
			if err != nil {
				t.Fatal(err)
			}
			if fails := now.Status == orders.StatusFail; fails == marked || marked == now.PayoutAt.IsZero() {
				t.Fatalf("round %d: marked %t, and the order is %s, its payout marked at %s", round, marked, now.Status, now.PayoutAt)
			}
			checkOrder(t, b, o.ID)
		}
		t.Logf("%d were paid out, %d expired", paid, expired)
	})
}
