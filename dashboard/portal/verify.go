package portal

import (
	"context"
	"crypto/rsa"
	"embed"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"ledgerhook/dashboard/deliveries"
	"ledgerhook/dashboard/locale"
	"ledgerhook/dashboard/shell"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// verifyView is the signature checker. What was pasted is shown once more to
// whoever pasted it and kept nowhere.
type verifyView struct {
	Request, Headers string // as pasted
	Problem          string // why nothing could be checked
	Of               string // the delivery that it was filled with; empty: somebody pasted it
	Verdict          shell.Notice
	Checks           []verifyCheck
	Diff             []deliveries.DiffRow // how the body differs from what was sent

	Operations []shell.Option
	Body       string // of a request of ours to be, as pasted
	Signing    signingView

	KeyID, KeyPEM string
	Older         []string // the ids of the keys that do not sign now
	Snippets      []snippet
}

// verifyCheck is one thing that was checked.
type verifyCheck struct {
	Name   string
	Result shell.Pill
	Says   string
}

// snippet is a program that verifies notifications; a test runs each.
type snippet struct{ Title, File, Text string }

//go:embed snippets
var snippetFiles embed.FS

// snippets are the programs in the order they are shown.
var snippets = func() []snippet {
	all := []snippet{{Title: "Node.js", File: "receiver.mjs"}, {Title: "Go", File: "receiver.go.txt"}, {Title: "openssl", File: "verify.sh"}}
	for i, s := range all {
		text, err := snippetFiles.ReadFile("snippets/" + s.File)
		if err != nil {
			panic("dashboard: " + err.Error())
		}
		all[i].Text, all[i].File = string(text), strings.TrimSuffix(s.File, ".txt")
	}
	return all
}()

// The most that can be pasted, in bytes.
const (
	maxPasted        = signer.MaxChecked
	maxPastedHeaders = 32 << 10
	checksAMinute    = 60 // of one partner
)

// verifyRoutes are the signature checker of the portal.
func (s pages) verifyRoutes() []shell.Route {
	return []shell.Route{
		shell.Read("GET /portal/verify", s.verifyPage),
		shell.Read("POST /portal/verify", s.verifyNotification),
		shell.Read("POST /portal/verify/request", s.verifyRequest),
		shell.Read("GET /portal/gateway.pub.pem", s.gatewayKey),
	}
}

func (s pages) verifyPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	if id := r.URL.Query().Get("delivery"); id != "" {
		return s.verifyDelivery(w, r, q, id)
	}
	return s.showVerify(w, r, q, http.StatusOK, verifyView{})
}

// verifyDelivery fills the checker with what the newest attempt of a delivery
// sent, and checks it.
func (s pages) verifyDelivery(w http.ResponseWriter, r *http.Request, q *shell.Request, id string) error {
	if err := s.mayCheck(r, q); err != nil {
		return err
	}
	proofs, err := s.Reports.Proofs(r.Context(), q.Scope(), []string{id}, 1)
	if err != nil {
		return err
	}
	if len(proofs) == 0 {
		return webhook.NotFound("delivery", id)
	}
	v, d := verifyView{Of: id}, proofs[0]
	if len(d.Attempts) == 0 || d.Event.ID == "" || d.Event.Erased.Done() || s.Composer == nil {
		v.Problem = q.T("There is nothing to check: it has not been sent yet, or its content is gone.")
		return s.showVerify(w, r, q, http.StatusOK, v)
	}
	body, err := s.Composer.Body(r.Context(), d.Event)
	if err != nil {
		return err
	}
	var headers strings.Builder
	for _, h := range deliveries.HeadersOf(d.Attempts[0].RequestHeaders) {
		if h.Value != "***" {
			headers.WriteString(h.Name + ": " + h.Value + "\n")
		}
	}
	v.Request, v.Headers = string(body), headers.String()
	got, problem := readPasted(q, v.Request, v.Headers)
	if v.Problem = problem; problem == "" {
		s.checkAll(r.Context(), q, got, &v)
	}
	return s.showVerify(w, r, q, http.StatusOK, v)
}

// showVerify adds to the view what it always shows.
func (s pages) showVerify(w http.ResponseWriter, r *http.Request, q *shell.Request, status int, v verifyView) error {
	v.KeyID, v.KeyPEM, v.Snippets = signer.KeyID(s.Key()), string(signer.PublicPEM(s.Key())), snippets
	for _, key := range s.gatewayKeys(r.Context())[1:] {
		v.Older = append(v.Older, signer.KeyID(key))
	}
	for _, op := range signer.Operations {
		v.Operations = append(v.Operations, shell.Option{Value: string(op), Label: string(op) + ": " + strings.Join(append(signer.RequestSlots(op), "secretKey"), "|"), Chosen: op == v.Signing.Operation})
	}
	return q.RenderStatus(w, r, status, "verify", v)
}

// gatewayKey downloads the key that notifications are signed with.
func (s pages) gatewayKey(w http.ResponseWriter, _ *http.Request, _ *shell.Request) error {
	w.Header().Set("Content-Type", "application/x-pem-file")
	w.Header().Set("Content-Disposition", `attachment; filename="gateway.pub.pem"`)
	_, err := w.Write(signer.PublicPEM(s.Key()))
	return err
}

