package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"ledgerhook/dashboard/locale"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// activityView is what was done about a partner, by its people and by us.
type activityView struct {
	Entries []activityRow
	More    string
	AsOf    time.Time
}

type activityRow struct {
	At             time.Time
	Who            string // empty: somebody of the gateway's operator
	Action, Target string
	Detail         string
}

// activityPage shows a partner its own entries. Who of the company acted, and
// what he wrote about it, stays there.
func (s *surface) activityPage(w http.ResponseWriter, r *http.Request, q *request) error {
	after := r.URL.Query().Get("after")
	if err := checkAfter(after); err != nil {
		return err
	}
	found, next, err := s.Ledger.AuditEntries(r.Context(), partners.AuditFilter{PartnerCode: q.User.PartnerCode, Cursor: after, Limit: auditPageSize})
	if err != nil {
		return err
	}
	v := activityView{AsOf: q.Now, Entries: q.activityRows(found)}
	if next != "" {
		v.More = url.Values{"after": {next}}.Encode()
	}
	return q.render(w, r, "activity", v)
}

// activityRows are entries of the audit log as who asks may see them: an
// operator as they are, a partner without who of the company acted. Card
// numbers are masked.
func (q *request) activityRows(found []partners.AuditEntry) (rows []activityRow) {
	for _, e := range found {
		row := activityRow{At: e.At, Action: e.Action, Target: e.Target}
		if name, own := strings.CutPrefix(e.Actor, q.User.PartnerCode+"/"); own || q.Ops() {
			row.Who, row.Detail = name, webhook.MaskCards(e.Detail)
		}
		rows = append(rows, row)
	}
	return rows
}

// ActWords tells of an act on the page of what it was done to.
func (q *request) ActWords(a activityRow) string {
	who := a.Who
	if who == "" {
		who = q.T("gateway operator")
	}
	if newID, again := strings.CutPrefix(a.Detail, "as "); again && a.Action == "delivery.retry" {
		return q.T("%s sent it again, as %s", who, newID)
	}
	if text := actWords[a.Action]; text != "" {
		return q.T(text, who)
	}
	return who + " " + a.Action
}

var actWords = map[string]string{
	"delivery.retry": locale.Text("%s retried it"), "delivery.cancel": locale.Text("%s cancelled it"),
	"replay.start": locale.Text("%s started it"), "replay.pause": locale.Text("%s paused it"),
	"replay.resume": locale.Text("%s let it go on"), "replay.cancel": locale.Text("%s cancelled it"),
}
