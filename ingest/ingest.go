// Package ingest serves the gateway's HTTP APIs: the internal one, through
// which the company's own systems hand over events and administer partners, the
// signed operations of partners, and the documents that partners fetch.
package ingest

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ledgerhook/delivery"
	"ledgerhook/delivery/guard"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// Events is the ledger as the events API uses it.
type Events interface {
	Append(ctx context.Context, e delivery.NewEvent, by ...partners.AuditEntry) (delivery.Appended, error)
	AppendAll(ctx context.Context, events []delivery.NewEvent) ([]delivery.Appended, []error)
}

// EventReader finds events that were accepted.
type EventReader interface {
	Event(ctx context.Context, s partners.Scope, id string) (webhook.Event, error)
	Events(ctx context.Context, f delivery.EventFilter) ([]webhook.Event, string, error)
	EventDeliveries(ctx context.Context, eventID string) ([]delivery.DeliveryWithWindow, error)
}

// Deliveries is the ledger as the deliveries API changes it.
type Deliveries interface {
	RetryDelivery(ctx context.Context, id string, by ...partners.AuditEntry) (newID string, err error)
	CancelDelivery(ctx context.Context, id, reason string, by ...partners.AuditEntry) error
}

// DeliveryReader finds deliveries and their attempts.
type DeliveryReader interface {
	Delivery(ctx context.Context, id string) (delivery.DeliveryWithWindow, error)
	Deliveries(ctx context.Context, f delivery.Filter) ([]delivery.DeliveryWithWindow, string, error)
	Attempts(ctx context.Context, deliveryID string) ([]webhook.Attempt, error)
	// Sequence lists the deliveries that took an endpoint's numbers from … to.
	Sequence(ctx context.Context, endpointID string, from, to int64) ([]delivery.DeliveryWithWindow, error)
	// RecentAttempts lists the newest attempts at an endpoint.
	RecentAttempts(ctx context.Context, endpointID string) ([]webhook.Attempt, error)
}

// Partners are those who deal with the gateway.
type Partners interface {
	CreatePartner(ctx context.Context, p partners.Partner, first partners.Secret, by ...partners.AuditEntry) error
	Partner(ctx context.Context, code string) (partners.Partner, error)
	Partners(ctx context.Context, cursor string, limit int) ([]partners.Partner, string, error)
}

// PartnerUpdater is the ledger as the partners API changes a partner, and with
// it the windows of its endpoints.
type PartnerUpdater interface {
	UpdatePartner(ctx context.Context, code string, change func(*partners.Partner) error, by ...partners.AuditEntry) (partners.Partner, error)
}

// Secrets are the webhook secrets of partners.
type Secrets interface {
	AddSecret(ctx context.Context, s partners.Secret, by ...partners.AuditEntry) error
	Secrets(ctx context.Context, code string) ([]partners.Secret, error)
	ActivateSecret(ctx context.Context, code, id string, now time.Time, by ...partners.AuditEntry) (partners.Secret, error)
	RevokeSecret(ctx context.Context, code, id string, now time.Time, by ...partners.AuditEntry) (partners.Secret, error)
}

// Endpoints is the ledger as the endpoints API uses it.
type Endpoints interface {
	CreateEndpoint(ctx context.Context, e webhook.Endpoint, change func(*webhook.Endpoint) error, by ...partners.AuditEntry) (webhook.Endpoint, error)
	Endpoint(ctx context.Context, s partners.Scope, id string) (webhook.Endpoint, error)
	Endpoints(ctx context.Context, code string) ([]webhook.Endpoint, error)
	UpdateEndpoint(ctx context.Context, s partners.Scope, id string, change func(*webhook.Endpoint) error, by ...partners.AuditEntry) (webhook.Endpoint, error)
	RemoveEndpoint(ctx context.Context, s partners.Scope, id string, by ...partners.AuditEntry) error
}

