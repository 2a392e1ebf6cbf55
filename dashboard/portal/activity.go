package portal

import (
	"net/http"
	"net/url"

	"ledgerhook/dashboard/deliveries"
	"ledgerhook/dashboard/shell"
	"ledgerhook/partners"
)

// activityView is what was done about a partner, by its people and by us.
type activityView struct {
	Entries []deliveries.ActivityRow
	More    string
}

// activityPage shows a partner its own entries. Who of the company acted, and
// what he wrote about it, stays there.
func (s pages) activityPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	after := r.URL.Query().Get("after")
	if err := deliveries.CheckAfter(after); err != nil {
		return err
	}
	found, next, err := s.Trail.AuditEntries(r.Context(), partners.AuditFilter{PartnerCode: q.User.PartnerCode, Cursor: after, Limit: activityPageSize})
	if err != nil {
		return err
	}
	v := activityView{Entries: deliveries.ActivityRows(q, found)}
	if next != "" {
		v.More = url.Values{"after": {next}}.Encode()
	}
	return q.Render(w, r, "activity", v)
}

const activityPageSize = 50
