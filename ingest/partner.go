package ingest

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"ledgerhook/orders"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// PriceBook is what a partner's orders cost.
type PriceBook interface {
	Rate(ctx context.Context, crypto string) (orders.Rate, error)
	AddQuote(ctx context.Context, q orders.Quote) error
	ValidQuote(ctx context.Context, partnerCode, email, crypto string, fiat int64, validity time.Duration) (q orders.Quote, found bool, err error)
}

// OrderBook is the ledger as the partner operations use it.
type OrderBook interface {
	CreatedOrder(ctx context.Context, c orders.Create) (o orders.Order, found bool, err error)
	CreateOrder(ctx context.Context, o orders.Order) (stored orders.Order, created bool, err error)
	PartnerOrder(ctx context.Context, partnerCode, externalOrderID string) (orders.Order, error)
	QROrder(ctx context.Context, token string) (orders.Order, error)
}

// Partner is the interface that partners' own systems call.
type Partner struct {
	Partners Partners
	Secrets  Secrets
	Orders   OrderBook
	Prices   PriceBook
	Tokens   *partners.Tokens
	Codes    *partners.Codes
	Banks    *orders.Banks

	Key       func() *signer.Key // the active signing key
	Box       *signer.Box
	Limiter   *web.Limiter
	Limits    orders.Limits // of an order's amount
	Terms     Terms
	PublicURL string // begins the addresses of QR codes

	Metrics *PartnerMetrics
	Web     *web.Metrics
	Log     *slog.Logger

	standIn partners.Partner // what an unknown partner's signature is checked against
}

// maxPartnerBody is how large a partner's request may be ("Errors" of the
// interface decisions).
const maxPartnerBody = 64 << 10

// call is one request of a partner whose signature was right.
type call struct {
	signer.Request
	partner   partners.Partner
	secretKey string
	lang      string
	bearer    string // the access token that came along; empty: none
	email     string // Request.Email as partners.ReadEmail reads it; the signed text is that which was sent
}

// operation is what a partner can ask for. answer returns a value that is
// written as JSON with status 200, or an error for the partner.
type operation struct {
	path   string
	signed signer.Operation
	// envelope: answers and errors in the access-token envelope
	envelope bool
	answer   func(ctx context.Context, c call) (any, error)
}

// operations lists every operation of the partner interface.
func (p *Partner) operations() []operation {
	return []operation{
		{"/api/v2/auth/access-token", signer.OpAccessToken, true, p.accessToken},
		{"/api/v2/auth/refresh-token", signer.OpRefreshToken, true, p.refreshToken},
		{"/api/v2/user-order/send-code", signer.OpSendCode, false, p.sendCode},
		{"/api/v2/user-order/verify", signer.OpVerify, false, p.verifyCode},
		{"/api/v2/orders/review-cashout", signer.OpReviewCashout, false, p.reviewCashout},
		{"/api/v2/orders/create-cashout", signer.OpCreateCashout, false, p.createCashout},
		{"/api/v2/orders/details", signer.OpOrderDetails, false, p.orderDetails},
	}
}

// Register mounts the operations and the QR codes of orders.
func (p *Partner) Register(mux *http.ServeMux) {
	p.standIn = partners.Partner{PublicKey: p.Key().PublicPEM()}
	p.standIn.SealedSecret = p.Box.Seal(p.standIn.SealPurpose(), []byte(rand.Text()+rand.Text()))
	p.Web.AuthReasons(partnerSurface, reasonSignature, reasonAccessToken, reasonRefreshToken, reasonCode)
	api := http.NewServeMux()
	for _, op := range p.operations() {
		surface := p.surface(op.envelope)
		one := http.NewServeMux() // so that a wrong method is answered in the operation's shape
		one.Handle("POST "+op.path, surface.Handle(func(w http.ResponseWriter, r *http.Request) error { return p.serve(w, r, op) }))
		api.Handle(op.path, surface.Mux(one))
	}
	mux.Handle("/api/", p.surface(false).Mux(api))
	mux.Handle("GET /qr/{code}", web.Surface{Name: "public", Log: p.Log, Metrics: p.Web, ReadLimit: readLimit}.Handle(p.showQR))
}

// partnerSurface names the operations' surface in metrics.
const partnerSurface = "partner"

func (p *Partner) surface(envelope bool) web.Surface {
	return web.Surface{Name: partnerSurface, Log: p.Log, Metrics: p.Web, ReadLimit: readLimit, ActLimit: partnerLimit, Render: func(w http.ResponseWriter, r *http.Request, status int, e *webhook.Error) {
		renderPartnerError(w, r, status, e, envelope)
	}}
}

// serve reads, authenticates, limits and answers one request.
func (p *Partner) serve(w http.ResponseWriter, r *http.Request, op operation) error {
	began := time.Now()
	answer, err := p.call(r, op)
	p.Metrics.served(r.Context(), op.signed, began, err)
	if err != nil {
		noteRefusal(r.Context(), err)
		return partnerError(err)
	}
	return web.WriteJSON(w, http.StatusOK, answer)
}