// Replays is the ledger as the API of bulk replays uses it.
type Replays interface {
	PreviewReplay(ctx context.Context, s partners.Scope, f delivery.Filter) (delivery.ReplayPreview, error)
	StartReplay(ctx context.Context, s partners.Scope, r delivery.Replay, by ...partners.AuditEntry) (delivery.Replay, error)
	Replay(ctx context.Context, s partners.Scope, id string) (delivery.Replay, error)
	Replays(ctx context.Context, s partners.Scope, cursor string, limit int) ([]delivery.Replay, string, error)
	MoveReplay(ctx context.Context, id string, to delivery.ReplayState, by ...partners.AuditEntry) error
}

// Audit is the ledger as readers of the audit log use it, and acts that change
// nothing else. Every other act hands its entry over with the change, as by,
// and both are one transaction.
type Audit interface {
	Audit(ctx context.Context, e partners.AuditEntry) error
	AuditEntries(ctx context.Context, f partners.AuditFilter) ([]partners.AuditEntry, string, error)
}

// Internal is the API of the company's own systems and of the command line.
type Internal struct {
	Events         Events
	Accepted       EventReader
	Deliveries     Deliveries
	Sent           DeliveryReader
	Partners       Partners
	PartnerUpdates PartnerUpdater
	Secrets        Secrets
	Endpoints      Endpoints
	Replays        Replays
	Erasures       Erasures
	Orders         Orders
	OrderLists     OrderLists
	Rates          Rates
	Keys           SigningKeys
	MasterKey      MasterKey
	Mailbox        Mailbox
	Audit          Audit

	Token    string             // the bearer with every scope
	Tokens   *Tokens            // the others
	Key      func() *signer.Key // the active signing key
	Box      *signer.Box
	Composer *delivery.Composer
	Guard    *guard.Guard
	Resolver guard.Resolver
	Timeout  time.Duration   // limit of a whole attempt
	Limits   partners.Limits // of a partner that sets none of its own

	Limiter  *web.Limiter // of tests
	Refusals *Refusals
	Metrics  *Metrics
	Web      *web.Metrics
	Log      *slog.Logger
}

// How long a request may take; a change that has begun by then ends within
// another 10 s.
const (
	readLimit    = 5 * time.Second
	actLimit     = 15 * time.Second // so long takes the list of a large replay
	partnerLimit = 10 * time.Second
)

// Handler serves /internal/v1.
func (a *Internal) Handler() http.Handler {
	surface := web.Surface{Name: "internal", Log: a.Log, Metrics: a.Web, ReadLimit: readLimit, ActLimit: actLimit}
	mux := http.NewServeMux()
	for pattern, rt := range a.routes() {
		mux.Handle(pattern, surface.Handle(a.within(rt)))
	}
	a.Web.AuthReasons(surface.Name, reasonScope)
	return surface.Bearer(a.findToken(), surface.Handle(plainPath(surface.Mux(mux))))
}

// plainPath serves next unless the path holds what no id or code can: a
// database need not be asked for it, and PostgreSQL would not take it.
func plainPath(next http.Handler) web.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		if path := r.URL.Path; !utf8.ValidString(path) || strings.ContainsFunc(path, unicode.IsControl) {
			return &webhook.Error{Kind: webhook.KindNotFound, Message: "there is nothing at this path"}
		}
		next.ServeHTTP(w, r)
		return nil
	}
}

// route is what a request asks of its token, and what it does.
type route struct {
	scope  partners.TokenScope
	handle web.HandlerFunc
}

