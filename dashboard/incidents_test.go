package dashboard

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"ledgerhook/incidents"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// openIncident is an incident of an endpoint that was told a moment ago.
func (s *stage) openIncident(t *testing.T, e webhook.Endpoint) incidents.Incident {
	t.Helper()
	now := time.Now()
	i := incidents.Incident{ID: webhook.NewID(incidents.Prefix), Kind: incidents.Failing, Subject: e.ID, PartnerCode: e.PartnerCode, URL: e.URL, State: incidents.Open, Version: 1,
		Finding: incidents.Finding{Rule: incidents.BreakerOpen, Detail: "HTTP 503", Time: now.Add(-7 * time.Minute)}, SeenAt: now.Add(-5 * time.Minute), LookedAt: now, OpenedAt: now}
	if err := s.Incidents.Keep(t.Context(), []incidents.Change{{Incident: i, Act: incidents.ActOpen}}, now); err != nil {
		t.Fatal(err)
	}
	return i
}

// Operators see what is wrong, whose it is and who was told, and look after it;
// a reader who may only look has no forms.
func TestOperatorsLookAfterIncidents(t *testing.T) {
	t.Parallel()
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := stageOn(t, b)
		b.Partner(t, "acme")
		i := s.openIncident(t, b.Endpoint(t, "acme", 5))
		c, viewer := s.SignIn(t, "", partners.RoleOperator), s.SignIn(t, "", partners.RoleViewer)
		page := s.ops.URL + "/ops/incidents/" + i.ID
		for at, says := range map[string][]string{
			s.ops.URL + "/ops/incidents": {"Webhooks to partner.example.com are not getting through", "acme", "receiver", "7m", "Send a test message"},
			page:                         {"Webhooks to partner.example.com are not getting through", "HTTP 503", "Acknowledge", "Snooze", "opened", "Nobody"},
		} {
			_, body := ask(t, c, "GET", at, nil)
			for _, text := range says {
				if !strings.Contains(strings.ReplaceAll(body, "7 m", "7m"), text) {
					t.Errorf("%s lacks %q: %s", at, text, body)
				}
			}
			if _, body := ask(t, viewer, "GET", at, nil); strings.Contains(body, `method="post" action="/ops/incidents`) {
				t.Errorf("%s: a viewer has a form", at)
			}
		}
		for _, act := range []string{"/acknowledge", "/snooze"} {
			if resp, _ := ask(t, viewer, "POST", page+act, url.Values{"for": {"1h"}}); resp.StatusCode != 403 {
				t.Errorf("a viewer acts: %d", resp.StatusCode)
			}
			if resp, body := ask(t, c, "POST", page+act, url.Values{"for": {"8h"}}); resp.StatusCode != 303 {
				t.Errorf("%s: %d %s", act, resp.StatusCode, body)
			}
		}
		if resp, body := ask(t, c, "POST", page+"/acknowledge", nil); resp.StatusCode != 409 || !strings.Contains(body, "was acknowledged by") {
			t.Errorf("twice: %d %s", resp.StatusCode, body)
		}
		if resp, _ := ask(t, c, "POST", page+"/snooze", url.Values{"for": {"9 years"}}); resp.StatusCode != 400 {
			t.Errorf("for 9 years: %d", resp.StatusCode)
		}
		if resp, _ := ask(t, c, "GET", s.ops.URL+"/ops/incidents/"+webhook.NewID(incidents.Prefix), nil); resp.StatusCode != 404 {
			t.Errorf("an unknown one: %d", resp.StatusCode)
		}
		if _, body := ask(t, c, "GET", page, nil); strings.Contains(body, "/acknowledge") || !strings.Contains(body, "No reminder until") || !strings.Contains(body, "Looked after by") {
			t.Error(body)
		}
		if resp, body := ask(t, c, "POST", s.ops.URL+"/ops/incidents/test", url.Values{"form": {"f1"}}); resp.StatusCode != 409 || !strings.Contains(body, "LEDGERHOOK_INCIDENTS_MAIL") {
			t.Errorf("a test that nobody gets: %d %s", resp.StatusCode, body)
		}
	})
}

