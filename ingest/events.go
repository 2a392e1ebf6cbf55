package ingest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

const (
	maxBatch     = 1000
	maxBatchBody = 4 << 20
	maxKey       = 255
)

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
		return a.Metrics.refused(request.WebhookType, began, err)
	}
	if err := useHeaderKey(&request, r.Header); err != nil {
		return a.Metrics.refused(request.WebhookType, began, err)
	}
	event, err := a.newEvent(request)
	if err != nil {
		return a.Metrics.refused(request.WebhookType, began, err)
	}
	answers, errs := a.Events.AppendAll(r.Context(), []delivery.NewEvent{event})
	if errs[0] != nil {
		return a.Metrics.refused(request.WebhookType, began, errs[0])
	}
	a.Metrics.accepted(event, answers[0], began)
	status, answer := show(answers[0])
	return web.WriteJSON(w, status, answer)
}

// useHeaderKey takes the key from the header Idempotency-Key; with one in the
// body too, both must agree.
func useHeaderKey(request *eventRequest, h http.Header) error {
	key := h.Get("Idempotency-Key")
	if key != "" && request.IdempotencyKey != "" && key != request.IdempotencyKey {
		return webhook.Invalid("/idempotencyKey", "must equal the header Idempotency-Key, or one of the two be left out")
	}
	if key != "" {
		request.IdempotencyKey = key
	}
	return nil
}

