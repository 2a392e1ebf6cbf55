package deliveries

import (
	"cmp"
	"strings"
	"time"

	"ledgerhook/dashboard/locale"
	"ledgerhook/dashboard/shell"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// ActivityRow is one act as it is shown.
type ActivityRow struct {
	At             time.Time
	Who            string // empty: somebody of the gateway's operator
	Action, Target string
	Detail         string
}

// ActivityRows are entries of the audit log as the reader may see them: an
// operator as they are, a partner without who of the company acted. Card
// numbers are masked.
func ActivityRows(q *shell.Request, found []partners.AuditEntry) (rows []ActivityRow) {
	for _, e := range found {
		row := ActivityRow{At: e.At, Action: e.Action, Target: e.Target}
		if name, own := strings.CutPrefix(e.Actor, q.User.PartnerCode+"/"); own || q.Ops() {
			row.Who, row.Detail = name, webhook.MaskCards(e.Detail)
		}
		rows = append(rows, row)
	}
	return rows
}

// tellAct tells of an act on the page of what it was done to.
func tellAct(t Say, a ActivityRow) string {
	who := cmp.Or(a.Who, t(locale.Text("gateway operator")))
	if newID, again := strings.CutPrefix(a.Detail, "as "); again && a.Action == "delivery.retry" {
		return t(locale.Text("%s sent it again, as %s"), who, newID)
	}
	if text := actWords[a.Action]; text != "" {
		return t(text, who)
	}
	return who + " " + a.Action
}

var actWords = map[string]string{
	"delivery.retry": locale.Text("%s retried it"), "delivery.cancel": locale.Text("%s cancelled it"),
	"replay.start": locale.Text("%s started it"), "replay.pause": locale.Text("%s paused it"),
	"replay.resume": locale.Text("%s resumed it"), "replay.cancel": locale.Text("%s cancelled it"),
}

// CheckAfter checks the cursor of a page of the audit log; empty: the first.
func CheckAfter(cursor string) error {
	if cursor == "" {
		return nil
	}
	return webhook.CheckID("after", webhook.AuditPrefix, cursor)
}
