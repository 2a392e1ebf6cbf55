package dashboard

import (
	"context"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/orders"
	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// orderView is one order, its history and what became of its notifications.
type orderView struct {
	Order   fact[orders.Order]
	Track   []orderStop
	QR      template.HTML // empty: there is no recipient
	History fact[[]orders.Change]
	Sent    fact[[]sampleRow]
	Moves   []orders.Status // that the life cycle allows
	Payout  bool            // its payout can be marked as started
	Settle  bool            // its conflicts can be settled
	Form    string          // one-time token
	Done    string
	Problem string
}

// orderStop is one status on the way of an order.
type orderStop struct {
	Status orders.Status
	State  pill
	At     time.Time // zero: it was not there
	Tone   string    // good: passed, bad, warn, busy: here now; future
}

// orderWay is the way of an order that goes well.
var orderWay = []orders.Status{orders.StatusAwaitingPayment, orders.StatusPaymentCompleted, orders.StatusProcessingTokenTransfer, orders.StatusSuccess}

var orderDone = map[string]string{
	"move": "The order is moved, and its partner is told.", "payout": "The payout is marked as started. The order does not expire any more.",
	"settle": "The conflict is settled. The history keeps it.",
	"again":  "Already done: this form was sent before. Nothing was changed twice.", "same": "Nothing was changed: it was so already.",
}

func (s *surface) orderPage(w http.ResponseWriter, r *http.Request, q *request) error {
	return s.showOrder(w, r, q, http.StatusOK, orderView{Done: orderDone[r.URL.Query().Get("done")]})
}

func (s *surface) showOrder(w http.ResponseWriter, r *http.Request, q *request, status int, v orderView) error {
	id, err := pathID(r, "order", webhook.OrderPrefix)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), panelLimit)
	defer cancel()
	together(
		func() {
			v.Order = recall(ctx, s.Memory, "order/"+id, func(ctx context.Context) (orders.Order, error) { return s.Ledger.Order(ctx, id) })
		},
		func() {
			v.History = recall(ctx, s.Memory, "order/history/"+id, func(ctx context.Context) ([]orders.Change, error) { return s.Ledger.OrderChanges(ctx, id) })
			v.Sent = recall(ctx, s.Memory, "order/sent/"+id, func(ctx context.Context) ([]sampleRow, error) { return s.orderDeliveries(ctx, q, v.History) })
		},
	)
	if webhook.KindOf(v.Order.Err) == webhook.KindNotFound || !v.Order.Known {
		return v.Order.Err
	}
	o := v.Order.Value
	v.Track = trackOf(o, v.History.Value)
	if code, ok := o.VietQR(); ok {
		svg, err := code.SVG()
		if err != nil {
			return err
		}
		v.QR = template.HTML(svg)
	}
	if q.CanAct() && v.Order.Fresh {
		v.Moves, v.Form = o.Status.Next(), newFormToken()
		_, v.Payout, _ = o.MarkPayout()
		v.Settle = slices.ContainsFunc(v.History.Value, orders.Change.Unsettled)
	}
	return q.renderStatus(w, r, status, "order", v)
}

// orderDeliveries are the deliveries of an order's events, oldest first.
func (s *surface) orderDeliveries(ctx context.Context, q *request, history fact[[]orders.Change]) (rows []sampleRow, err error) {
	if !history.Fresh {
		return nil, history.Err
	}
	for _, change := range history.Value {
		if change.EventID == "" {
			continue
		}
		var found []delivery.Placed
		if found, err = s.Ledger.EventDeliveries(ctx, change.EventID); err != nil {
			return nil, err
		}
		for _, d := range found {
			rows = append(rows, sampleRow{d, stateOf(d.Shown(d.Window)), resultWords(q.T, d.Last)})
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
func (s *surface) moveOrder(w http.ResponseWriter, r *http.Request, q *request) error {
	if err := r.ParseForm(); err != nil {
		return webhook.Invalid("form", "cannot be read")
	}
	id, form := r.PathValue("id"), r.PostForm
	reason := strings.TrimSpace(form.Get("reason"))
	done, again, err := s.Ledger.OnceForm(r.Context(), form.Get("form"), func() (string, error) {
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
	problem, status, err := q.problem(err)
	if err != nil {
		return err
	}
	return s.showOrder(w, r, q, status, orderView{Problem: problem})
}

// orderMove does what the form says: "move", "payout", "settle", or "same" when
// nothing was to change.
func (s *surface) orderMove(ctx context.Context, q *request, id, reason string, form map[string][]string) (done string, err error) {
	get := func(name string) string {
		for _, value := range form[name] {
			return strings.TrimSpace(value)
		}
		return ""
	}
	var changed bool
	by := q.audit("order.transition")
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
		move := orders.Move{To: orders.Status(get("status")), Actor: q.User.Actor(), KeyID: signer.KeyID(s.Key), Input: orders.TransitionInput{
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
