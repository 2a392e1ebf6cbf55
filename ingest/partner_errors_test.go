package ingest_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/orders"
	"ledgerhook/partners"
)

// TestEveryErrorOfTheCatalogueIsAnsweredInItsShapeAndLanguage asks for what is
// wrong in every way there is, in every language.
func TestEveryErrorOfTheCatalogueIsAnsweredInItsShapeAndLanguage(t *testing.T) {
	limits := orders.ProductionLimits
	cases := []struct {
		op      string
		want    orders.Error
		changes members
		headers []string
	}{
		{access, field(orders.KeyMissingField, "userEmail"), members{"userEmail": absent}, nil},
		{access, field(orders.KeyMissingField, "signature"), members{"signature": absent}, nil},
		{access, field(orders.KeyInvalidField, "userEmail"), members{"userEmail": 7}, nil},
		{access, field(orders.KeyInvalidField, "userEmail"), members{"userEmail": strings.Repeat("e", 255)}, nil},
		{access, field(orders.KeyInvalidField, "userEmail"), members{"userEmail": "not-an-email"}, nil},
		{verify, field(orders.KeyInvalidField, "email"), members{"email": "an@-example.com"}, nil},
		{send, field(orders.KeyInvalidField, "email"), members{"email": "an@example.com, bob@example.com"}, nil},
		{review, field(orders.KeyInvalidField, "userEmail"), members{"userEmail": "An <an@example.com>"}, nil},
		{create, field(orders.KeyInvalidField, "userEmail"), members{"userEmail": "nobody"}, nil},
		{access, field(orders.KeyInvalidField, "partnerCode"), members{"partnerCode": strings.Repeat("p", 33)}, nil},
		{access, field(orders.KeyForbiddenCharacter, "userEmail"), members{"userEmail": "a|b@example.com"}, nil},
		{access, key(orders.KeyAuthFailed), members{"signature": "bm90IGEgc2lnbmF0dXJl"}, nil},
		{access, key(orders.KeyAuthFailed), members{"partnerCode": "nobody"}, nil},
		{refresh, key(orders.KeyRefreshTokenInvalid), nil, nil},
		{refresh, field(orders.KeyMissingField, "refreshToken"), members{"refreshToken": ""}, nil},
		{send, field(orders.KeyMissingField, "email"), members{"email": nil}, nil},
		{verify, key(orders.KeyCodeInvalid), nil, nil},
		{verify, field(orders.KeyMissingField, "code"), members{"code": absent}, nil},
		{verify, key(orders.KeyAuthFailed), members{"signature": "!!!"}, nil},
		{review, key(orders.KeyAccessTokenInvalid), nil, []string{"Authorization", "Bearer unknown"}},
		{review, key(orders.KeyWebhookSecretInvalid), members{"webhookSecretKey": "whsec_wrong"}, nil},
		{review, key(orders.KeyFiatNotSupported), members{"fiatCurrency": "USD"}, nil},
		{review, orders.Error{Key: orders.KeyCryptoNotSupported, Value: "DOGE"}, members{"cryptoCurrency": "DOGE"}, nil},
		{review, field(orders.KeyInvalidField, "currency"), members{"currency": "BTC"}, nil},
		{review, field(orders.KeyInvalidField, "cryptoCurrency"), members{"cryptoCurrency": "usdt"}, nil},
		{review, key(orders.KeyAmountNotWhole), members{"fiatAmount": json.Number("10000.5")}, nil},
		{review, key(orders.KeyAmountNotWhole), members{"fiatAmount": json.Number("12345678901234567890.0000000000000001")}, nil},
		{review, orders.Error{Key: orders.KeyAmountBelowMinimum, Min: limits.Min}, members{"fiatAmount": 9999}, nil},
		{review, orders.Error{Key: orders.KeyAmountBelowMinimum, Min: limits.Min}, members{"fiatAmount": json.Number("-0")}, nil},
		{review, orders.Error{Key: orders.KeyAmountAboveMaximum, Max: limits.Max}, members{"fiatAmount": 500000000}, nil},
		{review, orders.Error{Key: orders.KeyAmountAboveMaximum, Max: limits.Max}, members{"fiatAmount": json.Number("12345678901234567890123456789012345e30")}, nil},
		{review, field(orders.KeyInvalidField, "fiatAmount"), members{"fiatAmount": "500000"}, nil},
		{review, field(orders.KeyInvalidField, "fiatAmount"), members{"fiatAmount": json.Number("1e31")}, nil},
		{review, field(orders.KeyInvalidField, "fiatAmount"), members{"fiatAmount": json.Number("1" + strings.Repeat("0", 40))}, nil},
		{review, field(orders.KeyMissingField, "fiatAmount"), members{"fiatAmount": nil}, nil},
		{create, key(orders.KeyBankNotSupported), members{"extendInfo": recipient(members{"recipientBankCode": "NOBANK"})}, nil},
		{create, key(orders.KeyBankNotSupported), members{"extendInfo": recipient(members{"recipientBankCode": "HSBC"})}, nil},
		{create, key(orders.KeyAccountInvalid), members{"extendInfo": recipient(members{"recipientNumber": "0011 0019"})}, nil},
		{create, key(orders.KeyAccountInvalid), members{"extendInfo": recipient(members{"recipientNumber": strings.Repeat("1", 20)})}, nil},
		{create, key(orders.KeyContentInvalid), members{"extendInfo": recipient(members{"transferContent": "a content of more than 25 characters"})}, nil},
		{create, key(orders.KeyContentInvalid), members{"extendInfo": recipient(members{"transferContent": strings.Repeat("x", 101)})}, nil},
		{create, key(orders.KeyContentInvalid), members{"extendInfo": recipient(members{"transferContent": "越南"})}, nil},
		{create, field(orders.KeyInvalidField, "extendInfo.recipientType"), members{"extendInfo": recipient(members{"recipientType": "WALLET"})}, nil},
		{create, field(orders.KeyInvalidField, "extendInfo.recipientName"), members{"extendInfo": recipient(members{"recipientName": "A\x00B"})}, nil},
		{create, field(orders.KeyMissingField, "extendInfo.recipientBankCode"), members{"extendInfo": recipient(members{"recipientBankCode": ""})}, nil},
		{create, field(orders.KeyForbiddenCharacter, "extendInfo.transferContent"), members{"extendInfo": recipient(members{"transferContent": "A|B"})}, nil},
		{create, field(orders.KeyForbiddenCharacter, "extendInfo.recipientNumber"), members{"extendInfo": recipient(members{"recipientNumber": "1\n2"})}, nil},
		{create, field(orders.KeyInvalidField, "extendInfo"), members{"extendInfo": "none"}, nil},
		{create, field(orders.KeyInvalidField, "externalOrderId"), members{"externalOrderId": "Ü-1"}, nil},
		{create, field(orders.KeyInvalidField, "bankCode"), members{"bankCode": "VCB"}, nil},
		{details, key(orders.KeyOrderNotFound), nil, nil},
		{details, key(orders.KeyAccessTokenInvalid), nil, []string{"Authorization", "Basic dTpw"}},
	}
	eachGate(t, func(t *testing.T, g *gate) {
		g.settings(t, "acme", func(s *partners.Settings) {
			s.Limits = partners.Limits{PerSecond: 1000, Burst: 1000, CreateBurst: 1000, CreatePerSecond: 1000}
		})
		seen := map[orders.Key]bool{}
		for _, c := range cases {
			seen[c.want.Key] = true
			body := g.acme.body(t, c.op, c.changes)
			for _, lang := range []string{"en", "cn", "vi"} {
				handler := g.handler
				if c.op == verify || c.op == access {
					handler = g.process(t, limits) // whose limits by e-mail have counted nothing
				}
				checkRefusal(t, c.op, c.want, lang, post(t, handler, c.op, body, append(c.headers, "lang", lang)...))
			}
		}
		// These need more than one request or another form of one, and have tests of their own.
		for _, k := range []orders.Key{orders.KeyInvalidJSON, orders.KeyNotFound, orders.KeyMethodNotAllowed, orders.KeyBodyTooLarge,
			orders.KeyUnsupportedMediaType, orders.KeyRateLimited, orders.KeyVerificationRequired, orders.KeyDuplicateOrder,
			orders.KeyPriceUnavailable, orders.KeyMaintenance, orders.KeyInternalError} {
			seen[k] = true
		}
		for _, k := range catalogue(t) {
			if !seen[k] {
				t.Errorf("%s is never answered", k)
			}
		}
		if n := g.Count(t, "SELECT COUNT(*) FROM orders"); n != 0 {
			t.Errorf("%d orders were stored by requests that were refused", n)
		}
	})
}

