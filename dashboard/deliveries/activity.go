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

// Does is what was done, as a text to translate.
func (a ActivityRow) Does() string { return cmp.Or(doneWords[a.Action], a.Action) }

// What is what was done, in words.
func (a ActivityRow) What(t Say) string { return t(a.Does()) }

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

// doneWords are the acts that a partner can hear of, and those that concern all,
// which are told to operators alone, and so in English.
var doneWords = map[string]string{
	"gateway.update": "Another version of the gateway began to serve", "key.rotate": "Made a new signing key of the gateway", "master-key.rotate": "Encrypted everything under a new master key",
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
	"view.save":     locale.Text("Saved a view of a list"), "view.rename": locale.Text("Renamed a saved view"), "view.remove": locale.Text("Removed a saved view"),
	"order.transition": locale.Text("Moved an order"), "order.payout": locale.Text("Started the payout of an order"), "order.settle": locale.Text("Settled the conflict of an order"),
	"replay.start": locale.Text("Started a replay"), "replay.pause": locale.Text("Paused a replay"), "replay.resume": locale.Text("Resumed a replay"), "replay.cancel": locale.Text("Cancelled a replay"),
}