// gatewayKeys are the public keys of the gateway, the active one first; it
// alone if the others cannot be read.
func (s pages) gatewayKeys(ctx context.Context) []*rsa.PublicKey {
	active := s.Key()
	keys := []*rsa.PublicKey{active}
	stored, err := shell.WithDeadline(ctx, s.Database.SigningKeys)
	if err != nil {
		return keys
	}
	for _, k := range stored {
		if key, err := signer.ParsePublicKey(k.PublicPEM); err == nil && !key.Equal(active) {
			keys = append(keys, key)
		}
	}
	return keys
}

// pasted reads the named field of a form, which must be text of at most limit
// bytes. Line ends are those that were pasted, not those of forms.
func pasted(q *shell.Request, r *http.Request, name string, limit int) (text, problem string) {
	text = strings.ReplaceAll(r.PostForm.Get(name), "\r\n", "\n")
	if len(text) > limit {
		return "", q.T("That is more than a notification can hold: %s at most.", q.Bytes(int64(limit)))
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(c rune) bool { return c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f }) {
		return "", q.T("That contains bytes that are not text. Paste the request as text.")
	}
	return text, ""
}

// readChecker reads the form of a check, unless too many are made.
func (s pages) readChecker(r *http.Request, q *shell.Request) error {
	if err := s.mayCheck(r, q); err != nil {
		return err
	}
	err := r.ParseForm()
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return &webhook.Error{Kind: webhook.KindTooLarge, Message: q.T("That is more than a notification can hold: %s at most.", q.Bytes(maxPasted))}
	}
	if err != nil {
		return webhook.Invalid("form", "cannot be read")
	}
	return nil
}

// mayCheck counts a check; RateLimited once too many are made.
func (s pages) mayCheck(r *http.Request, q *shell.Request) error {
	if ok, after := s.checks.Allow(r.Context(), "verify/"+q.User.PartnerCode, web.PerMinute(checksAMinute)); !ok {
		return &webhook.Error{Kind: webhook.KindRateLimited, Message: q.T("Too many checks in a minute."), RetryAfter: after}
	}
	return nil
}

// verifyNotification checks what was pasted and changes nothing.
func (s pages) verifyNotification(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	if err := s.readChecker(r, q); err != nil {
		return err
	}
	var v verifyView
	if v.Request, v.Problem = pasted(q, r, "request", maxPasted); v.Problem == "" {
		v.Headers, v.Problem = pasted(q, r, "headers", maxPastedHeaders)
	}
	var got signer.Capture
	if v.Problem == "" {
		got, v.Problem = readPasted(q, v.Request, v.Headers)
	}
	if v.Problem != "" {
		return s.showVerify(w, r, q, http.StatusBadRequest, v)
	}
	s.checkAll(r.Context(), q, got, &v)
	if err := r.Context().Err(); err != nil {
		return err
	}
	return s.showVerify(w, r, q, http.StatusOK, v)
}

// readPasted reads a whole request, or a body with headers beside it.
func readPasted(q *shell.Request, raw, headers string) (got signer.Capture, problem string) {
	if strings.TrimSpace(raw) == "" {
		return got, q.T("Paste a notification first.")
	}
	got, err := signer.ReadCapture([]byte(raw))
	switch {
	case errors.Is(err, signer.ErrNoRequest):
		return got, q.T("That is neither a JSON body, which begins with {, nor a request, which begins like POST /hook HTTP/1.1.")
	case errors.Is(err, signer.ErrChunked):
		return got, q.T("The body is in chunks. Paste the body alone and the headers beside it.")
	case errors.Is(err, signer.ErrCut):
		return got, q.T("The body is shorter than its Content-Length says: it was cut.")
	case err != nil:
		return got, q.T("The headers cannot be read. Each is a line like webhook-id: evt_…")
	}
	if rest := got.Rest; strings.TrimSpace(string(rest)) != "" {
		got.Body = append(got.Body[:len(got.Body):len(got.Body)], rest...) // it has grown since it was sent
	}
	for line := range strings.Lines(headers) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "POST ") {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return got, q.T("The headers cannot be read. Each is a line like webhook-id: evt_…")
		}
		got.Header.Set(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return got, ""
}

// openSecrets are the webhook secrets of the partner with their values.
func (s pages) openSecrets(ctx context.Context, code string) (secrets []partners.Secret, values []string, err error) {
	found, err := shell.WithDeadline(ctx, func(ctx context.Context) ([]partners.Secret, error) { return s.Accounts.Secrets(ctx, code) })
	for _, secret := range found {
		value, opened := s.Box.Open(secret.SealPurpose(), secret.Sealed)
		if opened == nil {
			secrets, values = append(secrets, secret), append(values, string(value))
		}
	}
	return secrets, values, err
}

// sentAge says how old a notification is.
func sentAge(q *shell.Request, sent time.Time) verifyCheck {
	c := verifyCheck{Name: q.T("Time"), Result: shell.Good(locale.Text("right"))}
	age := q.Now.Sub(sent)
	switch {
	case age > signer.Tolerance:
		c.Result = shell.Warn(locale.Text("old"))
		c.Says = q.T("Sent %s ago. Receivers accept at most %s and must refuse it now. For one that you stored this is no fault.", q.Duration(age), q.Duration(signer.Tolerance))
	case age < -signer.Tolerance:
		c.Result = shell.Bad(locale.Text("wrong"))
		c.Says = q.T("That is %s ahead of the gateway's clock.", q.Duration(-age))
	default:
		c.Says = q.T("Sent %s ago.", q.Duration(max(0, age)))
	}
	return c
}
