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

// operator is an operator's input with a reason and the transaction.
var operator = TransitionInput{ByOperator: true, Reason: "the bank's statement proves it", TxHash: "0xabc"}

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
		next, _, err := o.Transition(StatusPaymentCompleted, TransitionInput{PaidAmount: &paid, Description: "paid short", Reason: "the bank kept a fee"})
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
		"0": "/paidAmount", "499999999": "/paidAmount", "50000": "", "-1": "/paidAmount", "0.5": "/paidAmount", "500000000": "/paidAmount", "1e30": "/paidAmount",
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

// What the bank and the chain say must fit the order; what does not needs a
// reason, and what cannot be is refused.
func TestAStatusChangeFitsTheMoneyOfItsOrder(t *testing.T) {
	const conflict = "conflict"
	awaiting, paid, moved, unclear := StatusAwaitingPayment, StatusPaymentCompleted, StatusProcessingTokenTransfer, StatusError
	for _, test := range []struct {
		name         string
		from         Status
		paid         int64 // before
		payout       bool
		to           Status
		amount       string // empty: none is given
		hash, reason string
		want         string // the field that is wrong, or a conflict; empty: it is taken
		paidNow      int64
	}{
		{"paid in full", awaiting, 0, true, paid, "50000", "", "", "", 50_000},
		{"paid nothing", awaiting, 0, true, paid, "0", "", "", "/paidAmount", 0},
		{"paid nothing, for a reason", awaiting, 0, true, paid, "0", "", "an empty field", "/paidAmount", 0},
		{"paid short", awaiting, 0, true, paid, "49000", "", "", "/paidAmount", 0},
		{"paid short for a blank reason", awaiting, 0, true, paid, "49000", "", " ", "/paidAmount", 0},
		{"paid short for a reason", awaiting, 0, true, paid, "49000", "", "the bank kept a fee", "", 49_000},
		{"paid too much", awaiting, 0, true, paid, "499999999", "", "", "/paidAmount", 0},
		{"what is known already", paid, 49_000, true, moved, "49000", "", "", "", 49_000},
		{"another amount later", paid, 50_000, true, moved, "1", "", "", "/paidAmount", 0},
		{"no transaction", moved, 50_000, true, StatusSuccess, "", "", "", "/txHash", 0},
		{"a blank transaction", moved, 50_000, true, StatusSuccess, "", " ", "", "/txHash", 0},
		{"success with another amount", moved, 50_000, true, StatusSuccess, "1", "0xabc", "", "/paidAmount", 0},
		{"success", moved, 50_000, true, StatusSuccess, "", "0xabc", "", "", 50_000},
		{"unclear, with what was paid", awaiting, 0, true, unclear, "50000", "", "", "", 50_000},
		{"unclear, with something else", awaiting, 0, true, unclear, "1", "", "", "/paidAmount", 0},
		{"unclear, and what was paid forgotten", paid, 50_000, true, unclear, "0", "", "unclear", "/paidAmount", 0},
		{"fails though it is paid", unclear, 50_000, true, StatusFail, "", "", "proved", conflict, 0},
		{"fails, all came back", unclear, 50_000, true, StatusFail, "0", "", "the bank reversed it", "", 0},
		{"fails, nothing moved", unclear, 0, true, StatusFail, "", "", "proved", "", 0},
		{"fails before a payout", awaiting, 0, false, StatusFail, "", "", "", "", 0},
		{"fails after the payout began", awaiting, 0, true, StatusFail, "", "", "", "/reason", 0},
		{"fails, refused by the bank", awaiting, 0, true, StatusFail, "", "", "no such account", "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := newOrder(t)
			o.Status, o.PaidAmount = test.from, test.paid
			if test.payout {
				o.PayoutAt = o.CreatedAt
			}
			in := TransitionInput{ByOperator: true, TxHash: test.hash, Reason: test.reason}
			if test.amount != "" {
				given := amount(t, test.amount)
				in.PaidAmount = &given
			}
			next, changed, err := o.Transition(test.to, in)
			switch {
			case test.want == conflict:
				if webhook.KindOf(err) != webhook.KindConflict {
					t.Errorf("%v", err)
				}
			case test.want != "":
				checkField(t, err, test.want)
			case err != nil || next.PaidAmount != test.paidNow:
				t.Errorf("paid %d, %v", next.PaidAmount, err)
			}
			if changed == (test.want != "") || changed && next.Status != test.to {
				t.Errorf("it is %s, changed %t", next.Status, changed)
			}
		})
	}
}

