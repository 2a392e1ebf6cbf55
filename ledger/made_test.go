package ledger_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ledgerhook/delivery"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/orders"
	"ledgerhook/webhook"
)

// TestEveryDeliveryIsToldOfOnce makes deliveries in every way there is, and
// asks for some that are not made.
func TestEveryDeliveryIsToldOfOnce(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		want := map[string]int{}
		told := func(what, kind string, n int) {
			t.Helper()
			if n > 0 {
				want[kind] += n
			}
			if diff := cmp.Diff(want, b.Made()); diff != "" {
				t.Fatalf("told after %s (-want +got):\n%s", what, diff)
			}
		}
		b.Partner(t, "acme")
		e := wide(t, b, 4)

		first := store(t, b, keyed("k", "tp_1", "Pending")).DeliveryIDs[0]
		told("an event", "TopupCard first", 1)
		store(t, b, keyed("k", "tp_1", "Pending"))
		told("the same event", "", 0)
		together(b.Ledger,
			func() { store(t, b, keyed("twice", "tp_2", "Pending")) },
			func() { store(t, b, keyed("twice", "tp_2", "Pending")) })
		told("an event that comes twice in one batch", "TopupCard first", 1)

		b.Partner(t, "unrouted")
		store(t, b, ledgertest.NewEvent("unrouted", "tp_1", "Pending"))
		told("an event that waits for an endpoint", "TopupCard first", 1)
		b.Endpoint(t, "unrouted", 4, webhook.CreateCard)
		told("an endpoint that takes its place over", "", 0)
		store(t, b, ledgertest.NewEvent("unrouted", "tp_2", "Pending"))
		told("an event that nobody takes", "", 0)

		o := b.Order(t, "acme", "order-1", time.Hour)
		if _, _, err := b.TransitionOrder(t.Context(), o.ID, orders.Move{To: orders.StatusFail, KeyID: "key_1"}); err != nil {
			t.Fatal(err)
		}
		told("an order's change", "CashoutOrder.Updated first", 1)

		test, err := delivery.NewTest(e, webhook.CreateCard, "key_1", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		sent := store(t, b, test).DeliveryIDs[0]
		told("a test", "CreateCard test", 1)

		retry := func(id string) error {
			_, err := b.RetryDelivery(t.Context(), id)
			return err
		}
		same(t, "retry of what is on its way", retry(first), nil)
		told("a retry of what is on its way", "", 0)
		for tickets := b.Tickets(); len(tickets) > 0; tickets = b.Tickets() {
			sendAtOnce(t, b, tickets, failed, exhausted)
		}
		wantKind(t, retry(sent), webhook.KindConflict)
		told("a retry of a test", "", 0)
		same(t, "retry of what has ended", retry(first), nil)
		told("a retry of what has ended", "TopupCard manual", 1)
		drain(t, b)

		replay(t, b, delivery.MaxReplayRate) // of the other top-up and of the order
		admitted, _ := step(t, b)
		same(t, "admitted", admitted, 2)
		want["CashoutOrder.Updated replay"]++
		told("a replay", "TopupCard replay", 1)
		sendAtOnce(t, b, b.Tickets(), failed, exhausted)
		storeMany(t, b, "acme", 8)
		told("a backlog", "TopupCard first", 8)
		replay(t, b, delivery.MaxReplayRate)
		step(t, b)
		told("a replay's item that waits behind it", "TopupCard replay", 1)
	})
}

// TestABatchThatRunsAgainTellsOnce puts a delivery that the database refuses
// beside good ones: what was made is undone, and made again one by one.
func TestABatchThatRunsAgainTellsOnce(t *testing.T) {
	ledgertest.EachFresh(t, func(t *testing.T, b *ledgertest.Bench) {
		if b.DB.Embedded() {
			change(t, b, "CREATE TRIGGER refuse BEFORE INSERT ON deliveries WHEN NEW.object_id = 'bad' BEGIN SELECT RAISE(ABORT, 'bad'); END")
		} else {
			change(t, b, "ALTER TABLE deliveries ADD CONSTRAINT refuse CHECK (object_id <> 'bad')")
		}
		b.Partner(t, "acme")
		wide(t, b, 4)
		finished := exhaust(t, b, 1)[0]
		together(b.Ledger,
			func() { store(t, b, ledgertest.NewEvent("acme", "tp_2", "Pending")) },
			func() {
				_, err := b.Append(t.Context(), ledgertest.NewEvent("acme", "bad", "Pending"))
				wantKind(t, err, webhook.KindInternal)
			},
			func() {
				if _, err := b.RetryDelivery(t.Context(), finished); err != nil {
					t.Error(err)
				}
			},
			func() { store(t, b, ledgertest.NewEvent("acme", "tp_3", "Pending")) })
		same(t, "told of", b.Made(), map[string]int{"TopupCard first": 3, "TopupCard manual": 1})
	})
}
