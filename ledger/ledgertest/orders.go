package ledgertest

import (
	"testing"
	"time"

	"ledgerhook/orders"
)

// NewOrder makes an order of 500,000 dong with everything in it, which expires
// after expiry; it is not stored.
func NewOrder(t *testing.T, partnerCode, externalOrderID string, expiry time.Duration) orders.Order {
	t.Helper()
	return OrderOf(t, orders.Create{
		PartnerCode: partnerCode, Email: "user@example.com", ExternalOrderID: externalOrderID, Crypto: "USDT",
		FiatCurrency: orders.VND, FiatAmount: orders.Dong(500_000),
		ExtendInfo: orders.ExtendInfo{TransferContent: "ORDER 1", RecipientName: "NGUYỄN VĂN AN", RecipientNumber: "0011001932418",
			RecipientBankCode: "VCB"},
	}, expiry)
}

// OrderOf makes the order that c asks for, at a price of 25345.5 dong and with
// fees; it is not stored.
func OrderOf(t *testing.T, c orders.Create, expiry time.Duration) orders.Order {
	t.Helper()
	fiat, err := orders.ProductionLimits.Check(c.FiatAmount)
	if err != nil {
		t.Fatal(err)
	}
	rate := orders.Rate{Crypto: c.Crypto, Network: "TRC20", Price: Amount(t, "25345.5"), WalletAddress: "TWallet1", UpdatedAt: time.Now()}
	rules := orders.FeeRules{Processing: orders.FeeRule{Fixed: 1_000}, System: orders.FeeRule{BasisPoints: 20}}
	q, err := orders.NewQuote(c.PartnerCode, c.Email, fiat, rate, rules, orders.DefaultQuoteValidity)
	if err != nil {
		t.Fatal(err)
	}
	banks, err := orders.LoadBanks(orders.DefaultBankSources)
	if err != nil {
		t.Fatal(err)
	}
	o, err := orders.NewOrder(c, q, banks, expiry)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// Amount is a number that is known to be one.
func Amount(t *testing.T, literal string) orders.Amount {
	t.Helper()
	a, err := orders.ParseAmount(literal)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Order stores a new order of a partner.
func (b *Bench) Order(t *testing.T, partnerCode, externalOrderID string, expiry time.Duration) orders.Order {
	t.Helper()
	o, _, err := b.CreateOrder(t.Context(), NewOrder(t, partnerCode, externalOrderID, expiry))
	if err != nil {
		t.Fatal(err)
	}
	return o
}