// The first page says how many incidents are open and how many of them nobody has
// acknowledged, and leads to them; with none it says nothing of them.
func TestTheOverviewLeadsToOpenIncidents(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Bench.Partner(t, "acme")
	c := s.SignIn(t, "", partners.RoleViewer)
	says := func(want string) {
		t.Helper()
		s.firstPageOnce(t, c, want, func(body string) bool {
			_, verdict, _ := strings.Cut(body, `id="verdict"`)
			verdict, _, _ = strings.Cut(verdict, "</section>")
			return strings.Contains(verdict, `href="/ops/incidents"`) == (want != "") && strings.Contains(verdict, want)
		})
	}
	says("")
	first := s.openIncident(t, s.Bench.Endpoint(t, "acme", 5))
	says(">1 open incident, 1 not acknowledged<")
	s.openIncident(t, s.Bench.Endpoint(t, "acme", 5))
	if err := s.Incidents.Acknowledge(t.Context(), first.ID, partners.AuditEntry{At: time.Now(), Actor: "eva", Action: "incident.acknowledge"}); err != nil {
		t.Fatal(err)
	}
	says(">2 open incidents, 1 not acknowledged<")
	open, err := s.Incidents.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range open {
		i.State, i.ClosedAt, i.Version = incidents.Closed, time.Now(), i.Version+1
		if err := s.Incidents.Keep(t.Context(), []incidents.Change{{Incident: i, Act: incidents.ActClose}}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	says("")
}

// A partner says who is told of its endpoints alone, and in which language.
func TestPartnersChooseWhoIsTold(t *testing.T) {
	t.Parallel()
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := stageOn(t, b)
		b.Partner(t, "acme")
		b.Partner(t, "bolt")
		e := b.Endpoint(t, "acme", 5)
		page := s.portal.URL + "/portal/endpoints/" + e.ID
		c, viewer, stranger := s.SignIn(t, "acme", partners.RoleDeveloper), s.SignIn(t, "acme", partners.RoleViewer), s.SignIn(t, "bolt", partners.RoleAdmin)
		form := url.Values{"email": {" Dev@acme.example "}, "lang": {"vi"}}
		if resp, body := ask(t, c, "POST", page+"/contacts", form); resp.StatusCode != 303 || !strings.HasSuffix(resp.Header.Get("Location"), "?done=contact-added") {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
		if _, body := ask(t, c, "GET", page, nil); !strings.Contains(body, "Dev@acme.example") || !strings.Contains(body, "Tiếng Việt") {
			t.Error(body)
		}
		if resp, body := ask(t, c, "POST", page+"/contacts", url.Values{"email": {"nobody"}, "lang": {"en"}}); resp.StatusCode != 400 || !strings.Contains(body, "must be an address like") || !strings.Contains(body, `value="nobody"`) {
			t.Errorf("no address: %d %s", resp.StatusCode, body)
		}
		for who, want := range map[string]int{"viewer": 403, "stranger": 404} {
			client := viewer
			if who == "stranger" {
				client = stranger
			}
			for _, act := range []string{"/contacts", "/contacts/remove"} {
				if resp, _ := ask(t, client, "POST", page+act, url.Values{"email": {"Dev@acme.example"}, "lang": {"en"}}); resp.StatusCode != want {
					t.Errorf("a %s asks for %s: %d", who, act, resp.StatusCode)
				}
			}
		}
		if resp, _ := ask(t, c, "POST", page+"/contacts/remove", url.Values{"email": {"Dev@acme.example"}}); resp.StatusCode != 303 {
			t.Errorf("removed: %d", resp.StatusCode)
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM audit WHERE target = $1 AND partner_code = 'acme' AND action IN ('endpoint.contact.add', 'endpoint.contact.remove')", e.ID); n != 2 {
			t.Errorf("%d entries in the audit log", n)
		}
	})
}
