package ingest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/partners"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// maxKey is the longest idempotency key, in characters.
const maxKey = 255

// eventRequest is one event as the company's systems post it.
type eventRequest struct {
	PartnerCode    string          `json:"partnerCode"`
	WebhookType    string          `json:"webhookType"`
	Data           json.RawMessage `json:"data"`
	IdempotencyKey string          `json:"idempotencyKey"`
}

// eventAnswer is the answer to one event.
type eventAnswer struct {
	EventID     string   `json:"eventId"`
	DeliveryIDs []string `json:"deliveryIds"`
	Duplicate   bool     `json:"duplicate"`
}

func (a *Internal) postEvent(w http.ResponseWriter, r *http.Request) error {
	began := time.Now()
	var request eventRequest
	if err := web.DecodeJSON(r, maxBody, &request); err != nil {
		return a.refused(r.Context(), request, began, err)
	}
	if err := useHeaderKey(&request, r.Header); err != nil {
		return a.refused(r.Context(), request, began, err)
	}
	event, err := a.newEvent(request)
	if err != nil {
		return a.refused(r.Context(), request, began, err)
	}
	event.Event.Trace = web.TraceParent(r.Context())
	answers, errs := a.Events.AppendAll(r.Context(), []delivery.NewEvent{event})
	if errs[0] != nil {
		return a.refused(r.Context(), request, began, errs[0])
	}
	a.accepted(r.Context(), event, answers[0], began)
	status, answer := show(answers[0])
	return web.WriteJSON(w, status, answer)
}

// useHeaderKey takes the key from the header Idempotency-Key; with one in the
// body too, or with several headers, all must agree.
func useHeaderKey(request *eventRequest, h http.Header) error {
	for _, key := range h.Values("Idempotency-Key") {
		if key != "" && request.IdempotencyKey != "" && key != request.IdempotencyKey {
			return webhook.Invalid("/idempotencyKey", "must equal the header Idempotency-Key, or one of the two be left out")
		}
		if key != "" {
			request.IdempotencyKey = key
		}
	}
	return nil
}

// newEvent checks a request and makes the event to append of it.
func (a *Internal) newEvent(request eventRequest) (delivery.NewEvent, error) {
	if err := partners.CheckCode(request.PartnerCode); err != nil {
		return delivery.NewEvent{}, err
	}
	if err := checkKey(request.IdempotencyKey); err != nil {
		return delivery.NewEvent{}, err
	}
	if request.Data == nil {
		return delivery.NewEvent{}, webhook.Invalid("/data", "is required: the object that the event's type describes")
	}
	p, err := readEvent(request.WebhookType, request.Data)
	if err != nil {
		return delivery.NewEvent{}, err
	}
	digest := sha256.Sum256(append([]byte(p.Type+"\n"), p.Data...))
	event := delivery.NewEvent{
		Event: webhook.Event{
			ID: webhook.NewID(webhook.EventPrefix), PartnerCode: request.PartnerCode, Type: p.Type, ObjectID: p.ObjectID,
			OrderingKey: p.OrderingKey, Status: p.Status, Data: p.Data, KeyID: a.Key().ID(), CreatedAt: time.Now(),
		},
		IdempotencyKey: request.IdempotencyKey, Digest: digest[:],
	}
	if event.IdempotencyKey == "" {
		event.IdempotencyKey, event.DefaultKey = p.DefaultKey, true
	}
	return event, nil
}

func checkKey(key string) error {
	for _, c := range []byte(key) {
		if c < 0x20 || c > 0x7e {
			return webhook.Invalid("/idempotencyKey", "must be printable ASCII")
		}
	}
	if len(key) > maxKey {
		return webhook.Invalid("/idempotencyKey", fmt.Sprintf("must be at most %d characters", maxKey))
	}
	return nil
}

func show(appended delivery.Appended) (status int, answer eventAnswer) {
	status = http.StatusAccepted
	if appended.Duplicate {
		status = http.StatusOK
	}
	ids := appended.DeliveryIDs
	if ids == nil {
		ids = []string{}
	}
	return status, eventAnswer{appended.EventID, ids, appended.Duplicate}
}

// eventItem is an event as lists show it.
type eventItem struct {
	EventID     string          `json:"eventId"`
	PartnerCode string          `json:"partnerCode"`
	WebhookType string          `json:"webhookType"`
	Reference   string          `json:"reference"`
	Status      string          `json:"status"`
	Success     bool            `json:"success"`
	Data        json.RawMessage `json:"data"`
	Filtered    bool            `json:"filtered"`
	Unexpected  bool            `json:"unexpected"`
	Test        bool            `json:"test"`
	CreatedAt   web.Time        `json:"createdAt"`
	Erased      *erasedItem     `json:"erased"`
}

func showEventItem(e webhook.Event) eventItem {
	if e.Erased.Done() {
		e.Data = []byte("null")
	}
	return eventItem{
		EventID: e.ID, PartnerCode: e.PartnerCode, WebhookType: string(e.Type), Reference: e.ObjectID, Status: e.Status,
		Success: e.Success(), Data: e.Data, Filtered: e.Filtered, Unexpected: e.Unexpected, Test: e.Test, CreatedAt: web.Time(e.CreatedAt), Erased: showErased(e.Erased),
	}
}

func (a *Internal) listEvents(w http.ResponseWriter, r *http.Request) error {
	f := delivery.EventFilter{}
	return search(w, r, &f, &f.Limit, map[string]func(string) error{
		"partnerCode": text(&f.PartnerCode),
		"webhookType": typeName(&f.Type),
		"reference":   text(&f.Reference),
		"since":       timeOf(r, "since", &f.Since),
		"until":       timeOf(r, "until", &f.Until),
		"cursor":      cursor(r, isID(webhook.EventPrefix), &f.Cursor),
		"limit":       nil,
	}, a.Accepted.Events, showEventItem)
}

func (a *Internal) showEvent(w http.ResponseWriter, r *http.Request) error {
	e, err := a.Accepted.Event(r.Context(), partners.Everything(), r.PathValue("id"))
	if err != nil {
		return err
	}
	var body *string
	if !e.Erased.Done() {
		sent, err := a.Composer.Body(r.Context(), e)
		if err != nil {
			return err
		}
		text := string(sent)
		body = &text
	}
	deliveries, err := a.Accepted.EventDeliveries(r.Context(), e.ID)
	if err != nil {
		return err
	}
	items := make([]deliveryItem, len(deliveries))
	for i, d := range deliveries {
		items[i] = showDeliveryItem(d)
	}
	return web.WriteJSON(w, http.StatusOK, struct {
		eventItem
		Body       *string        `json:"body"` // byte for byte what is sent; null once it is erased
		KeyID      string         `json:"keyId"`
		Deliveries []deliveryItem `json:"deliveries"`
	}{showEventItem(e), body, e.KeyID, items})
}
