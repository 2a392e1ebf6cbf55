package interfacetest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestAPartnerThatKnowsOnlyTheDocumentPlaysTheWholeInterface takes every
// operation in the order a partner's system does, and an order to its end.
func TestAPartnerThatKnowsOnlyTheDocumentPlaysTheWholeInterface(t *testing.T) {
	office, mail := openOffice(t)
	g := serve(t, mail)
	p := onboard(t, g, "acme")
	g.ask(t, 200, "PUT", "/rates/USDT", map[string]any{"price": json.Number("25450.5"), "network": "TRC20", "walletAddress": "TWallet"})
	g.ask(t, 200, "PATCH", "/partners/acme", map[string]any{"settings": map[string]any{"requireVerifiedEmail": true,
		"fees": map[string]any{"processing": map[string]any{"fixed": 1000}, "system": map[string]any{"basisPoints": 10}}}})
	const email = "An.Nguyen@example.com"

	// Tokens, and a code by mail.
	envelope := p.call(t, "/api/v2/auth/access-token", map[string]any{"partnerCode": p.code, "userEmail": email, "signature": p.sign(t, p.code, email)})
	first := checkEnvelope(t, envelope)
	refreshed := checkEnvelope(t, p.call(t, "/api/v2/auth/refresh-token", map[string]any{
		"partnerCode": p.code, "refreshToken": first["refreshToken"], "signature": p.sign(t, p.code, first["refreshToken"].(string))}))
	if refreshed["accessToken"] == first["accessToken"] || refreshed["refreshToken"] == first["refreshToken"] {
		t.Error("a refresh gave the old tokens")
	}
	code := codeFor(t, office, email)
	// Another e-mail asks for its code itself.
	p.call(t, "/api/v2/user-order/send-code", map[string]any{"partnerCode": p.code, "email": "binh@example.com", "signature": p.sign(t, p.code, "binh@example.com")})
	codeFor(t, office, "binh@example.com")

	review := map[string]any{"partnerCode": p.code, "userEmail": email, "cryptoCurrency": "USDT", "currency": "USDT", "fiatCurrency": "VND",
		"fiatAmount": json.Number("500000.0"), "webhookSecretKey": p.webhookSecret, "signature": p.sign(t, p.code, email, "VND", "500000", "USDT")}
	p.refused(t, "/api/v2/orders/review-cashout", review, "VERIFICATION_REQUIRED")
	verify := map[string]any{"partnerCode": p.code, "email": email, "code": code, "signature": p.sign(t, p.code, email)}
	user := p.call(t, "/api/v2/user-order/verify", verify, "email")
	if user["email"] != email || user["accessToken"] == "" || user["refreshToken"] == "" {
		t.Errorf("%v", user)
	}
	p.refused(t, "/api/v2/user-order/verify", verify, "CODE_INVALID")

	// Quote and order.
	quote := p.call(t, "/api/v2/orders/review-cashout", review, "fiatAmount", "currency", "price", "tokenAmount", "totalPayment")
	members(t, quote, map[string]any{"fiatAmount": 500000, "currency": "VND", "price": "25450.5", "processingFee": 1000, "systemFee": 500,
		"totalPayment": 501500, "tokenAmount": "19.704918"})
	create := map[string]any{"partnerCode": p.code, "userEmail": email, "externalOrderId": "ORD-1", "cryptoCurrency": "USDT", "fiatAmount": 500000,
		"webhookSecretKey": p.webhookSecret, "extendInfo": map[string]any{"transferContent": "RÚT TIỀN", "recipientName": "NGUYỄN VĂN AN",
			"recipientNumber": "0011001932418", "recipientBankCode": "970436", "recipientType": ""},
		"signature": p.sign(t, p.code, "ORD-1", "USDT", "500000", "970436", "0011001932418", "RÚT TIỀN", email)}
	ofOrder := []string{"externalOrderId", "type", "fiatAmount", "status"}
	order := p.call(t, "/api/v2/orders/create-cashout", create, ofOrder...)
	members(t, order, map[string]any{"type": "CASHOUT", "status": "AWAITING_PAYMENT", "fiatAmount": 500000, "paidAmount": 0, "description": ""})
	members(t, order["tokenTransfer"], map[string]any{"currency": "USDT", "network": "TRC20", "price": "25450.5", "amount": "19.704918", "walletAddress": "TWallet", "txHash": ""})
	members(t, order["bankTransfer"], map[string]any{"bankAccountName": "NGUYỄN VĂN AN", "bankAccountNumber": "0011001932418", "bankName": "Vietcombank",
		"contentPayment": "RUT TIEN", "totalPayment": 501500})
	members(t, order["fees"], map[string]any{"systemFee": 500, "processingFee": 1000})
	if again := p.call(t, "/api/v2/orders/create-cashout", create, ofOrder...); fmt.Sprint(again) != fmt.Sprint(order) {
		t.Errorf("a repeated create answers %v", again)
	}
	if got := get(t, order["bankTransfer"].(map[string]any)["qrUrl"].(string)); !strings.HasPrefix(got, "\x89PNG") {
		t.Errorf("the QR code is %.20q", got)
	}

	// Its life, told step by step.
	id := g.ask(t, 200, "GET", "/orders?reference=ORD-1", nil)["items"].([]any)[0].(map[string]any)["orderId"].(string)
	g.ask(t, 200, "POST", "/orders/"+id+"/payout", nil)
	from := "AWAITING_PAYMENT"
	for i, step := range []map[string]any{{"status": "PAYMENT_COMPLETED", "paidAmount": 500000}, {"status": "PROCESSING_TOKEN_TRANSFER"},
		{"status": "SUCCESS", "txHash": "0xabc", "description": "Đã xong"}} {
		g.ask(t, 200, "POST", "/orders/"+id+"/transitions", step)
		told := p.next(t)
		members(t, told, map[string]any{"webhookType": "CashoutOrder.Updated", "success": true, "externalOrderId": "ORD-1", "type": "CASHOUT", "status": step["status"],
			"previousStatus": from, "sequence": i + 1, "fiatAmount": 500000, "paidAmount": 500000, "orderCreatedAt": order["createdAt"], "expiresAt": order["expiresAt"]})
		if _, shown := told["bankTransfer"].(map[string]any)["qrUrl"]; shown {
			t.Error("a notification shows the QR code")
		}
		from = step["status"].(string)
	}
	details := p.call(t, "/api/v2/orders/details", map[string]any{"partnerCode": p.code, "externalOrderId": "ORD-1", "signature": p.sign(t, p.code, "ORD-1")}, ofOrder...)
	members(t, details, map[string]any{"status": "SUCCESS", "paidAmount": 500000, "description": "Đã xong"})
	members(t, details["tokenTransfer"], map[string]any{"txHash": "0xabc"})
	create["fiatAmount"], create["signature"] = 600000, p.sign(t, p.code, "ORD-1", "USDT", "600000", "970436", "0011001932418", "RÚT TIỀN", email)
	p.refused(t, "/api/v2/orders/create-cashout", create, "DUPLICATE_ORDER")
	create["signature"] = p.sign(t, p.code, "ORD-1", "USDT", "600000", "970436", "0011001932418", "rút tiền", email)
	p.refused(t, "/api/v2/orders/create-cashout", create, "AUTH_FAILED")

	metrics := get(t, g.internal+"/metrics")
	for _, line := range []string{`ledgerhook_order_transitions_total{from="none",to="AWAITING_PAYMENT"} 1`,
		`ledgerhook_order_transitions_total{from="PROCESSING_TOKEN_TRANSFER",to="SUCCESS"} 1`, `ledgerhook_quotes_total{result="ok"} 1`,
		`ledgerhook_deliveries_created_total{trigger="first",webhook_type="CashoutOrder.Updated"} 3`} {
		if !strings.Contains(metrics, "\n"+line+"\n") {
			t.Errorf("the metrics lack %s", line)
		}
	}
	if page := get(t, g.public+"/docs"); !strings.Contains(page, `href="/docs/interface.md"`) {
		t.Errorf("/docs is %s", page)
	}
	for path, want := range map[string]string{"/docs/interface.md": "# The partner interface", "/docs/openapi-partner.yaml": "openapi: 3"} {
		if document := get(t, g.public+path); !strings.HasPrefix(document, want) {
			t.Errorf("%s is %.100s", path, document)
		}
	}
	p.checkKeySet(t)
	p.checkTools(t, create, details)
}

