package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// A card number that somebody typed into a reason is masked wherever it is
// shown, in the export too, and in the difference of two payloads.
func TestACardNumberInAReasonIsMasked(t *testing.T) {
	t.Parallel()
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := stageOn(t, b)
		b.Partner(t, "acme")
		o := b.Order(t, "acme", "order-1", time.Hour)
		c, path := s.SignIn(t, "", partners.RoleAdmin), s.ops.URL+"/ops/orders/"+o.ID
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
}

// The same holds for what is written of an endpoint, also where its partner
// reads it.
func TestACardNumberInWhatIsWrittenOfAnEndpointIsMasked(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Bench.Partner(t, "acme")
	e := s.Bench.Endpoint(t, "acme", 8)
	_, err := s.Ledger.UpdateEndpoint(t.Context(), partners.Everything(), e.ID, func(e *webhook.Endpoint) error {
		e.Description = "cards, such as 4111 1111 1111 1111"
		e.Window.Breaker.OpenByHand("opened by hand: it got 4111 1111 1111 1111")
		return nil
	}, partners.AuditEntry{Actor: "acme/eve", Action: "endpoint.change", Detail: "for 4111 1111 1111 1111"})
	if err == nil {
		err = s.Ledger.AddRefusals(t.Context(), []delivery.Refusal{{Result: delivery.Refused, PartnerCode: "acme", Reference: "tp_9", Reason: "no 4111 1111 1111 1111"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	admin, operator := s.SignIn(t, "acme", partners.RoleAdmin), s.SignIn(t, "", partners.RoleAdmin)
	for _, page := range []struct {
		client  *http.Client
		address string
		form    url.Values
		masked  int
	}{
		{admin, s.portal.URL + "/portal/endpoints", nil, 1},
		{admin, s.portal.URL + "/portal/endpoints/" + e.ID, nil, 2},
		{admin, s.portal.URL + "/portal/activity", nil, 1},
		{operator, s.ops.URL + "/ops/partners/acme", nil, 3},
		{operator, s.ops.URL + "/ops/audit", nil, 1},
		{operator, s.ops.URL + "/ops/reconcile", url.Values{"references": {"tp_9"}, "partner": {"acme"}}, 1},
	} {
		method := map[bool]string{true: "GET", false: "POST"}[page.form == nil]
		_, body := ask(t, page.client, method, page.address, page.form)
		if n := strings.Count(body, "**** **** **** 1111"); strings.Contains(body, "4111 1111") || n < page.masked {
			t.Errorf("%s shows a card number, or only %d of %d masked", page.address, n, page.masked)
		}
	}
}
