package dashboard

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

func TestAttemptsAreShownByTheMinuteWithAListOfEach(t *testing.T) {
	s := stageOn(t, ledgertest.NewFresh(t, "sqlite"))
	s.endpointOf(t, "acme")
	at := time.Now().UTC().Add(-5 * time.Minute).Truncate(time.Minute)
	s.rolledUp(t, "acme", "attempt_failed", at, 7)
	c := s.SignIn(t, "", partners.RoleViewer)
	for path, partner := range map[string]string{"/ops": "", "/ops/partners/acme": " partner:acme"} {
		list := "/ops/deliveries?" + url.Values{"q": {"state:any" + partner + " since:" + at.Format(time.RFC3339) + " until:" + at.Add(time.Minute).Format(time.RFC3339)}}.Encode()
		_, body := ask(t, c, "GET", s.ops.URL+path+"?outcomes=1h", nil)
		if !containsAll(html.UnescapeString(body), []string{`<a href="` + list + `" tabindex="-1">`, `<th scope="row"><a href="` + list + `">`, `<a href="?outcomes=1h#outcomes" aria-current="true">`, ": 7 failed</title>", "Attempts by outcome, last hour"}) {
			t.Errorf("%s lacks the bar of %s: %s", path, at, body)
		}
		if resp, body := ask(t, c, "GET", s.ops.URL+list, nil); resp.StatusCode != 200 || strings.Contains(body, "must be") {
			t.Errorf("the list of a bar: %d %s", resp.StatusCode, body)
		}
		for _, span := range []string{"6h", "24h", "7d", "30d"} {
			if _, body := ask(t, c, "GET", s.ops.URL+path+"?outcomes="+span, nil); !strings.Contains(body, `outcomes=`+span+`#outcomes" aria-current="true"`) || !strings.Contains(body, ": 7 failed</title>") {
				t.Errorf("%s does not show %s", path, span)
			}
		}
	}
}

// rolledUp are so many times of a fact in a minute, of a partner and of all.
func (s *stage) rolledUp(t *testing.T, partner, fact string, at time.Time, n int) {
	t.Helper()
	for _, insert := range []string{"INSERT INTO rollups_all (hour, slot, fact, n) VALUES ($1, $2, $3, $4)",
		"INSERT INTO rollups (hour, slot, fact, n, partner_code) VALUES ($1, $2, $3, $4, $5)"} {
		args := []any{at.Unix() / 3600, database.MinuteSlot(at), fact, n, partner}
		if _, err := s.Bench.Raw.ExecContext(t.Context(), insert, args[:strings.Count(insert, "$")]...); err != nil {
			t.Fatal(err)
		}
	}
}

// How long answers took stands on the first page, on the partner's, and on that
// partner's own, which no other's answers are on.
func TestHowLongAnswersTookIsShownByTheMinuteWithAListOfEach(t *testing.T) {
	s := stageOn(t, ledgertest.NewFresh(t, "sqlite"))
	s.endpointOf(t, "acme")
	s.endpointOf(t, "globex")
	at := time.Now().UTC().Add(-5 * time.Minute).Truncate(time.Minute)
	for fact, n := range map[string]int{"answer_100": 90, "answer_2500": 9, "answer_more": 1, "first_25": 100} {
		s.rolledUp(t, "acme", fact, at, n)
	}
	s.rolledUp(t, "globex", "answer_15000", at.Add(-10*time.Minute), 3)
	answers, began := "p50 ≤ 100 ms, p95 ≤ 2.5 s, p99 &gt; 2 h</title>", "p50 ≤ 25 ms, p95 ≤ 25 ms, p99 ≤ 25 ms</title>"
	row := `<td class="num">100</td><td class="num">≤ 100 ms</td><td class="num">≤ 2.5 s</td><td class="num">&gt; 2 h</td>`
	ops := s.SignIn(t, "", partners.RoleViewer)
	for _, page := range []struct {
		name, address string
		reader        *http.Client
		list, typed   string
		others        bool
	}{
		{"the first page", s.ops.URL + "/ops", ops, "/ops", "state:any", true},
		{"the partner's page", s.ops.URL + "/ops/partners/acme", ops, "/ops", "state:any partner:acme", false},
		{"the partner's own page", s.portal.URL + "/portal", s.SignIn(t, "acme", partners.RoleViewer), "/portal", "state:any", false},
	} {
		list := page.list + "/deliveries?" + url.Values{"q": {page.typed + " since:" + at.Format(time.RFC3339) + " until:" + at.Add(time.Minute).Format(time.RFC3339)}}.Encode()
		_, body := ask(t, page.reader, "GET", page.address+"?outcomes=1h", nil)
		if !containsAll(body, []string{answers, began, row, "How long answers took, last hour", "Time until the first attempt, last hour"}) {
			t.Errorf("%s lacks how long answers took: %s", page.name, body)
		}
		if n := strings.Count(html.UnescapeString(body), `<a href="`+list+`" tabindex="-1">`); n != 4 {
			t.Errorf("%s: %d bars lead to %s, want both charts, wide and narrow", page.name, n, list)
		}
		if shown := strings.Contains(body, "p50 ≤ 15 s"); shown != page.others {
			t.Errorf("%s shows the answers of another partner: %t", page.name, shown)
		}
		_, body = ask(t, page.reader, "GET", page.address+"?outcomes=30d", nil)
		if !page.others && !containsAll(body, []string{answers, row}) {
			t.Errorf("%s of 30 days: %s", page.name, body)
		}
	}
}

