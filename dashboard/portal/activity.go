package portal

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"ledgerhook/dashboard/deliveries"
	"ledgerhook/dashboard/locale"
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
		v.Entries = append(v.Entries, activityRow{row, cmp.Or(q.T(activityWords[row.Action]), row.Action), targetPath(row.Target)})
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

// activityWords are the acts that a partner can hear of.
var activityWords = map[string]string{
	"partner.create": locale.Text("Opened the account"), "partner.change": locale.Text("Changed the account's settings"), "partner.rotate-key": locale.Text("Replaced the account's public key"),
	"partner.disable": locale.Text("Disabled the account"), "partner.enable": locale.Text("Enabled the account"),
	"endpoint.create": locale.Text("Added an endpoint"), "endpoint.change": locale.Text("Changed an endpoint"), "endpoint.remove": locale.Text("Removed an endpoint"),
	"endpoint.test": locale.Text("Sent a test event"), "endpoint.pause": locale.Text("Paused an endpoint"), "endpoint.resume": locale.Text("Resumed an endpoint"),
	"endpoint.open-breaker": locale.Text("Held back what goes to an endpoint"), "endpoint.close-breaker": locale.Text("Let an endpoint be sent to again"),
	"endpoint.warn": locale.Text("Noted that an endpoint keeps failing"), "endpoint.disable": locale.Text("Disabled an endpoint that kept failing"),
	"endpoint.contact.add": locale.Text("Added a contact of an endpoint"), "endpoint.contact.remove": locale.Text("Removed a contact of an endpoint"),
	"secret.create": locale.Text("Made a webhook secret"), "secret.activate": locale.Text("Activated a webhook secret"), "secret.revoke": locale.Text("Revoked a webhook secret"),
	"person.create": locale.Text("Added a person"), "person.invite": locale.Text("Invited somebody"), "person.role": locale.Text("Changed somebody's role"),
	"person.disable": locale.Text("Disabled somebody's access"), "person.enable": locale.Text("Enabled somebody's access"),
	"invite.accept": locale.Text("Accepted an invitation"), "invite.withdraw": locale.Text("Withdrew an invitation"),
	"login": locale.Text("Signed in"), "login.fail": locale.Text("Failed to sign in"), "logout": locale.Text("Signed out"), "session.end": locale.Text("Ended a session"),
	"password.change": locale.Text("Changed the password"), "password.link": locale.Text("Made a link for a new password"),
	"totp.on": locale.Text("Switched sign-in codes on"), "totp.off": locale.Text("Switched sign-in codes off"),
	"delivery.retry": locale.Text("Retried a delivery"), "delivery.cancel": locale.Text("Cancelled a delivery"), "delivery.export": locale.Text("Exported deliveries"),
	"evidence.take": locale.Text("Took evidence of deliveries"),
	"replay.start":  locale.Text("Started a replay"), "replay.pause": locale.Text("Paused a replay"), "replay.resume": locale.Text("Resumed a replay"), "replay.cancel": locale.Text("Cancelled a replay"),
}
