package ledger

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/webhook"
)

// What keeps deliveries on their way reads where the writers do, so that no
// page holds up a retry or a repair, however many are slow.

// Promote gives room to the windows whose time has come, at most limit of
// them, and reports how many there were. One that is full, or whose probe is on
// its way, is left to the record that frees a place; else it would be looked at
// without end.
func (l *Ledger) Promote(ctx context.Context, limit int) (int, error) {
	now := time.Now() // what a gate holds back is not looked at before it opens: there is no room
	t := new(database.Statement).Add("SELECT endpoint_id FROM windows WHERE wake_at IS NOT NULL AND wake_at <= ? AND used < grown AND used < max_in_flight AND probe = ''",
		database.Micros(now.Add(database.LookAhead)))
	t.Add(" AND (wake_at <= ? OR rate_every = 0 AND breaker = 'closed' AND not_before <= ?) ORDER BY wake_at LIMIT ?", database.Micros(now), database.Micros(now), limit)
	ids, err := database.Collect(ctx, l.db.Write, t, database.One[string])
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return len(ids), l.withLockedWindows(ctx, ids, func(ctx context.Context, b *batch) error {
		for _, id := range ids {
			w, err := b.window(id)
			if err != nil {
				return err
			}
			if !w.wants(b.now) && !w.WakeAt.After(b.now) { // no room, or nothing waits: refill will not set it
				w.WakeAt = time.Time{}
				if w.WaitingFirst+w.WaitingAgain > 0 {
					w.wake(b.now.Add(time.Second))
				}
			}
		}
		return nil
	})
}

// Queued lists at most limit deliveries that are queued, longest first: those
// behind one of them, or all.
func (l *Ledger) Queued(ctx context.Context, behind delivery.Queued, limit int) (found []delivery.Queued, err error) {
	q := new(database.Statement).Add(`SELECT id, generation, endpoint_id, partner_code, queued_at FROM deliveries WHERE queued_at IS NOT NULL AND state = 'queued'
		AND (queued_at, id) > (?, ?) ORDER BY queued_at, id LIMIT ?`, database.Micros(behind.At), behind.DeliveryID, limit)
	err = q.Query(ctx, l.db.Write, func(row database.Row) error {
		var d delivery.Queued
		err := row.Scan(&d.DeliveryID, &d.Generation, &d.EndpointID, &d.PartnerCode, database.Time(&d.At))
		d.DueAt = d.At
		found = append(found, d)
		return err
	})
	return found, err
}

// requeueTries is how often a group is tried that claims get in the way of.
const requeueTries = 5

// Requeue gives queued deliveries their next generation and a new ticket, which
// is not due before the old one was, and returns the tickets. Those that have
// moved on are left alone.
func (l *Ledger) Requeue(ctx context.Context, lost []delivery.Ticket) (again []delivery.Ticket, err error) {
	if len(lost) == 0 {
		return nil, nil
	}
	lost = slices.Clone(lost)
	slices.SortFunc(lost, func(a, b delivery.Ticket) int { return strings.Compare(a.DeliveryID, b.DeliveryID) })
	for group := range slices.Chunk(lost, maxBatch) {
		taken, err := l.requeue(ctx, group)
		for try := 1; retryable(err) && try < requeueTries; try++ { // it met claims of the same deliveries
			taken, err = l.requeue(ctx, group)
		}
		again = append(again, taken...)
		if err != nil {
			return again, fmt.Errorf("requeue: %w", err)
		}
	}
	return again, nil
}

