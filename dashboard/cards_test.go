package dashboard

import (
	"strings"
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
)

// A card number that somebody typed into a reason is masked wherever it is
// shown, in the export too, and in the difference of two payloads.
func TestACardNumberInAReasonIsMasked(t *testing.T) {
	t.Parallel()
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := stageOn(t, b)
		b.Partner(t, "acme")
		o := b.Order(t, "acme", "order-1", time.Hour)
		c, path := s.signIn(t, "", partners.RoleAdmin), s.ops.URL+"/ops/orders/"+o.ID
		_, page := ask(t, c, "GET", path, nil)
		form := formOf(page)
		form.Set("status", "payout")
		form.Set("reason", "to 4111 1111 1111 1111")
		ask(t, c, "POST", path+"/move", form)
		for _, shown := range []string{path, s.ops.URL + "/ops/audit", s.ops.URL + "/ops/audit.csv"} {
			if _, body := ask(t, c, "GET", shown, nil); strings.Contains(body, "4111 1111") || shown != path && !strings.Contains(body, "**** **** **** 1111") {
				t.Errorf("%s shows a card number, or not that there is one", shown)
			}
		}
	})
	if d := diffPayloads("", []byte(`{"a":"x"}`), []byte(`{"a":"4111111111111111"}`)); d.Rows[0].Is != `"************1111"` {
		t.Errorf("a difference shows %s", d.Rows[0].Is)
	}
}
