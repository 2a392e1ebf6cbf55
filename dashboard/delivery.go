package dashboard

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// deliveryView is one delivery with all that is known of it.
type deliveryView struct {
	ledger.FoundDelivery
	State     pill
	Sentence  string
	Waiting   waitingNote
	Done      string // what was just done; empty: nothing
	Drawing   chart
	Blame     blame
	Advice    []string
	Attempts  []attemptView // newest first
	Event     fact[seenEvent]
	Others    []otherDelivery // of the event
	Payload   payloadView
	Diff      fact[payloadDiff]
	Curl      string
	CLI       string
	History   fact[[]activityRow]
	CanRetry  bool
	CanCancel bool
	AsOf      time.Time
}

// seenEvent is the event of a delivery, empty if it is past its retention, and
// all that was made of it.
type seenEvent struct {
	webhook.Event
	Deliveries []delivery.Placed
}

// otherDelivery is another delivery of the same event.
type otherDelivery struct {
	delivery.Placed
	State    pill
	Relation string
}

// maxHistory is how many audit entries of a delivery are shown.
const maxHistory = 50

// deliveryAt is the delivery of the path with its attempts, if who asks may see
// it.
func (s *surface) deliveryAt(r *http.Request, q *request) (d ledger.FoundDelivery, attempts []webhook.Attempt, err error) {
	if d, err = s.Ledger.SeenDelivery(r.Context(), q.scope(), r.PathValue("id")); err == nil {
		attempts, err = s.Ledger.Attempts(r.Context(), d.ID)
	}
	return d, attempts, err
}

// deliveryPage shows one delivery. Only the delivery itself must be read; what
// stands beside it may be missing.
func (s *surface) deliveryPage(w http.ResponseWriter, r *http.Request, q *request) error {
	d, attempts, err := s.deliveryAt(r, q)
	if err != nil {
		return err
	}
	v := deliveryView{FoundDelivery: d, State: stateOf(d.Shown(d.Window)), Sentence: sentence(q.T, d, q.Now), Waiting: waitingOf(q.T, d, q.Now), AsOf: q.Now}
	v.Done = map[string]string{
		"retry": retriedWords(q.T, d, q.Now), "again": q.T("This is the new delivery of the same event."),
		"cancel": q.T("It is cancelled. Nothing more is sent."),
	}[r.URL.Query().Get("done")]
	v.Drawing = q.attemptChart(d, attempts, s.Retry)
	for i := len(attempts) - 1; i >= 0; i-- {
		v.Attempts = append(v.Attempts, q.attemptView(attempts[i], i == len(attempts)-1))
	}
	if len(attempts) > 0 {
		v.Blame = q.blame(attempts[len(attempts)-1])
	}
	ctx, cancel := context.WithTimeout(r.Context(), panelLimit)
	defer cancel()
	key := q.scope().Partner() + "/" + d.ID
	together(
		func() {
			v.Event = recall(ctx, s.Memory, "delivery/event/"+key, func(ctx context.Context) (seenEvent, error) {
				e, all, err := s.Ledger.SeenEvent(ctx, q.scope(), d.EventID)
				return seenEvent{e, all}, ignoreNotFound(err)
			})
		},
		func() {
			v.History = recall(ctx, s.Memory, "delivery/history/"+key, func(ctx context.Context) ([]activityRow, error) {
				found, _, err := s.Ledger.AuditEntries(ctx, partners.AuditFilter{Target: d.ID, PartnerCode: q.User.PartnerCode, Limit: maxHistory})
				return q.activityRows(found), err
			})
		},
		func() {
			v.Diff = recall(ctx, s.Memory, "delivery/diff/"+key, func(ctx context.Context) (payloadDiff, error) { return s.diffWithLast(ctx, q, d) })
		},
		func() { v.Advice = s.receiverAdvice(ctx, q, d.EndpointID) },
	)
	v.Others = q.otherDeliveries(d, v.Event.Value.Deliveries)
	v.fillPayload(ctx, s, attempts)
	if q.CanAct() {
		once := d.Trigger == webhook.TriggerTest && d.State.Final()
		v.CanRetry = d.EndpointID != "" && d.State != webhook.Sending && !d.Window.Removed && !once
		v.CanCancel = !d.State.Final() && d.State != webhook.Sending
	}
	return q.render(w, r, "delivery", v)
}

