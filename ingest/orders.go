package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"ledgerhook/orders"
	"ledgerhook/partners"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// Orders is the ledger as the orders API uses it.
type Orders interface {
	Order(ctx context.Context, id string) (orders.Order, error)
	TransitionOrder(ctx context.Context, id string, m orders.Move, by ...partners.AuditEntry) (o orders.Order, changed bool, err error)
	MarkPayout(ctx context.Context, id string, by ...partners.AuditEntry) (o orders.Order, changed bool, err error)
	SettleOrder(ctx context.Context, id, who, settlement string, by ...partners.AuditEntry) error
}

// OrderLists lists orders, and what became of one.
type OrderLists interface {
	Orders(ctx context.Context, f orders.Filter) ([]orders.Order, string, error)
	OrderChanges(ctx context.Context, orderID string) ([]orders.Change, error)
}

// orderItem is an order as lists show it. Amounts of fiat are whole VND.
type orderItem struct {
	OrderID         string            `json:"orderId"`
	ExternalOrderID string            `json:"externalOrderId"`
	PartnerCode     string            `json:"partnerCode"`
	UserEmail       string            `json:"userEmail"`
	Type            string            `json:"type"`
	Status          string            `json:"status"`
	Sequence        int64             `json:"sequence"` // status changes so far
	FiatAmount      int64             `json:"fiatAmount"`
	PaidAmount      int64             `json:"paidAmount"`
	TokenTransfer   tokenTransfer     `json:"tokenTransfer"`
	BankTransfer    orderBankTransfer `json:"bankTransfer"`
	Fees            orderFees         `json:"fees"`
	Description     string            `json:"description"`
	PayoutAt        web.Time          `json:"payoutAt"`
	CreatedAt       web.Time          `json:"createdAt"`
	UpdatedAt       web.Time          `json:"updatedAt"`
	ExpiresAt       web.Time          `json:"expiresAt"`
	Erased          *erasedItem       `json:"erased"` // what it says of the customer
}

// tokenTransfer is the token side of an order, alike for both interfaces.
type tokenTransfer struct {
	Currency      string      `json:"currency"`
	Network       string      `json:"network"`
	Price         json.Number `json:"price"`
	Amount        json.Number `json:"amount"`
	WalletAddress string      `json:"walletAddress"`
	TxHash        string      `json:"txHash"`
}

func showTokenTransfer(t orders.TokenTransfer) tokenTransfer {
	return tokenTransfer{t.Currency, t.Network, json.Number(t.Price.String()), json.Number(t.Amount.String()), t.WalletAddress, t.TxHash}
}

type orderBankTransfer struct {
	BankBIN           string `json:"bankBin"`
	BankName          string `json:"bankName"`
	BankAccountName   string `json:"bankAccountName"`
	BankAccountNumber string `json:"bankAccountNumber"`
	Card              bool   `json:"card"` // bankAccountNumber is a card number
	ContentPayment    string `json:"contentPayment"`
	TotalPayment      int64  `json:"totalPayment"`
}

type orderFees struct {
	SystemFee     int64 `json:"systemFee"`
	ProcessingFee int64 `json:"processingFee"`
}

func showOrderItem(o orders.Order) orderItem {
	bank := o.BankTransfer
	return orderItem{
		OrderID: o.ID, ExternalOrderID: o.ExternalOrderID, PartnerCode: o.PartnerCode, UserEmail: o.Email, Type: o.Type,
		Status: string(o.Status), Sequence: o.Sequence, FiatAmount: o.FiatAmount, PaidAmount: o.PaidAmount,
		TokenTransfer: showTokenTransfer(o.TokenTransfer),
		BankTransfer: orderBankTransfer{BankBIN: bank.BankBIN, BankName: bank.BankName, BankAccountName: bank.AccountName,
			BankAccountNumber: bank.AccountNumber, Card: bank.Card, ContentPayment: bank.Content, TotalPayment: bank.TotalPayment},
		Fees:        orderFees{SystemFee: o.Fees.System, ProcessingFee: o.Fees.Processing},
		Description: o.Description, PayoutAt: web.Time(o.PayoutAt), CreatedAt: web.Time(o.CreatedAt),
		UpdatedAt: web.Time(o.UpdatedAt), ExpiresAt: web.Time(o.ExpiresAt), Erased: showErased(o.Erased),
	}
}

// listedOrder is an order in a list, which many read: card numbers in its free
// texts are masked. The order by itself is what a payout is made from.
func listedOrder(o orders.Order) orderItem {
	item := showOrderItem(o)
	for _, text := range []*string{&item.Description, &item.BankTransfer.ContentPayment, &item.BankTransfer.BankAccountName} {
		*text = webhook.MaskCards(*text)
	}
	return item
}

