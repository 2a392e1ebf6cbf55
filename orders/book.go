package orders

import "time"

// Filter narrows a list of orders. Empty fields do not.
type Filter struct {
	PartnerCode  string
	Status       Status
	Reference    string // an order's id, or the partner's id of it
	Since, Until time.Time
	Cursor       string // list what is older than this order
	Limit        int
}

// Move is a status change that somebody asks for.
type Move struct {
	To    Status
	Input TransitionInput
	Actor string // who asks
	KeyID string // the key that signs the notification
}

// Change is one status change of an order, as its history keeps it.
type Change struct {
	Sequence int64 // the order's after it: 1, 2, 3
	From, To Status
	Actor    string
	Reason   string
	EventID  string // the notification; empty if it was refused
	At       time.Time
	Refused  *Refusal // nil: it was made
}

// Unsettled reports whether c is a conflict that waits for somebody to settle it.
func (c Change) Unsettled() bool { return c.Refused != nil && c.Refused.SettledAt.IsZero() }

// Refusal is what a history keeps of a change that was refused although it
// says that money moved: it came after the order had failed. It is a conflict
// until an operator settles it; the order stays FAIL.
type Refusal struct {
	PaidAmount int64 // dong that moved, as was said
	TxHash     string
	SettledAt  time.Time // zero: it is still to settle
	SettledBy  string
	Settlement string // what was found and done
}

// Conflict is a refused change that is still to settle.
type Conflict struct {
	OrderID, ExternalOrderID, PartnerCode string
	Change
}
