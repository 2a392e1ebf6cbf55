package delivery

import (
	"time"

	"ledgerhook/webhook"
)

// NewEvent is an event that is to be appended to the ledger.
type NewEvent struct {
	Event          webhook.Event // ID, KeyID and CreatedAt set; Signatures and flags are filled in
	IdempotencyKey string
	DefaultKey     bool   // the key was derived from the data, not given by the caller
	Digest         []byte // of everything that must be equal under one key
	// EndpointID restricts the event to one endpoint: that which a test, past its
	// gate, is for.
	EndpointID string
}

// Appended is the ledger's answer to an event.
type Appended struct {
	EventID     string
	DeliveryIDs []string
	Duplicate   bool // nothing was stored: an earlier event with this key is answered
	Filtered    bool // the partner's endpoints take other types only
	Unexpected  bool // the move is not one that the type's life cycle knows
}

// DeliveryWithWindow is a delivery and the window it passes through, which
// together tell what it waits for. The window of a delivery without endpoint is zero.
type DeliveryWithWindow struct {
	webhook.Delivery
	Window webhook.Window
}

// Filter narrows a list of deliveries. Empty fields do not.
type Filter struct {
	PartnerCode  string
	PartnerCodes []string // of one of these partners
	EndpointID   string
	State        webhook.State // as shown: Held and Pending are told apart
	Type         webhook.Type
	StatusCode   int
	ErrorClass   webhook.ErrorClass
	Reference    string   // an event id or an object id
	ReplayID     string   // made by this bulk replay
	IDs          []string // these deliveries, at most MaxFilterIDs
	Since, Until time.Time
	Cursor       string // list what is older than this delivery
	Limit        int
	// IncludeSettled has a replay send settled deliveries, too. Lists always have
	// them.
	IncludeSettled bool
}

// MaxFilterIDs is how many deliveries a filter names at most.
const MaxFilterIDs = 2000

// EventFilter narrows a list of events. Empty fields do not.
type EventFilter struct {
	PartnerCode  string
	Type         webhook.Type
	Reference    string // an object id
	Since, Until time.Time
	Cursor       string // list what is older than this event
	Limit        int
}
