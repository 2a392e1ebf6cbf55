package reports

import (
	"context"

	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/orders"
	"ledgerhook/webhook"
)

// OrderCounts counts all orders by their status; a status without any is not
// there. Unfinished orders are counted live by an index that leads to no
// others, final ones by their rollups, both at one moment.
func (l *Reports) OrderCounts(ctx context.Context) (map[orders.Status]int64, error) {
	counts := map[orders.Status]int64{}
	var final, open []string
	for _, s := range orders.Statuses {
		if s.Final() {
			final = append(final, rows.FactOrder+string(s))
		} else {
			open = append(open, string(s))
		}
	}
	t := new(database.Statement).Add("SELECT status, COUNT(*) FROM orders WHERE status IN ")
	database.InList(t, open).Add(" GROUP BY status UNION ALL SELECT SUBSTR(fact, ?), CAST(SUM(n) AS BIGINT) FROM rollups_all WHERE fact IN ", len(rows.FactOrder)+1)
	database.InList(t, final).Add(" GROUP BY fact")
	err := t.Query(ctx, l.db.Read, func(row database.Row) error {
		var status orders.Status
		var n int64
		err := row.Scan(&status, &n)
		counts[status] = n
		return err
	})
	return counts, err
}

// Orders lists orders, newest first, and the cursor of the next page.
func (l *Reports) Orders(ctx context.Context, f orders.Filter) (found []orders.Order, next string, err error) {
	t := new(database.Statement).Add("SELECT "+rows.OrderColumns+" FROM orders WHERE id < ?", database.Below(f.Cursor, f.Until, webhook.OrderPrefix))
	found, err = database.Collect(ctx, l.db.Read, narrowOrders(t, f).Add(" ORDER BY id DESC LIMIT ?", f.Limit+1), rows.OrderFields)
	found, next = database.Page(found, f.Limit, func(o orders.Order) string { return o.ID })
	return found, next, err
}

// OrderChanges is the history of an order's status, oldest first, with the
// changes that were refused and are kept.
func (l *Reports) OrderChanges(ctx context.Context, orderID string) (found []orders.Change, err error) {
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

// maxConflicts is how many conflicts are read at once.
const maxConflicts = 100

// OpenConflicts lists the conflicts that are still to settle, the oldest first
// and at most 100.
func (l *Reports) OpenConflicts(ctx context.Context) ([]orders.Conflict, error) {
	return l.conflicts(ctx, "c.settled_at = 0")
}

// conflicts lists the conflicts that a condition holds for, the oldest first.
func (l *Reports) conflicts(ctx context.Context, where string, args ...any) (found []orders.Conflict, err error) {
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