// requeue takes those of group, sorted by delivery, that are still current.
func (l *Ledger) requeue(ctx context.Context, group []delivery.Ticket) (taken []delivery.Ticket, err error) {
	now, ids := database.Micros(time.Now()), make([]string, len(group))
	for i, ticket := range group {
		ids[i] = ticket.DeliveryID
	}
	t := new(database.Statement).Add("UPDATE deliveries SET generation = generation + 1, queued_at = CASE WHEN queued_at > ? THEN queued_at ELSE ? END FROM ", now, now)
	t.Table(len(group), func(i int) []any { return []any{group[i].DeliveryID, group[i].Generation} })
	database.JoinID(t.Add(" WHERE "), "deliveries", ids).Add(` AND generation = v.column2 AND state = 'queued'
		RETURNING id, generation, endpoint_id, partner_code, queued_at`)
	err = l.db.Write.InTx(ctx, func(tx database.Querier) error {
		taken = nil // of a run that broke off
		return t.Query(ctx, l.db.Batched(tx), func(row database.Row) error {
			var ticket delivery.Ticket
			err := row.Scan(&ticket.DeliveryID, &ticket.Generation, &ticket.EndpointID, &ticket.PartnerCode, database.Time(&ticket.DueAt))
			taken = append(taken, ticket)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return taken, nil
}

// Abandoned lists deliveries that are being sent by workers that are dead,
// other than workerID.
func (l *Ledger) Abandoned(ctx context.Context, workerID string, limit int) ([]delivery.InFlight, error) {
	dead, err := l.deadWorkers(ctx, workerID)
	if err != nil || len(dead) == 0 {
		return nil, err
	}
	which := database.In(l.db.Statement().Add("worker_id <> ? AND NOT EXISTS (SELECT 1 FROM workers k WHERE k.id = worker_id AND k.seen_at > "+l.db.Clock+" - ?) AND ",
		workerID, delivery.LeaseTime.Microseconds()), "worker_id", dead)
	return l.inFlight(ctx, limit, which)
}

// deadWorkers lists the workers, other than workerID, that are sending
// something and were not heard of. Mostly there are none, and to plan one
// statement for both questions takes PostgreSQL ten times as long.
func (l *Ledger) deadWorkers(ctx context.Context, workerID string) (dead []string, err error) {
	read := func(t *database.Statement, found map[string]bool) error {
		return t.Query(ctx, l.db.Write, func(row database.Row) error {
			var id string
			err := row.Scan(&id)
			found[id] = true
			return err
		})
	}
	sending, alive := map[string]bool{}, map[string]bool{}
	err = read(new(database.Statement).Add("SELECT DISTINCT worker_id FROM deliveries WHERE queued_at IS NOT NULL AND state = 'sending' AND worker_id <> ?", workerID), sending)
	if err == nil && len(sending) > 0 { // afterwards: whoever began meanwhile is alive
		err = read(new(database.Statement).Add("SELECT id FROM workers WHERE seen_at > "+l.db.Clock+" - ?", delivery.LeaseTime.Microseconds()), alive)
	}
	for id := range sending {
		if !alive[id] {
			dead = append(dead, id)
		}
	}
	slices.Sort(dead)
	return dead, err
}

// Claimed lists deliveries that workerID is sending and claimed before a time,
// or by a clock that was ahead.
func (l *Ledger) Claimed(ctx context.Context, workerID string, before time.Time, limit int) ([]delivery.InFlight, error) {
	return l.inFlight(ctx, limit, new(database.Statement).Add("worker_id = ? AND (claimed_at < ? OR claimed_at > ?)", workerID, database.Micros(before), database.Micros(time.Now().Add(webhook.ClockTolerance))))
}

// inFlight lists deliveries that are being sent, those queued longest first.
func (l *Ledger) inFlight(ctx context.Context, limit int, which *database.Statement) (found []delivery.InFlight, err error) {
	t := &database.Statement{Args: which.Args}
	t.Add("SELECT "+rows.DeliveryColumns+", next_trigger, worker_id, claimed_at FROM deliveries WHERE queued_at IS NOT NULL AND state = 'sending' AND ").
		Add(which.String()).Add(" ORDER BY queued_at, id LIMIT ?", limit)
	err = t.Query(ctx, l.db.Write, func(row database.Row) error {
		var f delivery.InFlight
		err := row.Scan(append(rows.DeliveryFields(&f.Job.Delivery), &f.Job.Trigger, &f.WorkerID, database.Time(&f.ClaimedAt))...)
		f.Job.Event.Test = f.Job.Delivery.Trigger == webhook.TriggerTest
		found = append(found, f)
		return err
	})
	return found, err
}

// QueueEpoch is the epoch of a queue shard that all queued deliveries are
// known to be in; empty at first.
func (l *Ledger) QueueEpoch(ctx context.Context, shard string) (epoch string, err error) {
	err = new(database.Statement).Add("SELECT epoch FROM queue_epochs WHERE shard = ?", shard).
		Query(ctx, l.db.Write, func(row database.Row) error { return row.Scan(&epoch) })
	return epoch, err
}

// SetQueueEpoch remembers a shard's epoch.
func (l *Ledger) SetQueueEpoch(ctx context.Context, shard, epoch string) error {
	_, err := l.db.Write.ExecContext(ctx, "INSERT INTO queue_epochs (shard, epoch) VALUES ($1, $2) ON CONFLICT (shard) DO UPDATE SET epoch = excluded.epoch",
		shard, epoch)
	return err
}
