package portal

import (
	"net/http"
	"net/url"
	"strings"

	"ledgerhook/dashboard/deliveries"
	"ledgerhook/dashboard/shell"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// activityView is what was done about a partner, by its people and by us.
type activityView struct {
	Entries []activityRow
	More    string
}

// activityRow is one act in words.
type activityRow struct {
	deliveries.ActivityRow
	What string
	Href string // the page of what it was done to; empty: it has none
}

// activityPage shows a partner its own entries. Who of the company acted, and
// what they wrote about it, stays there.
func (s pages) activityPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	after := r.URL.Query().Get("after")
	if err := deliveries.CheckAfter(after); err != nil {
		return err
	}
	found, next, err := s.Trail.AuditEntries(r.Context(), partners.AuditFilter{PartnerCode: q.User.PartnerCode, Cursor: after, Limit: activityPageSize})
	if err != nil {
		return err
	}
	var v activityView
	for _, row := range deliveries.ActivityRows(q, found) {
		v.Entries = append(v.Entries, activityRow{row, row.What(q.T), targetPath(row.Target)})
	}
	if next != "" {
		v.More = url.Values{"after": {next}}.Encode()
	}
	return q.Render(w, r, "activity", v)
}

const activityPageSize = 50

// targetPath is the portal's page of what an act was done to; empty: none.
func targetPath(target string) string {
	for prefix, path := range map[string]string{webhook.DeliveryPrefix: "/portal/deliveries/", webhook.EndpointPrefix: "/portal/endpoints/", webhook.ReplayPrefix: "/portal/recover/"} {
		if strings.HasPrefix(target, prefix) {
			return path + target
		}
	}
	return ""
}
