package ledger

import (
	"context"
	"fmt"
	"time"

	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	"ledgerhook/orders"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// maxConflicts is how many conflicts are read at once.
const maxConflicts = 100

// keepConflict keeps what a refused move says of an order that has failed. The
// same said again is kept once: whoever says it repeats it until it is taken.
func (b *batch) keepConflict(ctx context.Context, m *orders.Move, was orders.Order) error {
	if m == nil {
		return nil
	}
	c, ok := was.Conflict(*m)
	if !ok {
		return nil
	}
	_, err := b.tx.ExecContext(ctx, `INSERT INTO order_conflicts (order_id, to_status, paid_amount, tx_hash, sequence, from_status, actor, reason,
		at, settled_at, settled_by, settlement) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, '', '') ON CONFLICT DO NOTHING`,
		was.ID, string(c.To), c.Refused.PaidAmount, c.Refused.TxHash, c.Sequence, string(c.From), c.Actor, c.Reason, database.Micros(c.At))
	return err
}

// OpenConflicts lists the conflicts that are still to settle, the oldest first
// and at most 100.
func (l *Ledger) OpenConflicts(ctx context.Context) ([]orders.Conflict, error) {
	return l.conflicts(ctx, "c.settled_at = 0")
}

// conflicts lists the conflicts that a condition holds for, the oldest first.
func (l *Ledger) conflicts(ctx context.Context, where string, args ...any) (found []orders.Conflict, err error) {
	t := new(database.Statement).Add(`SELECT c.order_id, o.external_order_id, o.partner_code, c.sequence, c.from_status, c.to_status, c.actor, c.reason, c.at,
		c.paid_amount, c.tx_hash, c.settled_at, c.settled_by, c.settlement
		FROM order_conflicts c JOIN orders o ON o.id = c.order_id WHERE `+where, args...).Add(" ORDER BY c.at, c.to_status LIMIT ?", maxConflicts)
	err = t.Query(ctx, l.db.Read, func(row database.Row) error {
		c := orders.Conflict{Change: orders.Change{Refused: &orders.Refusal{}}}
		err := row.Scan(&c.OrderID, &c.ExternalOrderID, &c.PartnerCode, &c.Sequence, &c.From, &c.To, &c.Actor, &c.Reason, database.Time(&c.At),
			&c.Refused.PaidAmount, &c.Refused.TxHash, database.Time(&c.Refused.SettledAt), &c.Refused.SettledBy, &c.Refused.Settlement)
		found = append(found, c)
		return err
	})
	return found, err
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
