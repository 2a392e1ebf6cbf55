package ledger

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/orders"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// orderOp changes one order. A change of its status is told to the partner:
// the batch adds the event to its appends.
type orderOp struct {
	id     string
	actor  string
	reason string
	keyID  string
	by     []partners.AuditEntry
	do     func(orders.Order) (next orders.Order, changed bool, err error)
	move   *orders.Move // nil: no change of its status by somebody

	from    orders.Status // before a change of its status
	order   orders.Order  // as it is now
	changed bool
}

// TransitionOrder changes the status of an order and returns it as it is now;
// changed is false if it had that status already. The change, its place in
// the history, its event, the event's deliveries and by are one transaction.
// Errors are those of orders.Order.Transition, and NotFound; a refused change
// that is an orders.Order.Conflict is kept.
func (l *Ledger) TransitionOrder(ctx context.Context, id string, m orders.Move, by ...partners.AuditEntry) (o orders.Order, changed bool, err error) {
	return l.alterOrder(ctx, &orderOp{id: id, actor: m.Actor, reason: m.Input.Reason, keyID: m.KeyID, by: by, move: &m,
		do: func(o orders.Order) (orders.Order, bool, error) { return o.Transition(m.To, m.Input) }})
}

// MarkPayout marks the payout of an order as started and returns the order as
// it is now; changed is false if it was marked already. Errors are those of
// orders.Order.MarkPayout, and NotFound.
func (l *Ledger) MarkPayout(ctx context.Context, id string, by ...partners.AuditEntry) (o orders.Order, changed bool, err error) {
	return l.alterOrder(ctx, &orderOp{id: id, by: by, do: orders.Order.MarkPayout})
}

func (l *Ledger) alterOrder(ctx context.Context, op *orderOp) (o orders.Order, changed bool, err error) {
	whole := &operation{order: op}
	if err := l.writer.submit(ctx, whole); err != nil {
		return orders.Order{}, false, err
	}
	l.orderDone(whole)
	return op.order, op.changed, nil
}

// orderDone tells of the status change that a committed operation made, if it
// did: the payout mark is none, and has no event.
func (l *Ledger) orderDone(op *operation) {
	if op.append != nil {
		l.orderMoved(op.order.from, op.order.order.Status)
	}
}

const (
	// expireStep is how many orders ExpireOrders takes at a time.
	expireStep = maxBatch
	// expiryActor is who expires orders, in their history.
	expiryActor = "expiry"
)

// ExpireOrders fails the orders that were not paid in time, by the database's
// clock, and reports how many. The error is ErrClock if this machine's is
// another. keyID is the key that signs their notifications. An order is looked
// at again under its lock, so one whose payout has just been marked is left
// alone, and any number of processes may do this at once.
func (l *Ledger) ExpireOrders(ctx context.Context, keyID string) (expired int, err error) {
	now, err := l.db.Now(ctx)
	if err != nil {
		return 0, err
	}
	var after orders.Order // zero: from the start
	for {
		due, err := l.dueOrders(ctx, now, after)
		if err != nil {
			return expired, err
		}
		ops := make([]*operation, len(due))
		for i, o := range due {
			ops[i] = &operation{order: &orderOp{id: o.ID, actor: expiryActor, keyID: keyID,
				do: func(o orders.Order) (orders.Order, bool, error) {
					next, changed := o.Expire(now)
					return next, changed, nil
				}}}
		}
		for i, err := range l.writer.submitAll(ctx, ops) {
			if err != nil {
				return expired, fmt.Errorf("expire order %s: %w", due[i].ID, err)
			}
			l.orderDone(ops[i])
			if ops[i].order.changed {
				expired++
			}
		}
		if len(due) < expireStep {
			return expired, nil
		}
		after = due[len(due)-1]
	}
}

// dueOrders lists orders that have run out unpaid at now, longest first; only
// id and ExpiresAt are set.
func (l *Ledger) dueOrders(ctx context.Context, now time.Time, after orders.Order) (due []orders.Order, err error) {
	t := new(database.Statement).Add(`SELECT id, expires_at FROM orders WHERE status = 'AWAITING_PAYMENT' AND payout_at = 0
		AND expires_at <= ? AND (expires_at, id) > (?, ?) ORDER BY expires_at, id LIMIT ?`,
		database.Micros(now), database.Micros(after.ExpiresAt), after.ID, expireStep)
	return database.Collect(ctx, l.db.Read, t, func(o *orders.Order) []any { return []any{&o.ID, database.Time(&o.ExpiresAt)} })
}