// orderChange is one entry of an order's history.
type orderChange struct {
	Sequence int64    `json:"sequence"`
	From     string   `json:"from"`
	To       string   `json:"to"`
	Actor    string   `json:"actor"`
	Reason   string   `json:"reason"`
	EventID  string   `json:"eventId"` // empty for what was refused
	At       web.Time `json:"at"`
	// Refused is there for a change that was refused and says that money moved.
	Refused *orderRefusal `json:"refused,omitempty"`
}

type orderRefusal struct {
	PaidAmount int64    `json:"paidAmount"`
	TxHash     string   `json:"txHash"`
	SettledAt  web.Time `json:"settledAt"`
	SettledBy  string   `json:"settledBy"`
	Settlement string   `json:"settlement"`
}

func showOrderChange(c orders.Change) orderChange {
	shown := orderChange{c.Sequence, string(c.From), string(c.To), c.Actor, c.Reason, c.EventID, web.Time(c.At), nil}
	if r := c.Refused; r != nil {
		shown.Refused = &orderRefusal{r.PaidAmount, r.TxHash, web.Time(r.SettledAt), r.SettledBy, r.Settlement}
	}
	return shown
}

func (a *Internal) listOrders(w http.ResponseWriter, r *http.Request) error {
	f := orders.Filter{}
	return search(w, r, &f, &f.Limit, map[string]func(string) error{
		"partnerCode": text(&f.PartnerCode),
		"status":      oneOf("status", orders.Statuses, &f.Status),
		"reference":   text(&f.Reference),
		"since":       timeOf(r, "since", &f.Since),
		"until":       timeOf(r, "until", &f.Until),
		"cursor":      cursor(r, isID(webhook.OrderPrefix), &f.Cursor),
		"limit":       nil,
	}, a.OrderLists.Orders, listedOrder)
}

// showOrder answers with an order, its history and what became of its
// notifications, oldest first.
func (a *Internal) showOrder(w http.ResponseWriter, r *http.Request) error {
	o, err := a.Orders.Order(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	changes, err := a.OrderLists.OrderChanges(r.Context(), o.ID)
	if err != nil {
		return err
	}
	history, notifications := make([]orderChange, len(changes)), []deliveryItem{}
	for i, c := range changes {
		history[i] = showOrderChange(c)
		if c.EventID == "" {
			continue
		}
		deliveries, err := a.Accepted.EventDeliveries(r.Context(), c.EventID)
		if err != nil {
			return err
		}
		for _, d := range deliveries {
			notifications = append(notifications, showDeliveryItem(d))
		}
	}
	return web.WriteJSON(w, http.StatusOK, struct {
		orderItem
		History       []orderChange  `json:"history"`
		Notifications []deliveryItem `json:"notifications"`
	}{showOrderItem(o), history, notifications})
}

// startPayout marks an order's payout as started, from when on it cannot expire.
func (a *Internal) startPayout(w http.ResponseWriter, r *http.Request) error {
	o, _, err := a.Orders.MarkPayout(r.Context(), r.PathValue("id"), by(r, "order.payout", ""))
	return writeItem(w, o, err, showOrderItem)
}

// transitionOrder changes an order's status. Whoever holds the token of this
// API is an operator: one may leave ERROR, with a reason.
func (a *Internal) transitionOrder(w http.ResponseWriter, r *http.Request) error {
	var request struct {
		Status      string      `json:"status"`
		PaidAmount  *web.Number `json:"paidAmount"`
		TxHash      string      `json:"txHash"`
		Description string      `json:"description"`
		Reason      string      `json:"reason"`
	}
	if err := web.DecodeJSON(r, maxBody, &request); err != nil {
		return err
	}
	if request.Status == "" {
		return webhook.Invalid("/status", fmt.Sprintf("is required: one of %v", orders.Statuses))
	}
	move := orders.Move{To: orders.Status(request.Status), Actor: callerOf(r).actor, KeyID: a.Key().ID(), Input: orders.TransitionInput{
		TxHash: request.TxHash, Description: request.Description, Reason: request.Reason, ByOperator: true,
	}}
	if request.PaidAmount != nil {
		paid, err := orders.ParseAmount(string(*request.PaidAmount))
		if err != nil {
			return webhook.Invalid("/paidAmount", err.Error())
		}
		move.Input.PaidAmount = &paid
	}
	o, _, err := a.Orders.TransitionOrder(r.Context(), r.PathValue("id"), move,
		by(r, "order.transition", strings.TrimSuffix(request.Status+": "+request.Reason, ": ")))
	return writeItem(w, o, err, showOrderItem)
}

// settleOrder marks the conflicts of an order as settled.
func (a *Internal) settleOrder(w http.ResponseWriter, r *http.Request) error {
	var request reasonRequest
	if err := web.DecodeJSON(r, maxBody, &request); err != nil {
		return err
	}
	if err := orders.CheckSettlement(request.Reason); err != nil {
		return err
	}
	if err := a.Orders.SettleOrder(r.Context(), r.PathValue("id"), callerOf(r).actor, request.Reason, by(r, "order.settle", request.Reason)); err != nil {
		return err
	}
	return a.showOrder(w, r)
}
