package orders

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"ledgerhook/webhook"
)

type machinesFile struct {
	Order struct {
		Initial     Status                      `json:"initial"`
		Terminal    []Status                    `json:"terminal"`
		States      []Status                    `json:"states"`
		Transitions []struct{ From, To Status } `json:"transitions"`
		Refused     [][2]Status                 `json:"refused_examples"`
		Expiry      int                         `json:"expiry_seconds"`
	} `json:"cashout_order"`
}

// operator is an operator's input with a reason.
var operator = TransitionInput{ByOperator: true, Reason: "the bank's statement proves it"}

func TestStatusChangesAreExactlyThoseOfTheLifeCycle(t *testing.T) {
	file := vectors[machinesFile](t, "state_machines.json").Order
	if !slices.Equal(Statuses, file.States) {
		t.Errorf("Statuses = %v, want %v", Statuses, file.States)
	}
	known := make(map[[2]Status]bool)
	for _, move := range file.Transitions {
		known[[2]Status{move.From, move.To}] = true
	}
	o := newOrder(t)
	if o.Status != file.Initial || DefaultOrderExpiry != time.Duration(file.Expiry)*time.Second {
		t.Errorf("a new order is %s and expires after %s", o.Status, DefaultOrderExpiry)
	}
	for _, from := range file.States {
		if from.Final() != slices.Contains(file.Terminal, from) {
			t.Errorf("%s.Final() = %t", from, from.Final())
		}
		for _, to := range file.States {
			o.Status = from
			next, changed, err := o.Transition(to, operator)
			switch {
			case from == to:
				if changed || err != nil || next.Status != from || next.Sequence != o.Sequence {
					t.Errorf("%s again: changed %t, %v", to, changed, err)
				}
			case known[[2]Status{from, to}]:
				if !changed || err != nil || next.Status != to || next.Sequence != o.Sequence+1 {
					t.Errorf("%s to %s: %s, changed %t, %v", from, to, next.Status, changed, err)
				}
				if !slices.Contains(from.Next(), to) {
					t.Errorf("%s.Next() = %v, without %s", from, from.Next(), to)
				}
			default:
				if changed || webhook.KindOf(err) != webhook.KindConflict || next.Status != from {
					t.Errorf("%s to %s: %s, changed %t, %v", from, to, next.Status, changed, err)
				}
			}
		}
	}
	for _, move := range file.Refused {
		o.Status = move[0]
		if _, _, err := o.Transition(move[1], operator); err == nil {
			t.Errorf("%s to %s is allowed", move[0], move[1])
		}
	}
}

func TestOnlyAnOperatorWithAReasonLeavesError(t *testing.T) {
	o := newOrder(t)
	o.Status = StatusError
	for _, to := range o.Status.Next() {
		if _, _, err := o.Transition(to, TransitionInput{Reason: "because"}); webhook.KindOf(err) != webhook.KindForbidden {
			t.Errorf("to %s by a system: %v", to, err)
		}
		_, _, err := o.Transition(to, TransitionInput{ByOperator: true, Reason: " \t"})
		checkField(t, err, "/reason")
	}
}

func TestTransitionKeepsWhatItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrder(t)
		time.Sleep(time.Minute)
		paid := amount(t, "4.9e4")
		next, _, err := o.Transition(StatusPaymentCompleted, TransitionInput{PaidAmount: &paid, Description: "paid short"})
		if err != nil || next.PaidAmount != 49_000 || next.Description != "paid short" {
			t.Fatalf("paid %d, description %q, %v", next.PaidAmount, next.Description, err)
		}
		if got := next.UpdatedAt.Sub(o.UpdatedAt); got != time.Minute {
			t.Errorf("updated after %s", got)
		}
		next, _, err = next.Transition(StatusProcessingTokenTransfer, TransitionInput{TxHash: "0xabc"})
		if err != nil || next.TokenTransfer.TxHash != "0xabc" || next.PaidAmount != 49_000 || next.Description != "paid short" {
			t.Errorf("%+v, %v", next, err)
		}
		if next.Sequence != 2 || o.Sequence != 0 || o.PaidAmount != 0 {
			t.Errorf("sequence %d, the order before has become %+v", next.Sequence, o)
		}
	})
}

func TestOrderPaidWithoutAnAmountIsPaidInFull(t *testing.T) {
	o := newOrder(t)
	paid, _, err := o.Transition(StatusPaymentCompleted, TransitionInput{})
	if err != nil || paid.PaidAmount != o.FiatAmount {
		t.Errorf("paid %d, %v", paid.PaidAmount, err)
	}
	for _, to := range []Status{StatusFail, StatusError} {
		if next, _, err := o.Transition(to, TransitionInput{}); err != nil || next.PaidAmount != 0 {
			t.Errorf("%s: paid %d, %v", to, next.PaidAmount, err)
		}
	}
}