// changeOrders runs the batch's changes of orders under their locks. One that
// is refused has written nothing but a conflict and leaves the others alone.
func (b *batch) changeOrders(ctx context.Context) error {
	if len(b.orders) == 0 {
		return nil
	}
	have, err := b.lockOrders(ctx)
	if err != nil {
		return err
	}
	for _, op := range b.orders {
		was, found := have[op.order.id]
		if !found {
			op.err = webhook.NotFound("order", op.order.id)
			continue
		}
		next, changed, err := op.order.do(was)
		if _, ok := errors.AsType[*webhook.Error](err); ok {
			op.err = err
			if err := b.keepConflict(ctx, op.order.move, was); err != nil {
				return fmt.Errorf("conflict of order %s: %w", op.order.id, err)
			}
			continue
		}
		if err == nil && changed {
			err = b.storeOrder(ctx, op, was, next)
		}
		if err != nil {
			return fmt.Errorf("order %s: %w", op.order.id, err)
		}
		if changed {
			b.acted(op.order.by, next.ID, "")
		}
		have[op.order.id] = next
		op.order.order, op.order.changed = next, changed
	}
	return nil
}

// lockOrders locks the rows of the batch's orders in the order of their ids.
func (b *batch) lockOrders(ctx context.Context) (map[string]orders.Order, error) {
	have := map[string]orders.Order{}
	for _, op := range b.orders {
		have[op.order.id] = orders.Order{}
	}
	ids := slices.Sorted(maps.Keys(have))
	clear(have)
	t := database.In(b.statement().Add("SELECT "+rows.OrderColumns+" FROM orders WHERE "), "id", ids)
	err := t.Add(" ORDER BY id"+b.ledger.db.ForUpdate).Query(ctx, b.tx, func(row database.Row) error {
		var o orders.Order
		err := row.Scan(rows.OrderFields(&o)...)
		have[o.ID] = o
		return err
	})
	return have, err
}

// storeOrder writes a changed order. If its status changed, that goes into its
// history, and the event into op, which the batch appends.
func (b *batch) storeOrder(ctx context.Context, op *operation, was, next orders.Order) error {
	_, err := b.tx.ExecContext(ctx, `UPDATE orders SET status = $2, sequence = $3, paid_amount = $4, tx_hash = $5, description = $6,
		payout_at = $7, updated_at = $8 WHERE id = $1`, next.ID, string(next.Status), next.Sequence, next.PaidAmount,
		next.TokenTransfer.TxHash, next.Description, database.Micros(next.PayoutAt), database.Micros(next.UpdatedAt))
	if err != nil || next.Status == was.Status {
		return err
	}
	if next.Status.Final() {
		b.count(next.PartnerCode, rows.FactOrder+string(next.Status), 1)
	}
	e, err := orders.UpdatedEvent(next, was.Status)
	if err != nil {
		return err
	}
	op.order.from = was.Status
	e.KeyID = op.order.keyID
	digest := sha256.Sum256(e.Data)
	op.append = &appendOp{NewEvent: delivery.NewEvent{Event: e, IdempotencyKey: orderKey(next), Digest: digest[:]}}
	b.appends = append(b.appends, op)
	_, err = b.tx.ExecContext(ctx, `INSERT INTO order_changes (order_id, sequence, from_status, to_status, actor, reason, event_id, at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, next.ID, next.Sequence, string(was.Status), string(next.Status),
		op.order.actor, op.order.reason, e.ID, database.Micros(next.UpdatedAt))
	return err
}

// orderKey is the idempotency key of an order's latest event. No key that
// comes from outside holds a line break.
func orderKey(o orders.Order) string { return o.ID + "\n" + strconv.FormatInt(o.Sequence, 10) }

// holdOrders fails the batch if an order changed and its event was refused:
// neither happens without the other.
func (b *batch) holdOrders(context.Context) error {
	for _, op := range b.orders {
		if op.append != nil && op.err != nil {
			return fmt.Errorf("append the event of order %s: %w", op.order.id, op.err)
		}
	}
	return nil
}

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
