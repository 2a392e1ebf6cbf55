package dashboard

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/orders"
	"ledgerhook/partners"
)

// An order says how old its rate was when it was quoted, and how old the present
// one is, each with a word if it is too old to give a price.
func TestAnOrderSaysHowOldItsRateWasAndThePresentOneIs(t *testing.T) {
	t.Parallel()
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := stageOn(t, b)
		b.Partner(t, "acme")
		o := b.Order(t, "acme", "order-1", time.Hour)
		c, path := s.SignIn(t, "", partners.RoleViewer), s.ops.URL+"/ops/orders/"+o.ID
		says := func(want string, not ...string) {
			t.Helper()
			_, body := ask(t, c, "GET", path, nil)
			if !strings.Contains(body, want) {
				t.Errorf("not said: %q\n%s", want, body)
			}
			for _, n := range not {
				if strings.Contains(body, n) {
					t.Errorf("said: %q", n)
				}
			}
		}
		change := func(statement string) {
			t.Helper()
			if _, err := b.Raw.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		change("UPDATE orders SET rate_at = quoted_at - 185000000")
		says("3 m 5 s old when quoted", "too old")
		says("none is set")
		change("UPDATE orders SET rate_at = quoted_at - 301000000")
		says("5 m 1 s old when quoted", "gives prices")
		says("too old")
		change("UPDATE orders SET rate_at = 0, quoted_at = 0")
		says("Its rate", "when quoted", "too old")
		if _, err := b.SetRate(t.Context(), orders.Rate{Crypto: "USDT", Network: "TRC20", Price: ledgertest.Amount(t, "25450"), WalletAddress: "T1"}); err != nil {
			t.Fatal(err)
		}
		says("gives prices", "too old", "none is set")
		change("UPDATE rates SET updated_at = updated_at - 3600000000")
		says("25,450 VND, 1 h", "gives prices")
		says("too old")
	})
}

// Operators see how old each rate is and set a new one, once for each form and
// with an entry in the audit log; a reader who may only look has no form.
func TestOperatorsFeedTheRates(t *testing.T) {
	t.Parallel()
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := stageOn(t, b)
		c := s.SignIn(t, "", partners.RoleOperator)
		form := url.Values{"form": {"f1"}, "crypto": {"USDT"}, "price": {" 25450.5 "}, "network": {"TRC20"}, "walletAddress": {"TWallet1"}}
		for _, done := range []string{"set", "again"} {
			if resp, body := ask(t, c, "POST", s.ops.URL+"/ops/rates", form); resp.StatusCode != 303 || resp.Header.Get("Location") != "/ops/rates?done="+done {
				t.Fatalf("%d %s %s", resp.StatusCode, resp.Header.Get("Location"), body)
			}
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM audit WHERE action = 'rate.set' AND target = 'USDT' AND detail = '25450.5'"); n != 1 {
			t.Errorf("%d entries in the audit log", n)
		}
		if _, body := ask(t, c, "GET", s.ops.URL+"/ops/rates", nil); !strings.Contains(body, "TWallet1") || !strings.Contains(body, "25,450.5") || !strings.Contains(body, "<form class=\"stack\"") {
			t.Error(body)
		}
		for field, value := range map[string]string{"walletAddress": "", "price": "much", "network": "", "crypto": "usdt"} {
			wrong := url.Values{"form": {"f-" + field}, "crypto": {"BTC"}, "price": {"1"}, "network": {"N"}, "walletAddress": {"W"}}
			wrong.Set(field, value)
			if resp, body := ask(t, c, "POST", s.ops.URL+"/ops/rates", wrong); resp.StatusCode != 400 || !strings.Contains(body, field+" ") {
				t.Errorf("%s %q: %d %s", field, value, resp.StatusCode, body)
			}
		}
		viewer := s.SignIn(t, "", partners.RoleViewer)
		if _, body := ask(t, viewer, "GET", s.ops.URL+"/ops/rates", nil); !strings.Contains(body, "USDT") || strings.Contains(body, "<form class=\"stack\"") {
			t.Error("a viewer sees no rate, or a form")
		}
		if resp, _ := ask(t, viewer, "POST", s.ops.URL+"/ops/rates", form); resp.StatusCode != 403 {
			t.Errorf("a viewer sets a rate: %d", resp.StatusCode)
		}
	})
}
