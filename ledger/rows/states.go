package rows

import (
	"ledgerhook/ledger/database"
	"ledgerhook/webhook"
)

// Closed is the condition that a delivery's window lets nothing leave.
const Closed = "(w.unrouted OR w.paused OR w.disabled OR w.partner_disabled OR w.removed)"

// The states that an index tells apart from the others, and its condition.
var StateIndexes = []struct {
	States []webhook.State
	Where  string
	All    string
	Open   bool
}{
	{[]webhook.State{webhook.Pending, webhook.Held}, "d.due_at IS NOT NULL", AllWaiting, true},
	{[]webhook.State{webhook.Queued, webhook.Sending}, "d.queued_at > 0", "", true},
	{[]webhook.State{webhook.Exhausted, webhook.Cancelled}, FailedDelivery, AllFailed, false},
}

// What holds for all that wait and all that failed, and that the indexes over
// all partners ask for. The databases cannot tell, so that a partner's query,
// which does not say it, goes along the partner's index whatever others have.
const (
	AllWaiting = "d.due_at >= 0"
	AllFailed  = "d.finished_at > 1"
)

// Shown adds the condition that a delivery is in one of states, as they read.
func Shown(t *database.Statement, states []webhook.State) {
	for i, s := range states {
		t.Add([]string{" AND (", " OR "}[min(i, 1)])
		switch s {
		case webhook.Held:
			t.Add("d.due_at IS NOT NULL AND " + Closed)
		case webhook.Pending:
			t.Add("d.due_at IS NOT NULL AND NOT " + Closed)
		default:
			t.Add("d.state = ?", string(s))
		}
	}
	if len(states) > 0 {
		t.Add(")")
	}
}

// FailedDelivery is the condition of the indexes of deliveries that ended
// without success.
const FailedDelivery = "d.finished_at > 0 AND d.last_outcome <> 'delivered'"