// An order that has failed stays so, whatever is said of its money.
func TestWhatDeniesAFailureIsAConflict(t *testing.T) {
	some, none := amount(t, "49000"), amount(t, "0")
	o := newOrder(t)
	for _, test := range []struct {
		of     Status
		to     Status
		amount *Amount
		want   int64 // paid, of the conflict; 0: there is none
	}{
		{StatusFail, StatusPaymentCompleted, nil, 50_000}, {StatusFail, StatusPaymentCompleted, &some, 49_000},
		{StatusFail, StatusProcessingTokenTransfer, nil, 50_000}, {StatusFail, StatusSuccess, nil, 50_000},
		{StatusFail, StatusError, &some, 49_000}, {StatusFail, StatusError, &none, 0}, {StatusFail, StatusError, nil, 0},
		{StatusFail, StatusFail, nil, 0}, {StatusFail, StatusAwaitingPayment, nil, 0}, {StatusSuccess, StatusPaymentCompleted, nil, 0},
		{StatusError, StatusSuccess, nil, 0},
	} {
		o.Status = test.of
		m := Move{To: test.to, Actor: "bank", Input: TransitionInput{PaidAmount: test.amount, TxHash: "0xabc", Reason: "the statement"}}
		c, ok := o.Conflict(m)
		if ok != (test.want > 0) || ok && (c.Refused.PaidAmount != test.want || !c.Unsettled() || c.From != test.of || c.To != test.to || c.Reason != "the statement") {
			t.Errorf("%s to %s: %t, %+v", test.of, test.to, ok, c)
		}
		if _, changed, err := o.Transition(m.To, m.Input); ok && (changed || webhook.KindOf(err) != webhook.KindConflict) {
			t.Errorf("%s to %s: changed %t, %v", test.of, test.to, changed, err)
		}
	}
	o.Status = StatusFail
	if _, ok := o.Conflict(Move{To: StatusSuccess, Input: TransitionInput{TxHash: "a\x00b"}}); ok {
		t.Error("a conflict has a hash that no database takes")
	}
}

func TestUnpaidOrderExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrder(t)
		time.Sleep(DefaultOrderExpiry - time.Nanosecond)
		if _, changed := o.Expire(time.Now()); changed {
			t.Error("expired early")
		}
		if _, _, err := o.MarkPayout(); err != nil {
			t.Errorf("a payout in the last moment: %v", err)
		}
		time.Sleep(time.Nanosecond)
		if _, _, err := o.MarkPayout(); webhook.KindOf(err) != webhook.KindConflict {
			t.Errorf("a payout too late: %v", err)
		}
		expired, changed := o.Expire(time.Now())
		if !changed || expired.Status != StatusFail || expired.Sequence != 1 || expired.Description == "" {
			t.Errorf("%s, sequence %d, changed %t", expired.Status, expired.Sequence, changed)
		}
		if _, changed := expired.Expire(time.Now()); changed {
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
		if _, changed := marked.Expire(time.Now()); changed {
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
			if _, changed := o.Expire(time.Now()); changed {
				t.Errorf("%s expired", status)
			}
		}
	})
}

// Whatever is asked for in whatever order: a final order stays as it is, and
// no order fails after it was paid, unless an operator says that it all came back.
func TestNoOrderFailsAfterMoneyMoved(t *testing.T) {
	fresh := newOrder(t)
	given := []Amount{amount(t, "0"), amount(t, "1"), amount(t, "50000")}
	rapid.Check(t, func(t *rapid.T) {
		o, paid := fresh, false
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			in := TransitionInput{TxHash: "0xabc", ByOperator: rapid.Bool().Draw(t, "operator"), Reason: rapid.SampledFrom([]string{"", "proved"}).Draw(t, "reason")}
			if i := rapid.IntRange(-1, 2).Draw(t, "amount"); i >= 0 {
				in.PaidAmount = &given[i]
			}
			next, changed, err := o.Transition(rapid.SampledFrom(Statuses).Draw(t, "to"), in)
			if o.Status.Final() && changed {
				t.Fatalf("%s became %s", o.Status, next.Status)
			}
			if changed != (err == nil && next.Status != o.Status) {
				t.Fatalf("%s to %s: changed %t, %v", o.Status, next.Status, changed, err)
			}
			back := o.Status == StatusError && in.ByOperator && in.Reason != "" && in.PaidAmount == &given[0]
			if changed && next.Status == StatusFail && paid && !back {
				t.Fatal("a paid order failed")
			}
			if next.Status.paid() && next.PaidAmount == 0 || next.Status == StatusFail && next.PaidAmount > 0 {
				t.Fatalf("a %s order has paid out %d", next.Status, next.PaidAmount)
			}
			paid = next.PaidAmount > 0
			o = next
		}
	})
}