// checkEnvelope returns the data of a granted access-token envelope.
func checkEnvelope(t *testing.T, envelope map[string]any) map[string]any {
	t.Helper()
	members(t, envelope, map[string]any{"success": true, "errorCode": 0})
	data := envelope["data"].(map[string]any)
	for _, name := range []string{"accessTokenExpiresAt", "accessTokenExpiredAt", "refreshTokenExpiresAt", "refreshTokenExpiredAt"} {
		var seconds int64
		if _, err := fmt.Sscanf(data[name].(string), "%d", &seconds); err != nil || seconds < time.Now().Unix() {
			t.Errorf("%s is %q", name, data[name])
		}
	}
	return data
}

func codeFor(t *testing.T, o office, email string) string {
	t.Helper()
	to, code, _ := strings.Cut(within(t, "a letter to "+email, o.codes), " ")
	if to != "<"+email+">" || len(code) != 6 {
		t.Fatalf("a letter to %s with the code %q", to, code)
	}
	return code
}

// members holds some of an object's members by their text.
func members(t *testing.T, object any, want map[string]any) {
	t.Helper()
	for name, value := range want {
		if have := object.(map[string]any)[name]; fmt.Sprint(have) != fmt.Sprint(value) {
			t.Errorf("%s is %v, want %v", name, have, value)
		}
	}
}

