package dashboard

import (
	"strings"
	"testing"
	"time"

	"ledgerhook/ledger"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
)

func TestTheFirstPageSaysWhoseTroubleItIs(t *testing.T) {
	s := newStage(t)
	c := s.SignIn(t, "", partners.RoleViewer)
	_, body := ask(t, c, "GET", s.ops.URL+"/ops", nil)
	if !strings.Contains(body, "It is us: no worker is running") {
		t.Errorf("without a worker: %s", body)
	}
	if err := s.Ledger.Heartbeat(t.Context(), "wrk_1", "host-1/42"); err != nil {
		t.Fatal(err)
	}
	_, body = ask(t, c, "GET", s.ops.URL+"/ops", nil)
	if !strings.Contains(body, "not everything is known: canary") || strings.Contains(body, "All is well") {
		t.Errorf("without a canary: %s", body)
	}
	if err := s.Ledger.RecordCanary(t.Context(), "wrk_1", time.Millisecond, ""); err != nil {
		t.Fatal(err)
	}
	_, body = ask(t, c, "GET", s.ops.URL+"/ops", nil)
	for _, text := range []string{"Nothing to judge yet", "host-1/42", "arrives", "Nobody fails"} {
		if !strings.Contains(body, text) {
			t.Errorf("lacks %q: %s", text, body)
		}
	}
}

func TestWithoutALedgerTheFirstPageShowsDashesAndNoZero(t *testing.T) {
	s := newStage(t)
	c := s.SignIn(t, "", partners.RoleViewer)
	ask(t, c, "GET", s.ops.URL+"/ops/system", nil) // who this is stays known for a while
	options := database.Options{DataDir: t.TempDir(), Log: s.Log}
	if _, err := ledger.Migrate(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	gone, err := ledgertest.Open(t.Context(), options, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	s.Database, s.Ledger, s.Accounts, s.Trail, s.Reports = gone.DB, gone.Ledger, gone.Accounts, gone.Trail, gone.Reports
	resp, body := ask(t, c, "GET", s.ops.URL+"/ops", nil)
	if resp.StatusCode != 200 || !strings.Contains(body, "Not known: the ledger does not answer") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if strings.Contains(body, "<dd>0</dd>") || !strings.Contains(body, `<span class="unknown">–</span>`) || strings.Contains(body, "Nobody fails") {
		t.Errorf("%s", body)
	}
}
