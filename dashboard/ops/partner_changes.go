package ops

import (
	"strings"
	"time"

	"ledgerhook/dashboard/deliveries"
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
	Before  int    // so many times the same just before
}

// actors are those who act without being a person.
var actors = map[string]string{"api": "The internal API", "ledgerhook": "The gateway"}

// acts are the words for what was done, before what it was done to.
var acts = map[string]string{
	"partner.create": "created the partner", "partner.change": "changed the partner", "partner.disable": "disabled the partner",
	"partner.enable": "enabled the partner", "partner.rotate-key": "replaced the public key of", "endpoint.create": "added the endpoint",
	"endpoint.change": "changed the endpoint", "endpoint.remove": "removed the endpoint", "endpoint.pause": "paused the endpoint",
	"endpoint.resume": "resumed the endpoint", "endpoint.open-breaker": "opened the breaker of", "endpoint.close-breaker": "closed the breaker of",
	"endpoint.disable": "disabled the endpoint", "endpoint.warn": "warned of the endpoint", "secret.create": "created a secret of",
	"secret.activate": "activated a secret of", "secret.revoke": "revoked a secret of", "rate.set": "set the rate of", "key.rotate": "made the signing key", "master-key.rotate": "changed the master key", "gateway.update": "was updated",
	"replay.start": "started the replay", "replay.pause": "paused the replay", "replay.resume": "resumed the replay", "replay.cancel": "cancelled the replay",
}

// changeRows are the newest changes, at most limit; what was done again and
// again to the same is one row.
func changeRows(entries []partners.AuditEntry, limit int) (rows []changeRow) {
	for _, e := range entries {
		row := changeRow{At: e.At, Who: e.Actor, Did: acts[e.Action], Target: e.Target, Detail: e.Detail, Partner: e.PartnerCode}
		if name, ok := actors[e.Actor]; ok {
			row.Who = name
		} else if name, ok := strings.CutPrefix(e.Actor, partners.TokenActor); ok {
			row.Who = "The token " + name
		}
		if row.Did == "" {
			row.Did = strings.NewReplacer(".", " ", "-", " ").Replace(e.Action)
		}
		if row.Partner != "" {
			row.Href = deliveries.PartnerPath(row.Partner)
		}
		if row.Target == row.Partner {
			row.Target = ""
		}
		if row.Detail == row.Partner {
			row.Detail = ""
		}
		switch {
		case strings.HasSuffix(e.Action, ".disable"), strings.HasSuffix(e.Action, ".open-breaker"), strings.HasSuffix(e.Action, ".remove"):
			row.Tone = "bad"
		case strings.HasSuffix(e.Action, ".enable"), strings.HasSuffix(e.Action, ".resume"), strings.HasSuffix(e.Action, ".create"), strings.HasSuffix(e.Action, ".close-breaker"):
			row.Tone = "good"
		}
		if n := len(rows); n > 0 && rows[n-1].Who == row.Who && rows[n-1].Did == row.Did && rows[n-1].Target == row.Target && rows[n-1].Partner == row.Partner {
			rows[n-1].Before++
			continue
		}
		if len(rows) == limit {
			break
		}
		rows = append(rows, row)
	}
	return rows
}
