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
	EventID  string // the notification
	At       time.Time
}