// catalogue lists the keys of the interface's errors.
func catalogue(t *testing.T) (all []orders.Key) {
	t.Helper()
	text, err := os.ReadFile("../orders/error_messages.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Errors []struct{ Key orders.Key } }
	if err := json.Unmarshal(text, &file); err != nil || len(file.Errors) < 28 {
		t.Fatalf("%d errors, %v", len(file.Errors), err)
	}
	for _, e := range file.Errors {
		all = append(all, e.Key)
	}
	return all
}

func TestAnUnknownLanguageIsEnglish(t *testing.T) {
	g := newGate(t, newBench(t))
	for lang, want := range map[string]string{"": "en", "fr": "en", "vn": "en", " VI ": "vi", "CN": "cn", "\xff\x00": "en", "en-US": "en"} {
		checkRefusal(t, details, key(orders.KeyOrderNotFound), want, g.ask(t, details, nil, "lang", lang))
	}
	g.grant(t, send, nil, "lang", "\xffVI")
	if l := <-g.letters; l.To.Lang != "en" {
		t.Errorf("a letter's language is %q", l.To.Lang)
	}
	g.grant(t, send, members{"email": "b@example.com"}, "lang", " VI")
	if l := <-g.letters; l.To.Lang != "vi" {
		t.Errorf("a letter's language is %q", l.To.Lang)
	}
}

func TestWhatIsNoRequestIsAnsweredInShape(t *testing.T) {
	g := newGate(t, newBench(t))
	large := []byte(`{"pad":"` + strings.Repeat("x", 64<<10) + `"}`)
	for _, op := range allOperations {
		for _, lang := range []string{"en", "cn", "vi"} {
			for what, got := range map[orders.Key]answer{
				orders.KeyBodyTooLarge:         post(t, g.handler, op, large, "lang", lang),
				orders.KeyUnsupportedMediaType: post(t, g.handler, op, g.acme.body(t, op, nil), "Content-Type", "text/plain", "lang", lang),
				orders.KeyMethodNotAllowed:     serveRequest(t, g.handler, httptest.NewRequest("GET", "/api/v2/"+op, nil), "lang", lang),
				orders.KeyInvalidJSON:          post(t, g.handler, op, nil, "lang", lang),
			} {
				checkRefusal(t, op, key(what), lang, got)
				if what == orders.KeyMethodNotAllowed && got.header.Get("Allow") != "POST" {
					t.Errorf("%s: Allow %q", op, got.header.Get("Allow"))
				}
			}
		}
		for _, body := range []string{"", " ", "{", "[]", "null", "7", `{"partnerCode":"acme","partnerCode":"acme"}`, `{"a":"\ud800"}`, "{\"a\":\"\xff\"}",
			`{"a":1e999}`, strings.Repeat("[", 100), `{}{}`, `{"a":NaN}`, "\ufeff{}"} {
			checkRefusal(t, op, key(orders.KeyInvalidJSON), "en", post(t, g.handler, op, []byte(body)))
		}
		checkRefusal(t, op, field(orders.KeyMissingField, "partnerCode"), "en", post(t, g.handler, op, []byte("{}")))
		full := g.acme.body(t, op, nil)
		full = append(full[:len(full)-1], []byte(`,"pad":"`+strings.Repeat("x", 64<<10-len(full)-10)+`"}`)...)
		if got := post(t, g.handler, op, full); len(full) > 64<<10 || got.status == http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %d bytes are answered %d", op, len(full), got.status)
		}
		for _, kind := range []string{"", "application/xml", "application/json; charset=latin1", "multipart/form-data"} {
			checkRefusal(t, op, key(orders.KeyUnsupportedMediaType), "en", post(t, g.handler, op, full, "Content-Type", kind))
		}
		checkRefusal(t, op, key(orders.KeyUnsupportedMediaType), "en", post(t, g.handler, op, full, "Content-Encoding", "gzip"))
		if got := post(t, g.handler, op, g.acme.body(t, op, nil), "Content-Type", "application/json; charset=UTF-8"); got.status == http.StatusUnsupportedMediaType {
			t.Errorf("%s: UTF-8 named as such is refused", op)
		}
	}
	for _, path := range []string{"/api/v2/", "/api/v2/orders", "/api/v1/orders/details", "/api/v3/orders/details", "/api/v2/orders/details/", "/api/v2/orders/Details", "/api/v2/%00", "/api/x%ffy"} {
		for _, method := range []string{"POST", "GET", "DELETE"} {
			got := serveRequest(t, g.handler, httptest.NewRequest(method, path, strings.NewReader("{}")), "lang", "vi")
			checkRefusal(t, path, key(orders.KeyNotFound), "vi", got)
		}
	}
}

