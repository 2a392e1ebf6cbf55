package ledger_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/orders"
	"ledgerhook/webhook"
)

// keyOf is the key of an *orders.Error, empty for other errors and for none.
func keyOf(err error) orders.Key {
	var e *orders.Error
	if errors.As(err, &e) {
		return e.Key
	}
	return ""
}

func TestAnOrderReadsBackAsItWasMade(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		made := ledgertest.NewOrder(t, "acme", "order-1", orders.DefaultOrderExpiry)
		stored, created, err := b.CreateOrder(t.Context(), made)
		if err != nil || !created {
			t.Fatalf("created %t, %v", created, err)
		}
		byID, err := b.Ledger.Order(t.Context(), made.ID)
		if err != nil {
			t.Fatal(err)
		}
		byReference, err := b.PartnerOrder(t.Context(), "acme", "order-1")
		if err != nil {
			t.Fatal(err)
		}
		byCode, err := b.QROrder(t.Context(), made.BankTransfer.QRToken)
		if err != nil {
			t.Fatal(err)
		}
		for name, got := range map[string]orders.Order{"create": stored, "id": byID, "reference": byReference, "code": byCode} {
			if diff := cmp.Diff(made, got); diff != "" {
				t.Errorf("by %s (-made +stored):\n%s", name, diff)
			}
		}
	})
}

func TestWhatIsNoOrderIsNotFound(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Partner(t, "other")
		o := b.Order(t, "acme", "order-1", orders.DefaultOrderExpiry)
		if _, err := b.Ledger.Order(t.Context(), "ord_none"); webhook.KindOf(err) != webhook.KindNotFound {
			t.Errorf("by id: %v", err)
		}
		if _, err := b.PartnerOrder(t.Context(), "other", o.ExternalOrderID); keyOf(err) != orders.KeyOrderNotFound {
			t.Errorf("another partner's: %v", err)
		}
		for _, token := range []string{"", "none"} {
			if _, err := b.QROrder(t.Context(), token); webhook.KindOf(err) != webhook.KindNotFound {
				t.Errorf("code %q: %v", token, err)
			}
		}
		if _, _, err := b.TransitionOrder(t.Context(), "ord_none", orders.Move{To: orders.StatusError}); webhook.KindOf(err) != webhook.KindNotFound {
			t.Errorf("transition: %v", err)
		}
		if _, _, err := b.MarkPayout(t.Context(), "ord_none"); webhook.KindOf(err) != webhook.KindNotFound {
			t.Errorf("payout: %v", err)
		}
	})
}

func TestParallelEqualCreatesMakeOneOrderAndEqualAnswers(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		answers, created := make([]orders.Order, 50), make([]bool, 50)
		var all sync.WaitGroup
		for i := range answers {
			o := ledgertest.NewOrder(t, "acme", "order-1", orders.DefaultOrderExpiry)
			all.Go(func() {
				var err error
				if answers[i], created[i], err = b.CreateOrder(t.Context(), o); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		makers := 0
		for i, answer := range answers {
			if created[i] {
				makers++
			}
			if diff := cmp.Diff(answers[0], answer); diff != "" {
				t.Errorf("answer %d differs:\n%s", i, diff)
			}
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM orders"); n != 1 || makers != 1 {
			t.Errorf("%d orders, made by %d callers", n, makers)
		}
	})
}

func TestOneIDWithTwoAmountsIsOneOrderAndErrors(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		creates := []orders.Create{
			{PartnerCode: "acme", Email: "a@example.com", ExternalOrderID: "order-1", Crypto: "USDT", FiatAmount: orders.Dong(50_000)},
			{PartnerCode: "acme", Email: "a@example.com", ExternalOrderID: "order-1", Crypto: "USDT", FiatAmount: orders.Dong(60_000)},
		}
		answers, errs := make([]orders.Order, 50), make([]error, 50)
		var all sync.WaitGroup
		for i := range answers {
			o := ledgertest.OrderOf(t, creates[i%2], orders.DefaultOrderExpiry)
			all.Go(func() { answers[i], _, errs[i] = b.CreateOrder(t.Context(), o) })
		}
		all.Wait()
		winner, err := b.PartnerOrder(t.Context(), "acme", "order-1")
		if err != nil {
			t.Fatal(err)
		}
		for i, err := range errs {
			same := creates[i%2].Fingerprint() == winner.Fingerprint
			if same && (err != nil || answers[i].ID != winner.ID) || !same && keyOf(err) != orders.KeyDuplicateOrder {
				t.Errorf("create %d, like the order %t: %s, %v", i, same, answers[i].ID, err)
			}
		}
		for _, c := range creates {
			o, found, err := b.CreatedOrder(t.Context(), c)
			if same := c.Fingerprint() == winner.Fingerprint; !found || o.ID != winner.ID || same != (err == nil) || !same && keyOf(err) != orders.KeyDuplicateOrder {
				t.Errorf("looked up: found %t, %v", found, err)
			}
		}
		creates[0].ExternalOrderID = "order-2"
		if _, found, err := b.CreatedOrder(t.Context(), creates[0]); found || err != nil {
			t.Errorf("an id not used yet: found %t, %v", found, err)
		}
	})
}

func TestARepeatedCreateAnswersWithTheOrderAsItIsNow(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		o := b.Order(t, "acme", "order-1", orders.DefaultOrderExpiry)
		moved, _, err := b.TransitionOrder(t.Context(), o.ID, orders.Move{To: orders.StatusFail})
		if err != nil {
			t.Fatal(err)
		}
		again, created, err := b.CreateOrder(t.Context(), ledgertest.NewOrder(t, "acme", "order-1", orders.DefaultOrderExpiry))
		if err != nil || created {
			t.Errorf("created %t, %v", created, err)
		}
		if diff := cmp.Diff(moved, again); diff != "" {
			t.Error(diff)
		}
	})
}

func TestOrdersAreListedNewestFirstAndFiltered(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Partner(t, "other")
		var made []orders.Order
		for i := range 5 {
			partner := "acme"
			if i == 2 {
				partner = "other"
			}
			made = append(made, b.Order(t, partner, fmt.Sprint("order-", i), orders.DefaultOrderExpiry))
		}
		if _, _, err := b.TransitionOrder(t.Context(), made[3].ID, orders.Move{To: orders.StatusError}); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			name   string
			filter orders.Filter
			want   []int
		}{
			{"all", orders.Filter{}, []int{4, 3, 2, 1, 0}},
			{"a partner's", orders.Filter{PartnerCode: "acme"}, []int{4, 3, 1, 0}},
			{"of a status", orders.Filter{Status: orders.StatusError}, []int{3}},
			{"by the partner's id", orders.Filter{Reference: "order-2"}, []int{2}},
			{"by our id", orders.Filter{Reference: made[1].ID}, []int{1}},
			{"since later", orders.Filter{Since: time.Now().Add(time.Hour)}, nil},
			{"until now", orders.Filter{Until: time.Now().Add(time.Hour)}, []int{4, 3, 2, 1, 0}},
			{"until earlier", orders.Filter{Until: time.Now().Add(-time.Hour)}, nil},
		} {
			var got []int
			for test.filter.Limit = 2; ; {
				page, next, err := b.Orders(t.Context(), test.filter)
				if err != nil {
					t.Fatal(err)
				}
				for _, o := range page {
					for i := range made {
						if made[i].ID == o.ID {
							got = append(got, i)
						}
					}
				}
				if test.filter.Cursor = next; next == "" {
					break
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s:\n%s", test.name, diff)
			}
		}
	})
}
