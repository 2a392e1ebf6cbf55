package reports

import (
	"context"

	"ledgerhook/delivery"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// Event returns one event of the scope; NotFound also for an event that the
// scope does not hold.
func (l *Reports) Event(ctx context.Context, s partners.Scope, id string) (e webhook.Event, err error) {
	err = new(database.Statement).Add("SELECT "+rows.EventColumns+" FROM events WHERE id = ?", id).Within(s, "partner_code").
		Query(ctx, l.db.Read, func(row database.Row) error { return row.Scan(rows.EventFields(&e)...) })
	if err == nil && e.ID == "" {
		err = webhook.NotFound("event", id)
	}
	return e, err
}

// Events lists events, newest first, and the cursor of the next page.
func (l *Reports) Events(ctx context.Context, f delivery.EventFilter) (found []webhook.Event, next string, err error) {
	t := new(database.Statement).Add("SELECT "+rows.EventColumns+" FROM events WHERE id < ?", database.Below(f.Cursor, f.Until, webhook.EventPrefix))
	t.Since("id", webhook.EventPrefix, f.Since)
	t.Equal("partner_code", f.PartnerCode)
	t.Equal("webhook_type", string(f.Type))
	t.Equal("object_id", f.Reference)
	found, err = database.Collect(ctx, l.db.Read, t.Add(" ORDER BY id DESC LIMIT ?", f.Limit+1), rows.EventFields)
	found, next = database.Page(found, f.Limit, func(e webhook.Event) string { return e.ID })
	return found, next, err
}

// EventDeliveries lists all deliveries of one event, oldest first.
func (l *Reports) EventDeliveries(ctx context.Context, eventID string) ([]delivery.DeliveryWithWindow, error) {
	return rows.DeliveriesOf(ctx, l.db, eventID)
}
