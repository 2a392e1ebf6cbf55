package ingest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/partners"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// endpointRequest registers an endpoint, or changes what it names.
type endpointRequest struct {
	URL          *string   `json:"url"`
	WebhookTypes *[]string `json:"webhookTypes"`
	Description  *string   `json:"description"`
	MaxInFlight  *int      `json:"maxInFlight"`

	Headers   map[string]*string `json:"headers"`   // all of them; write-only: they may hold credentials
	RateLimit *int               `json:"rateLimit"` // deliveries a second; 0: no limit
	Ordered   *bool              `json:"ordered"`
	AckMode   *webhook.AckMode   `json:"ackMode"`
	Timeout   *int               `json:"timeoutSeconds"` // of one attempt; 0: the gateway's own
}

type endpointItem struct {
	EndpointID   string   `json:"endpointId"`
	PartnerCode  string   `json:"partnerCode"`
	URL          string   `json:"url"`
	WebhookTypes []string `json:"webhookTypes"` // empty: all
	Description  string   `json:"description"`
	State        string   `json:"state"`                 // active, paused, disabled
	StateReason  string   `json:"stateReason,omitempty"` // why it disabled itself
	MaxInFlight  int      `json:"maxInFlight"`
	Window       int      `json:"window"`   // how many may be in flight now
	InFlight     int      `json:"inFlight"` // how many are
	Waiting      int      `json:"waiting"`  // how many wait for room, a retry, their order or a resume
	RateLimit    int      `json:"rateLimit"`
	Ordered      bool     `json:"ordered"`
	AckMode      string   `json:"ackMode"`
	Timeout      int      `json:"timeoutSeconds"` // of one attempt
	Headers      []string `json:"headers"`        // the names of custom headers

	Breaker       breakerItem `json:"breaker"`
	LastSuccessAt web.Time    `json:"lastSuccessAt"`
	FailingSince  web.Time    `json:"failingSince"`
	CreatedAt     web.Time    `json:"createdAt"`
	UpdatedAt     web.Time    `json:"updatedAt"`
}

type breakerItem struct {
	State     string   `json:"state"` // closed, open, half_open
	OpenUntil web.Time `json:"openUntil"`
	Reason    string   `json:"reason,omitempty"`
}

func (a *Internal) showEndpointItem(e webhook.Endpoint) endpointItem {
	item := endpointItem{
		RateLimit: delivery.RateLimit(e.Window), Ordered: e.Window.Ordered, AckMode: string(e.AckMode), Timeout: int(cmp.Or(e.Timeout, a.Timeout).Seconds()), Headers: []string{},
		Breaker:       breakerItem{string(e.Window.Breaker.State), web.Time(e.Window.Breaker.OpenUntil), e.Window.Breaker.Reason},
		LastSuccessAt: web.Time(e.Window.Health.LastSuccess), FailingSince: web.Time(e.Window.Health.FailingSince),
		EndpointID: e.ID, PartnerCode: e.PartnerCode, URL: e.URL, WebhookTypes: []string{}, Description: e.Description, State: "active",
		MaxInFlight: e.Window.MaxInFlight, Window: e.Window.Grown, InFlight: e.Window.Used, Waiting: e.Window.WaitingFirst + e.Window.WaitingAgain + e.Window.WaitingBlocked,
		CreatedAt: web.Time(e.CreatedAt), UpdatedAt: web.Time(e.UpdatedAt),
	}
	for _, t := range e.Types {
		item.WebhookTypes = append(item.WebhookTypes, string(t))
	}
	headers, err := delivery.OpenHeaders(a.Box, e.ID, e.Headers)
	if err != nil {
		a.Log.Error("an endpoint's headers cannot be read", "endpoint", e.ID, "error", err)
	}
	item.Headers = append(item.Headers, slices.Sorted(maps.Keys(headers))...)
	switch {
	case e.Window.Disabled || e.Window.PartnerDisabled:
		item.State, item.StateReason = "disabled", e.Window.Health.DisabledReason
	case e.Window.Paused:
		item.State = "paused"
	}
	return item
}

