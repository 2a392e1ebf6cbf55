// Package rows reads rows of the ledger's tables into the types of webhook,
// delivery and orders, alike for whatever writes them and for reports.
package rows

import (
	"context"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/database"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// DeliveryColumns are what deliveryFields reads.
const DeliveryColumns = `id, event_id, endpoint_id, partner_code, webhook_type, object_id, sequence, state, reason,
	generation, attempts, trigger, replay_of, due_at, created_at, finished_at, last_outcome, last_status, last_class,
	asked_by_receiver, lane = 3 AND due_at IS NOT NULL, repeats, delivered_by`

// DeliveryFields are the columns of a delivery.
func DeliveryFields(d *webhook.Delivery) []any {
	return []any{&d.ID, &d.EventID, &d.EndpointID, &d.PartnerCode, &d.Type, &d.ObjectID, &d.Sequence, &d.State, &d.Reason,
		&d.Generation, &d.Attempts, &d.Trigger, &d.ReplayOf, database.Time(&d.DueAt), database.Time(&d.CreatedAt),
		database.Time(&d.FinishedAt), &d.Last.Outcome, &d.Last.StatusCode, &d.Last.ErrorClass, &d.AskedByReceiver, &d.Blocked, &d.Repeats, &d.DeliveredBy}
}

// WindowedColumns are what WindowedFields reads, from WindowedFrom; $1 is false. A
// delivery in a waiting place has no endpoint that anybody could look at; its
// window is there.
const WindowedColumns = `d.id, d.event_id, CASE WHEN w.unrouted THEN '' ELSE d.endpoint_id END, d.partner_code, d.webhook_type, d.object_id, d.sequence, d.state,
	d.reason, d.generation, d.attempts, d.trigger, d.replay_of, d.due_at, d.created_at, d.finished_at, d.last_outcome,
	d.last_status, d.last_class, d.asked_by_receiver, d.lane = 3 AND d.due_at IS NOT NULL AND COALESCE(w.ordered, $1), d.repeats, d.delivered_by, d.endpoint_id, COALESCE(w.unrouted, $1), COALESCE(w.paused, $1), COALESCE(w.disabled, $1),
	COALESCE(w.partner_disabled, $1), COALESCE(w.removed, $1), COALESCE(w.breaker, 'closed'), w.open_until, w.not_before,
	COALESCE(w.rate_every, 0), w.rate_next`

// WindowedFrom is the table of deliveries beside their windows.
const WindowedFrom = " FROM deliveries d LEFT JOIN windows w ON w.endpoint_id = d.endpoint_id"

// WindowedFields are the columns of a delivery with its window.
func WindowedFields(p *delivery.DeliveryWithWindow) []any {
	return append(DeliveryFields(&p.Delivery), &p.Window.EndpointID, &p.Window.Unrouted, &p.Window.Paused, &p.Window.Disabled, &p.Window.PartnerDisabled, &p.Window.Removed,
		&p.Window.Breaker.State, database.Time(&p.Window.Breaker.OpenUntil), database.Time(&p.Window.NotBefore),
		database.Duration(&p.Window.RateEvery), database.Time(&p.Window.RateNext))
}

// SelectDeliveries begins a query of deliveries with their windows; $1 is false.
func SelectDeliveries(where string, args ...any) *database.Statement {
	t := &database.Statement{}
	t.Arg(false)
	return t.Add("SELECT "+WindowedColumns+WindowedFrom+" WHERE "+where, args...)
}

// Deliveries reads the deliveries that t finds.
func Deliveries(ctx context.Context, q database.Querier, t *database.Statement) (found []delivery.DeliveryWithWindow, err error) {
	return database.Collect(ctx, q, t, WindowedFields)
}

// DeliveriesOf lists all deliveries of one event, oldest first.
func DeliveriesOf(ctx context.Context, db *database.DB, eventID string) ([]delivery.DeliveryWithWindow, error) {
	t := db.MadeFor(SelectDeliveries("d.event_id = ?", eventID), "d.id", webhook.DeliveryPrefix, eventID)
	return Deliveries(ctx, db.Read, t.Add(" ORDER BY d.id"))
}

// NewestOf lists the newest deliveries of an endpoint, newest first.
func NewestOf(ctx context.Context, db *database.DB, s partners.Scope, endpointID string, limit int) (ids []string, err error) {
	below := database.Below("", database.Soon(time.Time{}), webhook.DeliveryPrefix)
	err = db.NearFirst(webhook.DeliveryPrefix, below, func(from string) (enough bool, err error) {
		t := new(database.Statement).Add("SELECT id FROM deliveries WHERE endpoint_id = ?", endpointID).Within(s, "partner_code")
		ids, err = database.Collect(ctx, db.Read, t.Add(" AND id >= ? AND id < ? ORDER BY id DESC LIMIT ?", from, below, limit), database.One[string])
		return len(ids) == limit, err
	})
	return ids, err
}

// Delivery reads one delivery, or NotFound.
func Delivery(ctx context.Context, q database.Querier, id string) (delivery.DeliveryWithWindow, error) {
	found, err := Deliveries(ctx, q, SelectDeliveries("d.id = ?", id))
	if err == nil && len(found) == 0 {
		return delivery.DeliveryWithWindow{}, webhook.NotFound("delivery", id)
	}
	if err != nil {
		return delivery.DeliveryWithWindow{}, err
	}
	return found[0], nil
}
