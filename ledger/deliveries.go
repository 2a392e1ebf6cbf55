package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// RetryDelivery makes an unfinished delivery due now and answers "", or makes
// a new delivery of a finished one's event and answers its id. It is a Conflict
// if the endpoint was removed, if the event is gone, and of a finished test.
// Entries without a detail say as what it is sent again.
func (l *Ledger) RetryDelivery(ctx context.Context, id string, by ...partners.AuditEntry) (newID string, err error) {
	d, err := rows.Delivery(ctx, l.db.Read, id)
	if err != nil {
		return "", err
	}
	if d.EndpointID == "" {
		if d.State.Final() {
			return "", webhook.Conflict("the delivery never had an endpoint")
		}
		return "", audit.Do(ctx, l.db, audit.About(by, id, ""), func(database.Querier) error { return nil }) // it waits for one
	}
	err = l.withLockedWindows(ctx, []string{d.EndpointID}, func(ctx context.Context, b *batch) error {
		newID = ""
		w, err := b.window(d.EndpointID)
		if err != nil {
			return err
		}
		if w.Removed {
			return webhook.Conflict("the delivery's endpoint was removed")
		}
		now, err := b.delivery(ctx, id)
		if err != nil {
			return err
		}
		if now.State.Final() {
			if newID, err = b.underWay(ctx, now); err != nil || newID != "" {
				return err
			}
			newID = webhook.NewID(webhook.DeliveryPrefix)
			if err := b.repeat(ctx, w, now, newID, webhook.TriggerManual); err != nil {
				return err
			}
			b.acted(by, id, "as "+newID)
			return nil
		}
		_, err = b.tx.ExecContext(ctx, "UPDATE deliveries SET due_at = $2, next_trigger = $3 WHERE id = $1 AND due_at > $2",
			id, database.Micros(b.now), string(webhook.TriggerManual))
		if err != nil {
			return err
		}
		w.wake(b.now)
		b.acted(by, id, "")
		return nil
	})
	return newID, err
}

// underWay is the unfinished repetition of a finished delivery; empty: there is
// none. Whoever asks for another at the same time means that one. Its id is
// later than the finished one's and no later than any clock is now, which leaves
// other days alone.
func (b *batch) underWay(ctx context.Context, d webhook.Delivery) (id string, err error) {
	err = b.tx.QueryRowContext(ctx, `SELECT COALESCE(MIN(id), '') FROM deliveries WHERE event_id = $1 AND replay_of = $2 AND finished_at = 0
		AND id > $2 AND id < $3`, d.EventID, d.ID, webhook.TimeBound(webhook.DeliveryPrefix, b.now.Add(database.MaxClockSkew))).Scan(&id)
	return id, err
}

// delivery reads a delivery inside the batch.
func (b *batch) delivery(ctx context.Context, id string) (d webhook.Delivery, err error) {
	err = b.tx.QueryRowContext(ctx, "SELECT "+rows.DeliveryColumns+" FROM deliveries WHERE id = $1", id).Scan(rows.DeliveryFields(&d)...)
	return d, database.OrNone(err, webhook.NotFound("delivery", id))
}

// repeat makes a new delivery of a finished one's event: the same webhook-id,
// sequence and bytes, a schedule of its own.
func (b *batch) repeat(ctx context.Context, w *window, d webhook.Delivery, newID string, trigger webhook.Trigger) error {
	var test, erased bool
	err := b.tx.QueryRowContext(ctx, "SELECT test, erased_at > 0 FROM events WHERE id = $1", d.EventID).Scan(&test, &erased)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return webhook.Conflict("the delivery's event is past its retention and gone")
	case err != nil:
		return err
	case erased:
		return webhook.Conflict("the content of the delivery's event was erased")
	case test: // which breaker, health and window must not learn from
		return webhook.Conflict("a test is sent once: send another")
	}
	return b.insertDeliveries(ctx, []newDelivery{b.waitAgain(w, d, newID, trigger)})
}

// waitAgain makes a repetition of a finished delivery that waits for its window.
func (b *batch) waitAgain(w *window, d webhook.Delivery, newID string, trigger webhook.Trigger) newDelivery {
	again := repetition(d, newID, trigger)
	again.State, again.DueAt = webhook.Pending, b.now
	w.waits(database.LaneReplay, 1)
	w.wake(b.now)
	return again
}

// repetition is a new delivery of what a finished one delivered.
func repetition(d webhook.Delivery, newID string, trigger webhook.Trigger) newDelivery {
	return newDelivery{lane: database.LaneReplay, Delivery: webhook.Delivery{
		ID: newID, EventID: d.EventID, EndpointID: d.EndpointID, PartnerCode: d.PartnerCode, Type: d.Type, ObjectID: d.ObjectID,
		Sequence: d.Sequence, Generation: 1, Trigger: trigger, ReplayOf: d.ID,
	}}
}

// CancelDelivery ends an unfinished delivery that is not just being sent;
// otherwise it is a Conflict.
func (l *Ledger) CancelDelivery(ctx context.Context, id, reason string, by ...partners.AuditEntry) error {
	d, err := rows.Delivery(ctx, l.db.Read, id)
	if err != nil {
		return err
	}
	return l.withLockedWindows(ctx, []string{d.Window.EndpointID}, func(ctx context.Context, b *batch) error {
		d, err := b.delivery(ctx, id)
		if err != nil {
			return err
		}
		if d.State == webhook.Sending {
			return webhook.Conflict("the delivery is being sent just now: wait for the attempt to end")
		}
		if d.State.Final() {
			return webhook.Conflict("the delivery has already ended: it is " + string(d.State))
		}
		w, err := b.window(d.EndpointID)
		if err != nil {
			return err
		}
		var lane int
		var orderingKey string
		err = b.tx.QueryRowContext(ctx, `UPDATE deliveries SET state = 'cancelled', reason = $1, due_at = NULL, queued_at = NULL,
			finished_at = $2, generation = generation + 1 WHERE id = $3 AND generation = $4 AND state = $5
			RETURNING lane, subject`, reason, database.Micros(b.now), id, d.Generation, string(d.State)).Scan(&lane, &orderingKey)
		if errors.Is(err, sql.ErrNoRows) {
			return webhook.Conflict("the delivery has changed in the meantime: try again")
		}
		if err != nil {
			return fmt.Errorf("cancel delivery %s: %w", id, err)
		}
		b.ended(d.Trigger, d.PartnerCode, webhook.Cancelled, d.EndpointID, orderingKey)
		if d.State == webhook.Queued {
			w.leave(d.ID, d.Trigger)
		} else {
			w.waits(lane, -1)
		}
		b.acted(by, id, "")
		return nil
	})
}