// Changes are marked on the page of whom they concern, and on no other's.
func TestWhatChangedIsMarkedForWhomItConcerns(t *testing.T) {
	s := stageOn(t, ledgertest.NewFresh(t, "sqlite"))
	s.endpointOf(t, "globex")
	e := s.endpointOf(t, "acme")
	_, err := s.Ledger.UpdateEndpoint(t.Context(), partners.Everything(), e.ID, func(e *webhook.Endpoint) error { e.Window.Paused = true; return nil },
		partners.AuditEntry{Actor: "ann", Action: "endpoint.pause"})
	if err != nil {
		t.Fatal(err)
	}
	s.rolledUp(t, "acme", "breaker_opened", time.Now().UTC(), 1)
	for _, version := range []string{"v1", "v2"} {
		if err := s.Trail.Serves(t.Context(), version); err != nil {
			t.Fatal(err)
		}
	}
	const paused, held, updated = "Paused an endpoint</a>", "Deliveries were held back, as too many attempts failed</a>", "Another version of the gateway began to serve</a> <code>v2 after v1</code>"
	ops := s.SignIn(t, "", partners.RoleAdmin)
	for _, page := range []struct {
		name, address string
		reader        *http.Client
		shows, hides  []string
	}{
		{"the first page", s.ops.URL + "/ops", ops, []string{updated}, []string{paused, held}},
		{"the partner's page", s.ops.URL + "/ops/partners/acme", ops, []string{paused, held, "<code>" + e.ID + "</code>"}, []string{updated}},
		{"another partner's page", s.ops.URL + "/ops/partners/globex", ops, []string{"How long answers took"}, []string{paused, held, updated}},
		{"the partner's own page", s.portal.URL + "/portal", s.SignIn(t, "acme", partners.RoleViewer), []string{`<a href="/portal/activity">` + paused, held, "</a> <code>" + e.ID + "</code>"}, []string{updated, "ann</span>"}},
		{"another partner's own page", s.portal.URL + "/portal", s.SignIn(t, "globex", partners.RoleViewer), []string{"How long answers took"}, []string{paused, held, updated}},
	} {
		for _, span := range []string{"1h", "30d"} {
			_, body := ask(t, page.reader, "GET", page.address+"?outcomes="+span, nil)
			for _, text := range page.shows {
				if !strings.Contains(body, text) {
					t.Errorf("%s of %s lacks %s: %s", page.name, span, text, body)
				}
			}
			for _, text := range page.hides {
				if strings.Contains(body, text) {
					t.Errorf("%s of %s shows %s", page.name, span, text)
				}
			}
		}
	}
	_, body := ask(t, ops, "GET", s.ops.URL+"/ops", nil)
	at := regexp.MustCompile(`<a href="(/ops/audit[^"]*)">Another version`).FindStringSubmatch(body)
	if at == nil {
		t.Fatalf("the mark leads nowhere: %s", body)
	}
	if _, body := ask(t, ops, "GET", s.ops.URL+html.UnescapeString(at[1]), nil); !containsAll(body, []string{"gateway.update", "v2 after v1"}) || strings.Contains(body, "endpoint.pause") {
		t.Errorf("what a mark leads to: %s", body)
	}
}
