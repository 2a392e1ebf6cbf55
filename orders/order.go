// Package orders is the arithmetic of cash-out orders: what one costs, how it
// is paid out, and which statuses it passes through.
//
// It holds pure rules on exact numbers. The ledger keeps the quotes, rates and
// orders; the HTTP surfaces read and write them.
package orders

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"ledgerhook/webhook"
)

// TypeCashout is the type of every order ("Order times" of the interface decisions).
const TypeCashout = "CASHOUT"

// Order is a partner's order to pay fiat money into a bank account for tokens.
// Amounts of fiat are in dong; times are UTC with milliseconds.
type Order struct {
	ID              string // ord_…
	PartnerCode     string
	ExternalOrderID string // the partner's id, unique per partner
	Email           string
	Type            string // TypeCashout
	FiatAmount      int64
	PaidAmount      int64 // what the bank has paid out; 0 until then
	TokenTransfer   TokenTransfer
	BankTransfer    BankTransfer
	Fees            Fees
	Status          Status
	Sequence        int64 // how many times the status has changed
	Description     string
	Fingerprint     string    // of the create that made it, see Create.Fingerprint
	RateAt          time.Time // when the rate of its quote was set; zero: an earlier version made it
	QuotedAt        time.Time // when its quote was given; zero: an earlier version made it
	PayoutAt        time.Time // when the payout was marked as started; zero: it was not
	CreatedAt       time.Time
	UpdatedAt       time.Time
	ExpiresAt       time.Time
	Erased          webhook.Erasure // of what it says of the customer
}

// TokenTransfer is the partner's side of an order.
type TokenTransfer struct {
	Currency      string
	Network       string
	Price         Amount // dong per token
	Amount        Amount // tokens, at most MaxPlaces fraction digits
	WalletAddress string
	TxHash        string // empty until the tokens have moved
}

// BankTransfer is the customer's side of an order. Without a recipient all its
// texts are empty.
type BankTransfer struct {
	BankBIN       string
	BankName      string
	AccountName   string
	AccountNumber string
	Card          bool   // AccountNumber is a card number
	Content       string // as Purpose returns it
	TotalPayment  int64  // dong, with fees
	QRToken       string // the unguessable part of qrUrl; empty: there is no code
}

// Create is a partner's request for an order. Its texts are as sent; their
// formats are checked where they are read.
type Create struct {
	PartnerCode     string
	Email           string
	ExternalOrderID string
	Crypto          string
	FiatCurrency    string // VND or empty, which means VND
	FiatAmount      Amount
	ExtendInfo      ExtendInfo

	spellings []string // of the recipient's bank; see Canonical
}

// Canonical is c with its recipient's bank by its BIN, so that all that name
// one bank ask for the same. A bank that is unknown stays as it was sent.
func (c Create) Canonical(banks *Banks) Create {
	code := c.ExtendInfo.RecipientBankCode
	if bank, err := banks.Find(code); err == nil && c.spellings == nil {
		c.spellings = append(banks.spellings(bank), code)
		c.ExtendInfo.RecipientBankCode = bank.BIN
	}
	return c
}

// Made reports whether o was made by a create that asks for the same as c,
// which is Canonical. Orders of earlier versions hold the bank as it was sent.
func (c Create) Made(o Order) bool {
	if o.Fingerprint == c.Fingerprint() {
		return true
	}
	return slices.ContainsFunc(c.spellings, func(code string) bool {
		c.ExtendInfo.RecipientBankCode = code
		return o.Fingerprint == c.Fingerprint()
	})
}

// Fingerprint is the same for two creates of one order exactly if they ask for
// the same ("Idempotent create" of the interface decisions): amounts count by
// value, an absent text counts as empty, an empty fiat currency or recipient
// type as its default, and, once c is Canonical, a bank by its BIN.
func (c Create) Fingerprint() string {
	fiat := cmp.Or(c.FiatCurrency, VND)
	recipientType := cmp.Or(c.ExtendInfo.RecipientType, RecipientAccount)
	h := sha256.New()
	for _, value := range []string{c.Email, c.ExternalOrderID, c.Crypto, fiat, c.FiatAmount.String(),
		c.ExtendInfo.TransferContent, c.ExtendInfo.RecipientName, c.ExtendInfo.RecipientNumber,
		c.ExtendInfo.RecipientBankCode, recipientType} {
		fmt.Fprintf(h, "%d:%s,", len(value), value) // the length keeps neighbours apart
	}
	return hex.EncodeToString(h.Sum(nil))
}

// NewOrder makes the order that c asks for at the price and fees of q, which
// must be a quote of the same partner, e-mail, cryptocurrency and amount; it
// expires after expiry. Errors are *Error about the recipient, with the keys
// MISSING_FIELD, INVALID_FIELD, BANK_NOT_SUPPORTED, ACCOUNT_INVALID or
// CONTENT_INVALID.
func NewOrder(c Create, q Quote, banks *Banks, expiry time.Duration) (Order, error) {
	id := webhook.NewID(webhook.OrderPrefix)
	c = c.Canonical(banks)
	transfer, err := c.ExtendInfo.transfer(banks, shortID(id))
	if err != nil {
		return Order{}, err
	}
	transfer.TotalPayment = q.TotalPayment
	if transfer.AccountNumber != "" {
		transfer.QRToken = rand.Text()
	}
	now := stamp(time.Now())
	return Order{
		ID:              id,
		PartnerCode:     c.PartnerCode,
		ExternalOrderID: c.ExternalOrderID,
		Email:           c.Email,
		Type:            TypeCashout,
		FiatAmount:      q.FiatAmount,
		TokenTransfer: TokenTransfer{
			Currency:      q.Crypto,
			Network:       q.Network,
			Price:         q.Price,
			Amount:        q.TokenAmount,
			WalletAddress: q.WalletAddress,
		},
		BankTransfer: transfer,
		Fees:         q.Fees,
		Status:       StatusAwaitingPayment,
		Fingerprint:  c.Fingerprint(),
		RateAt:       q.RateAt,
		QuotedAt:     q.CreatedAt,
		CreatedAt:    now,
		UpdatedAt:    now,
		ExpiresAt:    now.Add(expiry),
	}, nil
}

// shortID is the end of an order's id, all of it random. It is short enough
// for transfer content and tells the orders of an account apart.
func shortID(id string) string { return id[len(id)-10:] }

// VietQR returns the code that pays the customer the fiat amount; the fees are
// the partner's. ok is false for an order without a recipient.
func (o Order) VietQR() (code VietQR, ok bool) {
	t := o.BankTransfer
	if t.AccountNumber == "" {
		return VietQR{}, false
	}
	return VietQR{BIN: t.BankBIN, Account: t.AccountNumber, Card: t.Card, Amount: o.FiatAmount, Purpose: t.Content}, true
}
