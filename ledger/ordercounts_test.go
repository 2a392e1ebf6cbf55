package ledger_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/orders"
)

// TestEveryOrderIsCountedAndEveryMoveIsToldOnce makes, pays, expires and
// refuses orders, all through one process that listens.
func TestEveryOrderIsCountedAndEveryMoveIsToldOnce(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		var mu sync.Mutex
		told := map[string]int{}
		b.Options.OrderMoved = func(from, to orders.Status) {
			mu.Lock()
			defer mu.Unlock()
			told[fmt.Sprintf("%s>%s", from, to)]++
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		b.Reopen(t)
		for _, code := range []string{"acme", "globex"} {
			b.Partner(t, code)
		}
		b.Endpoint(t, "acme", 32)
		b.Endpoint(t, "acme", 32)
		move := func(o orders.Order, path ...orders.Status) {
			t.Helper()
			for _, to := range path {
				for range 2 { // the second time it changes nothing
					if _, _, err := b.TransitionOrder(t.Context(), o.ID, orders.Move{To: to, Input: orders.TransitionInput{TxHash: "0xabc"}}); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		paid := b.Order(t, "acme", "paid", time.Hour)
		if _, _, err := b.CreateOrder(t.Context(), ledgertest.NewOrder(t, "acme", "paid", time.Hour)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := b.MarkPayout(t.Context(), paid.ID); err != nil {
			t.Fatal(err)
		}
		move(paid, orders.StatusPaymentCompleted, orders.StatusProcessingTokenTransfer, orders.StatusSuccess)
		if _, _, err := b.TransitionOrder(t.Context(), paid.ID, orders.Move{To: orders.StatusError}); err == nil {
			t.Error("a final order moved")
		}
		move(b.Order(t, "globex", "unclear", time.Hour), orders.StatusError)
		move(b.Order(t, "globex", "failed", time.Hour), orders.StatusFail)
		b.Order(t, "acme", "waits", time.Hour)
		for i := range 3 {
			b.Order(t, "acme", fmt.Sprint("late-", i), -time.Second)
		}
		if n, err := b.ExpireOrders(t.Context(), "key_1"); n != 3 || err != nil {
			t.Errorf("%d expired, %v", n, err)
		}
		counts, err := b.OrderCounts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[orders.Status]int64{orders.StatusAwaitingPayment: 1, orders.StatusError: 1, orders.StatusSuccess: 1, orders.StatusFail: 4}, counts); diff != "" {
			t.Errorf("counts (-want +got):\n%s", diff)
		}
		mu.Lock()
		defer mu.Unlock()
		if diff := cmp.Diff(map[string]int{
			">AWAITING_PAYMENT":                           7,
			"AWAITING_PAYMENT>PAYMENT_COMPLETED":          1,
			"PAYMENT_COMPLETED>PROCESSING_TOKEN_TRANSFER": 1,
			"PROCESSING_TOKEN_TRANSFER>SUCCESS":           1,
			"AWAITING_PAYMENT>FAIL":                       4,
			"AWAITING_PAYMENT>ERROR":                      1,
		}, told); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
		// acme's changes go to two endpoints, those of globex wait for one
		same(t, "notifications", b.Made(), map[string]int{"CashoutOrder.Updated first": 2*(3+3) + 2})
	})
}
