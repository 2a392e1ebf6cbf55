package partners

import "time"

// AuditEntry is one act of somebody who may act.
type AuditEntry struct {
	ID          string // aud_…
	At          time.Time
	Actor       string // who: "api" for LEDGERHOOK_TOKEN, InternalToken.Actor for another token, "ledgerhook" for the gateway itself, else Person.Actor
	Action      string // what, like "endpoint.pause"
	Target      string // the id or code acted on
	Detail      string // more in words, without secrets
	PartnerCode string // whom it concerns; empty when written: the target's partner, if it has one
	Seq         int64  // its place in the chain, from 1
	Hash        []byte // SHA-256 over the hash before it and all of the above
}

// AuditFilter narrows a list of audit entries. Empty fields do not.
type AuditFilter struct {
	Actor       string
	Action      string // a whole one, or its beginning up to a dot: "login."
	Without     string // an action whose entries are left out
	Target      string
	PartnerCode string // whose entries alone may be seen
	Since       time.Time
	Until       time.Time // before
	Cursor      string
	Limit       int
}

// AuditState is what a walk along the audit log's chain found.
type AuditState struct {
	Entries int64 // that were looked at
	Head    []byte
	// BrokenAt is the first entry that is not as it was written: changed,
	// inserted, or the first after one that is missing. Empty: the chain is whole.
	BrokenAt string
	Why      string // of BrokenAt
}
