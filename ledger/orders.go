package ledger

import (
	"context"
	"fmt"
	"time"

	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/orders"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

func orderValues(o orders.Order) []any {
	token, bank := o.TokenTransfer, o.BankTransfer
	return []any{o.ID, o.PartnerCode, o.ExternalOrderID, o.Email, o.Type, o.FiatAmount, o.PaidAmount, token.Currency,
		token.Network, token.Price.String(), token.Amount.String(), token.WalletAddress, token.TxHash, bank.BankBIN,
		bank.BankName, bank.AccountName, bank.AccountNumber, bank.Card, bank.Content, bank.TotalPayment, bank.QRToken,
		o.Fees.Processing, o.Fees.System, string(o.Status), o.Sequence, o.Description, o.Fingerprint, database.Micros(o.PayoutAt),
		database.Micros(o.CreatedAt), database.Micros(o.UpdatedAt), database.Micros(o.ExpiresAt),
		database.Micros(o.Erased.At), o.Erased.By, database.Micros(o.RateAt), database.Micros(o.QuotedAt)}
}

// CreateOrder stores a new order and returns it. If its partner has used the
// ExternalOrderID before, the order of then is returned as it is now, or, if
// the two were not asked for alike, an error with the key DUPLICATE_ORDER
// ("Idempotent create" of the interface decisions). created tells which.
func (l *Ledger) CreateOrder(ctx context.Context, o orders.Order) (stored orders.Order, created bool, err error) {
	t := new(database.Statement).Add("INSERT INTO orders (" + rows.OrderColumns + ") ")
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
	err = q.QueryRowContext(ctx, "SELECT "+rows.OrderColumns+" FROM orders WHERE "+where, args...).Scan(rows.OrderFields(&o)...)
	found, err = database.Found(err)
	return o, found, err
}

// SettleOrder marks the conflicts of an order as settled by somebody, who says
// what was found and done. Errors are Conflict if it has none that is open,
// and NotFound.
func (l *Ledger) SettleOrder(ctx context.Context, id, who, settlement string, by ...partners.AuditEntry) error {
	if _, err := l.Order(ctx, id); err != nil {
		return err
	}
	return audit.Do(ctx, l.db, audit.About(by, id, settlement), func(tx database.Querier) error {
		t := new(database.Statement).Add("UPDATE order_conflicts SET settled_at = ?, settled_by = ?, settlement = ? WHERE order_id = ? AND settled_at = 0",
			database.Micros(time.Now()), who, settlement, id)
		n, err := t.Exec(ctx, tx)
		if err != nil {
			return fmt.Errorf("settle order %s: %w", id, err)
		}
		if n == 0 {
			return webhook.Conflict(fmt.Sprintf("order %s has no conflict to settle", id))
		}
		return nil
	})
}
