package delivery

import (
	"time"

	"ledgerhook/webhook"
)

// IngestResult is what became of an event that an internal system sent.
type IngestResult string

const (
	Accepted  IngestResult = "accepted"  // stored, whether an endpoint takes it or not
	Duplicate IngestResult = "duplicate" // stored before
	Refused   IngestResult = "refused"   // not stored
)

// Refusal is an event that was sent and not stored. Refusals are kept for the
// people who look for it, as far as that costs nobody anything: under load, and
// when the ledger is away, some are not.
type Refusal struct {
	ID          string // ref_…
	Result      IngestResult
	PartnerCode string // as it was sent; empty: not known
	Type        webhook.Type
	Reference   string // the object of a duplicate
	Reason      string // why it was refused, in words
	EventID     string // of a duplicate: the event that was stored
	At          time.Time
}