// routes is every route of the API, on this screen.
func (a *Internal) routes() map[string]route {
	const ingest, read, administer = partners.ScopeIngest, partners.ScopeRead, partners.ScopeAdminister
	return map[string]route{
		"POST /internal/v1/events":       {ingest, a.postEvent},
		"POST /internal/v1/events/batch": {ingest, a.postBatch},
		"GET /internal/v1/events":        {read, a.listEvents},
		"GET /internal/v1/events/{id}":   {read, a.showEvent},

		"GET /internal/v1/deliveries":              {read, a.listDeliveries},
		"GET /internal/v1/deliveries/{id}":         {read, a.showDelivery},
		"POST /internal/v1/deliveries/{id}/retry":  {administer, a.retryDelivery},
		"POST /internal/v1/deliveries/{id}/cancel": {administer, a.cancelDelivery},

		"POST /internal/v1/partners":                   {administer, a.createPartner},
		"GET /internal/v1/partners":                    {read, a.listPartners},
		"GET /internal/v1/partners/{code}":             {read, a.showPartner},
		"PATCH /internal/v1/partners/{code}":           {administer, a.patchPartner},
		"POST /internal/v1/partners/{code}/disable":    {administer, a.disablePartner},
		"POST /internal/v1/partners/{code}/enable":     {administer, a.enablePartner},
		"POST /internal/v1/partners/{code}/rotate-key": {administer, a.rotateKey},

		"POST /internal/v1/partners/{code}/secrets":               {administer, a.createSecret},
		"GET /internal/v1/partners/{code}/secrets":                {read, a.listSecrets},
		"POST /internal/v1/partners/{code}/secrets/{id}/activate": {administer, a.activateSecret},
		"POST /internal/v1/partners/{code}/secrets/{id}/revoke":   {administer, a.revokeSecret},

		"POST /internal/v1/partners/{code}/endpoints": {administer, a.createEndpoint},
		"GET /internal/v1/partners/{code}/endpoints":  {read, a.listEndpoints},
		"GET /internal/v1/endpoints/{id}":             {read, a.showEndpoint},
		"PATCH /internal/v1/endpoints/{id}":           {administer, a.patchEndpoint},
		"DELETE /internal/v1/endpoints/{id}":          {administer, a.removeEndpoint},
		"POST /internal/v1/endpoints/{id}/test":       {administer, a.testEndpoint},
		"POST /internal/v1/endpoints/{id}/pause":      {administer, a.pauseEndpoint},
		"POST /internal/v1/endpoints/{id}/resume":     {administer, a.resumeEndpoint},

		"POST /internal/v1/endpoints/{id}/open-breaker":  {administer, a.openBreaker()},
		"POST /internal/v1/endpoints/{id}/close-breaker": {administer, a.closeBreaker()},
		"GET /internal/v1/endpoints/{id}/sequence":       {read, a.showSequence},

		"POST /internal/v1/replays":             {administer, a.createReplay},
		"GET /internal/v1/replays":              {read, a.listReplays},
		"GET /internal/v1/replays/{id}":         {read, a.showReplay},
		"POST /internal/v1/replays/{id}/pause":  {administer, a.moveReplay("pause", delivery.ReplayPaused)},
		"POST /internal/v1/replays/{id}/resume": {administer, a.moveReplay("resume", delivery.ReplayRunning)},
		"POST /internal/v1/replays/{id}/cancel": {administer, a.moveReplay("cancel", delivery.ReplayCancelled)},

		"GET /internal/v1/orders":                   {read, a.listOrders},
		"GET /internal/v1/orders/{id}":              {read, a.showOrder},
		"POST /internal/v1/orders/{id}/payout":      {ingest, a.startPayout},
		"POST /internal/v1/orders/{id}/transitions": {ingest, a.transitionOrder},
		"POST /internal/v1/orders/{id}/settle":      {administer, a.settleOrder},

		"PUT /internal/v1/rates/{crypto}": {administer, a.putRate}, // it names the wallet that takes the tokens
		"GET /internal/v1/rates":          {read, a.listRates},

		"GET /internal/v1/keys":         {read, a.listKeys},
		"POST /internal/v1/keys/rotate": {administer, a.rotateSigningKey},

		"POST /internal/v1/master-key/rotate": {administer, a.rotateMasterKey},

		"POST /internal/v1/tokens":             {administer, a.createToken},
		"GET /internal/v1/tokens":              {read, a.listTokens},
		"POST /internal/v1/tokens/{id}/revoke": {administer, a.revokeToken},

		"POST /internal/v1/erasures": {administer, a.erase},

		"GET /internal/v1/mailbox": {administer, a.listLetters}, // codes let their reader in
		"GET /internal/v1/audit":   {read, a.listAudit},
	}
}

// by is the entry of an act of this API in the audit log.
func by(r *http.Request, action, detail string) partners.AuditEntry {
	return partners.AuditEntry{Actor: callerOf(r).actor, Action: action, Detail: detail}
}

// maxBody is how large a request may be unless its route says otherwise.
const maxBody = 256 << 10
