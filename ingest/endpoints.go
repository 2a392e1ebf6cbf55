package ingest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"ledgerhook/web"
	"ledgerhook/webhook"
)

// maxInFlightLimit is the widest window an endpoint can ask for.
const maxInFlightLimit = 1000

// endpointRequest registers an endpoint, or changes what it names.
type endpointRequest struct {
	URL          *string   `json:"url"`
	WebhookTypes *[]string `json:"webhookTypes"`
	Description  *string   `json:"description"`
	MaxInFlight  *int      `json:"maxInFlight"`

	Headers   *notOffered `json:"headers"`
	RateLimit *notOffered `json:"rateLimit"`
	Ordered   *notOffered `json:"ordered"`
	AckMode   *notOffered `json:"ackMode"`
}

// notOffered is a member of the interface that this version of the gateway
// has nothing behind: it says so rather than call the name unknown.
type notOffered struct{}

// UnmarshalJSON refuses every value.
func (*notOffered) UnmarshalJSON([]byte) error {
	return errors.New("is not offered by this version of the gateway: leave it out")
}

type endpointItem struct {
	EndpointID   string   `json:"endpointId"`
	PartnerCode  string   `json:"partnerCode"`
	URL          string   `json:"url"`
	WebhookTypes []string `json:"webhookTypes"` // empty: all
	Description  string   `json:"description"`
	State        string   `json:"state"` // active, paused, disabled
	MaxInFlight  int      `json:"maxInFlight"`
	Window       int      `json:"window"`   // how many may be in flight now
	InFlight     int      `json:"inFlight"` // how many are
	Waiting      int      `json:"waiting"`  // how many wait for room, a retry or a resume
	CreatedAt    web.Time `json:"createdAt"`
	UpdatedAt    web.Time `json:"updatedAt"`
}

func showEndpointItem(e webhook.Endpoint) endpointItem {
	item := endpointItem{
		EndpointID: e.ID, PartnerCode: e.PartnerCode, URL: e.URL, WebhookTypes: []string{}, Description: e.Description, State: "active",
		MaxInFlight: e.Window.MaxInFlight, Window: e.Window.Grown, InFlight: e.Window.Used, Waiting: e.Window.WaitingFirst + e.Window.WaitingAgain,
		CreatedAt: web.Time(e.CreatedAt), UpdatedAt: web.Time(e.UpdatedAt),
	}
	for _, t := range e.Types {
		item.WebhookTypes = append(item.WebhookTypes, string(t))
	}
	switch {
	case e.Window.Disabled || e.Window.PartnerDisabled:
		item.State = "disabled"
	case e.Window.Paused:
		item.State = "paused"
	}
	return item
}

// apply checks what the request names and puts it into e.
func (q endpointRequest) apply(e *webhook.Endpoint) error {
	if q.URL != nil {
		e.URL = *q.URL
	}
	if q.Description != nil {
		if err := checkText("/description", *q.Description); err != nil {
			return err
		}
		e.Description = *q.Description
	}
	if q.MaxInFlight != nil {
		if *q.MaxInFlight < 1 || *q.MaxInFlight > maxInFlightLimit {
			return webhook.Invalid("/maxInFlight", fmt.Sprintf("must be 1 to %d", maxInFlightLimit))
		}
		e.Window.MaxInFlight = *q.MaxInFlight
	}
	if q.WebhookTypes == nil {
		return nil
	}
	e.Types = nil
	for i, name := range *q.WebhookTypes {
		t := webhook.Type(name)
		if !t.Known() || slices.Contains(e.Types, t) {
			return webhook.Invalid(fmt.Sprintf("/webhookTypes/%d", i), fmt.Sprintf("must be one of %v, each once", webhook.Types))
		}
		e.Types = append(e.Types, t)
	}
	return nil
}

