package partners

import "time"

// AuditEntry is one act of somebody who may act.
type AuditEntry struct {
	ID     string // aud_…
	At     time.Time
	Actor  string // who: "api" for the internal API's token
	Action string // what, like "endpoint.pause"
	Target string // the id or code acted on
	Detail string // more in words, without secrets
}
