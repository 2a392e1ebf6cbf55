package dashboard

import (
	"strings"
	"testing"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
)

func TestTheListOfPartnersSaysWhenTheirEndpointsAreNotKnown(t *testing.T) {
	s := stageOn(t, ledgertest.NewFresh(t, "sqlite"))
	s.endpointOf(t, "acme")
	c := s.SignIn(t, "", partners.RoleViewer)
	const says = "Endpoints, breakers, what is held and the last success"
	_, body := ask(t, c, "GET", s.ops.URL+"/ops/partners", nil)
	if strings.Contains(body, says) || !strings.Contains(body, "hold nothing back") || !strings.Contains(body, "never") {
		t.Errorf("known: %s", body)
	}
	if _, err := s.Bench.Raw.ExecContext(t.Context(), "ALTER TABLE windows RENAME TO elsewhere"); err != nil {
		t.Fatal(err)
	}
	resp, body := ask(t, c, "GET", s.ops.URL+"/ops/partners", nil)
	if resp.StatusCode != 200 || !strings.Contains(body, says) || strings.Contains(body, "hold nothing back") || strings.Contains(body, "never") {
		t.Errorf("not known: %d %s", resp.StatusCode, body)
	}
}