// newEvent checks a request and makes the event to append of it.
func (a *Internal) newEvent(request eventRequest) (delivery.NewEvent, error) {
	if request.PartnerCode == "" {
		return delivery.NewEvent{}, webhook.Invalid("/partnerCode", "is required")
	}
	if err := checkKey(request.IdempotencyKey); err != nil {
		return delivery.NewEvent{}, err
	}
	p, err := readEvent(request.WebhookType, request.Data)
	if err != nil {
		return delivery.NewEvent{}, err
	}
	digest := sha256.Sum256(append([]byte(p.Type+"\n"), p.Data...))
	event := delivery.NewEvent{
		Event: webhook.Event{
			ID: webhook.NewID(webhook.EventPrefix), PartnerCode: request.PartnerCode, Type: p.Type, ObjectID: p.ObjectID,
			Subject: p.Subject, Status: p.Status, Data: p.Data, KeyID: a.Key.ID(), CreatedAt: time.Now(),
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

// batchResult is the answer to one event of a batch.
type batchResult struct {
	Status      int          `json:"status"`
	EventID     string       `json:"eventId,omitempty"`
	DeliveryIDs []string     `json:"deliveryIds"`
	Duplicate   bool         `json:"duplicate"`
	Error       *web.Problem `json:"error"`
}

// postBatch accepts or refuses each event of a batch by itself, in order.
func (a *Internal) postBatch(w http.ResponseWriter, r *http.Request) error {
	began := time.Now()
	if err := web.CheckJSONType(r); err != nil {
		return err
	}
	body, err := web.ReadBody(r, maxBatchBody)
	if err != nil {
		return err
	}
	items, err := splitBatch(body)
	if err != nil {
		return err
	}
	results := make([]batchResult, len(items))
	var events []delivery.NewEvent
	var places []int // of events in results
	for i, item := range items {
		event, err := a.readItem(item)
		if err != nil {
			results[i] = a.refusedItem(r, event.Event.Type, began, err)
			continue
		}
		events, places = append(events, event), append(places, i)
	}
	answers, errs := a.Events.AppendAll(r.Context(), events)
	for i, place := range places {
		if errs[i] != nil {
			results[place] = a.refusedItem(r, events[i].Event.Type, began, errs[i])
			continue
		}
		a.Metrics.accepted(events[i], answers[i], began)
		status, answer := show(answers[i])
		results[place] = batchResult{Status: status, EventID: answer.EventID, DeliveryIDs: answer.DeliveryIDs, Duplicate: answer.Duplicate}
	}
	return web.WriteJSON(w, http.StatusOK, struct {
		Results []batchResult `json:"results"`
	}{results})
}

// splitBatch cuts {"events":[…]} into its items without looking inside them,
// so that what is wrong with one stays its own matter.
func splitBatch(body []byte) ([]json.RawMessage, error) {
	var batch struct {
		Events []json.RawMessage `json:"events"`
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&batch); err != nil {
		return nil, &webhook.Error{Kind: webhook.KindInvalid, Message: `the body must be one object {"events": [ … ]} and nothing else`}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, &webhook.Error{Kind: webhook.KindInvalid, Message: "the body must hold one JSON object and nothing after it"}
	}
	if len(batch.Events) == 0 || len(batch.Events) > maxBatch {
		return nil, webhook.Invalid("/events", fmt.Sprintf("must hold 1 to %d events, not %d", maxBatch, len(batch.Events)))
	}
	return batch.Events, nil
}

func (a *Internal) readItem(item json.RawMessage) (delivery.NewEvent, error) {
	if len(item) > maxBody {
		return delivery.NewEvent{}, &webhook.Error{Kind: webhook.KindTooLarge, Message: fmt.Sprintf("an event may have at most %d bytes", maxBody)}
	}
	var request eventRequest
	if err := web.Decode(item, &request); err != nil {
		return delivery.NewEvent{}, err
	}
	event, err := a.newEvent(request)
	event.Event.Type = webhook.Type(request.WebhookType)
	return event, err
}

func (a *Internal) refusedItem(r *http.Request, t webhook.Type, began time.Time, err error) batchResult {
	_ = a.Metrics.refused(string(t), began, err)
	var e *webhook.Error
	if !errors.As(err, &e) {
		a.Log.Error("an event of a batch failed", "request", web.RequestID(r.Context()), "error", err)
		e = &webhook.Error{Kind: webhook.KindInternal}
	}
	status := web.Status(e.Kind)
	problem := web.NewProblem(status, e)
	return batchResult{Status: status, DeliveryIDs: []string{}, Error: &problem}
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
}

func showEventItem(e webhook.Event) eventItem {
	return eventItem{
		EventID: e.ID, PartnerCode: e.PartnerCode, WebhookType: string(e.Type), Reference: e.ObjectID, Status: e.Status,
		Success: e.Success(), Data: e.Data, Filtered: e.Filtered, Unexpected: e.Unexpected, Test: e.Test, CreatedAt: web.Time(e.CreatedAt),
	}
}

func (a *Internal) listEvents(w http.ResponseWriter, r *http.Request) error {
	f := delivery.EventFilter{}
	err := readQuery(r, map[string]func(string) error{
		"partnerCode": text(&f.PartnerCode),
		"webhookType": typeName(&f.Type),
		"reference":   text(&f.Reference),
		"since":       timeOf(r, "since", &f.Since),
		"until":       timeOf(r, "until", &f.Until),
		"cursor":      cursor(r, &f.Cursor),
		"limit":       nil,
	}, &f.Limit)
	if err != nil {
		return err
	}
	events, next, err := a.Events.Events(r.Context(), f)
	if err != nil {
		return err
	}
	return writePage(w, events, next, showEventItem)
}

func (a *Internal) showEvent(w http.ResponseWriter, r *http.Request) error {
	e, err := a.Events.Event(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	body, err := a.Composer.Body(r.Context(), e)
	if err != nil {
		return err
	}
	deliveries, err := a.Events.EventDeliveries(r.Context(), e.ID)
	if err != nil {
		return err
	}
	items := make([]deliveryItem, len(deliveries))
	for i, d := range deliveries {
		items[i] = showDeliveryItem(d)
	}
	return web.WriteJSON(w, http.StatusOK, struct {
		eventItem
		Body       string         `json:"body"` // byte for byte what is sent
		KeyID      string         `json:"keyId"`
		Deliveries []deliveryItem `json:"deliveries"`
	}{showEventItem(e), string(body), e.KeyID, items})
}

// appendTest makes a test event of t for one endpoint from the catalogue's example.
func (a *Internal) appendTest(ctx context.Context, e webhook.Endpoint) (delivery.Appended, error) {
	t := webhook.CreateCard
	if len(e.Types) > 0 {
		t = e.Types[0]
	}
	described, _ := webhook.Describe(t)
	id := webhook.NewID(webhook.EventPrefix)
	answers, errs := a.Events.AppendAll(ctx, []delivery.NewEvent{{
		Event: webhook.Event{
			ID: id, PartnerCode: e.PartnerCode, Type: t, ObjectID: "test", Subject: "test", Status: exampleStatus(described),
			Data: []byte(described.Example), KeyID: a.Key.ID(), Test: true, CreatedAt: time.Now(),
		},
		IdempotencyKey: id, Digest: []byte(id), EndpointID: e.ID,
	}})
	return answers[0], errs[0]
}

// exampleStatus is the status that the catalogue's example of t reports.
func exampleStatus(t webhook.EventType) string {
	var example struct {
		Status string `json:"status"`
	}
	if err := json.Unmarshal([]byte(t.Example), &example); err != nil {
		return ""
	}
	return example.Status
}