func (q *request) otherDeliveries(d ledger.FoundDelivery, all []delivery.Placed) (others []otherDelivery) {
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
		others = append(others, otherDelivery{o, stateOf(o.Shown(o.Window)), relation})
	}
	return others
}

// diffWithLast compares the delivery's payload with the one of its type that
// the endpoint's partner took last.
func (s *surface) diffWithLast(ctx context.Context, q *request, d ledger.FoundDelivery) (payloadDiff, error) {
	page, err := s.Ledger.SearchDeliveries(ctx, ledger.DeliveryQuery{
		Scope: q.scope(), PartnerCode: d.PartnerCode, Types: []webhook.Type{d.Type}, States: []webhook.State{webhook.Delivered}, Limit: 5,
	})
	if err != nil {
		return payloadDiff{}, err
	}
	for _, last := range page.Items {
		if last.EventID == d.EventID {
			continue
		}
		mine, err := s.Ledger.EventIn(ctx, q.scope(), d.EventID)
		if err != nil {
			return payloadDiff{}, ignoreNotFound(err)
		}
		theirs, err := s.Ledger.EventIn(ctx, q.scope(), last.EventID)
		if err != nil {
			return payloadDiff{}, ignoreNotFound(err)
		}
		return diffPayloads(last.ID, theirs.Data, mine.Data), nil
	}
	return payloadDiff{}, nil
}

func ignoreNotFound(err error) error {
	if webhook.KindOf(err) == webhook.KindNotFound {
		return nil
	}
	return err
}

// fillPayload makes the bytes that were sent, and the lines that send them again.
func (v *deliveryView) fillPayload(ctx context.Context, s *surface, attempts []webhook.Attempt) {
	v.CLI = "ledgerhook deliveries show " + v.ID
	e := v.Event.Value.Event
	if e.ID == "" {
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
	v.Payload = payloadView{Raw: printable(shown), Pretty: indent(shown), Signed: signed && whole, Bytes: int64(len(body))}
	if len(attempts) > 0 && v.URL != "" && whole {
		v.Curl = curlLine(v.URL, attempts[len(attempts)-1].RequestHeaders, body)
	}
}

// toDelivery leads back to a delivery after something was done.
func (s *surface) toDelivery(w http.ResponseWriter, r *http.Request, id, done string) error {
	http.Redirect(w, r, s.base+"/deliveries/"+id+"?done="+done, http.StatusSeeOther)
	return nil
}

// retryDelivery makes an unfinished delivery due now, or a new one of a
// finished one's event, by the rules of the internal API.
func (s *surface) retryDelivery(w http.ResponseWriter, r *http.Request, q *request) error {
	d, err := s.Ledger.SeenDelivery(r.Context(), q.scope(), r.PathValue("id"))
	if err != nil {
		return err
	}
	newID, err := s.Ledger.RetryDelivery(r.Context(), d.ID, q.audit("delivery.retry"))
	if err != nil {
		return err
	}
	if newID != "" {
		return s.toDelivery(w, r, newID, "again")
	}
	return s.toDelivery(w, r, d.ID, "retry")
}

// cancelDelivery ends an unfinished delivery, by the rules of the internal API.
func (s *surface) cancelDelivery(w http.ResponseWriter, r *http.Request, q *request) error {
	d, err := s.Ledger.SeenDelivery(r.Context(), q.scope(), r.PathValue("id"))
	if err != nil {
		return err
	}
	reason := "cancelled by an operator"
	if s.name == portalSurface {
		reason = "cancelled by the partner"
	}
	if err := s.Ledger.CancelDelivery(r.Context(), d.ID, reason, q.audit("delivery.cancel")); err != nil {
		return err
	}
	return s.toDelivery(w, r, d.ID, "cancel")
}

// shellQuote quotes a text for a shell.
func shellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
