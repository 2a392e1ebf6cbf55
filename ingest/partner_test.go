package ingest_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/ingest"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/orders"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// gate is the partner interface on a real ledger, asked without a network.
type gate struct {
	*ledgertest.Bench
	handler  http.Handler
	box      *signer.Box
	letters  tray
	compared *atomic.Int64 // guesses that reached a code
	log      *journal
	acme     account
	terms    ingest.Terms         // of processes from now on
	registry *prometheus.Registry // of the newest process
}

// eachGate holds a promise of the partner interface on both databases.
func eachGate(t *testing.T, test func(t *testing.T, g *gate)) {
	t.Helper()
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) { test(t, newGate(t, b)) })
}

func newGate(t testing.TB, b *ledgertest.Bench) *gate {
	t.Helper()
	box, err := signer.NewBox(bytes.Repeat([]byte{7}, signer.MasterKeySize))
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{Bench: b, box: box, letters: make(tray, 1000), compared: new(atomic.Int64), log: &journal{}, terms: ingest.DefaultTerms}
	g.handler = g.process(t, orders.ProductionLimits)
	g.acme = g.account(t, "acme", keys()[1])
	g.rate(t, "USDT", "25345.5")
	return g
}

// tray keeps the letters that were sent.
type tray chan partners.Letter

func (m tray) Send(l partners.Letter) { m <- l }

// counter is the store of codes, with a count of the guesses that were compared.
type counter struct {
	partners.CodeStore
	compared *atomic.Int64
}

func (c counter) AlterCode(ctx context.Context, u partners.User, change func(*partners.CodeState)) error {
	return c.CodeStore.AlterCode(ctx, u, func(s *partners.CodeState) {
		before := s.Tries
		if change(s); s.Tries > before {
			c.compared.Add(1)
		}
	})
}

// process is one more process that serves the interface, with rate limits of
// its own as when Redis is away.
func (g *gate) process(t testing.TB, limits orders.Limits) http.Handler {
	t.Helper()
	banks, err := orders.LoadBanks(orders.DefaultBankSources)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewJSONHandler(g.log, nil))
	g.registry = prometheus.NewRegistry()
	webMetrics := web.NewMetrics(g.registry)
	mux := http.NewServeMux()
	(&ingest.Partner{
		Partners: g.Accounts, Secrets: g.Accounts, Orders: g.Ledger, Prices: g.Prices,
		Tokens: partners.NewTokens(g.Accounts, g.box, log),
		Codes:  partners.NewCodes(counter{g.Accounts, g.compared}, func() [][]byte { return [][]byte{[]byte("pepper")} }, g.letters),
		Banks:  banks, Key: func() *signer.Key { return keys()[0] }, Box: g.box, Limiter: web.NewLimiter(nil), Limits: limits, Terms: g.terms, PublicURL: "https://pay.example.com",
		Metrics: ingest.NewPartnerMetrics(g.registry), Web: webMetrics, Log: log,
	}).Register(mux)
	return web.Observe(log, webMetrics, web.Surface{Name: "public", Log: log, Metrics: webMetrics}.Mux(mux))
}

// account is a partner with what only it and the gateway know.
type account struct {
	code, secretKey, webhookSecret string
	key                            *signer.Key
}

func (g *gate) account(t testing.TB, code string, key *signer.Key) account {
	t.Helper()
	a := account{code, "secret key of " + code, signer.NewWebhookSecret(), key}
	p := partners.Partner{Code: code, Name: code, PublicKey: key.PublicPEM(), Settings: partners.DefaultSettings(), CreatedAt: time.Now()}
	p.SealedSecret = g.box.Seal(p.SealPurpose(), []byte(a.secretKey))
	if err := g.CreatePartner(t.Context(), p, g.secret(code, a.webhookSecret, partners.SecretActive)); err != nil {
		t.Fatal(err)
	}
	return a
}

func (g *gate) secret(code, value string, state partners.SecretState) partners.Secret {
	s := partners.Secret{ID: webhook.NewID(webhook.SecretPrefix), PartnerCode: code, State: state, CreatedAt: time.Now()}
	s.Sealed = g.box.Seal(s.SealPurpose(), []byte(value))
	return s
}

func (g *gate) settings(t *testing.T, code string, change func(*partners.Settings)) {
	t.Helper()
	if _, err := g.UpdatePartner(t.Context(), code, func(p *partners.Partner) error { change(&p.Settings); return p.Settings.Check() }); err != nil {
		t.Fatal(err)
	}
}

