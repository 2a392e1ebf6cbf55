package dashboard

import (
	"html"
	"net/url"
	"strings"
	"testing"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
)

func TestAttemptsAreShownByTheMinuteWithAListOfEach(t *testing.T) {
	s := stageOn(t, ledgertest.NewFresh(t, "sqlite"))
	s.endpointOf(t, "acme")
	at := time.Now().UTC().Add(-5 * time.Minute).Truncate(time.Minute)
	for _, insert := range []string{"INSERT INTO rollups_all (hour, slot, fact, n) VALUES ($1, $2, 'attempt_failed', 7)",
		"INSERT INTO rollups (hour, slot, partner_code, fact, n) VALUES ($1, $2, 'acme', 'attempt_failed', 7)"} {
		if _, err := s.Bench.Raw.ExecContext(t.Context(), insert, at.Unix()/3600, database.MinuteSlot(at)); err != nil {
			t.Fatal(err)
		}
	}
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
