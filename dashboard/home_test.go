package dashboard

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"ledgerhook/ledger"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
)

// firstPage is the operators' first page as soon as it shows what has happened
// without them: for a moment it shows to all what was read for one.
func (s *stage) firstPage(t *testing.T, c *http.Client, shows string) string {
	t.Helper()
	return s.firstPageOnce(t, c, shows, func(body string) bool { return strings.Contains(body, shows) })
}

func (s *stage) firstPageOnce(t *testing.T, c *http.Client, what string, so func(body string) bool) string {
	t.Helper()
	again, end := time.NewTicker(20*time.Millisecond), time.After(time.Minute)
	defer again.Stop()
	for {
		resp, body := ask(t, c, "GET", s.ops.URL+"/ops", nil)
		if resp.StatusCode == http.StatusOK && so(body) {
			return body
		}
		select {
		case <-again.C:
		case <-end:
			t.Fatalf("the first page never shows %q: %d %s", what, resp.StatusCode, body)
		}
	}
}

func TestTheFirstPageSaysWhoseTroubleItIs(t *testing.T) {
	s := newStage(t)
	c := s.SignIn(t, "", partners.RoleViewer)
	_, body := ask(t, c, "GET", s.ops.URL+"/ops", nil)
	if !strings.Contains(body, "It is us: no worker is running") {
		t.Errorf("without a worker: %s", body)
	}
	shows := func(text string) string { // beside a worker that lives, however long it takes
		t.Helper()
		return s.firstPageOnce(t, c, text, func(body string) bool {
			if err := s.Ledger.Heartbeat(t.Context(), "wrk_1", "host-1/42"); err != nil {
				t.Fatal(err)
			}
			return strings.Contains(body, text)
		})
	}
	body = shows("not everything is known: canary")
	if strings.Contains(body, "All is well") {
		t.Errorf("without a canary: %s", body)
	}
	if err := s.Ledger.RecordCanary(t.Context(), "wrk_1", time.Millisecond, ""); err != nil {
		t.Fatal(err)
	}
	body = shows("Nothing to judge yet")
	for _, text := range []string{"host-1/42", "arrives", "Nobody fails"} {
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
	body := s.firstPage(t, c, "Not known: the ledger does not answer")
	if strings.Contains(body, "<dd>0</dd>") || !strings.Contains(body, `<span class="unknown">–</span>`) || strings.Contains(body, "Nobody fails") {
		t.Errorf("%s", body)
	}
}
