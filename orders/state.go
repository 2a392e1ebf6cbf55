package orders

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ledgerhook/webhook"
)

// Status is where an order stands.
type Status string

const (
	StatusAwaitingPayment         Status = "AWAITING_PAYMENT"
	StatusPaymentCompleted        Status = "PAYMENT_COMPLETED"         // the customer has the money
	StatusProcessingTokenTransfer Status = "PROCESSING_TOKEN_TRANSFER" // the tokens were deducted
	StatusSuccess                 Status = "SUCCESS"
	StatusFail                    Status = "FAIL"  // no money moved, or all of it was moved back
	StatusError                   Status = "ERROR" // the outcome is unknown, or money moved
)

// Statuses lists every status, for closed label sets and filters.
var Statuses = []Status{StatusAwaitingPayment, StatusPaymentCompleted, StatusProcessingTokenTransfer,
	StatusSuccess, StatusFail, StatusError}

// moves are the status changes there are. FAIL is never reached once money
// has moved, except from ERROR by an operator.
var moves = map[Status][]Status{
	StatusAwaitingPayment:         {StatusPaymentCompleted, StatusFail, StatusError},
	StatusPaymentCompleted:        {StatusProcessingTokenTransfer, StatusError},
	StatusProcessingTokenTransfer: {StatusSuccess, StatusError},
	StatusError:                   {StatusPaymentCompleted, StatusProcessingTokenTransfer, StatusSuccess, StatusFail},
}

// Known reports whether s is one of Statuses.
func (s Status) Known() bool { return slices.Contains(Statuses, s) }

// Final reports whether an order of status s never changes again.
func (s Status) Final() bool { return s == StatusSuccess || s == StatusFail }

// paid reports whether s says that the customer has the money.
func (s Status) paid() bool {
	return s == StatusPaymentCompleted || s == StatusProcessingTokenTransfer || s == StatusSuccess
}

// Next lists the statuses that an order of status s can change to.
func (s Status) Next() []Status { return slices.Clone(moves[s]) }

// maxNote is how many characters a description, reason or transaction hash has
// at most.
const maxNote = 500

// TransitionInput is what is known about a status change. Absent parts leave
// the order as it is.
type TransitionInput struct {
	PaidAmount  *Amount // whole dong, 0 … MaxVND
	TxHash      string
	Description string // shown to the partner
	Reason      string // why an operator moved it; for the audit log, not kept in the order
	ByOperator  bool
}

// Transition returns o with status to, and whether that changed anything: the
// status o has already is no change, and then the input is not looked at.
//
// An order that becomes paid without a paid amount counts as paid in full. Errors are
// Invalid about the input, Conflict for a change that the life cycle does not
// know, and Forbidden for leaving ERROR without being an operator.
func (o Order) Transition(to Status, in TransitionInput) (next Order, changed bool, err error) {
	if !to.Known() {
		return o, false, webhook.Invalid("/status", fmt.Sprintf("must be one of %v", Statuses))
	}
	if to == o.Status {
		return o, false, nil
	}
	if err := o.mayMove(to, in); err != nil {
		return o, false, err
	}
	if err := in.check(); err != nil {
		return o, false, err
	}
	next = o
	if in.PaidAmount != nil {
		next.PaidAmount, _ = in.PaidAmount.d.Int64() // checked: whole and small
	} else if to.paid() && o.PaidAmount == 0 {
		next.PaidAmount = o.FiatAmount
	}
	if in.TxHash != "" {
		next.TokenTransfer.TxHash = in.TxHash
	}
	if in.Description != "" {
		next.Description = in.Description
	}
	return next.moved(to), true, nil
}

func (o Order) mayMove(to Status, in TransitionInput) error {
	if o.Status.Final() {
		return webhook.Conflict(fmt.Sprintf("order %s is %s, which is final", o.ID, o.Status))
	}
	if !slices.Contains(moves[o.Status], to) {
		return webhook.Conflict(fmt.Sprintf("order %s is %s and can only become one of %v",
			o.ID, o.Status, moves[o.Status]))
	}
	if o.Status == StatusError {
		if !in.ByOperator {
			return &webhook.Error{Kind: webhook.KindForbidden, Message: "only an operator moves an order out of ERROR"}
		}
		if strings.TrimSpace(in.Reason) == "" {
			return webhook.Invalid("/reason", "must say what was proved about an order that leaves ERROR")
		}
	}
	if to == StatusFail && in.PaidAmount != nil && in.PaidAmount.Sign() > 0 {
		return webhook.Invalid("/paidAmount", "must be absent or 0: an order whose money moved cannot become FAIL")
	}
	return nil
}

func (in TransitionInput) check() error {
	if p := in.PaidAmount; p != nil && (p.Places() > 0 || p.Sign() < 0 || p.Cmp(Dong(MaxVND)) > 0) {
		return webhook.Invalid("/paidAmount", fmt.Sprintf("must be whole VND from 0 to %d", MaxVND))
	}
	for _, text := range []struct{ field, value string }{
		{"/txHash", in.TxHash}, {"/description", in.Description}, {"/reason", in.Reason},
	} {
		if !plain(text.value, maxNote) {
			return webhook.Invalid(text.field, fmt.Sprintf("must be at most %d printable characters", maxNote))
		}
	}
	return nil
}

// moved is the part that every status change has in common.
func (o Order) moved(to Status) Order {
	o.Status = to
	o.Sequence++
	o.UpdatedAt = stamp(time.Now())
	return o
}

// Expired reports whether o is due to expire at now: still unpaid at its
// ExpiresAt, and no payout was started that could be on its way.
func (o Order) Expired(now time.Time) bool {
	return o.Status == StatusAwaitingPayment && o.PayoutAt.IsZero() && !now.Before(o.ExpiresAt)
}

// Expire returns o failed, and whether it was due to.
func (o Order) Expire() (next Order, changed bool) {
	if !o.Expired(time.Now()) {
		return o, false
	}
	o.Description = "The order expired before it was paid."
	return o.moved(StatusFail), true
}

// MarkPayout returns o marked as being paid out, from when on it does not
// expire. Marking it again changes nothing. The error is a Conflict unless o
// awaits payment and has not reached its ExpiresAt ("Payout" of the interface
// decisions).
func (o Order) MarkPayout() (next Order, changed bool, err error) {
	now := stamp(time.Now())
	switch {
	case o.Status != StatusAwaitingPayment:
		return o, false, webhook.Conflict(fmt.Sprintf("order %s is %s: only an order that is %s can be paid out",
			o.ID, o.Status, StatusAwaitingPayment))
	case !o.PayoutAt.IsZero():
		return o, false, nil
	case !now.Before(o.ExpiresAt):
		return o, false, webhook.Conflict(fmt.Sprintf("order %s expired at %s", o.ID, o.ExpiresAt.Format(TimeFormat)))
	}
	o.PayoutAt, o.UpdatedAt = now, now
	return o, true, nil
}
