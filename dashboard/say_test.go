package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// Partners read in their own language what they are refused.
func TestRefusalsAreInTheLanguageOfThePage(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := stageOn(t, b)
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 8)
		id := s.failedOnce(t, "acme", "tp_1", hostile, webhook.Pending)
		own := s.SignIn(t, "acme", partners.RoleAdmin)
		base := s.portal.URL + "/portal/deliveries/"
		vi := []string{"Accept-Language", "vi"}
		refuses := func(status int, address, says string, form url.Values) {
			t.Helper()
			resp, body := ask(t, own, "POST", address, form, vi...)
			if resp.StatusCode != status || !strings.Contains(body, says) {
				t.Errorf("%s: %d, does not say %q: %s", address, resp.StatusCode, says, body)
			}
		}
		if resp, _ := ask(t, own, "POST", base+id+"/cancel", nil); resp.StatusCode != http.StatusSeeOther {
			t.Fatal(resp.StatusCode)
		}
		refuses(409, base+id+"/cancel", "lượt gửi đã kết thúc: đã hủy", nil)
		unknown := webhook.NewID(webhook.DeliveryPrefix)
		refuses(404, base+unknown+"/retry", "không có lượt gửi "+unknown, nil)
		if err := s.Ledger.RemoveEndpoint(t.Context(), partners.Everything(), e.ID); err != nil {
			t.Fatal(err)
		}
		refuses(409, base+id+"/retry", "điểm nhận của lượt gửi đã bị xóa", nil)
		refuses(400, s.portal.URL+"/portal/recover/start", "Lý do có tối đa 200 ký tự.", url.Values{"form": {"f"}, "rate": {"5"}, "reason": {strings.Repeat("x", 201)}})
	})
}

// A delivery that was retried goes out only if nothing holds it back; the page
// promises no more.
func TestARetriedDeliverySaysWhatItStillWaitsFor(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := stageOn(t, b)
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 8)
		var ids [4]string
		for i := range ids {
			ids[i] = s.failedOnce(t, "acme", "tp_1", hostile, webhook.Pending)
		}
		own := s.SignIn(t, "acme", partners.RoleAdmin)
		for i, each := range []struct {
			change func(w *webhook.Window)
			says   string
		}{
			{func(w *webhook.Window) {}, "The attempt appears here in a moment."},
			{func(w *webhook.Window) { w.Paused = true }, "it waits for the endpoint to be resumed."},
			{func(w *webhook.Window) { w.Paused, w.Disabled = false, true }, "it waits for the endpoint to be enabled."},
			{func(w *webhook.Window) { w.Resume(); w.Breaker.OpenByHand("opened by hand: test") }, "it waits for the circuit breaker."},
		} {
			if _, err := s.Ledger.UpdateEndpoint(t.Context(), partners.Everything(), e.ID, func(e *webhook.Endpoint) error { each.change(&e.Window); return nil }); err != nil {
				t.Fatal(err)
			}
			page := s.portal.URL + "/portal/deliveries/" + ids[i]
			if resp, _ := ask(t, own, "POST", page+"/retry", nil); !strings.HasSuffix(resp.Header.Get("Location"), "?done=retry") {
				t.Fatalf("%d %s", resp.StatusCode, resp.Header.Get("Location"))
			}
			if _, body := ask(t, own, "GET", page+"?done=retry", nil); !strings.Contains(body, each.says) {
				t.Errorf("does not say %q: %s", each.says, body)
			}
		}
	})
}

// A receiver is called slow by the time that its endpoint gives it.
func TestAdviceOnADeliverysPageGoesByTheEndpointsOwnLimit(t *testing.T) {
	s := newStage(t)
	s.Timeout = 15 * time.Second
	s.Bench.Partner(t, "acme")
	e := s.Bench.Endpoint(t, "acme", 8)
	var id string
	for range 10 {
		a := webhook.Attempt{Outcome: webhook.OutcomeDelivered, StatusCode: 200, Phases: webhook.Phases{Total: 9 * time.Second}}
		id = s.failedOnce(t, "acme", "tp_1", a, webhook.Delivered)
	}
	own := s.SignIn(t, "acme", partners.RoleViewer)
	for limit, slow := range map[time.Duration]bool{0: true, 30 * time.Second: false} {
		if _, err := s.Ledger.UpdateEndpoint(t.Context(), partners.Everything(), e.ID, func(e *webhook.Endpoint) error { e.Timeout = limit; return nil }); err != nil {
			t.Fatal(err)
		}
		if _, body := ask(t, own, "GET", s.portal.URL+"/portal/deliveries/"+id, nil); strings.Contains(body, "9 s or more of 15 s") != slow || strings.Contains(body, "No advice:") == slow {
			t.Errorf("with a limit of %s it must be called slow: %t", limit, slow)
		}
	}
}

// Partners are told the limits that hold, and that nothing delays the first
// attempt.
func TestPartnersAreToldHowLongAnAnswerMayTake(t *testing.T) {
	s := newStage(t)
	s.Timeout, s.Retry = 15*time.Second, webhook.RetryPolicy{Waits: []time.Duration{7 * time.Minute, 5 * time.Second, 30 * time.Second}}
	s.Bench.Partner(t, "acme")
	e := s.Bench.Endpoint(t, "acme", 8)
	own := s.SignIn(t, "acme", partners.RoleDeveloper)
	for path, says := range map[string][]string{
		"catalogue":                   {"Within 15 s, the connection included.", "up to 3 attempts in about 35 s. The first is made at once", `<p class="waits"><code>5 s</code> <code>30 s</code> </p>`},
		"endpoints/" + e.ID:           {"15 s"},
		"endpoints/" + e.ID + "/edit": {"The answer must come within it."},
	} {
		_, body := ask(t, own, "GET", s.portal.URL+"/portal/"+path, nil)
		for _, text := range says {
			if !strings.Contains(body, text) {
				t.Errorf("%s does not say %q: %s", path, text, body)
			}
		}
	}
}
