package dashboard

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/orders"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// ended stores an event of a partner whose delivery is cancelled, and returns
// the delivery.
func (s *stage) ended(t *testing.T, partner, object string) string {
	t.Helper()
	a, err := s.Ledger.Append(t.Context(), ledgertest.NewEvent(partner, object, "SUCCESS"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Ledger.CancelDelivery(t.Context(), a.DeliveryIDs[0], "test"); err != nil {
		t.Fatal(err)
	}
	return a.DeliveryIDs[0]
}

var hidden = regexp.MustCompile(`<input type="hidden" name="(form|q|ids|of|at|asked|leave)" value="([^"]*)">`)

// formOf is what the hidden fields of a page's form hold.
func formOf(body string) url.Values {
	form := url.Values{}
	for _, match := range hidden.FindAllStringSubmatch(body, -1) {
		form.Set(match[1], strings.ReplaceAll(match[2], "&#43;", "+"))
	}
	return form
}

func TestAReplayIsStartedOnceFromAFrozenDraft(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := stageOn(t, b)
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 10)
		id := s.ended(t, "acme", "order-1")
		operator := s.SignIn(t, "", partners.RoleOperator)
		resp, body := lead(t, operator, "POST", s.ops.URL+"/ops/replays", url.Values{"id": {id}})
		if resp.StatusCode != 200 || !strings.Contains(body, "1 delivery") || !strings.Contains(body, id) {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
		form := formOf(body)
		form.Set("rate", "50")
		if resp, body = ask(t, operator, "POST", s.ops.URL+"/ops/replays/start", form); resp.StatusCode != 400 || !strings.Contains(body, "Say why") {
			t.Errorf("without a reason: %d %s", resp.StatusCode, body)
		}
		form.Set("reason", "<script>alert(1)</script>")
		if resp, _ := ask(t, s.SignIn(t, "", partners.RoleViewer), "POST", s.ops.URL+"/ops/replays/start", form); resp.StatusCode != http.StatusForbidden {
			t.Errorf("a viewer starts a replay: %d", resp.StatusCode)
		}
		resp, _ = ask(t, operator, "POST", s.ops.URL+"/ops/replays/start", form)
		made, found := strings.CutSuffix(resp.Header.Get("Location"), "?done=start")
		if !found {
			t.Fatalf("%d %s", resp.StatusCode, resp.Header.Get("Location"))
		}
		resp, _ = ask(t, operator, "POST", s.ops.URL+"/ops/replays/start", form)
		if resp.Header.Get("Location") != made+"?done=again" {
			t.Errorf("the form sent again: %d %s", resp.StatusCode, resp.Header.Get("Location"))
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM replays"); n != 1 {
			t.Errorf("%d replays", n)
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM audit WHERE action = 'replay.start'"); n != 1 {
			t.Errorf("%d entries of the audit log", n)
		}
		_, body = ask(t, operator, "GET", s.ops.URL+made+"?done=again", nil)
		if !strings.Contains(body, "Already started") || !strings.Contains(body, "Queued for sending") || strings.Contains(body, "<script>alert") {
			t.Errorf("%s", body)
		}
		if resp, _ = ask(t, operator, "POST", s.ops.URL+made+"/pause", nil); resp.StatusCode != http.StatusSeeOther {
			t.Errorf("pause: %d", resp.StatusCode)
		}
		if resp, _ = ask(t, operator, "POST", s.ops.URL+made+"/pause", nil); resp.StatusCode != http.StatusConflict {
			t.Errorf("pause again: %d", resp.StatusCode)
		}
	})
}

// The address of a preview says since when and until when, whoever reads it.
func TestTheSpanOfAPreviewIsFrozen(t *testing.T) {
	s := newStage(t)
	s.Bench.Partner(t, "acme")
	s.Bench.Endpoint(t, "acme", 10)
	s.ended(t, "acme", "order-1")
	operator, path := s.SignIn(t, "", partners.RoleOperator), "/ops/replays/new?q=state:cancelled+since:2026-01-31T14:00"
	if resp, body := ask(t, operator, "GET", s.ops.URL+"/ops/replays/new?partners=some&q=partner:acme,globex+state:cancelled", nil); resp.StatusCode != 400 || !strings.Contains(body, "Choose at least one partner.") {
		t.Errorf("a replay of no partner: %d %s", resp.StatusCode, body)
	}
	resp, _ := ask(t, operator, "GET", s.ops.URL+path, nil, "Cookie", "ledgerhook_here=Asia/Ho_Chi_Minh")
	at := resp.Header.Get("Location")
	if frozen, err := url.Parse(at); err != nil || resp.StatusCode != 303 || frozen.Query().Get("q") != "state:cancelled since:2026-01-31T07:00:00Z" {
		t.Fatalf("%d %s (%v)", resp.StatusCode, at, err)
	}
	if _, body := ask(t, operator, "GET", s.ops.URL+at, nil, "Cookie", "ledgerhook_here=Asia/Tokyo"); formOf(body).Get("q") != "state:cancelled since:2026-01-31T07:00:00Z" || !strings.Contains(body, "1 delivery") {
		t.Errorf("%s", body)
	}
}