// noteRefusal puts the key of an error into the request's log event, and the
// field that it is about: what a partner who asks for help is told.
func noteRefusal(ctx context.Context, err error) {
	web.Note(ctx, slog.String("error_code", resultOf(err)))
	if e, ok := errors.AsType[*orders.Error](err); ok && e.Field != "" {
		web.Note(ctx, slog.String("field", e.Field))
	}
}

func (p *Partner) call(r *http.Request, op operation) (any, error) {
	if err := web.CheckJSONType(r); err != nil {
		return nil, err
	}
	body, err := web.ReadBody(r, maxPartnerBody)
	if err != nil {
		return nil, err
	}
	request, err := signer.ReadRequest(op.signed, body)
	if err != nil {
		return nil, fieldError(err)
	}
	email, err := readEmail(request)
	if err != nil {
		return nil, err
	}
	c, err := p.authenticate(r.Context(), request, web.ClientAddress(r))
	if err != nil {
		return nil, err
	}
	web.Note(r.Context(), slog.String("partner", c.partner.Code))
	c.email = email
	c.lang = orders.Language(r.Header.Get("lang"))
	c.bearer = bearer(r.Header)
	if err := p.limit(r.Context(), c); err != nil {
		return nil, err
	}
	return op.answer(r.Context(), c)
}

// readEmail reads the address of a request; empty if its operation has none.
func readEmail(request signer.Request) (string, error) {
	if request.Email == "" {
		return "", nil
	}
	email, err := partners.ReadEmail(request.Email)
	if err != nil {
		field := "userEmail"
		if slices.Contains(signer.RequestSlots(request.Operation), "email") {
			field = "email"
		}
		return "", &orders.Error{Key: orders.KeyInvalidField, Field: field, Detail: partners.EmailDetail}
	}
	return email, nil
}

// bearer is the token of an Authorization header; empty: none was sent. Any
// other scheme is passed on as it is and fits no token.
func bearer(h http.Header) string {
	value := strings.TrimSpace(h.Get("Authorization"))
	if scheme, token, found := strings.Cut(value, " "); found && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	return value
}

// fieldError turns what is wrong with a body into its error of the catalogue.
func fieldError(err error) error {
	var field *signer.FieldError
	if !errors.As(err, &field) {
		return err
	}
	e := &orders.Error{Key: orders.KeyInvalidField, Field: field.Field, Detail: field.Detail, Err: err}
	switch {
	case field.Reason == signer.Missing:
		e.Key = orders.KeyMissingField
	case field.Reason == signer.Forbidden:
		e.Key = orders.KeyForbiddenCharacter
	case field.Reason == signer.Malformed || field.Field == "":
		e.Key = orders.KeyInvalidJSON
	case strings.HasSuffix(field.Field, "recipientNumber") || field.Field == "bankAccountNumber":
		e.Key = orders.KeyAccountInvalid
	case strings.HasSuffix(field.Field, "transferContent") || field.Field == "content":
		e.Key = orders.KeyContentInvalid
	}
	return e
}

// partnerError makes an error of the catalogue one that the surface knows.
func partnerError(err error) error {
	var e *orders.Error
	if !errors.As(err, &e) {
		return err
	}
	kind := webhook.KindInvalid
	switch e.Key.Status() {
	case http.StatusUnauthorized:
		kind = webhook.KindUnauthenticated
	case http.StatusTooManyRequests:
		kind = webhook.KindRateLimited
	case http.StatusServiceUnavailable:
		kind = webhook.KindUnavailable
	}
	return &webhook.Error{Kind: kind, Message: string(e.Key), RetryAfter: time.Duration(e.Seconds) * time.Second, Err: e}
}

// renderPartnerError writes an error in the shape of the interface: the
// envelope of the token operations, {"error": …} elsewhere, the key in a
// header either way.
func renderPartnerError(w http.ResponseWriter, r *http.Request, status int, e *webhook.Error, envelope bool) {
	var shown *orders.Error
	if !errors.As(e.Err, &shown) {
		shown = &orders.Error{Key: keyOf(status)}
	}
	message := shown.Message(r.Header.Get("lang"))
	h := w.Header()
	h.Set("X-Error-Code", string(shown.Key))
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	var answer any = struct {
		Error string `json:"error"`
	}{message}
	if envelope {
		answer = tokenEnvelope{Message: message, ErrorCode: shown.Key.Code()}
	}
	_ = web.WriteJSON(w, status, answer) // strings always have a JSON form
}

// keyOf is the catalogue's key for a status that HTTP itself gives.
func keyOf(status int) orders.Key {
	switch status {
	case http.StatusBadRequest:
		return orders.KeyInvalidJSON
	case http.StatusNotFound:
		return orders.KeyNotFound
	case http.StatusMethodNotAllowed:
		return orders.KeyMethodNotAllowed
	case http.StatusRequestEntityTooLarge:
		return orders.KeyBodyTooLarge
	case http.StatusUnsupportedMediaType:
		return orders.KeyUnsupportedMediaType
	case http.StatusTooManyRequests:
		return orders.KeyRateLimited
	case http.StatusServiceUnavailable:
		return orders.KeyMaintenance
	}
	return orders.KeyInternalError
}