func (g *gate) rate(t testing.TB, crypto, price string) {
	t.Helper()
	amount, err := orders.ParseAmount(price)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.SetRate(t.Context(), orders.Rate{Crypto: crypto, Network: "TRC20", Price: amount, WalletAddress: "TWallet1"}); err != nil {
		t.Fatal(err)
	}
}

// set moves the clock of rows, as it were.
func (g *gate) set(t *testing.T, statement string, args ...any) {
	t.Helper()
	if _, err := g.Raw.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

// ago is a time as the ledger writes it.
func ago(d time.Duration) int64 { return time.Now().Add(-d).UnixMicro() }

const (
	access  = "auth/access-token"
	refresh = "auth/refresh-token"
	send    = "user-order/send-code"
	verify  = "user-order/verify"
	review  = "orders/review-cashout"
	create  = "orders/create-cashout"
	details = "orders/details"
)

var allOperations = []string{access, refresh, send, verify, review, create, details}

// signedMembers are the members that an operation's request signs, in order,
// as the interface document lists them.
var signedMembers = map[string]string{
	access: "partnerCode userEmail", refresh: "partnerCode refreshToken", send: "partnerCode email", verify: "partnerCode email",
	review:  "partnerCode userEmail fiatCurrency fiatAmount cryptoCurrency",
	create:  "partnerCode externalOrderId cryptoCurrency fiatAmount recipientBankCode recipientNumber transferContent userEmail",
	details: "partnerCode externalOrderId",
}

// members are those of a request; absent leaves one out.
type members map[string]any

type absence struct{}

var absent absence

func (m members) with(changes members) members {
	all := maps.Clone(m)
	maps.Copy(all, changes)
	return all
}

// recipient is an extendInfo with some of its members replaced.
func recipient(changes members) members {
	return members{"transferContent": "RUT TIEN 0001", "recipientName": "NGUYỄN VĂN AN", "recipientNumber": "0011001932418",
		"recipientBankCode": "970436", "recipientType": ""}.with(changes)
}

// complete is a good request of the account.
func (a account) complete(op string) members {
	m := members{"partnerCode": a.code}
	switch op {
	case access:
		m["userEmail"] = "an@example.com"
	case refresh:
		m["refreshToken"] = "unknown"
	case send, verify:
		m["email"], m["code"] = "an@example.com", "123456"
	case details:
		m["externalOrderId"] = "order-1"
	case create:
		m["externalOrderId"], m["extendInfo"] = "order-1", recipient(nil)
		fallthrough
	case review:
		m["userEmail"], m["cryptoCurrency"], m["fiatAmount"], m["webhookSecretKey"] = "an@example.com", "USDT", json.Number("500000"), a.webhookSecret
	}
	return m
}

// text is what a request's members sign.
func (a account) text(op string, m members) string {
	inner, _ := m["extendInfo"].(members)
	var parts []string
	for name := range strings.FieldsSeq(signedMembers[op]) {
		value := m[name]
		if value == nil {
			value = inner[name]
		}
		switch value.(type) {
		case nil, absence:
			value = ""
		}
		parts = append(parts, fmt.Sprint(value))
	}
	return strings.Join(append(parts, a.secretKey), "|")
}

// body is a good request with members changed, and signed unless signature is
// among them.
func (a account) body(t testing.TB, op string, changes members) []byte {
	t.Helper()
	m := a.complete(op).with(changes)
	if m["signature"] == nil {
		signature, err := a.key.Sign([]byte(a.text(op, m)))
		if err != nil {
			t.Fatal(err)
		}
		m["signature"] = signature
	}
	maps.DeleteFunc(m, func(_ string, value any) bool { return value == absent })
	body, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// source is where requests come from.
const source = "198.51.100.7"

func post(t testing.TB, h http.Handler, op string, body []byte, headers ...string) answer {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v2/"+op, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.RemoteAddr = source + ":40000"
	got := serveRequest(t, h, r, headers...)
	partnerDocument(t).check(t, r, body, got)
	return got
}

// serveRequest sends a request and fails the test if it is answered 500.
func serveRequest(t testing.TB, h http.Handler, r *http.Request, headers ...string) answer {
	t.Helper()
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "source" {
			r.RemoteAddr = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	got := answer{w.Code, w.Header(), w.Body.Bytes()}
	if got.status >= 500 && got.status != http.StatusServiceUnavailable {
		t.Errorf("%s %s: %d: %s", r.Method, r.URL, got.status, got.body)
	}
	return got
}

// ask sends a request of acme's with members changed.
func (g *gate) ask(t testing.TB, op string, changes members, headers ...string) answer {
	t.Helper()
	return post(t, g.handler, op, g.acme.body(t, op, changes), headers...)
}

// grant is ask for a request that must be answered 200, with a signature if
// the interface says so.
func (g *gate) grant(t testing.TB, op string, changes members, headers ...string) map[string]any {
	t.Helper()
	return g.granted(t, op, g.ask(t, op, changes, headers...))
}

// answeredMembers are those that an answer signs.
var answeredMembers = map[string]string{
	verify: "email", review: "fiatAmount currency price tokenAmount totalPayment",
	create: "externalOrderId type fiatAmount status", details: "externalOrderId type fiatAmount status",
}

func (g *gate) granted(t testing.TB, op string, got answer) map[string]any {
	t.Helper()
	if got.status != http.StatusOK || got.header.Get("X-Error-Code") != "" {
		t.Fatalf("%s: %d %s: %s", op, got.status, got.header.Get("X-Error-Code"), got.body)
	}
	var m map[string]any
	reader := json.NewDecoder(bytes.NewReader(got.body))
	reader.UseNumber()
	if err := reader.Decode(&m); err != nil {
		t.Fatalf("%s: %v: %s", op, err, got.body)
	}
	if slots := answeredMembers[op]; slots != "" {
		var parts []string
		for name := range strings.FieldsSeq(slots) {
			parts = append(parts, fmt.Sprint(m[name]))
		}
		text := strings.Join(append(parts, g.acme.secretKey), "|")
		if err := signer.Verify(keys()[0].Public(), []byte(text), m["signature"].(string)); err != nil {
			t.Errorf("%s: the answer's signature is not over %q: %s", op, text, got.body)
		}
	}
	return m
}

// refuse is ask for a request that must be answered with an error, in the
// operation's shape.
func (g *gate) refuse(t testing.TB, want orders.Error, op string, changes members, headers ...string) answer {
	t.Helper()
	got := g.ask(t, op, changes, headers...)
	checkRefusal(t, op, want, "en", got)
	return got
}

// checkRefusal holds an answer against the catalogue: status, header, language
// and the shape of the operation. Seconds are not compared, but must be there.
func checkRefusal(t testing.TB, op string, want orders.Error, lang string, got answer) {
	t.Helper()
	if want.Key == orders.KeyRateLimited {
		if _, err := fmt.Sscan(got.header.Get("Retry-After"), &want.Seconds); err != nil || want.Seconds < 1 || want.Seconds > 60 {
			t.Errorf("%s: Retry-After %q", op, got.header.Get("Retry-After"))
		}
	}
	var have map[string]any
	err := json.Unmarshal(got.body, &have)
	message := want.Message(lang)
	if invalid := want.Key == orders.KeyInvalidField && want.Detail == ""; invalid || want.Key == orders.KeyContentInvalid {
		// Then it says what would be right, or what is wrong, in the same language.
		said, _ := cmp.Or(have["error"], have["message"]).(string)
		if right, found := strings.CutPrefix(said, message+" "); !found || right == "" || invalid && strings.HasPrefix(right, "It ") != (lang == "en") {
			t.Errorf("%s in %s does not say what would be right: %s", op, lang, got.body)
		}
		message = said
	}
	shape := map[string]any{"error": message}
	if strings.HasPrefix(op, "auth/") {
		shape = map[string]any{"success": false, "message": message, "data": nil, "errorCode": float64(want.Key.Code())}
	}
	if err != nil || !maps.Equal(have, shape) || got.status != want.Key.Status() || got.header.Get("X-Error-Code") != string(want.Key) {
		t.Errorf("%s: answered %d %s %s, want %d %s %v (%v)", op, got.status, got.header.Get("X-Error-Code"), got.body, want.Key.Status(), want.Key, shape, err)
	}
	if got.header.Get("Content-Type") != "application/json" || got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s: headers %v", op, got.header)
	}
	if (got.status == http.StatusUnauthorized) != (got.header.Get("WWW-Authenticate") == "Bearer") {
		t.Errorf("%s: %d with WWW-Authenticate %q", op, got.status, got.header.Get("WWW-Authenticate"))
	}
}

func key(k orders.Key) orders.Error { return orders.Error{Key: k} }

func field(k orders.Key, name string) orders.Error { return orders.Error{Key: k, Field: name} }

// median is the middle of what a measurement took.
func median(took []time.Duration) time.Duration {
	slices.Sort(took)
	return took[len(took)/2]
}

// newBench is a ledger for promises that no database has a part in.
func newBench(t *testing.T) *ledgertest.Bench { return ledgertest.New(t, "sqlite") }
