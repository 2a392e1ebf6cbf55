package dashboard

import (
	"strings"
	"time"

	"ledgerhook/partners"
)

// changeRow is one change of how things are set, in words.
type changeRow struct {
	At      time.Time
	Who     string
	Did     string
	Target  string
	Detail  string
	Partner string // empty: it concerns none
	Href    string // of the partner
	Tone    string // of its dot
}

// actors are those who act without being a person.
var actors = map[string]string{"api": "The internal API", "ledgerhook": "The gateway"}

// acts are the words for what was done, before what it was done to.
var acts = map[string]string{
	"partner.create": "created the partner", "partner.change": "changed the partner", "partner.disable": "disabled the partner",
	"partner.enable": "enabled the partner", "partner.rotate-key": "replaced the public key of", "endpoint.create": "added the endpoint",
	"endpoint.change": "changed the endpoint", "endpoint.remove": "removed the endpoint", "endpoint.pause": "paused the endpoint",
	"endpoint.resume": "resumed the endpoint", "endpoint.open-breaker": "opened the breaker of", "endpoint.close-breaker": "closed the breaker of",
	"endpoint.disable": "disabled the endpoint", "endpoint.warn": "warned of the endpoint", "secret.create": "made a secret of",
	"secret.activate": "activated a secret of", "secret.revoke": "revoked a secret of", "rate.set": "set the rate of",
}

func changeRows(entries []partners.AuditEntry) []changeRow {
	rows := make([]changeRow, len(entries))
	for i, e := range entries {
		row := changeRow{At: e.At, Who: e.Actor, Did: acts[e.Action], Target: e.Target, Detail: e.Detail, Partner: e.PartnerCode}
		if name, ok := actors[e.Actor]; ok {
			row.Who = name
		}
		if row.Did == "" {
			row.Did = strings.NewReplacer(".", " ", "-", " ").Replace(e.Action)
		}
		if row.Partner != "" {
			row.Href = partnerPath(row.Partner)
		}
		if row.Target == row.Partner {
			row.Target = ""
		}
		switch {
		case strings.HasSuffix(e.Action, ".disable"), strings.HasSuffix(e.Action, ".open-breaker"), strings.HasSuffix(e.Action, ".remove"):
			row.Tone = "bad"
		case strings.HasSuffix(e.Action, ".enable"), strings.HasSuffix(e.Action, ".resume"), strings.HasSuffix(e.Action, ".create"), strings.HasSuffix(e.Action, ".close-breaker"):
			row.Tone = "good"
		}
		rows[i] = row
	}
	return rows
}
