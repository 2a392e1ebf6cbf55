package dashboard

import (
	"net/url"
	"strings"
	"testing"

	"ledgerhook/delivery"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

func TestWhatIsMissedIsFoundReconciledAndOfferedForReplay(t *testing.T) {
	s := newStage(t)
	s.Bench.Partner(t, "acme")
	s.Bench.Endpoint(t, "acme", 8)
	id := s.failedOnce(t, "acme", "tp_1", hostile, webhook.Exhausted)
	if err := s.Ledger.AddRefusals(t.Context(), []delivery.Refusal{{Result: delivery.Refused, PartnerCode: "acme", Reference: "tp_9", Reason: "<script>x</script>\x00"}}); err != nil {
		t.Fatal(err)
	}
	c := s.SignIn(t, "", partners.RoleOperator)
	resp, _ := ask(t, c, "GET", s.ops.URL+"/ops/find?q="+id, nil)
	if resp.StatusCode != 303 || resp.Header.Get("Location") != "/ops/deliveries/"+id {
		t.Errorf("find: %d %s", resp.StatusCode, resp.Header.Get("Location"))
	}
	if resp, body := ask(t, c, "GET", s.ops.URL+"/ops/find?q=%3Cscript%3E%00", nil); resp.StatusCode != 200 || !strings.Contains(body, "Nothing found") || strings.Contains(body, "<script>") {
		t.Errorf("find nothing: %d", resp.StatusCode)
	}
	resp, body := ask(t, c, "POST", s.ops.URL+"/ops/reconcile", url.Values{"references": {"tp_1, tp_9\n<script>\n\xff"}, "partner": {"acme"}})
	if resp.StatusCode != 200 || !strings.Contains(body, id) || !strings.Contains(body, "refused when it came") || !strings.Contains(body, "never received") || strings.Contains(body, "<script>") {
		t.Errorf("reconcile: %d", resp.StatusCode)
	}
	many := "x "
	for i := range reports.MaxReferences {
		many += webhook.NewID("r") + map[bool]string{true: "\n", false: ","}[i%2 == 0]
	}
	if resp, body := ask(t, c, "POST", s.ops.URL+"/ops/reconcile", url.Values{"references": {many}}); resp.StatusCode != 400 || !strings.Contains(body, "paste fewer") {
		t.Errorf("too many: %d", resp.StatusCode)
	}
	if resp, body := ask(t, c, "GET", s.ops.URL+"/ops/events", nil); resp.StatusCode != 200 || !strings.Contains(body, "refused") || !strings.Contains(body, "tp_1") || strings.Contains(body, "<script>") {
		t.Errorf("events: %d", resp.StatusCode)
	}
	d, err := s.Reports.Delivery(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if resp, body := ask(t, c, "GET", s.ops.URL+"/ops/events/"+d.EventID, nil); resp.StatusCode != 200 || !strings.Contains(body, id) {
		t.Errorf("event: %d", resp.StatusCode)
	}
}
