package deliveries

import (
	"net/http"
	"net/url"
	"strings"

	"ledgerhook/dashboard/shell"
	"ledgerhook/ledger/reports"
)

// Repairs lead a partner from deliveries, newest first, to what repairs them:
// to the signature checker, filled with the newest that was refused as if its
// signature were wrong, and if some were given up to the draft that sends those
// again that which finds.
func Repairs(q *shell.Request, found []reports.FoundDelivery, givenUp bool, which string) (links []shell.Repair) {
	for _, d := range found {
		if code := d.Last.StatusCode; code == http.StatusUnauthorized || code == http.StatusForbidden {
			links = append(links, shell.Repair{Icon: "check", Text: q.T("Check its signature"), Href: VerifyPath(d.ID)})
			break
		}
	}
	if givenUp && q.CanAct() {
		links = append(links, shell.Repair{Icon: "replay", Text: q.T("Recover what was given up"), Href: draftAt(replaysPath(q.Base()), strings.TrimSpace("state:exhausted settled:no "+which))})
	}
	return links
}

// VerifyPath is the portal's signature checker, filled with a delivery.
func VerifyPath(deliveryID string) string {
	return "/portal/verify?" + url.Values{"delivery": {deliveryID}}.Encode()
}
