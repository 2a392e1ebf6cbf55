package ingest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"ledgerhook/ledger"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/orders"
	"ledgerhook/partners"
	"ledgerhook/signer"
)

var signerOperations = map[string]signer.Operation{
	access: signer.OpAccessToken, refresh: signer.OpRefreshToken, send: signer.OpSendCode, verify: signer.OpVerify,
	review: signer.OpReviewCashout, create: signer.OpCreateCashout, details: signer.OpOrderDetails,
}

// FuzzPartnerRequests sends bodies as they are and again with acme's right
// signature, to both databases: none is answered with a 500 or out of shape,
// and none that acme signed is taken for a forgery.
func FuzzPartnerRequests(f *testing.F) {
	var gates []*gate
	for _, o := range []database.Options{{DataDir: f.TempDir()}, {DatabaseURL: ledgertest.Borrowed(f)}} {
		if _, err := ledger.Migrate(f.Context(), o); err != nil {
			f.Fatal(err)
		}
		l, err := ledgertest.Open(f.Context(), o, ledger.Options{})
		if err != nil {
			f.Fatal(err)
		}
		f.Cleanup(func() { _ = l.Close() })
		g := newGate(f, &ledgertest.Bench{Process: l, At: o})
		if _, err := g.UpdatePartner(f.Context(), "acme", func(p *partners.Partner) error {
			p.Settings.Limits = partners.Limits{PerSecond: 100000, Burst: 100000, CreatePerSecond: 100000, CreateBurst: 100000}
			return nil
		}); err != nil {
			f.Fatal(err)
		}
		gates = append(gates, g)
	}
	for i, op := range allOperations {
		body := string(gates[0].acme.body(f, op, nil))
		f.Add(byte(i), body, "", "en")
		f.Add(byte(i), strings.Replace(body, "an@example.com", `\u0000\ufffe\u0080a\u202e@`, 1), "Bearer x", "\xff")
		f.Add(byte(i), strings.NewReplacer(`500000`, `1e-30`, `"NGUYỄN`, `"\u0000`, `"123456"`, `"\u0000"`, `"unknown"`, `"`+strings.Repeat("x", 9000)+`"`).Replace(body), "\x00", "")
		f.Add(byte(i), strings.NewReplacer(`500000`, `4.99999999e8`, `order-1`, `order-2`, `RUT TIEN 0001`, `Ｒút tiền\u0301`, `970436`, `bftvvnvx`).Replace(body), "", "vi")
		f.Add(byte(i), `{"partnerCode":"acme","extendInfo":{"recipientType":{}},"fiatAmount":-0e0}`, "", "")
	}
	n := 0
	f.Fuzz(func(t *testing.T, which byte, body, bearer, lang string) {
		op := allOperations[int(which)%len(allOperations)]
		for _, g := range gates {
			n++ // each from an address of its own, so that no limit hides what follows
			from := fmt.Sprintf("10.%d.%d.%d:1", n>>16&255, n>>8&255, n&255)
			headers := []string{"source", from, "Authorization", bearer, "lang", lang}
			checkShape(t, op, post(t, g.handler, op, []byte(body), headers...))
			if signed, ok := g.signedAnew(t, op, body); ok {
				got := post(t, g.handler, op, signed, headers...)
				checkShape(t, op, got)
				if got.header.Get("X-Error-Code") == string(orders.KeyAuthFailed) {
					t.Errorf("%s: acme's own signature is refused: %s", op, signed)
				}
			}
			r := httptest.NewRequest("GET", "/", nil)
			r.URL.Path = "/qr/" + body
			serveRequest(t, g.handler, r)
			for len(g.letters) > 0 {
				<-g.letters
			}
		}
	})
}

// signedAnew is a body that acme might have sent, if it can be read at all.
func (g *gate) signedAnew(t *testing.T, op, body string) (signed []byte, ok bool) {
	t.Helper()
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(body), &m) != nil || m == nil {
		return nil, false
	}
	m["partnerCode"], m["signature"] = []byte(`"acme"`), []byte(`"-"`)
	if m["webhookSecretKey"] != nil {
		m["webhookSecretKey"], _ = json.Marshal(g.acme.webhookSecret)
	}
	unsigned, err := json.Marshal(m)
	if err != nil {
		return nil, false
	}
	request, err := signer.ReadRequest(signerOperations[op], unsigned)
	if err != nil {
		return nil, false
	}
	signature, err := g.acme.key.Sign([]byte(request.Candidates(g.acme.secretKey)[0]))
	if err != nil {
		t.Fatal(err)
	}
	m["signature"], _ = json.Marshal(signature)
	signed, err = json.Marshal(m)
	return signed, err == nil
}

// checkShape fails the test unless an answer is a grant, or an error of the
// catalogue in the shape of its operation.
func checkShape(t *testing.T, op string, got answer) {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(got.body, &m); err != nil {
		t.Fatalf("%s: %d %q: %v", op, got.status, got.body, err)
	}
	k := orders.Key(got.header.Get("X-Error-Code"))
	if got.status == http.StatusOK {
		if k != "" {
			t.Errorf("%s: granted with %s", op, k)
		}
		return
	}
	want := []string{"error"}
	if strings.HasPrefix(op, "auth/") {
		want = []string{"data", "errorCode", "message", "success"}
	}
	if k.Status() != got.status || !slices.Equal(slices.Sorted(maps.Keys(m)), want) {
		t.Errorf("%s: %d %s %s", op, got.status, k, got.body)
	}
}
