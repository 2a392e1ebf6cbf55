package browsertest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"testing"

	"ledgerhook/app/receiver"
	"ledgerhook/bench/stage"
	"ledgerhook/signer"
)

// cashier is a partner's own system, which calls the signed operations.
type cashier struct {
	t                                    *testing.T
	g                                    *stage.Gateway
	key                                  *signer.Key
	code, secretKey, webhookSecret, text string
}

// partnerKey is the key of every partner: making one takes longer than most
// tests' steps, and none of them is about whose key it is.
var partnerKey = sync.OnceValues(func() (*signer.Key, error) { return signer.GenerateKey(2048) })

// onboard makes a partner that keeps its private key. Nothing is delivered to
// it until it has an endpoint.
func onboard(t *testing.T, g *stage.Gateway, code, name string) *cashier {
	t.Helper()
	key, err := partnerKey()
	if err != nil {
		t.Fatal(err)
	}
	var made struct{ SecretKey, WebhookSecretKey, PublicKey string }
	g.Must("POST", "/internal/v1/partners", map[string]any{"partnerCode": code, "name": name, "publicKey": string(key.PublicPEM())}, http.StatusCreated, &made)
	g.Secret(made.SecretKey, made.WebhookSecretKey)
	return &cashier{t: t, g: g, key: key, code: code, secretKey: made.SecretKey, webhookSecret: made.WebhookSecretKey, text: made.PublicKey}
}

// receiver is a receiver for the partner that checks both signatures.
func (c *cashier) receiver(answer func(receiver.Received) receiver.Answer) *receiver.Receiver {
	c.t.Helper()
	key, err := signer.ParsePublicKey([]byte(c.text))
	if err != nil {
		c.t.Fatal(err)
	}
	return receiver.New(receiver.Options{PublicKey: key, Secrets: []string{c.webhookSecret}, Answer: answer})
}

// cashout makes an order the whole way that a partner does, and returns its id.
func (c *cashier) cashout(external string) string {
	c.t.Helper()
	email := external + "@example.com"
	c.g.Must("PUT", "/internal/v1/rates/USDT", map[string]any{"price": json.Number("25450.5"), "network": "TRC20", "walletAddress": "TWallet"}, http.StatusOK, nil)
	c.call(signer.OpAccessToken, "/api/v2/auth/access-token", map[string]any{"userEmail": email})
	c.call(signer.OpVerify, "/api/v2/user-order/verify", map[string]any{"email": email, "code": c.code6(email)})
	cash := map[string]any{"userEmail": email, "cryptoCurrency": "USDT", "fiatCurrency": "VND", "fiatAmount": json.Number("250000"), "webhookSecretKey": c.webhookSecret}
	c.call(signer.OpReviewCashout, "/api/v2/orders/review-cashout", cash)
	cash["externalOrderId"] = external
	cash["extendInfo"] = map[string]string{"transferContent": "RUT TIEN", "recipientName": "NGUYEN VAN AN", "recipientNumber": "0011001932418", "recipientBankCode": "970436"}
	c.call(signer.OpCreateCashout, "/api/v2/orders/create-cashout", cash)
	var page struct{ Items []struct{ OrderID string } }
	c.g.Must("GET", "/internal/v1/orders?partnerCode="+c.code+"&reference="+external, nil, http.StatusOK, &page)
	if len(page.Items) != 1 {
		c.t.Fatalf("%d orders %s", len(page.Items), external)
	}
	return page.Items[0].OrderID
}

// code6 waits for the code that the gateway sent to an e-mail.
func (c *cashier) code6(email string) (code string) {
	c.t.Helper()
	stage.Eventually(c.t, patience, "a code for "+email, func() bool {
		var page struct {
			Items []struct{ Email, Code string }
		}
		c.g.Must("GET", "/internal/v1/mailbox", nil, http.StatusOK, &page)
		for _, letter := range page.Items {
			if letter.Email == email {
				code = letter.Code
			}
		}
		return code != ""
	})
	return code
}

// call signs a request of op and posts it.
func (c *cashier) call(op signer.Operation, path string, fields map[string]any) {
	c.t.Helper()
	// The text that is signed is read from the body, which needs a signature to be one.
	body := map[string]any{"partnerCode": c.code, "signature": "unsigned"}
	for name, value := range fields {
		body[name] = value
	}
	raw, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	request, err := signer.ReadRequest(op, raw)
	if err != nil {
		c.t.Fatal(err)
	}
	if body["signature"], err = c.key.Sign([]byte(request.Candidates(c.secretKey)[0])); err != nil {
		c.t.Fatal(err)
	}
	if raw, err = json.Marshal(body); err != nil {
		c.t.Fatal(err)
	}
	response, err := http.Post(c.g.Public+path, "application/json", bytes.NewReader(raw))
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	if said, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK {
		c.t.Fatalf("%s: %d %v: %s", path, response.StatusCode, err, said)
	}
}
