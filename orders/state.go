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

// The statuses of an order.
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
// has moved, except from ERROR by an operator who says that all of it came back.
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
// An order that becomes paid without a paid amount counts as paid in full;
// another amount than the order's needs a reason. SUCCESS needs its
// transaction, and FAIL a reason once the payout has begun ("Transitions" of
// the interface decisions). Errors are Invalid about the input, Conflict for a
// change that the life cycle does not know and for FAIL after money moved, and
// Forbidden for leaving ERROR without being an operator.
func (o Order) Transition(to Status, in TransitionInput) (next Order, changed bool, err error) {
	if !to.Known() {
		return o, false, webhook.Invalid("/status", fmt.Sprintf("must be one of %v", Statuses))
	}
	if to == o.Status {
		return o, false, nil
	}
	if err := in.check(); err != nil {
		return o, false, err
	}
	if err := o.mayMove(to, in); err != nil {
		return o, false, err
	}
	next = o
	if next.PaidAmount, err = o.paidBy(to, in); err != nil {
		return o, false, err
	}
	if in.TxHash != "" {
		next.TokenTransfer.TxHash = in.TxHash
	}
	if to == StatusSuccess && strings.TrimSpace(next.TokenTransfer.TxHash) == "" {
		return o, false, webhook.Invalid("/txHash", "is required for SUCCESS: the transaction that moved the tokens")
	}
	if in.Description != "" {
		next.Description = in.Description
	}
	return next.moved(to), true, nil
}

func (o Order) mayMove(to Status, in TransitionInput) error {
	if o.deniedBy(to, in) {
		return webhook.Conflict(fmt.Sprintf("order %s is %s, which is final: that money moved all the same is kept in its history as a conflict to settle",
			o.ID, o.Status))
	}
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
		if !in.reasoned() {
			return webhook.Invalid("/reason", "must say what was proved about an order that leaves ERROR")
		}
	}
	if to == StatusFail && !o.PayoutAt.IsZero() && !in.reasoned() {
		return webhook.Invalid("/reason", "is required once the payout has begun: how the bank refused it for good")
	}
	return nil
}

// paidBy is what the bank has paid out once o is of status to. Money that
// moved is forgotten by nobody but the operator who settles an order in ERROR
// and says, with an amount of 0, that all of it came back.
func (o Order) paidBy(to Status, in TransitionInput) (int64, error) {
	if in.PaidAmount == nil {
		switch {
		case to == StatusFail && o.PaidAmount > 0:
			return 0, webhook.Conflict(fmt.Sprintf("order %s has paid out %d VND and cannot become FAIL, unless all of it came back: then say so with paidAmount 0 and a reason",
				o.ID, o.PaidAmount))
		case to.paid() && o.PaidAmount == 0:
			return o.FiatAmount, nil
		}
		return o.PaidAmount, nil
	}
	paid := in.paid()
	switch {
	case to == StatusFail && paid > 0:
		return 0, webhook.Invalid("/paidAmount", "must be absent or 0: an order whose money moved cannot become FAIL")
	case to.paid() && paid == 0:
		return 0, webhook.Invalid("/paidAmount", fmt.Sprintf("must be above 0 for %s; an order of which it is not known what was paid is ERROR", to))
	case to == StatusError && paid == 0 && o.PaidAmount > 0:
		return 0, webhook.Invalid("/paidAmount", fmt.Sprintf("must be absent or what was paid, and this order has paid out %d VND", o.PaidAmount))
	case paid > 0 && paid != o.FiatAmount && paid != o.PaidAmount && !in.reasoned():
		return 0, webhook.Invalid("/paidAmount", fmt.Sprintf("must be the order's %d VND, or come with a reason why it is not", o.FiatAmount))
	}
	return paid, nil
}

// deniedBy reports whether o has failed and a change to status to would say
// that its money moved.
func (o Order) deniedBy(to Status, in TransitionInput) bool {
	return o.Status == StatusFail && (to.paid() || to == StatusError && in.paid() > 0)
}

// Conflict is what a history keeps of a move that was refused because o has
// failed and m says that money moved all the same. ok is false for every other
// move, and for one whose input is wrong.
func (o Order) Conflict(m Move) (c Change, ok bool) {
	if !o.deniedBy(m.To, m.Input) || m.Input.check() != nil {
		return Change{}, false
	}
	paid := m.Input.paid()
	if m.Input.PaidAmount == nil {
		paid = o.FiatAmount
	}
	return Change{Sequence: o.Sequence, From: o.Status, To: m.To, Actor: m.Actor, Reason: m.Input.Reason, At: stamp(time.Now()),
		Refused: &Refusal{PaidAmount: paid, TxHash: m.Input.TxHash}}, true
}

// reasoned reports whether in says why.
func (in TransitionInput) reasoned() bool { return strings.TrimSpace(in.Reason) != "" }

// paid is the amount that in tells of, once it is checked: whole and small.
func (in TransitionInput) paid() (dong int64) {
	if in.PaidAmount != nil {
		dong, _ = in.PaidAmount.d.Int64()
	}
	return dong
}

func (in TransitionInput) check() error {
	if p := in.PaidAmount; p != nil && (p.Places() > 0 || p.Sign() < 0 || p.Cmp(Dong(MaxVND)) > 0) {
		return webhook.Invalid("/paidAmount", fmt.Sprintf("must be whole VND from 0 to %d", MaxVND))
	}
	for _, text := range []struct{ field, value string }{
		{"/txHash", in.TxHash}, {"/description", in.Description}, {"/reason", in.Reason},
	} {
		if !plain(text.value, maxNote) {
			return noteError(text.field)
		}
	}
	return nil
}

func noteError(field string) error {
	return webhook.Invalid(field, fmt.Sprintf("must be at most %d printable characters", maxNote))
}

// CheckSettlement checks the reason with which an operator settles the
// conflicts of an order: what was found and done. The error is Invalid.
func CheckSettlement(reason string) error {
	switch {
	case strings.TrimSpace(reason) == "":
		return webhook.Invalid("/reason", "is required: what was found about the money, and what was done")
	case !plain(reason, maxNote):
		return noteError("/reason")
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

// Expire returns o failed, and whether it was due to at now.
func (o Order) Expire(now time.Time) (next Order, changed bool) {
	if !o.Expired(now) {
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