func TestADatabaseThatIsAwayIsMaintenance(t *testing.T) {
	g, w := newWiredGate(t)
	w.Cut()
	for _, op := range allOperations {
		g.isInMaintenance(t, op)
	}
}

func TestADatabaseThatStandsStillIsMaintenanceInTime(t *testing.T) {
	t.Parallel()
	g, w := newWiredGate(t)
	w.Stop()
	defer w.Cut()
	var all sync.WaitGroup
	all.Go(func() {
		got := serveRequest(t, g.handler, httptest.NewRequest("GET", "/qr/"+strings.Repeat("A", 26), nil))
		if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
			t.Errorf("/qr/: status %d, Retry-After %q", got.status, got.header.Get("Retry-After"))
		}
	})
	for _, op := range allOperations {
		all.Go(func() {
			began := time.Now()
			g.isInMaintenance(t, op)
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("%s took %s", op, took)
			}
		})
	}
	all.Wait()
}

// newWiredGate is the partner interface on a database behind a wire.
func newWiredGate(t *testing.T) (*gate, *ledgertest.Wire) {
	t.Helper()
	w, address := ledgertest.NewWire(t, ledgertest.Borrowed(t))
	b := &ledgertest.Bench{At: database.Options{DatabaseURL: address}}
	b.Reopen(t)
	t.Cleanup(func() { _ = b.Close() })
	return newGate(t, b), w
}

func (g *gate) isInMaintenance(t *testing.T, op string) {
	t.Helper()
	got := g.ask(t, op, nil, "lang", "cn")
	checkRefusal(t, op, key(orders.KeyMaintenance), "cn", got)
	if got.header.Get("Retry-After") == "" {
		t.Errorf("%s: no Retry-After", op)
	}
}

// Who looks into the log for a partner that asks for help finds why, and under
// which code it tried.
func TestTheRequestsLogSaysWhyAndWhoTried(t *testing.T) {
	t.Parallel()
	g := newGate(t, newBench(t))
	g.refuse(t, key(orders.KeyAuthFailed), access, members{"partnerCode": "nobody"})
	g.refuse(t, field(orders.KeyInvalidField, "partnerCode"), access, members{"partnerCode": "no body"})
	for _, want := range []string{`"error_code":"AUTH_FAILED"`, `"partner_tried":"nobody"`, `"error_code":"INVALID_FIELD","field":"partnerCode"`} {
		if !strings.Contains(g.log.text(), want) {
			t.Errorf("no %s in %s", want, g.log.text())
		}
	}
	if strings.Contains(g.log.text(), "no body") {
		t.Error("the log holds what was sent")
	}
}