func (a *Internal) createEndpoint(w http.ResponseWriter, r *http.Request) error {
	var request endpointRequest
	if err := web.DecodeJSON(r, maxBody, &request); err != nil {
		return err
	}
	if request.URL == nil {
		return webhook.Invalid("/url", "is required")
	}
	e := webhook.Endpoint{
		ID: webhook.NewID(webhook.EndpointPrefix), PartnerCode: r.PathValue("code"), CreatedAt: time.Now(),
		Window: webhook.Window{MaxInFlight: webhook.DefaultMaxInFlight},
	}
	if err := request.apply(&e); err != nil {
		return err
	}
	if err := a.Guard.CheckURL(r.Context(), e.URL, a.Resolver); err != nil {
		return err
	}
	e, err := a.Endpoints.CreateEndpoint(r.Context(), e)
	if err != nil {
		return err
	}
	a.acted(r.Context(), "endpoint.create", e.ID, e.PartnerCode)
	return web.WriteJSON(w, http.StatusCreated, showEndpointItem(e))
}

func (a *Internal) listEndpoints(w http.ResponseWriter, r *http.Request) error {
	after, limit, err := readPage(r, isID(webhook.EndpointPrefix))
	if err != nil {
		return err
	}
	found, err := a.Endpoints.Endpoints(r.Context(), r.PathValue("code"))
	if err != nil {
		return err
	}
	page, next := cut(found, after, limit, func(e webhook.Endpoint) string { return e.ID })
	return writePage(w, page, next, showEndpointItem)
}

func (a *Internal) showEndpoint(w http.ResponseWriter, r *http.Request) error {
	e, err := a.Endpoints.Endpoint(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, showEndpointItem(e))
}

// changeEndpoint applies a change, notes it and shows the endpoint.
func (a *Internal) changeEndpoint(w http.ResponseWriter, r *http.Request, action string, change func(*webhook.Endpoint) error) error {
	e, err := a.Endpoints.UpdateEndpoint(r.Context(), r.PathValue("id"), change)
	if err != nil {
		return err
	}
	a.acted(r.Context(), action, e.ID, e.PartnerCode)
	return web.WriteJSON(w, http.StatusOK, showEndpointItem(e))
}

func (a *Internal) patchEndpoint(w http.ResponseWriter, r *http.Request) error {
	var request endpointRequest
	if err := web.DecodeJSON(r, maxBody, &request); err != nil {
		return err
	}
	if request.URL != nil {
		if err := a.Guard.CheckURL(r.Context(), *request.URL, a.Resolver); err != nil {
			return err
		}
	}
	return a.changeEndpoint(w, r, "endpoint.change", request.apply)
}

func (a *Internal) pauseEndpoint(w http.ResponseWriter, r *http.Request) error {
	return a.changeEndpoint(w, r, "endpoint.pause", func(e *webhook.Endpoint) error { e.Window.Paused = true; return nil })
}

func (a *Internal) resumeEndpoint(w http.ResponseWriter, r *http.Request) error {
	return a.changeEndpoint(w, r, "endpoint.resume", func(e *webhook.Endpoint) error { e.Window.Paused = false; return nil })
}

func (a *Internal) removeEndpoint(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if err := a.Endpoints.RemoveEndpoint(r.Context(), id); err != nil {
		return err
	}
	a.acted(r.Context(), "endpoint.remove", id, "")
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// testEndpoint sends the catalogue's example to one endpoint, whether it is
// open or not, once.
func (a *Internal) testEndpoint(w http.ResponseWriter, r *http.Request) error {
	e, err := a.Endpoints.Endpoint(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	made, err := a.appendTest(r.Context(), e)
	if err != nil {
		return err
	}
	a.Metrics.created(r.Context(), a.Deliveries, made.DeliveryIDs[0])
	a.acted(r.Context(), "endpoint.test", e.ID, made.EventID)
	return web.WriteJSON(w, http.StatusAccepted, struct {
		EventID    string `json:"eventId"`
		DeliveryID string `json:"deliveryId"`
	}{made.EventID, made.DeliveryIDs[0]})
}
