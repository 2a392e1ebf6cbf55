package ingest

import (
	"encoding/hex"
	"net/http"
	"time"
	"unicode/utf8"

	"ledgerhook/delivery"
	"ledgerhook/partners"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// deliveryItem is a delivery as lists show it.
type deliveryItem struct {
	DeliveryID     string      `json:"deliveryId"`
	EventID        string      `json:"eventId"`
	EndpointID     *string     `json:"endpointId"`
	PartnerCode    string      `json:"partnerCode"`
	WebhookType    string      `json:"webhookType"`
	Reference      string      `json:"reference"`
	Sequence       int64       `json:"sequence"`
	State          string      `json:"state"`
	Reason         string      `json:"reason,omitempty"`
	Trigger        string      `json:"trigger"`
	ReplayOf       *string     `json:"replayOf"`
	DeliveredBy    *string     `json:"deliveredBy"`
	AttemptCount   int         `json:"attemptCount"`
	LastOutcome    *string     `json:"lastOutcome"`
	LastStatusCode int         `json:"lastStatusCode"`
	LastErrorClass *string     `json:"lastErrorClass"`
	NextAttemptAt  web.Time    `json:"nextAttemptAt"`
	WaitingFor     *waitingFor `json:"waitingFor"`
	CreatedAt      web.Time    `json:"createdAt"`
	FinishedAt     web.Time    `json:"finishedAt"`
}

// waitingFor says what an undelivered delivery waits for.
type waitingFor struct {
	Reason string   `json:"reason"`
	Until  web.Time `json:"until"`
}

// orNull is nil for an empty text.
func orNull[T ~string](s T) *string {
	if s == "" {
		return nil
	}
	plain := string(s)
	return &plain
}

func showDeliveryItem(d delivery.DeliveryWithWindow) deliveryItem {
	item := deliveryItem{
		DeliveryID: d.ID, EventID: d.EventID, EndpointID: orNull(d.EndpointID), PartnerCode: d.PartnerCode,
		WebhookType: string(d.Type), Reference: d.ObjectID, Sequence: d.Sequence, State: string(d.Shown(d.Window)), Reason: d.Reason,
		Trigger: string(d.Trigger), ReplayOf: orNull(d.ReplayOf), DeliveredBy: orNull(d.DeliveredBy), AttemptCount: d.Attempts, LastOutcome: orNull(d.Last.Outcome),
		LastStatusCode: d.Last.StatusCode, LastErrorClass: orNull(d.Last.ErrorClass),
		CreatedAt: web.Time(d.CreatedAt), FinishedAt: web.Time(d.FinishedAt),
	}
	reason, until := d.WaitingFor(d.Window, time.Now())
	if reason != "" {
		item.WaitingFor = &waitingFor{string(reason), web.Time(until)}
	}
	if reason == webhook.WaitRetry || reason == webhook.WaitRetryAfter {
		item.NextAttemptAt = web.Time(until)
	}
	return item
}

// attemptItem is one attempt, whole.
type attemptItem struct {
	Number             int                 `json:"number"`
	Trigger            string              `json:"trigger"`
	StartedAt          web.Time            `json:"startedAt"`
	DurationMs         float64             `json:"durationMs"`
	Phases             phases              `json:"phases"`
	PeerIP             *string             `json:"peerIp"`
	TLS                *tlsItem            `json:"tls"`
	Outcome            string              `json:"outcome"`
	StatusCode         int                 `json:"statusCode"`
	ErrorClass         *string             `json:"errorClass"`
	ErrorDetail        *string             `json:"errorDetail"`
	RequestHeaders     map[string][]string `json:"requestHeaders"`
	ResponseHeaders    map[string][]string `json:"responseHeaders"`
	ResponseBody       *string             `json:"responseBody"`       // as text, where it is UTF-8
	ResponseBodyBase64 []byte              `json:"responseBodyBase64"` // the same bytes
	Truncated          bool                `json:"truncated"`
	IsUTF8             bool                `json:"isUtf8"`
	HeadersTruncated   bool                `json:"headersTruncated"`
	KeyID              string              `json:"keyId"`
	Worker             string              `json:"worker"`
	NextAttemptAt      web.Time            `json:"nextAttemptAt"`
	NextAttemptReason  *string             `json:"nextAttemptReason"`
}

// phases are in milliseconds; a phase that did not happen is 0.
type phases struct {
	DNSMs       float64 `json:"dnsMs"`
	ConnectMs   float64 `json:"connectMs"`
	TLSMs       float64 `json:"tlsMs"`
	FirstByteMs float64 `json:"firstByteMs"`
	TotalMs     float64 `json:"totalMs"`
}

type tlsItem struct {
	Version             string   `json:"version"`
	CertificateNotAfter web.Time `json:"certificateNotAfter"`
	CertificateSHA256   *string  `json:"certificateSha256"`
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func showAttempt(a webhook.Attempt) attemptItem {
	item := attemptItem{
		Number: a.Number, Trigger: string(a.Trigger), StartedAt: web.Time(a.StartedAt), DurationMs: ms(a.Phases.Total),
		Phases: phases{ms(a.Phases.DNS), ms(a.Phases.Connect), ms(a.Phases.TLS), ms(a.Phases.FirstByte), ms(a.Phases.Total)},
		PeerIP: orNull(a.PeerIP), Outcome: string(a.Outcome), StatusCode: a.StatusCode, ErrorClass: orNull(a.ErrorClass),
		ErrorDetail: orNull(a.ErrorDetail), RequestHeaders: a.RequestHeaders, ResponseHeaders: a.ResponseHeaders,
		ResponseBodyBase64: append([]byte{}, a.ResponseBody...), Truncated: a.Truncated, IsUTF8: utf8.Valid(a.ResponseBody), KeyID: a.KeyID,
		HeadersTruncated: a.HeadersCut, Worker: a.Worker, NextAttemptAt: web.Time(a.NextAt), NextAttemptReason: orNull(a.NextReason),
	}
	if a.TLSVersion != "" || !a.TLSNotAfter.IsZero() {
		item.TLS = &tlsItem{a.TLSVersion, web.Time(a.TLSNotAfter), orNull(hex.EncodeToString(a.Certificate))}
	}
	if item.IsUTF8 {
		text := string(a.ResponseBody)
		item.ResponseBody = &text
	}
	return item
}

// shownStates are the states that a list can be narrowed to.
var shownStates = []webhook.State{webhook.Pending, webhook.Queued, webhook.Sending, webhook.Held, webhook.Delivered,
	webhook.Exhausted, webhook.Cancelled}

func (a *Internal) listDeliveries(w http.ResponseWriter, r *http.Request) error {
	f := delivery.Filter{}
	return search(w, r, &f, &f.Limit, map[string]func(string) error{
		"partnerCode": text(&f.PartnerCode),
		"endpointId":  text(&f.EndpointID),
		"state":       oneOf("state", shownStates, &f.State),
		"webhookType": typeName(&f.Type),
		"statusCode":  number("statusCode", 100, 599, &f.StatusCode),
		"errorClass":  oneOf("errorClass", webhook.ErrorClasses, &f.ErrorClass),
		"reference":   text(&f.Reference),
		"since":       timeOf(r, "since", &f.Since),
		"until":       timeOf(r, "until", &f.Until),
		"cursor":      cursor(r, isID(webhook.DeliveryPrefix), &f.Cursor),
		"limit":       nil,
	}, a.Sent.Deliveries, showDeliveryItem)
}

func (a *Internal) showDelivery(w http.ResponseWriter, r *http.Request) error {
	d, err := a.Sent.Delivery(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	attempts, err := a.Sent.Attempts(r.Context(), d.ID)
	if err != nil {
		return err
	}
	items := make([]attemptItem, len(attempts))
	for i, attempt := range attempts {
		items[i] = showAttempt(attempt)
	}
	e, err := a.Accepted.Event(r.Context(), partners.Everything(), d.EventID)
	if err != nil && webhook.KindOf(err) != webhook.KindNotFound {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, struct {
		deliveryItem
		Erased   *erasedItem   `json:"erased"` // the content of its event
		Attempts []attemptItem `json:"attempts"`
	}{showDeliveryItem(d), showErased(e.Erased), items})
}

// retryDelivery makes an unfinished delivery due now (200), or a new delivery
// of a finished one (202).
func (a *Internal) retryDelivery(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	newID, err := a.Deliveries.RetryDelivery(r.Context(), id, by(r, "delivery.retry", ""))
	if err != nil {
		return err
	}
	status := http.StatusOK
	if newID != "" {
		status = http.StatusAccepted
	} else {
		newID = id
	}
	return web.WriteJSON(w, status, struct {
		DeliveryID string `json:"deliveryId"`
	}{newID})
}

func (a *Internal) cancelDelivery(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if err := a.Deliveries.CancelDelivery(r.Context(), id, "cancelled by an operator", by(r, "delivery.cancel", "")); err != nil {
		return err
	}
	d, err := a.Sent.Delivery(r.Context(), id)
	return writeItem(w, d, err, showDeliveryItem)
}
