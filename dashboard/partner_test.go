package dashboard

import (
	"html"
	"net/url"
	"strings"
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// endpointOf makes a partner with an endpoint.
func (s *stage) endpointOf(t *testing.T, code string) webhook.Endpoint {
	t.Helper()
	s.Bench.Partner(t, code)
	e, err := s.Ledger.CreateEndpoint(t.Context(), webhook.Endpoint{PartnerCode: code,
		URL: "https://hooks.example/in", CreatedAt: time.Now(), Window: webhook.Window{MaxInFlight: 8}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// lastAct is the newest entry about a target.
func (s *stage) lastAct(t *testing.T, target string) partners.AuditEntry {
	t.Helper()
	found, _, err := s.Trail.AuditEntries(t.Context(), partners.AuditFilter{Target: target, Limit: 1})
	if err != nil || len(found) != 1 {
		t.Fatalf("%v %v", found, err)
	}
	return found[0]
}

func TestAnOperatorMovesAnEndpointAndItIsAudited(t *testing.T) {
	confirmed := map[string]string{"pause": "The endpoint is paused.", "resume": "The endpoint is resumed.", "open-breaker": "The breaker is open until", "close-breaker": "The breaker is closed."}
	s := newStage(t)
	e := s.endpointOf(t, "acme")
	c := s.SignIn(t, "", partners.RoleOperator)
	for _, tt := range []struct {
		act  string
		form url.Values
		was  func(webhook.Window) bool
	}{
		{"pause", nil, func(w webhook.Window) bool { return w.Paused }},
		{"resume", nil, func(w webhook.Window) bool { return !w.Paused }},
		{"open-breaker", url.Values{"reason": {"their maintenance"}}, func(w webhook.Window) bool {
			return w.Breaker.State == webhook.BreakerOpen && strings.Contains(w.Breaker.Reason, "their maintenance")
		}},
		{"close-breaker", url.Values{"reason": {"it is over"}}, func(w webhook.Window) bool { return w.Breaker.State == webhook.BreakerClosed }},
	} {
		resp, body := ask(t, c, "POST", s.ops.URL+"/ops/endpoints/"+e.ID+"/"+tt.act, tt.form)
		if want := "/ops/partners/acme?done=" + tt.act + "#" + e.ID; resp.StatusCode != 303 || resp.Header.Get("Location") != want {
			t.Fatalf("%s: %d %s %s", tt.act, resp.StatusCode, resp.Header.Get("Location"), body)
		}
		now, err := s.Ledger.Endpoint(t.Context(), partners.Everything(), e.ID)
		if err != nil || !tt.was(now.Window) {
			t.Errorf("%s: %+v %v", tt.act, now.Window, err)
		}
		if by := s.lastAct(t, e.ID); by.Action != "endpoint."+tt.act || by.Detail != tt.form.Get("reason") || by.PartnerCode != "acme" || by.Actor == "" {
			t.Errorf("%s: %+v", tt.act, by)
		}
		if _, body := ask(t, c, "GET", s.ops.URL+"/ops/partners/acme?done="+tt.act, nil); !strings.Contains(body, confirmed[tt.act]) {
			t.Errorf("%s is not confirmed", tt.act)
		}
	}
}

func TestAnOperatorDisablesAPartnerWithAReason(t *testing.T) {
	s := newStage(t)
	e := s.endpointOf(t, "acme")
	c := s.SignIn(t, "", partners.RoleOperator)
	resp, body := ask(t, c, "POST", s.ops.URL+"/ops/partners/acme/disable", nil)
	if resp.StatusCode != 400 || !strings.Contains(body, "say why") {
		t.Errorf("without a reason: %d %s", resp.StatusCode, body)
	}
	for act, off := range map[string]bool{"disable": true} {
		ask(t, c, "POST", s.ops.URL+"/ops/partners/acme/"+act, url.Values{"reason": {"unpaid"}})
		now, err := s.Ledger.Endpoint(t.Context(), partners.Everything(), e.ID)
		if err != nil || now.Window.PartnerDisabled != off || s.lastAct(t, "acme").Detail != "unpaid" {
			t.Errorf("%s: %+v %v", act, now.Window, err)
		}
	}
	ask(t, c, "POST", s.ops.URL+"/ops/partners/acme/enable", url.Values{"reason": {"paid"}})
	if p, err := s.Accounts.Partner(t.Context(), "acme"); err != nil || p.Disabled {
		t.Errorf("%+v %v", p, err)
	}
}

func TestWhoMayOnlyReadChangesNoPartner(t *testing.T) {
	s := newStage(t)
	e := s.endpointOf(t, "acme")
	for _, role := range []partners.Role{partners.RoleViewer, partners.RoleAuditor} {
		c := s.SignIn(t, "", role)
		reason := url.Values{"reason": {"x"}}
		for _, pattern := range append(patternsOf("/ops/partners"), patternsOf("/ops/endpoints")...) {
			path, post := strings.CutPrefix(pattern, "POST ")
			if !post {
				continue
			}
			path = strings.NewReplacer("{code}", "acme", "{id}", e.ID).Replace(path)
			if resp, _ := ask(t, c, "POST", s.ops.URL+path, reason); resp.StatusCode != 403 {
				t.Errorf("%s, %s: %d", role, path, resp.StatusCode)
			}
		}
		for _, path := range []string{"/ops/partners", "/ops/partners/acme"} {
			if resp, body := ask(t, c, "GET", s.ops.URL+path, nil); resp.StatusCode != 200 || strings.Contains(body, "<form method=\"post\" action=\"/ops/endpoints") || strings.Contains(body, "Create a partner") {
				t.Errorf("%s, %s: %d", role, path, resp.StatusCode)
			}
		}
	}
}

// A page of a partner that cannot be read just now leads to that partner alone.
func TestAPartnerThatCannotBeReadIsStillTheOneOfItsPage(t *testing.T) {
	s := stageOn(t, ledgertest.NewFresh(t, "sqlite"))
	s.endpointOf(t, "acme")
	c := s.SignIn(t, "", partners.RoleOperator)
	if _, err := s.Bench.Raw.ExecContext(t.Context(), "ALTER TABLE partners RENAME public_key TO elsewhere; ALTER TABLE deliveries RENAME TO nowhere"); err != nil {
		t.Fatal(err)
	}
	resp, body := ask(t, c, "GET", s.ops.URL+"/ops/partners/acme", nil)
	says := []string{"<h1>acme</h1>", `href="/ops/deliveries?partner=acme"`, `href="/ops/replays/new?q=partner%3Aacme+state%3Aexhausted`}
	if resp.StatusCode != 200 || !containsAll(html.UnescapeString(body), says) {
		t.Errorf("%d, lacks one of %q: %s", resp.StatusCode, says, body)
	}
}

func TestAPartnerIsMadeOnThePageAndItsSecretsAreShownOnce(t *testing.T) {
	s := newStage(t)
	c := s.SignIn(t, "", partners.RoleOperator)
	key, err := signer.GenerateKey(2048)
	if err != nil {
		t.Fatal(err)
	}
	form := url.Values{"code": {"initech"}, "name": {`<script>alert("x")</script>`}, "key": {string(key.PublicPEM())}}
	resp, body := ask(t, c, "POST", s.ops.URL+"/ops/partners", form)
	if resp.StatusCode != 201 || !strings.Contains(body, "webhookSecretKey") || !strings.Contains(body, "whsec_") || strings.Contains(body, "<script>alert") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	p, err := s.Accounts.Partner(t.Context(), "initech")
	if err != nil || p.Name != form.Get("name") || s.lastAct(t, "initech").Action != "partner.create" {
		t.Errorf("%+v %v", p, err)
	}
	resp, body = ask(t, c, "POST", s.ops.URL+"/ops/partners", form)
	if resp.StatusCode != 409 || strings.Contains(body, "whsec_") {
		t.Errorf("again: %d %s", resp.StatusCode, body)
	}
	for _, page := range []string{"/ops/partners", "/ops/partners/initech"} {
		if _, body := ask(t, c, "GET", s.ops.URL+page, nil); strings.Contains(body, "whsec_") || strings.Contains(body, "<script>alert") {
			t.Errorf("%s: %s", page, body)
		}
	}
	for field, value := range map[string]string{"code": "no spaces", "key": "no key", "name": strings.Repeat("x", 201)} {
		wrong := url.Values{"code": {"umbrella"}, "key": form["key"]}
		wrong.Set(field, value)
		if resp, _ := ask(t, c, "POST", s.ops.URL+"/ops/partners", wrong); resp.StatusCode != 400 {
			t.Errorf("%s: %d", field, resp.StatusCode)
		}
	}
}

func TestAPartnersPageShowsItsFunnelAndItsEndpoints(t *testing.T) {
	s := newStage(t)
	e := s.endpointOf(t, "acme")
	c := s.SignIn(t, "", partners.RoleViewer)
	for _, span := range []string{"", "1h", "7d", "30d", "nonsense"} {
		resp, body := ask(t, c, "GET", s.ops.URL+"/ops/partners/acme?span="+span, nil)
		for _, text := range []string{"Accepted", "First try", "Exhausted", e.ID, "hooks.example", "breaker: holds nothing back", "never"} {
			if resp.StatusCode != 200 || !strings.Contains(body, text) {
				t.Fatalf("%q: %d lacks %q: %s", span, resp.StatusCode, text, body)
			}
		}
	}
	for _, code := range []string{"nobody", "a%20b", strings.Repeat("x", 33)} {
		if resp, _ := ask(t, c, "GET", s.ops.URL+"/ops/partners/"+code, nil); resp.StatusCode != 404 {
			t.Errorf("%s: %d", code, resp.StatusCode)
		}
	}
}
