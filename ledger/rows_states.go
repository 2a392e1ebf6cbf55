package ledger

import (
	"ledgerhook/ledger/database"
	"ledgerhook/webhook"
)

// closed is the condition that a delivery's window lets nothing leave.
const closed = "(w.unrouted OR w.paused OR w.disabled OR w.partner_disabled OR w.removed)"

// The states that an index tells apart from the others, and its condition.
var stateIndexes = []struct {
	states []webhook.State
	where  string
	all    string
	open   bool
}{
	{[]webhook.State{webhook.Pending, webhook.Held}, "d.due_at IS NOT NULL", allWaiting, true},
	{[]webhook.State{webhook.Queued, webhook.Sending}, "d.queued_at > 0", "", true},
	{[]webhook.State{webhook.Exhausted, webhook.Cancelled}, failedDelivery, allFailed, false},
}

// What holds for all that wait and all that failed, and that the indexes over
// all partners ask for. The databases cannot tell, so that a partner's query,
// which does not say it, goes along the partner's index whatever others have.
const (
	allWaiting = "d.due_at >= 0"
	allFailed  = "d.finished_at > 1"
)

// shown adds the condition that a delivery is in one of states, as they read.
func shown(t *database.Statement, states []webhook.State) {
	for i, s := range states {
		t.Add([]string{" AND (", " OR "}[min(i, 1)])
		switch s {
		case webhook.Held:
			t.Add("d.due_at IS NOT NULL AND " + closed)
		case webhook.Pending:
			t.Add("d.due_at IS NOT NULL AND NOT " + closed)
		default:
			t.Add("d.state = ?", string(s))
		}
	}
	if len(states) > 0 {
		t.Add(")")
	}
}
