package deliveries

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"

	"ledgerhook/dashboard/chart"
	"ledgerhook/dashboard/locale"
	"ledgerhook/dashboard/shell"
	"ledgerhook/delivery"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// deliveryView is one delivery with all that is known of it.
type deliveryView struct {
	reports.FoundDelivery
	State     shell.Pill
	Sentence  string
	Waiting   waitingNote
	Done      string // what was just done; empty: nothing
	Drawing   chart.Chart
	Blame     blame
	Repairs   []shell.Repair
	Advice    []string
	Attempts  []AttemptView // newest first
	Event     shell.Reading[seenEvent]
	Others    []otherDelivery // of the event
	Payload   payloadView
	Diff      shell.Reading[PayloadDiff]
	Curl      string
	CLI       string
	History   shell.Reading[[]ActivityRow]
	CanRetry  bool
	CanCancel bool
	ErasedBy  string // who erased the content of the event; empty: nobody
}

// OrderPath lists the order that the delivery tells of, for operators; empty: it
// tells of none.
func (v deliveryView) OrderPath() string {
	if v.Type != webhook.CashoutOrderUpdated || v.Trigger == webhook.TriggerTest {
		return ""
	}
	return "/ops/orders?" + url.Values{"partner": {v.PartnerCode}, "ref": {v.ObjectID}}.Encode()
}

// seenEvent is the event of a delivery, empty if it is past its retention, and
// all that was made of it.
type seenEvent struct {
	webhook.Event
	Deliveries []delivery.DeliveryWithWindow
}

// otherDelivery is another delivery of the same event.
type otherDelivery struct {
	delivery.DeliveryWithWindow
	State    shell.Pill
	Relation string
}

// maxHistory is how many audit entries of a delivery are shown. Whoever looks at
// its evidence changes nothing of it and is not among them.
const maxHistory = 50

// deliveryAt is the delivery of the path with its attempts, if the reader may see
// it.
func (s Pages) deliveryAt(r *http.Request, q *shell.Request) (d reports.FoundDelivery, attempts []webhook.Attempt, err error) {
	if d, err = s.Reports.SeenDelivery(r.Context(), q.Scope(), r.PathValue("id")); err == nil {
		attempts, err = s.Reports.Attempts(r.Context(), d.ID)
	}
	return d, attempts, err
}

// deliveryPage shows one delivery. Only the delivery itself must be read; what
// stands beside it may be missing.
func (s Pages) deliveryPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	d, attempts, err := s.deliveryAt(r, q)
	if err != nil {
		return err
	}
	v := deliveryView{FoundDelivery: d, State: shell.Standing(d.Delivery, d.Window), Sentence: sentence(q.Speller, d, q.Now), Waiting: waitingOf(q.T, d, q.Now)}
	v.Done = map[string]string{
		"retry": retriedWords(q.T, d, q.Now), "again": q.T("This is the new delivery of the same event."),
		"cancel": q.T("It is cancelled. Nothing more is sent."),
	}[r.URL.Query().Get("done")]
	v.Drawing = attemptChart(q, d, attempts, s.Retry)
	for i := len(attempts) - 1; i >= 0; i-- {
		v.Attempts = append(v.Attempts, AttemptOf(q, attempts[i], i == len(attempts)-1))
	}
	if len(attempts) > 0 {
		v.Blame = blameFor(q, attempts[len(attempts)-1])
	}
	ctx, cancel := context.WithTimeout(r.Context(), shell.PanelLimit)
	defer cancel()
	key := q.Scope().Partner() + "/" + d.ID
	shell.Together(
		func() {
			v.Event = shell.Cached(ctx, s.Memory, "delivery/event/"+key, func(ctx context.Context) (seenEvent, error) {
				e, all, err := s.Reports.SeenEvent(ctx, q.Scope(), d.EventID)
				return seenEvent{e, all}, ignoreNotFound(err)
			})
		},
		func() {
			v.History = shell.Cached(ctx, s.Memory, "delivery/history/"+key, func(ctx context.Context) ([]ActivityRow, error) {
				found, _, err := s.Trail.AuditEntries(ctx, partners.AuditFilter{Target: d.ID, Without: "evidence.take", PartnerCode: q.User.PartnerCode, Limit: maxHistory})
				return ActivityRows(q, found), err
			})
		},
		func() {
			v.Diff = shell.Cached(ctx, s.Memory, "delivery/diff/"+key, func(ctx context.Context) (PayloadDiff, error) { return s.diffWithLast(ctx, q, d) })
		},
		func() { v.Advice = s.receiverAdvice(ctx, q, d.EndpointID) },
	)
	v.Others = otherDeliveries(q, d, v.Event.Value.Deliveries)
	v.ErasedBy = erasedBy(q, v.Event.Value.Event)
	v.fillPayload(ctx, s, attempts)
	if q.CanAct() {
		once := d.Trigger == webhook.TriggerTest && d.State.Final()
		v.CanRetry = v.ErasedBy == "" && d.EndpointID != "" && d.State != webhook.Sending && !d.Window.Removed && !once
		v.CanCancel = !d.State.Final() && d.State != webhook.Sending
	}
	if s.Name == shell.Portal {
		v.Repairs = Repairs(q, []reports.FoundDelivery{d}, d.State == webhook.Exhausted && !d.Settled(), "endpoint:"+d.EndpointID)
	}
	return q.Render(w, r, "delivery", v)
}

