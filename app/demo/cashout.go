package demo

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	"ledgerhook/signer"
)

const (
	cashoutEvery = 4 * time.Second
	demoCrypto   = "USDT"
)

// cashier is a partner's own system: it calls the signed operations and checks
// what comes back.
type cashier struct {
	code, secretKey, webhookSecret string
	key                            *signer.Key
	gateway                        *rsa.PublicKey
	public                         *api // the public listener
	made                           int
}

// cashouts sells tokens for end-users of p, one order after the other, until
// ctx ends.
func (d *demo) cashouts(ctx context.Context, p *partner) {
	for {
		// What has begun is finished, as in traffic.
		order, err := d.cashout(context.WithoutCancel(ctx), p.cashier)
		if err != nil {
			d.tally.refuse(err)
			d.screen.print(d.screen.in(red, fmt.Sprintf("the cash-out %s failed: %v", order, err)))
		}
		select {
		case <-time.After(cashoutEvery):
		case <-ctx.Done():
			return
		}
	}
}

// cashout plays one order: sign in, verify the e-mail, quote, create, and then
// the company's side until the order has succeeded.
func (d *demo) cashout(ctx context.Context, c *cashier) (order string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	c.made++
	order = fmt.Sprintf("ord-%d-%d", d.began.Unix()%10000, c.made)
	email := order + "@example.com"
	if _, err := d.api.call(ctx, http.MethodPut, "/internal/v1/rates/"+demoCrypto,
		map[string]any{"price": json.Number("25450.5"), "network": "TRC20", "walletAddress": "TDemoWallet"}, nil); err != nil {
		return order, err
	}
	if _, err := c.call(ctx, signer.OpAccessToken, "/api/v2/auth/access-token", map[string]any{"userEmail": email}); err != nil {
		return order, err
	}
	code, err := d.readCode(ctx, c.code, email)
	if err != nil {
		return order, err
	}
	if _, err := c.call(ctx, signer.OpVerify, "/api/v2/user-order/verify", map[string]any{"email": email, "code": code}); err != nil {
		return order, err
	}
	cash := map[string]any{"userEmail": email, "cryptoCurrency": demoCrypto, "fiatCurrency": "VND",
		"fiatAmount": json.Number("250000"), "webhookSecretKey": c.webhookSecret}
	quote, err := c.call(ctx, signer.OpReviewCashout, "/api/v2/orders/review-cashout", cash)
	if err != nil {
		return order, err
	}
	cash["externalOrderId"] = order
	cash["extendInfo"] = map[string]string{"transferContent": "RUT TIEN", "recipientName": "NGUYEN VAN AN",
		"recipientNumber": "0011001932418", "recipientBankCode": "970436"}
	if _, err := c.call(ctx, signer.OpCreateCashout, "/api/v2/orders/create-cashout", cash); err != nil {
		return order, err
	}
	d.screen.print(fmt.Sprintf("%s %s verified, quoted %v %s, ordered 250000 VND",
		d.screen.in(grey, time.Now().Format("15:04:05")), d.screen.in(cyan, order), quote["tokenAmount"], demoCrypto))
	return order, d.settle(ctx, c.code, order)
}

// settle plays the company: it pays the order out and takes the tokens. Each
// step tells the partner.
func (d *demo) settle(ctx context.Context, partner, external string) error {
	var page struct {
		Items []struct {
			ID string `json:"orderId"`
		} `json:"items"`
	}
	if _, err := d.api.call(ctx, http.MethodGet, "/internal/v1/orders?partnerCode="+partner+"&reference="+external, nil, &page); err != nil {
		return err
	}
	if len(page.Items) != 1 {
		return fmt.Errorf("the gateway knows %d orders %s", len(page.Items), external)
	}
	path := "/internal/v1/orders/" + page.Items[0].ID
	if _, err := d.api.call(ctx, http.MethodPost, path+"/payout", nil, nil); err != nil {
		return err
	}
	for _, status := range []string{"PAYMENT_COMPLETED", "PROCESSING_TOKEN_TRANSFER", "SUCCESS"} {
		if _, err := d.api.call(ctx, http.MethodPost, path+"/transitions", map[string]any{"status": status, "txHash": "0xdemo"}, nil); err != nil {
			return err
		}
	}
	var shown struct {
		History []struct {
			EventID string `json:"eventId"`
		} `json:"history"`
	}
	if _, err := d.api.call(ctx, http.MethodGet, path, nil, &shown); err != nil {
		return err
	}
	for _, change := range shown.History {
		d.tally.accept(change.EventID)
	}
	return nil
}

// readCode waits for the code that the gateway sent to an e-mail; the demo has
// no mail server, so it comes to the development mailbox.
func (d *demo) readCode(ctx context.Context, partner, email string) (string, error) {
	for {
		var page struct {
			Items []struct {
				Partner string `json:"partnerCode"`
				Email   string `json:"email"`
				Code    string `json:"code"`
			} `json:"items"`
		}
		if _, err := d.api.call(ctx, http.MethodGet, "/internal/v1/mailbox", nil, &page); err != nil {
			return "", err
		}
		for _, letter := range page.Items {
			if letter.Partner == partner && letter.Email == email {
				return letter.Code, nil
			}
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return "", errors.New("no code came for " + email)
		}
	}
}

// call signs a request of op, posts it and checks the answer's signature where
// the interface has one.
func (c *cashier) call(ctx context.Context, op signer.Operation, path string, fields map[string]any) (map[string]any, error) {
	// The text that is signed is read from the body, which needs a signature to be one.
	body := map[string]any{"partnerCode": c.code, "signature": "unsigned"}
	maps.Copy(body, fields)
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := signer.ReadRequest(op, raw)
	if err != nil {
		return nil, err
	}
	if body["signature"], err = c.key.Sign([]byte(request.Candidates(c.secretKey)[0])); err != nil {
		return nil, err
	}
	var answer json.RawMessage
	if _, err := c.public.call(ctx, http.MethodPost, path, body, &answer); err != nil {
		return nil, err
	}
	if len(signer.ResponseSlots(op)) > 0 {
		if err := signer.VerifyResponse(op, answer, c.secretKey, c.gateway); err != nil {
			return nil, fmt.Errorf("the answer of %s: %w", op, err)
		}
	}
	var shown map[string]any
	err = json.Unmarshal(answer, &shown)
	return shown, err
}
