package dashboard

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// belongings make something of a partner anew, by the part of a route's path
// before its wildcard, and return its id.
var belongings = map[string]func(t *testing.T, s *stage, code string) string{
	"deliveries": func(t *testing.T, s *stage, code string) string {
		return s.failedOnce(t, code, "tp_1", webhook.Attempt{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorDNS}, webhook.Pending)
	},
	"endpoints": func(t *testing.T, s *stage, code string) string { return s.Bench.Endpoint(t, code, 8).ID },
	"secrets": func(t *testing.T, s *stage, code string) string {
		secret, _ := partners.NewSecret(s.Box, code, time.Now())
		if err := s.Accounts.AddSecret(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		return secret.ID
	},
	"recover": func(t *testing.T, s *stage, code string) string {
		s.ended(t, code, "tp_2")
		r, err := s.Ledger.StartReplay(t.Context(), partners.Only(code), delivery.Replay{ID: webhook.NewID(webhook.ReplayPrefix), Filter: delivery.Filter{PartnerCode: code}, Rate: 1, Reason: "x"})
		if err != nil {
			t.Fatal(err)
		}
		return r.ID
	},
	"people": func(t *testing.T, s *stage, code string) string {
		return s.Bench.NewPerson(t, code, partners.RoleViewer).ID
	},
	"invites": func(t *testing.T, s *stage, code string) string {
		_, hash := partners.NewPageToken()
		i := partners.Invite{ID: webhook.NewID(webhook.InvitePrefix), PartnerCode: code, Role: partners.RoleViewer, CreatedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour)}
		if err := s.Accounts.CreateInvite(t.Context(), hash, i, partners.AuditEntry{Actor: "test", Action: "test"}); err != nil {
			t.Fatal(err)
		}
		return i.ID
	},
	"sessions": func(t *testing.T, s *stage, code string) string {
		_, hash := partners.NewPageToken()
		now := time.Now()
		session := partners.Session{ID: webhook.NewID("ses_"), PersonID: s.Bench.NewPerson(t, code, partners.RoleViewer).ID, CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(time.Hour)}
		if err := s.Accounts.StartSession(t.Context(), hash, session, partners.AuditEntry{Actor: "test", Action: "test"}); err != nil {
			t.Fatal(err)
		}
		return session.ID
	},
}

// nobodys are wildcards of what belongs to no partner.
var nobodys = []string{"static", "invite", "catalogue"}

var wildcard = regexp.MustCompile(`/(\w+)/\{\w+\}`)

// Every route of the portal with something's id in its path finds nothing of
// another partner, whoever asks and whatever its form holds. A new route is
// held to it at once: this test fails until it knows what the id is of.
func TestEveryRouteOfThePortalKnowsNothingOfAnotherPartner(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := stageOn(t, b)
		for _, code := range []string{"acme", "globex"} {
			b.Partner(t, code)
			b.Endpoint(t, code, 32)
		}
		askers := map[partners.Role]*http.Client{}
		for _, role := range partners.PartnerRoles {
			askers[role] = s.SignIn(t, "acme", role)
		}
		owner := s.SignIn(t, "globex", partners.RoleAdmin)
		checked := 0
		for _, pattern := range patternsOf("/portal") {
			method, path, _ := strings.Cut(pattern, " ")
			parts := wildcard.FindAllStringSubmatch(path, -1)
			if len(parts) == 0 || slices.Contains(nobodys, parts[0][1]) {
				if strings.Contains(strings.TrimSuffix(path, "{$}"), "{") && len(parts) == 0 {
					t.Errorf("%s has a wildcard that this test does not find", pattern)
				}
				continue
			}
			make, known := belongings[parts[0][1]]
			if !known || len(parts) > 1 {
				t.Errorf("%s: tell this test how to make what its id is of, or that it is nobody's", pattern)
				continue
			}
			id := make(t, s, "globex")
			at := s.portal.URL + wildcard.ReplaceAllString(path, "/$1/"+id)
			form := func() url.Values {
				return url.Values{"form": {formToken()}, "reason": {"x"}, "role": {"admin"}, "type": {"CreateCard"}, "url": {"https://8.8.8.8.example.com/"}, "maxInFlight": {"1"}, "rateLimit": {"0"}, "timeout": {"0"}}
			}
			for role, c := range askers {
				resp, body := ask(t, c, method, at, form())
				if role != partners.RoleAdmin && resp.StatusCode == http.StatusForbidden {
					continue // a right is asked for first, whatever the id
				}
				checked++
				if resp.StatusCode != http.StatusNotFound || !strings.Contains(body, "There is no such page") {
					t.Errorf("%s of another partner, asked by a %s: %d %.300s", pattern, role, resp.StatusCode, body)
				}
			}
			if parts[0][1] == "sessions" {
				continue // even of the same partner they are one person's alone
			}
			if resp, body := ask(t, owner, method, at, form()); resp.StatusCode == http.StatusNotFound || resp.StatusCode >= 500 {
				t.Errorf("%s by its owner: %d %.300s", pattern, resp.StatusCode, body)
			}
		}
		if checked < 30 {
			t.Errorf("only %d requests were made", checked)
		}
		found, _, err := s.Trail.AuditEntries(t.Context(), partners.AuditFilter{Actor: "acme/", Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range found {
			if e.PartnerCode == "globex" {
				t.Errorf("acme did something to globex: %+v", e)
			}
		}
	})
}