// What a replay has delivered reads so on every page, is no trouble any more, and
// is left out of the next replay unless somebody unticks that.
func TestWhatWasReplayedIsSettledOnEveryPage(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := stageOn(t, b)
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 10)
		settled, open := s.failedOnce(t, "acme", "tp_1", hostile, webhook.Exhausted), s.failedOnce(t, "acme", "tp_2", hostile, webhook.Exhausted)
		by, err := s.Ledger.RetryDelivery(t.Context(), settled)
		if err != nil {
			t.Fatal(err)
		}
		s.recordOnce(t, by, webhook.Attempt{Outcome: webhook.OutcomeDelivered, StatusCode: 200}, webhook.Delivered)
		event, err := s.Reports.Delivery(t.Context(), settled)
		if err != nil {
			t.Fatal(err)
		}
		operator, developer := s.SignIn(t, "", partners.RoleOperator), s.SignIn(t, "acme", partners.RoleDeveloper)
		sees := func(body string, has, lacks []string) {
			t.Helper()
			for _, text := range has {
				if !strings.Contains(body, text) {
					t.Errorf("no %q in\n%s", text, body)
				}
			}
			for _, text := range lacks {
				if strings.Contains(body, text) {
					t.Errorf("%q in\n%s", text, body)
				}
			}
		}
		for _, surface := range []struct {
			who       *http.Client
			url, base string
			recover   string
		}{{operator, s.ops.URL, "/ops", "/ops/replays"}, {developer, s.portal.URL, "/portal", "/portal/recover"}} {
			get := func(path string) string {
				_, body := ask(t, surface.who, "GET", surface.url+surface.base+path, nil)
				return body
			}
			link := surface.base + "/deliveries/" + by
			sees(get("/deliveries"), []string{open}, []string{settled})
			sees(get("/deliveries?q=state:exhausted"), []string{open, settled, "delivered by replay", link}, nil)
			sees(get("/deliveries?q=settled:yes"), []string{settled}, []string{open})
			sees(get("/deliveries?q=settled:no"), []string{open, by}, []string{`value="` + settled})
			sees(get("/deliveries/"+settled), []string{"delivered by replay", link, "Its event was delivered by another delivery."}, nil)
			sees(get("/deliveries?q=settled:maybe"), []string{"settled: must be yes or no."}, nil)

			draft := func(form url.Values) string {
				_, body := lead(t, surface.who, "POST", surface.url+surface.base+"/replays", form)
				return body
			}
			body := draft(url.Values{"filter": {"state:exhausted"}})
			sees(body, []string{"1 delivery", "Leave out 1 already delivered", `value="1" checked`, "tp_2"}, []string{"tp_1"})
			form := formOf(body)
			form.Del("leave") // as an unticked box does
			body = draft(form)
			sees(body, []string{"2 deliveries", "Leave out 1 already delivered", "with what was already delivered", "tp_1", "tp_2"}, []string{`value="1" checked`})
			form = formOf(body)
			form.Set("rate", "50")
			form.Set("reason", "all of them")
			resp, _ := ask(t, surface.who, "POST", surface.url+surface.recover+"/start", form)
			made := strings.TrimPrefix(strings.TrimSuffix(resp.Header.Get("Location"), "?done=start"), surface.recover+"/")
			if r, err := s.Ledger.Replay(t.Context(), partners.Everything(), made); err != nil || r.Total != 2 || !r.Filter.IncludeSettled {
				t.Errorf("started %+v (%v)", r, err)
			}
			sees(draft(url.Values{"id": {settled}}), []string{"0 deliveries", "Leave out 1 already delivered", "Nothing to replay"}, nil)
		}
		_, body := ask(t, operator, "GET", s.ops.URL+"/ops/events/"+event.EventID, nil)
		sees(body, []string{"delivered by replay", "/ops/deliveries/" + by}, nil)
		_, body = ask(t, operator, "POST", s.ops.URL+"/ops/reconcile", url.Values{"references": {settled + " tp_1"}})
		sees(body, []string{"delivered by replay", "/ops/deliveries/" + by, "2 references"}, []string{"Replay these", "exhausted"})
		_, body = ask(t, operator, "GET", s.ops.URL+"/ops/partners/acme", nil)
		sees(body, []string{"By replay", "settled%3Ayes"}, nil)
		_, body = ask(t, developer, "GET", s.portal.URL+"/portal", nil)
		sees(body, []string{"tp_2", "Given up"}, []string{"tp_1"})
		b.CheckWindows(t)
	})
}

