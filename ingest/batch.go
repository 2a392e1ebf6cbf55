package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

const (
	maxBatch     = 1000
	maxBatchBody = 4 << 20
)

// batchResult is the answer to one event of a batch.
type batchResult struct {
	Status      int          `json:"status"`
	EventID     *string      `json:"eventId"`
	DeliveryIDs []string     `json:"deliveryIds"`
	Duplicate   bool         `json:"duplicate"`
	Error       *web.Problem `json:"error"`
}

// postBatch accepts or refuses each event of a batch by itself, in order. Only
// when the ledger is away and nothing was accepted does the batch fail as a
// whole, so that its sender comes back.
func (a *Internal) postBatch(w http.ResponseWriter, r *http.Request) error {
	began := time.Now()
	items, err := readBatch(r)
	if err != nil {
		return a.refused(r.Context(), eventRequest{}, began, err)
	}
	results := make([]batchResult, len(items))
	var events []delivery.NewEvent
	var requests []eventRequest // of events
	var places []int            // of events in results
	for i, item := range items {
		request, event, err := a.readItem(item)
		if err != nil {
			results[i] = a.refusedItem(r, request, began, err)
			continue
		}
		event.Event.Trace = web.TraceParent(r.Context())
		events, requests, places = append(events, event), append(requests, request), append(places, i)
	}
	answers, errs := a.Events.AppendAll(r.Context(), events)
	var away error
	accepted := false
	for i, place := range places {
		if err := web.InTime(errs[i]); err != nil {
			results[place] = a.refusedItem(r, requests[i], began, err)
			if webhook.KindOf(err) == webhook.KindUnavailable {
				away = err
			}
			continue
		}
		accepted = true
		a.accepted(r.Context(), events[i], answers[i], began)
		status, answer := show(answers[i])
		results[place] = batchResult{Status: status, EventID: &answer.EventID, DeliveryIDs: answer.DeliveryIDs, Duplicate: answer.Duplicate}
	}
	if away != nil && !accepted {
		return away
	}
	return web.WriteJSON(w, http.StatusOK, struct {
		Results []batchResult `json:"results"`
	}{results})
}

func readBatch(r *http.Request) ([]json.RawMessage, error) {
	if err := web.CheckJSONType(r); err != nil {
		return nil, err
	}
	body, err := web.ReadBody(r, maxBatchBody)
	if err != nil {
		return nil, err
	}
	return splitBatch(body)
}

func (a *Internal) readItem(item json.RawMessage) (request eventRequest, event delivery.NewEvent, err error) {
	if len(item) > maxBody {
		return request, event, &webhook.Error{Kind: webhook.KindTooLarge, Message: fmt.Sprintf("an event may have at most %d bytes", maxBody)}
	}
	if err = web.Decode(item, &request); err == nil {
		event, err = a.newEvent(request)
	}
	return request, event, err
}

func (a *Internal) refusedItem(r *http.Request, request eventRequest, began time.Time, err error) batchResult {
	_ = a.refused(r.Context(), request, began, err)
	var e *webhook.Error
	if !errors.As(err, &e) {
		a.Log.Error("an event of a batch failed", "request", web.RequestID(r.Context()), "error", err)
		e = &webhook.Error{Kind: webhook.KindInternal}
	}
	status := web.Status(e.Kind)
	problem := web.NewProblem(status, e)
	return batchResult{Status: status, DeliveryIDs: []string{}, Error: &problem}
}

// splitBatch cuts {"events":[…]} into its items and looks inside them only for
// quotes and brackets, so that what is wrong with one stays its own matter: a
// reader of JSON would go no further. It needs no memory for however deep an item
// is nested.
func splitBatch(body []byte) ([]json.RawMessage, error) {
	s := splitter{rest: body}
	if !s.skip('{') || !s.skipName("events") || !s.skip(':') || !s.skip('[') {
		return nil, errNoBatch
	}
	var items []json.RawMessage
	for end := byte(','); end == ','; {
		var item []byte
		if item, end = s.item(); end == 0 {
			return nil, errNoBatch
		}
		if len(items) == 0 && end == ']' && len(item) == 0 {
			break
		}
		if len(item) == 0 {
			return nil, webhook.Invalid(fmt.Sprintf("/events/%d", len(items)), "is missing: there is a comma too many")
		}
		if len(items) == maxBatch {
			return nil, errBatchSize
		}
		items = append(items, item)
	}
	if !s.skip('}') || len(bytes.TrimLeft(s.rest, jsonSpace)) > 0 {
		return nil, errNoBatch
	}
	if len(items) == 0 {
		return nil, errBatchSize
	}
	return items, nil
}

var (
	errNoBatch   = &webhook.Error{Kind: webhook.KindInvalid, Message: `the body must be one object {"events": [ … ]} and nothing else`}
	errBatchSize = webhook.Invalid("/events", fmt.Sprintf("must hold 1 to %d events", maxBatch))
)

const jsonSpace = " \t\r\n"

// splitter walks through a batch.
type splitter struct{ rest []byte }

// skip passes over blanks and c, if that is next.
func (s *splitter) skip(c byte) bool {
	rest := bytes.TrimLeft(s.rest, jsonSpace)
	if len(rest) == 0 || rest[0] != c {
		return false
	}
	s.rest = rest[1:]
	return true
}

// skipName passes over blanks and a member's name, if that is next.
func (s *splitter) skipName(name string) bool {
	rest, found := bytes.CutPrefix(bytes.TrimLeft(s.rest, jsonSpace), []byte(`"`+name+`"`))
	s.rest = rest
	return found
}

// item passes over one item of an array and what ends it, a comma or a
// bracket; end is 0 if the array is not one.
func (s *splitter) item() (item []byte, end byte) {
	depth, quoted := 0, false
	for i := 0; i < len(s.rest); i++ {
		c := s.rest[i]
		switch {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case depth == 0 && (c == ',' || c == ']'):
			item = bytes.Trim(s.rest[:i], jsonSpace)
			s.rest = s.rest[i+1:]
			return item, c
		case depth == 0 && c == '}':
			return nil, 0
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil, 0
}