// listedEndpoint is an endpoint in a list, which many read: card numbers in its
// free texts are masked.
func (a *Internal) listedEndpoint(e webhook.Endpoint) endpointItem {
	item := a.showEndpointItem(e)
	for _, text := range []*string{&item.Description, &item.Breaker.Reason} {
		*text = webhook.MaskCards(*text)
	}
	return item
}

// apply checks what the request names and puts it into e.
func (a *Internal) apply(q endpointRequest, e *webhook.Endpoint) error {
	if q.URL != nil {
		e.URL = *q.URL
	}
	if q.Description != nil {
		if err := partners.CheckText("/description", *q.Description); err != nil {
			return err
		}
		e.Description = *q.Description
	}
	change := delivery.EndpointChange{Types: q.WebhookTypes, MaxInFlight: q.MaxInFlight, RateLimit: q.RateLimit, Ordered: q.Ordered, AckMode: q.AckMode, Timeout: q.Timeout}
	if q.Headers != nil {
		change.Headers = delivery.Headers{}
		for name, value := range q.Headers {
			if value != nil {
				change.Headers[name] = *value
			}
		}
	}
	return change.Apply(a.Box, e)
}

func (a *Internal) createEndpoint(w http.ResponseWriter, r *http.Request) error {
	var request endpointRequest
	if err := web.DecodeJSON(r, maxBody, &request); err != nil {
		return err
	}
	if request.URL == nil {
		return webhook.Invalid("/url", "is required")
	}
	e := delivery.NewEndpoint(r.PathValue("code"), *request.URL, time.Now())
	if err := a.apply(request, &e); err != nil {
		return err
	}
	tidy, err := a.Guard.CheckURL(r.Context(), e.URL, a.Resolver)
	if err != nil {
		return err
	}
	request.URL = &tidy
	// Its headers are sealed anew, for the id that it has then.
	e, err = a.Endpoints.CreateEndpoint(r.Context(), e, func(e *webhook.Endpoint) error { return a.apply(request, e) }, by(r, "endpoint.create", e.PartnerCode))
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusCreated, a.showEndpointItem(e))
}

func (a *Internal) listEndpoints(w http.ResponseWriter, r *http.Request) error {
	all := func(ctx context.Context) ([]webhook.Endpoint, error) {
		return a.Endpoints.Endpoints(ctx, r.PathValue("code"))
	}
	return list(w, r, isID(webhook.EndpointPrefix), cut(all, func(e webhook.Endpoint) string { return e.ID }), a.listedEndpoint)
}

func (a *Internal) showEndpoint(w http.ResponseWriter, r *http.Request) error {
	e, err := a.Endpoints.Endpoint(r.Context(), partners.Everything(), r.PathValue("id"))
	if err != nil {
		return err
	}
	attempts, err := a.Sent.RecentAttempts(r.Context(), e.ID)
	if err != nil {
		return err
	}
	item := a.showEndpointItem(e)
	return web.WriteJSON(w, http.StatusOK, struct {
		endpointItem
		Advice []string `json:"advice"` // what the receiver's answers say to its owner
	}{item, delivery.Advise(attempts, cmp.Or(e.Timeout, a.Timeout), time.Now())})
}

// changeEndpoint applies a change, notes it and shows the endpoint.
func (a *Internal) changeEndpoint(w http.ResponseWriter, r *http.Request, note partners.AuditEntry, change func(*webhook.Endpoint) error) error {
	e, err := a.Endpoints.UpdateEndpoint(r.Context(), partners.Everything(), r.PathValue("id"), change, note)
	return writeItem(w, e, err, a.showEndpointItem)
}

func (a *Internal) patchEndpoint(w http.ResponseWriter, r *http.Request) error {
	var request endpointRequest
	if err := web.DecodeJSON(r, maxBody, &request); err != nil {
		return err
	}
	if request.URL != nil {
		tidy, err := a.Guard.CheckURL(r.Context(), *request.URL, a.Resolver)
		if err != nil {
			return err
		}
		request.URL = &tidy
	}
	return a.changeEndpoint(w, r, by(r, "endpoint.change", ""), func(e *webhook.Endpoint) error { return a.apply(request, e) })
}