func TestAPartnerRecoversItsOwnAlone(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := stageOn(t, b)
		for _, code := range []string{"acme", "globex"} {
			b.Partner(t, code)
			b.Endpoint(t, code, 10)
		}
		own, other := s.ended(t, "acme", "order-1"), s.ended(t, "globex", "order-2")
		acme, globex := s.SignIn(t, "acme", partners.RoleDeveloper), s.SignIn(t, "globex", partners.RoleDeveloper)
		_, body := lead(t, acme, "POST", s.portal.URL+"/portal/replays", url.Values{"id": {own, other}})
		if !strings.Contains(body, "1 delivery") || strings.Contains(body, "order-2") {
			t.Fatalf("%s", body)
		}
		form := formOf(body)
		form.Set("rate", "50")
		form.Set("reason", "we were down")
		resp, _ := ask(t, acme, "POST", s.portal.URL+"/portal/recover/start", form)
		made, found := strings.CutSuffix(resp.Header.Get("Location"), "?done=start")
		if !found {
			t.Fatalf("%d %s", resp.StatusCode, resp.Header.Get("Location"))
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM replay_items"); n != 1 {
			t.Errorf("%d items", n)
		}
		if resp, _ := ask(t, acme, "GET", s.portal.URL+made, nil); resp.StatusCode != 200 {
			t.Errorf("its own: %d", resp.StatusCode)
		}
		for method, path := range map[string]string{"GET": made, "POST": made + "/cancel"} {
			if resp, _ := ask(t, globex, method, s.portal.URL+path, nil); resp.StatusCode != 404 {
				t.Errorf("another partner's: %s %s is %d", method, path, resp.StatusCode)
			}
		}
		if _, body := ask(t, globex, "GET", s.portal.URL+"/portal/recover", nil); strings.Contains(body, "we were down") {
			t.Error("another partner's replay is listed")
		}
		for _, codes := range []string{"acme", "globex,acme"} {
			if resp, _ := lead(t, globex, "GET", s.portal.URL+"/portal/recover/new?q=state:cancelled+partner:"+codes, nil); resp.StatusCode != 404 {
				t.Errorf("a search of %s: %d", codes, resp.StatusCode)
			}
		}
	})
}

func TestAnOrderIsMovedOnceWithAReason(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := stageOn(t, b)
		b.Partner(t, "acme")
		o := b.Order(t, "acme", "order-1", time.Hour)
		c, path := s.SignIn(t, "", partners.RoleOperator), s.ops.URL+"/ops/orders/"+o.ID
		_, body := ask(t, c, "GET", path, nil)
		for _, status := range orders.Statuses {
			offered := strings.Contains(body, `name="status" value="`+string(status)+`"`)
			if want := strings.Contains("PAYMENT_COMPLETED FAIL ERROR", string(status)); offered != want {
				t.Errorf("%s offered: %t", status, offered)
			}
		}
		form := formOf(body)
		form.Set("status", "ERROR")
		if resp, _ := ask(t, c, "POST", path+"/move", form); resp.StatusCode != 400 {
			t.Errorf("without a reason: %d", resp.StatusCode)
		}
		form.Set("reason", "<script>alert(1)</script>")
		if resp, _ := ask(t, s.SignIn(t, "", partners.RoleViewer), "POST", path+"/move", form); resp.StatusCode != 403 {
			t.Errorf("a viewer moves an order: %d", resp.StatusCode)
		}
		for _, done := range []string{"move", "again"} {
			resp, _ := ask(t, c, "POST", path+"/move", form)
			if want := "/ops/orders/" + o.ID + "?done=" + done; resp.Header.Get("Location") != want {
				t.Errorf("%d %s, want %s", resp.StatusCode, resp.Header.Get("Location"), want)
			}
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM order_changes"); n != 1 {
			t.Errorf("%d changes", n)
		}
		if _, body = ask(t, c, "GET", path, nil); strings.Contains(body, "<script>alert") || !strings.Contains(body, "&lt;script&gt;") {
			t.Errorf("%s", body)
		}
		if _, body = ask(t, c, "GET", s.ops.URL+"/ops/orders?status=ERROR&ref=order-1&since=1h", nil); !strings.Contains(body, o.ID) {
			t.Errorf("%s", body)
		}
		if resp, _ := ask(t, c, "GET", s.ops.URL+"/ops/orders/"+webhook.NewID(webhook.OrderPrefix), nil); resp.StatusCode != 404 {
			t.Errorf("an unknown order: %d", resp.StatusCode)
		}
	})
}
