package ops

import (
	"strings"
	"testing"

	"ledgerhook/dashboard/shell"
	"ledgerhook/ledger/reports"
)

func TestFunnelStepsAddUpAndShareNothingOfNothing(t *testing.T) {
	steps := funnelSteps("acme", known(reports.Funnel{Accepted: 10, Filtered: 1, Matched: 18, FirstTry: 15, AfterRetry: 1, Retrying: 1, Exhausted: 1}))
	var names []string
	for _, st := range steps {
		names = append(names, st.Name+" "+st.Count+" "+st.Share)
	}
	want := "Accepted 10 |Filtered 1 10 %|Matched 18 |First try 15 83.3 %|After retry 1 5.5 %|Waiting 0 0 %|Retrying 1 5.5 %|Exhausted 1 5.5 %|Cancelled 0 0 %"
	if got := strings.Join(names, "|"); got != want {
		t.Errorf("%s", got)
	}
	if steps := funnelSteps("acme", shell.Reading[reports.Funnel]{}); steps != nil {
		t.Errorf("unknown: %v", steps)
	}
}