// refused sends a request that must be answered 400 with a key.
func (p *party) refused(t *testing.T, path string, body map[string]any, key string) {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(p.gateway.public+path, "application/json", strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusBadRequest || res.Header.Get("X-Error-Code") != key {
		t.Errorf("%s: %d %s, want %s", path, res.StatusCode, res.Header.Get("X-Error-Code"), key)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(send(t, r, http.StatusOK))
}

// checkKeySet holds the published key against the one of the onboarding.
func (p *party) checkKeySet(t *testing.T) {
	t.Helper()
	var set struct {
		Keys []struct{ Kty, Kid, N, E string }
	}
	if err := json.Unmarshal([]byte(get(t, p.gateway.public+"/.well-known/jwks.json")), &set); err != nil || len(set.Keys) != 1 {
		t.Fatalf("%v: %+v", err, set)
	}
	n, err := base64.RawURLEncoding.DecodeString(set.Keys[0].N)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("Modulus=%X\n", new(big.Int).SetBytes(n))
	if have := string(p.openssl(t, "", "rsa", "-pubin", "-in", "gateway.pub", "-noout", "-modulus")); have != want {
		t.Errorf("the published key is not that of the onboarding:\n%s%s", have, want)
	}
}

// checkTools compares the command line's work with openssl's and the server's.
func (p *party) checkTools(t *testing.T, wrong, details map[string]any) {
	t.Helper()
	file := func(name string, m map[string]any) string {
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return p.write(t, name, raw)
	}
	tool := func(code int, args ...string) string {
		cmd := exec.Command(binary, args...)
		cmd.Dir = p.dir
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != code {
			t.Errorf("%v exits %d, want %d: %s", args, cmd.ProcessState.ExitCode(), code, out)
		}
		return string(out)
	}
	ask := map[string]any{"partnerCode": p.code, "externalOrderId": "ORD-1"}
	printed := tool(0, "sign", "order-details", "--file", file("ask.json", ask), "--key", "partner.pem", "--secret", p.secretKey, "--url", p.gateway.public)
	if signature := p.sign(t, p.code, "ORD-1"); !strings.Contains(printed, signature) {
		t.Errorf("openssl signs %s, the tool prints %s", signature, printed)
	}
	curl := exec.Command("sh", "-c", printed[strings.Index(printed, "curl "):])
	answer, err := curl.Output()
	if err != nil {
		t.Fatalf("the curl line: %v", err)
	}
	if fmt.Sprint(decode(t, answer)) != fmt.Sprint(details) {
		t.Errorf("the curl line is answered %s", answer)
	}
	verify := []string{"verify", "--secret", p.secretKey, "--public-key"}
	tool(0, append(verify, "gateway.pub", "--response", "order-details", p.write(t, "answer.json", answer))...)
	said := tool(7, append(verify, "partner.pub", "--operation", "create-cashout", file("wrong.json", wrong))...)
	if want := `content was signed as "rút tiền", not as "RÚT TIỀN"`; !strings.Contains(said, want) {
		t.Errorf("the tool says %s, want %s", said, want)
	}
}
