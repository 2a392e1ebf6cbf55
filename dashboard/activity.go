package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"ledgerhook/partners"
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

// activityRows are entries of the audit log as the partner may see them.
func (q *request) activityRows(found []partners.AuditEntry) (rows []activityRow) {
	for _, e := range found {
		row := activityRow{At: e.At, Action: e.Action, Target: e.Target}
		if name, own := strings.CutPrefix(e.Actor, q.User.PartnerCode+"/"); own {
			row.Who, row.Detail = name, e.Detail
		}
		rows = append(rows, row)
	}
	return rows
}
