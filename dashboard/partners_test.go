package dashboard

import (
	"strings"
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
)

func TestTheListOfPartnersSaysWhenTheirEndpointsAreNotKnown(t *testing.T) {
	s := stageOn(t, ledgertest.NewFresh(t, "sqlite"))
	s.endpointOf(t, "acme")
	c := s.SignIn(t, "", partners.RoleViewer)
	const says = "Health, answers, what waits and the last success"
	_, body := ask(t, c, "GET", s.ops.URL+"/ops/partners", nil)
	if strings.Contains(body, says) || !strings.Contains(body, "no success yet") || !strings.Contains(body, "never") {
		t.Errorf("known: %s", body)
	}
	if _, err := s.Bench.Raw.ExecContext(t.Context(), "ALTER TABLE windows RENAME TO elsewhere"); err != nil {
		t.Fatal(err)
	}
	resp, body := ask(t, c, "GET", s.ops.URL+"/ops/partners", nil)
	if resp.StatusCode != 200 || !strings.Contains(body, says) || strings.Contains(body, "no success yet") || strings.Contains(body, "never") {
		t.Errorf("not known: %d %s", resp.StatusCode, body)
	}
}

func TestTheListOfPartnersSaysHowEachIs(t *testing.T) {
	s := stageOn(t, ledgertest.NewFresh(t, "sqlite"))
	s.endpointOf(t, "acme")
	s.endpointOf(t, "other")
	if _, err := s.Bench.Raw.ExecContext(t.Context(), `UPDATE windows SET took_us = 6600000, usual_us = 330000, slow_since = 1, waiting_again = 3,
		last_success = $1 WHERE endpoint_id IN (SELECT id FROM endpoints WHERE partner_code = 'acme')`, time.Now().UnixMicro()); err != nil {
		t.Fatal(err)
	}
	c := s.SignIn(t, "", partners.RoleViewer)
	for query, says := range map[string][]string{
		"":            {"slow", "20 times its usual", "6.6 s", "usually 330 ms", `href="/ops/deliveries?partner=acme&amp;state=pending">3</a>`, `aria-sort="ascending"><a href="/ops/partners?sort=health"`, ">other</a>"},
		"health=slow": {">acme</a>"},
		"q=oth":       {">other</a>"},
		"q=nobody":    {"No such partner"},
	} {
		if _, body := ask(t, c, "GET", s.ops.URL+"/ops/partners?"+query, nil); !containsAll(body, says) || strings.Contains(query, "slow") && strings.Contains(body, ">other</a>") {
			t.Errorf("%q lacks one of %q: %s", query, says, body)
		}
	}
	if resp, body := ask(t, c, "GET", s.ops.URL+"/ops/partners?sort=luck", nil); resp.StatusCode != 400 && resp.StatusCode != 422 || !strings.Contains(body, "must be one of") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// Partners beyond those that are compared are found by a search, and it is said
// that there are some.
func TestTheListOfPartnersSaysWhenItComparesNotAll(t *testing.T) {
	s := stageOn(t, ledgertest.NewFresh(t, "sqlite"))
	s.Bench.Partner(t, "acme")
	fill := func(prefix string, n int) {
		t.Helper()
		if _, err := s.Bench.Raw.ExecContext(t.Context(), `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < $2) INSERT INTO partners (code, name, disabled, public_key, secret_key, settings, created_at, updated_at)
			SELECT $1 || n, 'Đông Á ' || n, disabled, public_key, secret_key, settings, created_at, updated_at FROM partners, numbers WHERE code = 'acme'`, prefix, n); err != nil {
			t.Fatal(err)
		}
	}
	c := s.SignIn(t, "", partners.RoleViewer)
	const says = "The first 2,000 by code are compared: narrow the search."
	shows := func(query, code string, more bool) {
		t.Helper()
		_, body := ask(t, c, "GET", s.ops.URL+"/ops/partners?"+query, nil)
		if !strings.Contains(body, ">"+code+"</a>") || strings.Contains(body, says) != more {
			t.Errorf("%q shows %s: %t, or says %q: %t", query, code, strings.Contains(body, ">"+code+"</a>"), says, strings.Contains(body, says))
		}
	}
	fill("b", reports.MaxPartners-1)
	shows("sort=code", "acme", false)
	fill("z", 1)
	shows("sort=code", "acme", true)
	shows("q=Z1", "z1", false)
	shows("q=đông+á+1999", "b1999", false)
	shows("q=đông&sort=code", "b1", false)
	fill("y", 1)
	shows("q=đông&sort=code", "b1", true)
}

func containsAll(body string, texts []string) bool {
	for _, text := range texts {
		if !strings.Contains(body, text) {
			return false
		}
	}
	return true
}
