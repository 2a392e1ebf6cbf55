package ops

import (
	"context"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"ledgerhook/dashboard/deliveries"
	"ledgerhook/dashboard/shell"
	"ledgerhook/delivery"
	"ledgerhook/ledger/reports"
	"ledgerhook/orders"
	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// orderView is one order, its history and what became of its notifications.
type orderView struct {
	Order   shell.Reading[orders.Order]
	Rates   shell.Reading[[]orders.Rate] // as they are now
	Track   []orderStop
	QR      template.HTML // empty: there is no recipient
	History shell.Reading[[]orders.Change]
	Sent    shell.Reading[[]sentRow]
	Stands  shell.Reading[reports.OrderStanding]
	Moves   []orders.Status // that the life cycle allows
	Payout  bool            // its payout can be marked as started
	Settle  bool            // its conflicts can be settled
	Form    string          // one-time token
	Done    string
	Problem string

	maxAge time.Duration // a rate that is older gives no price; zero: not known
	now    time.Time
	q      *shell.Request
}

// sentRow is a delivery of one of the order's notifications.
type sentRow struct {
	deliveries.SampleRow
	Told orders.Status // the status that it tells of
}

// Waits says who waits for what; empty: it is not known.
func (v orderView) Waits() string {
	if !v.Stands.Known {
		return ""
	}
	return waitsOf(v.q, v.Stands.Value)
}

// Present reports whether a delivery tells of the status that the order has.
func (v orderView) Present(d sentRow) bool { return d.EventID == v.Stands.Value.EventID }

// RateAge is how old the rate was that the order was quoted by.
func (v orderView) RateAge() time.Duration {
	return max(0, v.Order.Value.QuotedAt.Sub(v.Order.Value.RateAt))
}

// RateThen says whether the rate gave prices when the order was quoted.
func (v orderView) RateThen() shell.Pill {
	o := v.Order.Value
	return rateState(orders.Rate{WalletAddress: o.TokenTransfer.WalletAddress, UpdatedAt: o.RateAt}, o.QuotedAt, v.maxAge)
}

// RateNow is the present rate of the order's cryptocurrency; nil: it has none.
func (v orderView) RateNow() *rateNow {
	for _, r := range v.Rates.Value {
		if r.Crypto == v.Order.Value.TokenTransfer.Currency {
			return &rateNow{r.Price, max(0, v.now.Sub(r.UpdatedAt)), rateState(r, v.now, v.maxAge)}
		}
	}
	return nil
}

// rateNow is a rate with its age, and whether it gives prices.
type rateNow struct {
	Price orders.Amount
	Age   time.Duration
	State shell.Pill
}

// orderStop is one status on the way of an order.
type orderStop struct {
	Status orders.Status
	State  shell.Pill
	At     time.Time // zero: it was not there
	Tone   string    // good: passed, bad, warn, busy: here now; future
}

// orderWay is the way of an order that goes well.
var orderWay = []orders.Status{orders.StatusAwaitingPayment, orders.StatusPaymentCompleted, orders.StatusProcessingTokenTransfer, orders.StatusSuccess}

var orderDone = map[string]string{
	"move": "The order is moved, and its partner is told.", "payout": "The payout is marked as started. The order no longer expires.",
	"settle": "The conflict is settled and stays in the history.",
	"again":  "Already done: this form was sent before. Nothing was changed twice.", "same": "Nothing was changed: it was already in that state.",
}

func (s pages) orderPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	return s.showOrder(w, r, q, http.StatusOK, orderView{Done: orderDone[r.URL.Query().Get("done")]})
}

func (s pages) showOrder(w http.ResponseWriter, r *http.Request, q *shell.Request, status int, v orderView) error {
	id, err := shell.PathID(r, "order", webhook.OrderPrefix)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), shell.PanelLimit)
	defer cancel()
	shell.Together(
		func() { v.Rates = shell.Cached(ctx, s.Memory, "rates", s.Prices.Rates) },
		func() {
			v.Order = shell.Cached(ctx, s.Memory, "order/"+id, func(ctx context.Context) (orders.Order, error) { return s.Ledger.Order(ctx, id) })
		},
		func() {
			v.History = shell.Cached(ctx, s.Memory, "order/history/"+id, func(ctx context.Context) ([]orders.Change, error) { return s.Reports.OrderChanges(ctx, id) })
			v.Sent = shell.Cached(ctx, s.Memory, "order/sent/"+id, func(ctx context.Context) ([]sentRow, error) { return s.orderDeliveries(ctx, q, v.History) })
		},
	)
	if webhook.KindOf(v.Order.Err) == webhook.KindNotFound || !v.Order.Known {
		return v.Order.Err
	}
	o := v.Order.Value
	v.maxAge, v.now, v.q = s.RateAge, q.Now, q
	v.Stands = shell.Cached(ctx, s.Memory, "order/stands/"+id, func(ctx context.Context) (reports.OrderStanding, error) {
		stands, err := s.Reports.Standings(ctx, []orders.Order{o})
		if err != nil {
			return reports.OrderStanding{}, err
		}
		return stands[0], nil
	})
	v.Track = trackOf(o, v.History.Value)
	if code, ok := o.VietQR(); ok {
		svg, err := code.SVG()
		if err != nil {
			return err
		}
		v.QR = template.HTML(svg)
	}
	if q.CanAct() && v.Order.Fresh {
		v.Moves, v.Form = o.Status.Next(), shell.NewFormToken()
		_, v.Payout, _ = o.MarkPayout()
		v.Settle = slices.ContainsFunc(v.History.Value, orders.Change.Unsettled)
	}
	return q.RenderStatus(w, r, status, "order", v)
}