func TestWrongTransitionInputIsRefused(t *testing.T) {
	o := newOrder(t)
	for literal, field := range map[string]string{
		"0": "", "499999999": "", "-1": "/paidAmount", "0.5": "/paidAmount", "500000000": "/paidAmount", "1e30": "/paidAmount",
	} {
		paid := amount(t, literal)
		_, _, err := o.Transition(StatusPaymentCompleted, TransitionInput{PaidAmount: &paid})
		checkField(t, err, field)
	}
	long := strings.Repeat("x", maxNote+1)
	_, _, err := o.Transition(StatusError, TransitionInput{TxHash: long})
	checkField(t, err, "/txHash")
	_, _, err = o.Transition(StatusError, TransitionInput{Description: "\xff"})
	checkField(t, err, "/description")
	_, _, err = o.Transition(StatusError, TransitionInput{Reason: "a\x00b"})
	checkField(t, err, "/reason")
	_, _, err = o.Transition("PAID", TransitionInput{})
	checkField(t, err, "/status")
}

func TestAnOrderThatFailsWasNotPaid(t *testing.T) {
	paid, o := amount(t, "1"), newOrder(t)
	for _, from := range []Status{StatusAwaitingPayment, StatusError} {
		o.Status = from
		in := operator
		in.PaidAmount = &paid
		_, _, err := o.Transition(StatusFail, in)
		checkField(t, err, "/paidAmount")
	}
}

func TestUnpaidOrderExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrder(t)
		time.Sleep(DefaultOrderExpiry - time.Nanosecond)
		if _, changed := o.Expire(); changed {
			t.Error("expired early")
		}
		if _, _, err := o.MarkPayout(); err != nil {
			t.Errorf("a payout in the last moment: %v", err)
		}
		time.Sleep(time.Nanosecond)
		if _, _, err := o.MarkPayout(); webhook.KindOf(err) != webhook.KindConflict {
			t.Errorf("a payout too late: %v", err)
		}
		expired, changed := o.Expire()
		if !changed || expired.Status != StatusFail || expired.Sequence != 1 || expired.Description == "" {
			t.Errorf("%s, sequence %d, changed %t", expired.Status, expired.Sequence, changed)
		}
		if _, changed := expired.Expire(); changed {
			t.Error("expired twice")
		}
	})
}

func TestOrderBeingPaidOutDoesNotExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrder(t)
		marked, changed, err := o.MarkPayout()
		if !changed || err != nil || !marked.PayoutAt.Equal(time.Now()) || marked.Status != o.Status || marked.Sequence != 0 {
			t.Fatalf("%+v, changed %t, %v", marked, changed, err)
		}
		if _, changed, err := marked.MarkPayout(); changed || err != nil {
			t.Errorf("marked again: changed %t, %v", changed, err)
		}
		time.Sleep(24 * time.Hour)
		if _, changed := marked.Expire(); changed {
			t.Error("expired while being paid out")
		}
		if _, changed, err := marked.MarkPayout(); changed || err != nil {
			t.Errorf("marked again after its time: changed %t, %v", changed, err)
		}
		if _, changed, err := marked.Transition(StatusPaymentCompleted, TransitionInput{}); !changed || err != nil {
			t.Errorf("the late payout: changed %t, %v", changed, err)
		}
	})
}

func TestOnlyOrdersThatAwaitPaymentExpireOrArePaidOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrder(t)
		for _, status := range Statuses[1:] {
			o.Status = status
			if _, _, err := o.MarkPayout(); webhook.KindOf(err) != webhook.KindConflict {
				t.Errorf("a payout of %s: %v", status, err)
			}
		}
		time.Sleep(24 * time.Hour)
		for _, status := range Statuses[1:] {
			o.Status = status
			if _, changed := o.Expire(); changed {
				t.Errorf("%s expired", status)
			}
		}
	})
}

// Whatever is asked for in whatever order: a final order stays as it is, and
// without an operator no order fails after it was paid.
func TestNoOrderFailsAfterMoneyMoved(t *testing.T) {
	fresh := newOrder(t)
	rapid.Check(t, func(t *rapid.T) {
		o, paid := fresh, false
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			next, changed, err := o.Transition(rapid.SampledFrom(Statuses).Draw(t, "to"), TransitionInput{})
			if o.Status.Final() && changed {
				t.Fatalf("%s became %s", o.Status, next.Status)
			}
			if changed != (err == nil && next.Status != o.Status) {
				t.Fatalf("%s to %s: changed %t, %v", o.Status, next.Status, changed, err)
			}
			if next.Status == StatusFail && paid {
				t.Fatal("a paid order failed")
			}
			paid = paid || next.Status == StatusPaymentCompleted
			o = next
		}
	})
}
