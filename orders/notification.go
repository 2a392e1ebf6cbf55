package orders

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ledgerhook/webhook"
)

// UpdatedEvent returns the event that tells the partner of a status change:
// o is the order after it, from its status before. The keys and signatures to
// sign with are left to whoever appends it.
func UpdatedEvent(o Order, from Status) (webhook.Event, error) {
	id, now := webhook.NewID(webhook.EventPrefix), time.Now().UTC()
	data, err := updatedData(id, o, from, now)
	if err != nil {
		return webhook.Event{}, err
	}
	return webhook.Event{
		ID:          id,
		PartnerCode: o.PartnerCode,
		Type:        webhook.CashoutOrderUpdated,
		ObjectID:    o.ExternalOrderID,
		OrderingKey: o.ExternalOrderID,
		Status:      string(o.Status),
		Data:        data,
		CreatedAt:   now,
	}, nil
}

// updated is the data of a CashoutOrder.Updated notification ("Order
// notification" of the interface decisions), without its signature.
type updated struct {
	ID              string        `json:"id"`
	ExternalOrderID string        `json:"externalOrderId"`
	Type            string        `json:"type"`
	Status          Status        `json:"status"`
	PreviousStatus  Status        `json:"previousStatus"`
	Sequence        int64         `json:"sequence"`
	FiatAmount      int64         `json:"fiatAmount"`
	PaidAmount      int64         `json:"paidAmount"`
	TokenTransfer   updatedTokens `json:"tokenTransfer"`
	BankTransfer    updatedBank   `json:"bankTransfer"`
	Fees            updatedFees   `json:"fees"`
	Description     string        `json:"description"`
	OrderCreatedAt  string        `json:"orderCreatedAt"`
	ExpiresAt       string        `json:"expiresAt"`
	CreatedAt       int64         `json:"createdAt"` // of the event, seconds
}

type updatedTokens struct {
	Currency      string      `json:"currency"`
	Network       string      `json:"network"`
	Price         json.Number `json:"price"`
	Amount        json.Number `json:"amount"`
	WalletAddress string      `json:"walletAddress"`
	TxHash        string      `json:"txHash"`
}

// updatedBank has no qrUrl: the code is for whoever pays, and a notification
// may be stored and shown anywhere.
type updatedBank struct {
	BankAccountName   string `json:"bankAccountName"`
	BankAccountNumber string `json:"bankAccountNumber"`
	BankName          string `json:"bankName"`
	ContentPayment    string `json:"contentPayment"`
	TotalPayment      int64  `json:"totalPayment"`
}

type updatedFees struct {
	SystemFee     int64 `json:"systemFee"`
	ProcessingFee int64 `json:"processingFee"`
}

// updatedData returns the data of event eventID in RFC 8785 form.
func updatedData(eventID string, o Order, from Status, at time.Time) ([]byte, error) {
	raw, err := json.Marshal(updated{
		ID:              eventID,
		ExternalOrderID: o.ExternalOrderID,
		Type:            o.Type,
		Status:          o.Status,
		PreviousStatus:  from,
		Sequence:        o.Sequence,
		FiatAmount:      o.FiatAmount,
		PaidAmount:      o.PaidAmount,
		TokenTransfer: updatedTokens{
			Currency:      o.TokenTransfer.Currency,
			Network:       o.TokenTransfer.Network,
			Price:         json.Number(o.TokenTransfer.Price.String()),
			Amount:        json.Number(o.TokenTransfer.Amount.String()),
			WalletAddress: o.TokenTransfer.WalletAddress,
			TxHash:        o.TokenTransfer.TxHash,
		},
		BankTransfer: updatedBank{
			BankAccountName:   o.BankTransfer.AccountName,
			BankAccountNumber: o.BankTransfer.AccountNumber,
			BankName:          o.BankTransfer.BankName,
			ContentPayment:    o.BankTransfer.Content,
			TotalPayment:      o.BankTransfer.TotalPayment,
		},
		Fees:           updatedFees{SystemFee: o.Fees.System, ProcessingFee: o.Fees.Processing},
		Description:    o.Description,
		OrderCreatedAt: o.CreatedAt.UTC().Format(TimeFormat),
		ExpiresAt:      o.ExpiresAt.UTC().Format(TimeFormat),
		CreatedAt:      at.Unix(),
	})
	if err != nil {
		return nil, fmt.Errorf("encode the notification of order %s: %w", o.ID, err)
	}
	data := jsontext.Value(raw)
	if err := data.Canonicalize(); err != nil {
		return nil, fmt.Errorf("canonicalise the notification of order %s: %w", o.ID, err)
	}
	return data, nil
}
