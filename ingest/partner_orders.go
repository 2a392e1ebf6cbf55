package ingest

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"ledgerhook/orders"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// dong writes an amount of VND as the number it is emitted and signed as.
func dong(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

// fiatAmount is the amount that was asked for. signer.ReadRequest takes no
// other numbers than ParseAmount.
func (c call) fiatAmount() (orders.Amount, error) { return orders.ParseAmount(c.FiatAmount.Literal) }

// checkCashout is what review and create demand alike of a request for amount.
func (p *Partner) checkCashout(ctx context.Context, c call, amount orders.Amount) (fiat int64, err error) {
	if err := p.checkWebhookSecret(ctx, c); err != nil {
		return 0, err
	}
	if err := orders.CheckFiat(c.FiatCurrency); err != nil {
		return 0, err
	}
	if fiat, err = p.Limits.Check(amount); err != nil {
		return 0, err
	}
	if !c.partner.Settings.RequireVerifiedEmail {
		return fiat, nil
	}
	verified, err := p.Codes.Verified(ctx, c.user())
	if err == nil && !verified {
		err = &orders.Error{Key: orders.KeyVerificationRequired}
	}
	return fiat, err
}

// quote makes a quote at the current rate.
func (p *Partner) quote(ctx context.Context, c call, fiat int64) (orders.Quote, error) {
	rate, err := p.Prices.Rate(ctx, c.CryptoCurrency)
	if err != nil {
		return orders.Quote{}, err
	}
	if err := rate.Check(time.Now(), p.Terms.RateAge); err != nil {
		return orders.Quote{}, err
	}
	return orders.NewQuote(c.partner.Code, c.user().Email, fiat, rate, feeRules(c.partner.Settings.Fees), p.Terms.QuoteValidity)
}

// feeRules are a partner's fees in the words of orders.
func feeRules(f partners.Fees) orders.FeeRules {
	return orders.FeeRules{Processing: orders.FeeRule(f.Processing), System: orders.FeeRule(f.System)}
}

type quoteAnswer struct {
	FiatAmount    json.Number `json:"fiatAmount"`
	Currency      string      `json:"currency"`
	Price         json.Number `json:"price"`
	TokenAmount   json.Number `json:"tokenAmount"`
	TotalPayment  json.Number `json:"totalPayment"`
	ProcessingFee json.Number `json:"processingFee"`
	SystemFee     json.Number `json:"systemFee"`
	Signature     string      `json:"signature"`
}

// reviewCashout quotes a cash-out.
func (p *Partner) reviewCashout(ctx context.Context, c call) (any, error) {
	if err := p.checkBearer(ctx, c, c.user().Email); err != nil {
		return nil, err
	}
	amount, err := c.fiatAmount()
	if err != nil {
		return nil, err
	}
	fiat, err := p.checkCashout(ctx, c, amount)
	if err != nil {
		return nil, err
	}
	q, err := p.quote(ctx, c, fiat)
	if err != nil {
		return nil, err
	}
	if err := p.Prices.AddQuote(ctx, q); err != nil {
		return nil, err
	}
	answer := quoteAnswer{
		FiatAmount: dong(q.FiatAmount), Currency: orders.VND, Price: json.Number(q.Price.String()),
		TokenAmount: json.Number(q.TokenAmount.String()), TotalPayment: dong(q.TotalPayment),
		ProcessingFee: dong(q.Fees.Processing), SystemFee: dong(q.Fees.System),
	}
	answer.Signature, err = p.sign(c, map[string]string{
		"fiatAmount": answer.FiatAmount.String(), "currency": answer.Currency, "price": answer.Price.String(),
		"tokenAmount": answer.TokenAmount.String(), "totalPayment": answer.TotalPayment.String(),
	})
	return answer, err
}

// createCashout makes an order, once for each externalOrderId: signature,
// then look-up, then business rules ("Idempotent create").
func (p *Partner) createCashout(ctx context.Context, c call) (any, error) {
	if err := p.checkBearer(ctx, c, c.user().Email); err != nil {
		return nil, err
	}
	amount, err := c.fiatAmount()
	if err != nil {
		return nil, err
	}
	create := orders.Create{
		PartnerCode: c.partner.Code, Email: c.user().Email, ExternalOrderID: c.ExternalOrderID, Crypto: c.CryptoCurrency,
		FiatCurrency: c.FiatCurrency, FiatAmount: amount, ExtendInfo: orders.ExtendInfo{
			TransferContent: c.Content, RecipientName: c.RecipientName, RecipientNumber: c.BankAccountNumber,
			RecipientBankCode: c.BankCode, RecipientType: c.RecipientType,
		},
	}
	create = create.Canonical(p.Banks)
	order, found, err := p.Orders.CreatedOrder(ctx, create)
	if err != nil || found {
		return p.answerOrder(c, order, err)
	}
	fiat, err := p.checkCashout(ctx, c, amount)
	if err != nil {
		return nil, err
	}
	q, found, err := p.Prices.ValidQuote(ctx, c.partner.Code, c.user().Email, c.CryptoCurrency, fiat, p.Terms.QuoteValidity)
	if err == nil && !found {
		q, err = p.quote(ctx, c, fiat)
	}
	if err != nil {
		return nil, err
	}
	order, err = orders.NewOrder(create, q, p.Banks, p.Terms.OrderExpiry)
	if err != nil {
		return nil, err
	}
	order, _, err = p.Orders.CreateOrder(ctx, order)
	return p.answerOrder(c, order, err)
}

// orderDetails shows an order as it is now. Without an order there is no
// e-mail that a token must fit.
func (p *Partner) orderDetails(ctx context.Context, c call) (any, error) {
	order, err := p.Orders.PartnerOrder(ctx, c.partner.Code, c.ExternalOrderID)
	if refused := p.checkBearer(ctx, c, order.Email); refused != nil {
		return nil, refused
	}
	return p.answerOrder(c, order, err)
}

type orderAnswer struct {
	ExternalOrderID string        `json:"externalOrderId"`
	Type            string        `json:"type"`
	FiatAmount      json.Number   `json:"fiatAmount"`
	PaidAmount      json.Number   `json:"paidAmount"`
	TokenTransfer   tokenTransfer `json:"tokenTransfer"`
	BankTransfer    bankTransfer  `json:"bankTransfer"`
	Fees            struct {
		SystemFee     json.Number `json:"systemFee"`
		ProcessingFee json.Number `json:"processingFee"`
	} `json:"fees"`
	Status      string `json:"status"`
	Description string `json:"description"`
	CreatedAt   string `json:"createdAt"`
	ExpiresAt   string `json:"expiresAt"`
	Signature   string `json:"signature"`
}

type bankTransfer struct {
	BankAccountName   string      `json:"bankAccountName"`
	BankAccountNumber string      `json:"bankAccountNumber"`
	BankName          string      `json:"bankName"`
	ContentPayment    string      `json:"contentPayment"`
	TotalPayment      json.Number `json:"totalPayment"`
	QRURL             string      `json:"qrUrl"`
}

// answerOrder shows and signs an order unless there is an error.
func (p *Partner) answerOrder(c call, o orders.Order, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	b := o.BankTransfer
	answer := orderAnswer{
		ExternalOrderID: o.ExternalOrderID, Type: o.Type, FiatAmount: dong(o.FiatAmount), PaidAmount: dong(o.PaidAmount),
		TokenTransfer: showTokenTransfer(o.TokenTransfer),
		BankTransfer:  bankTransfer{b.AccountName, b.AccountNumber, b.BankName, b.Content, dong(b.TotalPayment), p.qrURL(b.QRToken)},
		Status:        string(o.Status), Description: o.Description,
		CreatedAt: o.CreatedAt.UTC().Format(orders.TimeFormat), ExpiresAt: o.ExpiresAt.UTC().Format(orders.TimeFormat),
	}
	answer.Fees.SystemFee, answer.Fees.ProcessingFee = dong(o.Fees.System), dong(o.Fees.Processing)
	answer.Signature, err = p.sign(c, map[string]string{
		"externalOrderId": answer.ExternalOrderID, "type": answer.Type, "fiatAmount": answer.FiatAmount.String(), "status": answer.Status,
	})
	return answer, err
}

// qrURL is where the QR code of an order with a recipient is served.
func (p *Partner) qrURL(token string) string {
	if token == "" {
		return ""
	}
	return p.PublicURL + "/qr/" + token
}

// qrToken is the form of tokens: no database need be asked for anything else,
// and PostgreSQL would not take all of it.
var qrToken = regexp.MustCompile(`^[A-Z2-7]{26,40}$`)

// showQR serves the QR code of an order as PNG, or as SVG with that ending.
// Only those who know its address find it.
func (p *Partner) showQR(w http.ResponseWriter, r *http.Request) error {
	token, svg := strings.CutSuffix(r.PathValue("code"), ".svg")
	token = strings.TrimSuffix(token, ".png")
	if !qrToken.MatchString(token) {
		return webhook.NotFound("QR code", "at this address")
	}
	order, err := p.Orders.QROrder(r.Context(), token)
	if err != nil {
		return err
	}
	code, ok := order.VietQR()
	if !ok {
		return webhook.NotFound("QR code", "at this address")
	}
	draw, kind := code.PNG, "image/png"
	if svg {
		draw, kind = code.SVG, "image/svg+xml"
	}
	image, err := draw()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "private, max-age=86400")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	_, err = w.Write(image)
	return err
}