func (a *Internal) pauseEndpoint(w http.ResponseWriter, r *http.Request) error {
	return a.changeEndpoint(w, r, by(r, "endpoint.pause", ""), func(e *webhook.Endpoint) error { e.Window.Paused = true; return nil })
}

func (a *Internal) resumeEndpoint(w http.ResponseWriter, r *http.Request) error {
	return a.changeEndpoint(w, r, by(r, "endpoint.resume", ""), func(e *webhook.Endpoint) error { e.Window.Resume(); return nil })
}

// reasonRequest is why somebody does what should not be done lightly.
type reasonRequest struct {
	Reason string `json:"reason"`
}

func readReason(r *http.Request) (string, error) {
	var request reasonRequest
	if err := web.DecodeJSON(r, maxBody, &request); err != nil {
		return "", err
	}
	return request.Reason, partners.CheckReason("/reason", request.Reason)
}

// moveBreaker opens or closes an endpoint's breaker by hand.
func (a *Internal) moveBreaker(action string, move func(b *webhook.Breaker, reason string)) web.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		reason, err := readReason(r)
		if err != nil {
			return err
		}
		return a.changeEndpoint(w, r, by(r, action, reason), func(e *webhook.Endpoint) error {
			move(&e.Window.Breaker, reason)
			return nil
		})
	}
}

func (a *Internal) openBreaker() web.HandlerFunc {
	return a.moveBreaker("endpoint.open-breaker", func(b *webhook.Breaker, reason string) { b.OpenByHand("opened by hand: " + reason) })
}

func (a *Internal) closeBreaker() web.HandlerFunc {
	return a.moveBreaker("endpoint.close-breaker", func(b *webhook.Breaker, _ string) { b.Close() })
}

// maxSequence is how many numbers one answer tells of.
const maxSequence = 1000

// showSequence tells what became of each number of an endpoint's sequence.
func (a *Internal) showSequence(w http.ResponseWriter, r *http.Request) error {
	from, to := 1, 0
	var limit int
	err := readQuery(r, map[string]func(string) error{
		"from": number("from", 1, math.MaxInt-maxSequence, &from),
		"to":   number("to", 1, math.MaxInt, &to),
	}, &limit)
	if err != nil {
		return err
	}
	to = cmp.Or(to, from+maxSequence-1)
	if to < from || to-from >= maxSequence {
		return webhook.Invalid("to", fmt.Sprintf("must be at least from and less than from + %d", maxSequence))
	}
	e, err := a.Endpoints.Endpoint(r.Context(), partners.Everything(), r.PathValue("id"))
	if err != nil {
		return err
	}
	found, err := a.Sent.Sequence(r.Context(), e.ID, int64(from), int64(to))
	if err != nil {
		return err
	}
	return writePage(w, found, "", showDeliveryItem)
}

func (a *Internal) removeEndpoint(w http.ResponseWriter, r *http.Request) error {
	if err := a.Endpoints.RemoveEndpoint(r.Context(), partners.Everything(), r.PathValue("id"), by(r, "endpoint.remove", "")); err != nil {
		return err
	}
	a.Limiter.ForgetTest(r.PathValue("id"))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// testEndpoint sends the catalogue's example to one endpoint, whether it is
// open or not, once, unless it is tested too often.
func (a *Internal) testEndpoint(w http.ResponseWriter, r *http.Request) error {
	if err := a.Limiter.TestRefused(r.PathValue("id")); err != nil {
		web.Surplus(r.Context())
		return err
	}
	e, err := a.Endpoints.Endpoint(r.Context(), partners.Everything(), r.PathValue("id"))
	if err != nil {
		return err
	}
	test, err := delivery.NewTest(e, "", a.Key().ID(), time.Now())
	if err != nil {
		return err
	}
	if err := a.Limiter.AllowTest(r.Context(), e.PartnerCode, e.ID); err != nil {
		return err
	}
	made, err := a.Events.Append(r.Context(), test, by(r, "endpoint.test", ""))
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusAccepted, struct {
		EventID    string `json:"eventId"`
		DeliveryID string `json:"deliveryId"`
	}{made.EventID, made.DeliveryIDs[0]})
}
