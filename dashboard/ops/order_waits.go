package ops

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ledgerhook/dashboard/deliveries"
	"ledgerhook/dashboard/shell"
	"ledgerhook/delivery"
	"ledgerhook/ledger/reports"
	"ledgerhook/orders"
	"ledgerhook/webhook"
)

// waitsOf says in a sentence who waits for what of an order, and since when.
func waitsOf(q *shell.Request, s reports.OrderStanding) string {
	e := evidence{Now: q.Here(q.Now)}
	theirs, ours, known := e.theyWait(q, s), e.weWait(s), e.theyKnow(s)
	switch {
	case theirs != "" && ours != "":
		return theirs + "; " + ours + "."
	case ours != "" && known != "":
		return capital(ours) + "; " + known + "."
	case theirs+ours != "":
		return capital(theirs+ours) + "."
	}
	return "Nobody waits: " + known + "."
}

// theyWait says what the partner waits for; empty: for nothing of ours.
func (e evidence) theyWait(q *shell.Request, s reports.OrderStanding) string {
	told, untold := s.Told()
	if len(untold) == 0 {
		return ""
	}
	waits := "waits"
	if !told.IsZero() {
		waits = "still waits at " + count(len(untold), "endpoint")
	}
	return fmt.Sprintf("The partner %s for our notification of %s, undelivered since %s%s", waits, orderPill(s.Status).Word, e.clock(s.ChangedAt), why(q, untold[len(untold)-1]))
}

// why says in brackets what keeps a delivery from arriving; empty: nothing yet.
func why(q *shell.Request, d delivery.DeliveryWithWindow) string {
	row := deliveries.RowOf(q, reports.FoundDelivery{DeliveryWithWindow: d})
	var says []string
	if d.State == webhook.Exhausted {
		says = append(says, "given up after "+count(d.Attempts, "attempt"))
	}
	if row.Result != "" {
		says = append(says, row.Result)
	}
	if row.Waiting.For != "" {
		says = append(says, "waits for "+row.Waiting.For)
	}
	if len(says) == 0 {
		return ""
	}
	return " (" + strings.Join(says, ", ") + ")"
}

// weWait says what we wait for, or have to do; empty: the order is done with.
func (e evidence) weWait(s reports.OrderStanding) string {
	at := cmp.Or(s.ChangedAt, s.CreatedAt)
	if !s.PayoutAt.IsZero() && s.Status == orders.StatusAwaitingPayment {
		return "we wait for the bank to report the payout, since " + e.clock(s.PayoutAt)
	}
	if !s.Conflict.IsZero() {
		return "we have a conflict to settle, since " + e.clock(s.Conflict)
	}
	switch s.Status {
	case orders.StatusAwaitingPayment:
		return fmt.Sprintf("we wait for the payout to be started, since %s, until the order expires at %s", e.clock(at), e.clock(s.ExpiresAt))
	case orders.StatusPaymentCompleted:
		return "we wait for the partner's tokens to be deducted, since " + e.clock(at)
	case orders.StatusProcessingTokenTransfer:
		return "we wait for the token transfer to end, since " + e.clock(at)
	case orders.StatusError:
		return "we have to find out what became of the money, since " + e.clock(at)
	}
	return ""
}

// theyKnow says what became of the notification of the order's status; empty for
// an order that is as its partner made it.
func (e evidence) theyKnow(s reports.OrderStanding) string {
	status := orderPill(s.Status).Word
	some := func(is func(delivery.DeliveryWithWindow) bool) bool { return slices.ContainsFunc(s.Deliveries, is) }
	switch told, _ := s.Told(); {
	case s.EventID == "":
		return ""
	case !told.IsZero():
		return fmt.Sprintf("the partner was told of %s at %s", status, e.clock(told))
	case some(func(d delivery.DeliveryWithWindow) bool { return d.Settled() }): // by one that is not kept any more
		return fmt.Sprintf("the partner was told of %s", status)
	case s.Filtered:
		return fmt.Sprintf("the partner was not told of %s, none of its endpoints takes %s", status, webhook.CashoutOrderUpdated)
	case s.Erased:
		return fmt.Sprintf("the partner was not told of %s, what our notification says was erased", status)
	case some(func(d delivery.DeliveryWithWindow) bool { return d.Window.Removed }):
		return fmt.Sprintf("the partner was not told of %s, the endpoint that our notification was for is removed", status)
	case len(s.Deliveries) > 0:
		return fmt.Sprintf("our notification of %s was cancelled", status)
	}
	return fmt.Sprintf("whether the partner was told of %s is not kept any more", status)
}

// capital is a sentence with its first letter, which is of ASCII, as a capital.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
