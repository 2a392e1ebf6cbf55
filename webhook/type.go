package webhook

import "slices"

// Type names a kind of notification, the webhookType of the interface.
type Type string

// Known reports whether t is one of Types.
func (t Type) Known() bool { return slices.Contains(Types, t) }

// Success is the success flag of a notification: whether it reports a status
// that its type knows and that is no rejection.
func (t Type) Success(status string) bool {
	e, _ := Describe(t)
	return slices.Contains(e.Statuses, status) && !slices.Contains(e.Rejections, status)
}

// TopLevelSignature reports whether the RSA signature stands beside data
// instead of inside it.
func (t Type) TopLevelSignature() bool {
	e, _ := Describe(t)
	return e.SignatureBeside
}
