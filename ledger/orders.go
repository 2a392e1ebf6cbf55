package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"ledgerhook/ledger/database"
	"ledgerhook/orders"
	"ledgerhook/webhook"
)

const orderColumns = `id, partner_code, external_order_id, email, type, fiat_amount, paid_amount, token_currency, token_network,
	token_price, token_amount, wallet_address, tx_hash, bank_bin, bank_name, account_name, account_number, card, content,
	total_payment, qr_token, processing_fee, system_fee, status, sequence, description, fingerprint, payout_at, created_at,
	updated_at, expires_at`

func orderFields(o *orders.Order) []any {
	token, bank := &o.TokenTransfer, &o.BankTransfer
	return []any{&o.ID, &o.PartnerCode, &o.ExternalOrderID, &o.Email, &o.Type, &o.FiatAmount, &o.PaidAmount, &token.Currency,
		&token.Network, amountColumn{&token.Price}, amountColumn{&token.Amount}, &token.WalletAddress, &token.TxHash, &bank.BankBIN,
		&bank.BankName, &bank.AccountName, &bank.AccountNumber, &bank.Card, &bank.Content, &bank.TotalPayment, &bank.QRToken,
		&o.Fees.Processing, &o.Fees.System, &o.Status, &o.Sequence, &o.Description, &o.Fingerprint, database.Time(&o.PayoutAt),
		database.Time(&o.CreatedAt), database.Time(&o.UpdatedAt), database.Time(&o.ExpiresAt)}
}

func orderValues(o orders.Order) []any {
	token, bank := o.TokenTransfer, o.BankTransfer
	return []any{o.ID, o.PartnerCode, o.ExternalOrderID, o.Email, o.Type, o.FiatAmount, o.PaidAmount, token.Currency,
		token.Network, token.Price.String(), token.Amount.String(), token.WalletAddress, token.TxHash, bank.BankBIN,
		bank.BankName, bank.AccountName, bank.AccountNumber, bank.Card, bank.Content, bank.TotalPayment, bank.QRToken,
		o.Fees.Processing, o.Fees.System, string(o.Status), o.Sequence, o.Description, o.Fingerprint, database.Micros(o.PayoutAt),
		database.Micros(o.CreatedAt), database.Micros(o.UpdatedAt), database.Micros(o.ExpiresAt)}
}

// CreateOrder stores a new order and returns it. If its partner has used the
// ExternalOrderID before, the order of then is returned as it is now, or, if
// the two were not asked for alike, an error with the key DUPLICATE_ORDER
// ("Idempotent create" of the interface decisions). created tells which.
func (l *Ledger) CreateOrder(ctx context.Context, o orders.Order) (stored orders.Order, created bool, err error) {
	t := new(database.Statement).Add("INSERT INTO orders (" + orderColumns + ") ")
	t.Values(1, func(int) []any { return orderValues(o) }).Add(" ON CONFLICT (partner_code, external_order_id) DO NOTHING")
	if _, err := t.Exec(ctx, l.db.Write); err != nil {
		return o, false, fmt.Errorf("insert order %s: %w", o.ID, err)
	}
	// The statement above has waited for whoever inserted the same at the
	// same time. It may also have been ours, with its answer lost.
	stored, found, err := l.findOrder(ctx, l.db.Write, "partner_code = $1 AND external_order_id = $2", o.PartnerCode, o.ExternalOrderID)
	if err == nil && !found {
		err = fmt.Errorf("order %s is gone", o.ID)
	}
	if err != nil {
		return o, false, err
	}
	if stored.ID == o.ID {
		l.orderMoved("", stored.Status)
	}
	return stored, stored.ID == o.ID, sameCreate(stored.Fingerprint == o.Fingerprint)
}

