package dashboard

import (
	"strings"
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
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

func containsAll(body string, texts []string) bool {
	for _, text := range texts {
		if !strings.Contains(body, text) {
			return false
		}
	}
	return true
}
