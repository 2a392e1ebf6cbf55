package reports

import (
	"context"

	"ledgerhook/delivery"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// Delivery returns one delivery, or NotFound.
func (l *Reports) Delivery(ctx context.Context, id string) (delivery.DeliveryWithWindow, error) {
	return rows.Delivery(ctx, l.db.Read, id)
}

// Deliveries lists deliveries, newest first, and the cursor of the next page.
func (l *Reports) Deliveries(ctx context.Context, f delivery.Filter) (found []delivery.DeliveryWithWindow, next string, err error) {
	t := rows.SelectDeliveries("d.id < ?", database.Below(f.Cursor, f.Until, webhook.DeliveryPrefix))
	rows.Narrow(t, f)
	found, err = rows.Deliveries(ctx, l.db.Read, t.Add(" ORDER BY d.id DESC LIMIT ?", f.Limit+1))
	found, next = database.Page(found, f.Limit, func(d delivery.DeliveryWithWindow) string { return d.ID })
	return found, next, err
}

// Attempts lists the attempts of one delivery by number.
func (l *Reports) Attempts(ctx context.Context, deliveryID string) (found []webhook.Attempt, err error) {
	t := new(database.Statement).Add("SELECT "+rows.AttemptColumns+" FROM attempts WHERE delivery_id = ? ORDER BY number", deliveryID)
	return database.Collect(ctx, l.db.Read, t, rows.AttemptFields)
}

// Sequence lists the deliveries that took an endpoint's numbers from … to;
// replays, which repeat them, are not among these.
func (l *Reports) Sequence(ctx context.Context, endpointID string, from, to int64) ([]delivery.DeliveryWithWindow, error) {
	t := rows.SelectDeliveries("d.endpoint_id = ? AND d.sequence >= ? AND d.sequence <= ? AND d.replay_of = '' AND d.sequence > 0", endpointID, from, to)
	return rows.Deliveries(ctx, l.db.Read, t.Add(" ORDER BY d.sequence"))
}

// recentDeliveries is how many deliveries of an endpoint RecentAttempts looks at.
const recentDeliveries = 50

// RecentAttempts lists the attempts of an endpoint's newest deliveries. Their
// ids come first, so that only the days of these are opened.
func (l *Reports) RecentAttempts(ctx context.Context, endpointID string) (found []webhook.Attempt, err error) {
	ids, err := rows.NewestOf(ctx, l.db, partners.Everything(), endpointID, recentDeliveries)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	t := database.InList(new(database.Statement).Add("SELECT "+rows.AttemptColumns+" FROM attempts WHERE delivery_id IN "), ids).Add(" ORDER BY started_at DESC")
	return database.Collect(ctx, l.db.Read, t, rows.AttemptFields)
}