// CreatedOrder returns the order that an earlier create with the partner and
// ExternalOrderID of c, which is Canonical, made, as it is now, and whether there is one. The error has
// the key DUPLICATE_ORDER if that create asked for something else.
func (l *Ledger) CreatedOrder(ctx context.Context, c orders.Create) (o orders.Order, found bool, err error) {
	o, found, err = l.findOrder(ctx, l.db.Read, "partner_code = $1 AND external_order_id = $2", c.PartnerCode, c.ExternalOrderID)
	if err != nil || !found {
		return o, false, err
	}
	return o, true, sameCreate(c.Made(o))
}

func sameCreate(same bool) error {
	if !same {
		return &orders.Error{Key: orders.KeyDuplicateOrder}
	}
	return nil
}

// Order returns one order by its id, or NotFound.
func (l *Ledger) Order(ctx context.Context, id string) (orders.Order, error) {
	o, found, err := l.findOrder(ctx, l.db.Read, "id = $1", id)
	if err == nil && !found {
		err = webhook.NotFound("order", id)
	}
	return o, err
}

// PartnerOrder returns a partner's order by the partner's own id of it, or an
// error with the key ORDER_NOT_FOUND.
func (l *Ledger) PartnerOrder(ctx context.Context, partnerCode, externalOrderID string) (orders.Order, error) {
	o, found, err := l.findOrder(ctx, l.db.Read, "partner_code = $1 AND external_order_id = $2", partnerCode, externalOrderID)
	if err == nil && !found {
		err = &orders.Error{Key: orders.KeyOrderNotFound}
	}
	return o, err
}

// QROrder returns the order whose qrUrl holds token, or NotFound.
func (l *Ledger) QROrder(ctx context.Context, token string) (orders.Order, error) {
	o, found, err := l.findOrder(ctx, l.db.Read, "qr_token = $1 AND qr_token <> ''", token)
	if err == nil && !found {
		err = &webhook.Error{Kind: webhook.KindNotFound, Message: "there is no such code"}
	}
	return o, err
}

// findOrder returns the one order that a condition can hold for.
func (l *Ledger) findOrder(ctx context.Context, q database.Querier, where string, args ...any) (o orders.Order, found bool, err error) {
	err = q.QueryRowContext(ctx, "SELECT "+orderColumns+" FROM orders WHERE "+where, args...).Scan(orderFields(&o)...)
	if errors.Is(err, sql.ErrNoRows) {
		return o, false, nil
	}
	return o, err == nil, err
}

// Orders lists orders, newest first, and the cursor of the next page.
func (l *Ledger) Orders(ctx context.Context, f orders.Filter) (found []orders.Order, next string, err error) {
	t := new(database.Statement).Add("SELECT "+orderColumns+" FROM orders WHERE id < ?", database.Below(f.Cursor, f.Until, webhook.OrderPrefix))
	t.Since("id", webhook.OrderPrefix, f.Since)
	t.Equal("partner_code", f.PartnerCode)
	t.Equal("status", string(f.Status))
	if f.Reference != "" {
		t.Add(" AND (external_order_id = ? OR id = ?)", f.Reference, f.Reference)
	}
	found, err = database.Collect(ctx, l.db.Read, t.Add(" ORDER BY id DESC LIMIT ?", f.Limit+1), orderFields)
	if len(found) > f.Limit {
		found = found[:f.Limit]
		next = found[f.Limit-1].ID
	}
	return found, next, err
}

// OrderChanges is the history of an order's status, oldest first, with the
// changes that were refused and are kept.
func (l *Ledger) OrderChanges(ctx context.Context, orderID string) (found []orders.Change, err error) {
	t := new(database.Statement).Add(`SELECT sequence, from_status, to_status, actor, reason, event_id, at FROM order_changes
		WHERE order_id = ? ORDER BY sequence`, orderID)
	found, err = database.Collect(ctx, l.db.Read, t, func(c *orders.Change) []any {
		return []any{&c.Sequence, &c.From, &c.To, &c.Actor, &c.Reason, &c.EventID, database.Time(&c.At)}
	})
	if err != nil {
		return nil, err
	}
	refused, err := l.conflicts(ctx, "c.order_id = ?", orderID)
	for _, c := range refused { // an order that has failed changes no more
		found = append(found, c.Change)
	}
	return found, err
}
