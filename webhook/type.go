package webhook

import "slices"

// Type names a kind of notification, the webhookType of the interface.
type Type string

// The types of events, by the name that partners get.
const (
	CreateCard          Type = "CreateCard"
	TopupCard           Type = "TopupCard"
	CardTransaction     Type = "CardTransaction"
	ProfileUpdated      Type = "ProfileApplication.Updated"
	CashoutOrderUpdated Type = "CashoutOrder.Updated"
)

// Types lists every type.
var Types = []Type{CreateCard, TopupCard, CardTransaction, ProfileUpdated, CashoutOrderUpdated}

// Known reports whether t is one of Types.
func (t Type) Known() bool { return slices.Contains(Types, t) }

// Success is the success flag of a notification: false exactly when the event
// reports a rejection ("success flag" of the interface decisions).
func (t Type) Success(status string) bool {
	switch status {
	case "InitFailed", "Rejected", "REJECTED", "FAIL", "ERROR":
		return false
	}
	return true
}

// TopLevelSignature reports whether the RSA signature stands beside data
// instead of inside it ("Events" of the interface).
func (t Type) TopLevelSignature() bool { return t == ProfileUpdated }
