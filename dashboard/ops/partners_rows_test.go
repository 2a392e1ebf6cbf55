package ops

import (
	"testing"

	"ledgerhook/dashboard/shell"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// What is known of endpoints from an earlier page is not shown beside partners
// that were read for this one.
func TestPartnersAreListedWithDashesForWhatIsNotKnownJustNow(t *testing.T) {
	windows := map[string]reports.PartnerWindows{"acme": {PartnerCode: "acme", Held: 7, LastSuccess: noon, Breakers: map[webhook.BreakerState]int{webhook.BreakerClosed: 2, webhook.BreakerOpen: 1}}}
	v := partnersView{
		Partners: known(shell.Listed[partners.Partner]{Found: []partners.Partner{{Code: "acme"}, {Code: "bare"}}}),
		Windows:  known(windows),
	}
	rows := v.Rows()
	if r := rows[0]; r.Health.Word != "failing" || r.Endpoints != "3" || r.Held != 7 || r.Breakers.Word != "1 held back" || !r.LastSuccess.Equal(noon) {
		t.Errorf("known: %+v", r)
	}
	if r := rows[1]; r.Health.Word != "quiet" || r.Endpoints != "0" || r.Breakers.Word != "" {
		t.Errorf("without an endpoint: %+v", r)
	}
	v.Windows.Fresh = false
	for _, r := range v.Rows() {
		if r.Health.Word != "" || r.Endpoints != "" || r.Held != 0 || r.Breakers.Word != "" || !r.LastSuccess.IsZero() {
			t.Errorf("not known just now: %+v", r)
		}
	}
}