// ReplayPath is the preview of sending again what was given up of the order;
// empty if nothing was.
func (v orderView) ReplayPath() string {
	if !slices.ContainsFunc(v.Sent.Value, func(d sentRow) bool { return d.Delivery.State == webhook.Exhausted && !d.Settled() }) {
		return ""
	}
	return deliveries.ReplayPath("/ops", "ref:"+v.Order.Value.ID+" state:exhausted settled:no")
}

// orderDeliveries are the deliveries of an order's events, oldest first.
func (s pages) orderDeliveries(ctx context.Context, q *shell.Request, history shell.Reading[[]orders.Change]) (rows []sentRow, err error) {
	if !history.Fresh {
		return nil, history.Err
	}
	for _, change := range history.Value {
		if change.EventID == "" {
			continue
		}
		var found []delivery.DeliveryWithWindow
		if found, err = s.Reports.EventDeliveries(ctx, change.EventID); err != nil {
			return nil, err
		}
		for _, d := range found {
			shown := deliveries.SampleRow{DeliveryWithWindow: d, State: shell.Standing(d.Delivery, d.Window), Result: deliveries.ResultWords(q.T, d.Last)}
			rows = append(rows, sentRow{shown, change.To})
		}
	}
	return rows, nil
}

// trackOf is the way of an order: where it was and when, where it is, and what
// would follow if all goes well.
func trackOf(o orders.Order, history []orders.Change) (track []orderStop) {
	stop := func(status orders.Status, at time.Time) {
		track = append(track, orderStop{Status: status, State: orderPills[status], At: at, Tone: "good"})
	}
	stop(orders.StatusAwaitingPayment, o.CreatedAt)
	for _, change := range history {
		if change.Refused == nil {
			stop(change.To, change.At)
		}
	}
	last := &track[len(track)-1]
	last.Tone = last.State.Tone
	for i, status := range orderWay {
		if status == o.Status {
			for _, next := range orderWay[i+1:] {
				track = append(track, orderStop{Status: next, State: orderPills[next], Tone: "future"})
			}
		}
	}
	return track
}

// moveOrder changes the status of an order, marks its payout as started or its
// conflicts as settled; the ledger says what the life cycle allows. The same
// form sent again changes nothing.
func (s pages) moveOrder(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	id, form := r.PathValue("id"), r.PostForm
	reason := strings.TrimSpace(form.Get("reason"))
	done, again, err := s.Accounts.OnceForm(r.Context(), form.Get("form"), func() (string, error) {
		if reason == "" {
			return "", webhook.Invalid("reason", "is required: say why, for the audit log")
		}
		return s.orderMove(r.Context(), q, id, reason, form)
	})
	if err == nil {
		if again {
			done = "again"
		}
		http.Redirect(w, r, "/ops/orders/"+id+"?done="+done, http.StatusSeeOther)
		return nil
	}
	problem, status, err := q.Problem(err)
	if err != nil {
		return err
	}
	return s.showOrder(w, r, q, status, orderView{Problem: problem})
}

// orderMove does what the form says: "move", "payout", "settle", or "same" when
// nothing was to change.
func (s pages) orderMove(ctx context.Context, q *shell.Request, id, reason string, form map[string][]string) (done string, err error) {
	get := func(name string) string {
		for _, value := range form[name] {
			return strings.TrimSpace(value)
		}
		return ""
	}
	var changed bool
	by := q.Audit("order.transition")
	by.Detail = reason
	switch done = get("status"); done {
	case "payout":
		by.Action = "order.payout"
		_, changed, err = s.Ledger.MarkPayout(ctx, id, by)
	case "settle":
		by.Action = "order.settle"
		if err = orders.CheckSettlement(reason); err == nil {
			changed, err = true, s.Ledger.SettleOrder(ctx, id, q.User.Actor(), reason, by)
		}
	default:
		done = "move"
		move := orders.Move{To: orders.Status(get("status")), Actor: q.User.Actor(), KeyID: signer.KeyID(s.Key()), Input: orders.TransitionInput{
			TxHash: get("txHash"), Description: get("description"), Reason: reason, ByOperator: true}}
		if paid := get("paidAmount"); paid != "" {
			amount, err := orders.ParseAmount(paid)
			if err != nil {
				return "", webhook.Invalid("paidAmount", err.Error())
			}
			move.Input.PaidAmount = &amount
		}
		by.Detail = string(move.To) + ": " + reason
		_, changed, err = s.Ledger.TransitionOrder(ctx, id, move, by)
	}
	if err == nil && !changed {
		done = "same"
	}
	return done, err
}