func otherDeliveries(q *shell.Request, d reports.FoundDelivery, all []delivery.DeliveryWithWindow) (others []otherDelivery) {
	for _, o := range all {
		if o.ID == d.ID {
			continue
		}
		relation := q.T("to another endpoint")
		switch {
		case o.ReplayOf == d.ID:
			relation = q.T("repeats this one")
		case d.ReplayOf == o.ID:
			relation = q.T("repeated by this one")
		case o.EndpointID == d.EndpointID:
			relation = q.T("to the same endpoint")
		}
		others = append(others, otherDelivery{o, shell.Standing(o.Delivery, o.Window), relation})
	}
	return others
}

// diffWithLast compares the delivery's payload with the one of its type that
// the endpoint's partner took last.
func (s Pages) diffWithLast(ctx context.Context, q *shell.Request, d reports.FoundDelivery) (PayloadDiff, error) {
	page, err := s.Reports.SearchDeliveries(ctx, reports.DeliveryQuery{
		Scope: q.Scope(), PartnerCode: d.PartnerCode, Types: []webhook.Type{d.Type}, States: []webhook.State{webhook.Delivered}, Limit: 5,
	})
	if err != nil {
		return PayloadDiff{}, err
	}
	for _, last := range page.Items {
		if last.EventID == d.EventID {
			continue
		}
		mine, err := s.Reports.Event(ctx, q.Scope(), d.EventID)
		if err != nil {
			return PayloadDiff{}, ignoreNotFound(err)
		}
		theirs, err := s.Reports.Event(ctx, q.Scope(), last.EventID)
		if err != nil {
			return PayloadDiff{}, ignoreNotFound(err)
		}
		if theirs.Erased.Done() {
			continue
		}
		if mine.Erased.Done() {
			break
		}
		return DiffPayloads(last.ID, theirs.Data, mine.Data), nil
	}
	return PayloadDiff{}, nil
}

// erasedBy is who erased the content of an event, as the reader may know it;
// empty: nobody.
func erasedBy(q *shell.Request, e webhook.Event) string {
	if e.Erased.Done() && !q.Ops() {
		return q.T("gateway operator")
	}
	return e.Erased.By
}

func ignoreNotFound(err error) error {
	if webhook.KindOf(err) == webhook.KindNotFound {
		return nil
	}
	return err
}

// fillPayload makes the bytes that were sent, and the lines that send them again.
func (v *deliveryView) fillPayload(ctx context.Context, s Pages, attempts []webhook.Attempt) {
	v.CLI = "ledgerhook deliveries show " + v.ID
	e := v.Event.Value.Event
	if e.ID == "" || e.Erased.Done() {
		return
	}
	var err error
	signed := s.Composer != nil
	var body []byte
	if signed {
		body, err = s.Composer.Body(ctx, e)
	}
	if !signed || err != nil {
		signed = false
		body, err = signer.Notification{WebhookType: string(e.Type), Success: e.Success(), Data: e.Data, TopLevelSignature: e.Type.TopLevelSignature()}.Body("")
	}
	if err != nil {
		return
	}
	shown := []byte(webhook.MaskCards(string(body)))
	whole := bytes.Equal(shown, body)
	v.Payload = payloadView{Raw: locale.Printable(shown), Pretty: Indent(shown), Signed: signed && whole, Bytes: int64(len(body))}
	if len(attempts) > 0 && v.URL != "" && whole {
		v.Curl = curlLine(v.URL, attempts[len(attempts)-1].RequestHeaders, body)
	}
}

// toDelivery leads back to a delivery after something was done.
func (s Pages) toDelivery(w http.ResponseWriter, r *http.Request, id, done string) error {
	http.Redirect(w, r, s.Base+"/deliveries/"+id+"?done="+done, http.StatusSeeOther)
	return nil
}

// retryDelivery makes an unfinished delivery due now, or a new one of a
// finished one's event, by the rules of the internal API.
func (s Pages) retryDelivery(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	d, err := s.Reports.SeenDelivery(r.Context(), q.Scope(), r.PathValue("id"))
	if err != nil {
		return err
	}
	newID, err := s.Ledger.RetryDelivery(r.Context(), d.ID, q.Audit("delivery.retry"))
	if err != nil {
		return err
	}
	if newID != "" {
		return s.toDelivery(w, r, newID, "again")
	}
	return s.toDelivery(w, r, d.ID, "retry")
}

// cancelDelivery ends an unfinished delivery, by the rules of the internal API.
func (s Pages) cancelDelivery(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	d, err := s.Reports.SeenDelivery(r.Context(), q.Scope(), r.PathValue("id"))
	if err != nil {
		return err
	}
	reason := "cancelled by an operator"
	if s.Name == shell.Portal {
		reason = "cancelled by the partner"
	}
	if err := s.Ledger.CancelDelivery(r.Context(), d.ID, reason, q.Audit("delivery.cancel")); err != nil {
		return err
	}
	return s.toDelivery(w, r, d.ID, "cancel")
}

// shellQuote quotes a text for a shell.
func shellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
