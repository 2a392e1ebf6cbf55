package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/orders"
	"ledgerhook/webhook"
)

const (
	reasonExpired = "expired"
	// objectsAtOnce is how many old objects are read before they are deleted.
	objectsAtOnce = 10_000
	// expireRows is how many deliveries end in one transaction: events and records
	// that come meanwhile wait for it.
	expireRows = 100
	// keyLife is how long an idempotency key is remembered at least.
	keyLife = 30 * 24 * time.Hour
)

// manners are how retention treats whoever works with the ledger meanwhile.
type manners struct {
	rest     time.Duration // after each partition: thirty days are gone within half a minute
	breath   time.Duration // after each hundred deliveries that end
	patience time.Duration // to wait for a table that others have, while others wait behind
}

var polite = manners{rest: 200 * time.Millisecond, breath: 20 * time.Millisecond, patience: 100 * time.Millisecond}

// leave leaves the ledger to others for a while, unless ctx ends.
func leave(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Retain ends and deletes what is older than keep, by the database's clock:
// events, deliveries and attempts go when nothing unfinished refers to them, on
// PostgreSQL a whole day at a time, on SQLite, and where a day had no
// partition, a few rows at a time; deliveries that still wait are cancelled as
// expired, and go in a later run.
//
// It does nothing, and the error is ErrClock, if this machine's clock is another
// than the database's, or if everything would go: then it is more likely that a
// clock is wrong than that nothing has come for so long.
func (l *Ledger) Retain(ctx context.Context, keep time.Duration) error {
	now, err := l.db.Now(ctx)
	if err != nil {
		return err
	}
	if err := l.someStays(ctx, now.Add(-keep)); err != nil {
		return err
	}
	return l.retain(ctx, now, keep, polite)
}

// someStays returns ErrClock if there are events and all are older than cutoff.
func (l *Ledger) someStays(ctx context.Context, cutoff time.Time) error {
	var stays bool
	err := l.db.Read.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM events WHERE id >= $1) OR NOT EXISTS (SELECT 1 FROM events)",
		webhook.TimeBound(webhook.EventPrefix, cutoff)).Scan(&stays)
	if err == nil && !stays {
		err = fmt.Errorf("%w: every event is older than %s, so that all would be deleted", database.ErrClock, cutoff.UTC().Format(time.RFC3339))
	}
	return err
}

func (l *Ledger) retain(ctx context.Context, now time.Time, keep time.Duration, how manners) error {
	cutoff := now.Add(-keep).UTC().Truncate(24 * time.Hour)
	var dropped error
	if !l.db.Embedded() {
		dropped = l.dropDays(ctx, cutoff, how)
	}
	return errors.Join(dropped, l.deleteRows(ctx, cutoff, now.Add(-max(keep, keyLife)), how))
}

// deleteRows ends and deletes what no partition goes with: all of before cutoff,
// and what an event is known again by of before forgotten.
func (l *Ledger) deleteRows(ctx context.Context, cutoff, forgotten time.Time, how manners) error {
	if err := l.deleteOld(ctx, cutoff); err != nil {
		return err
	}
	if err := l.retainReplays(ctx, cutoff); err != nil {
		return fmt.Errorf("retain replays: %w", err)
	}
	if err := l.deleteQuotes(ctx, cutoff); err != nil {
		return err
	}
	if err := l.deleteRefusals(ctx, cutoff); err != nil {
		return err
	}
	if err := l.deleteSilentWorkers(ctx); err != nil {
		return fmt.Errorf("delete silent workers: %w", err)
	}
	if err := l.deleteKeys(ctx, forgotten); err != nil {
		return fmt.Errorf("delete idempotency keys: %w", err)
	}
	if err := l.deleteObjects(ctx, forgotten); err != nil {
		return fmt.Errorf("delete statuses of objects: %w", err)
	}
	// Last, so that what ends here can be seen until the next run.
	if err := l.expireWaiting(ctx, cutoff, how.breath); err != nil {
		return fmt.Errorf("expire what waits: %w", err)
	}
	return nil
}

// expireWaiting cancels deliveries older than cutoff that still wait.
func (l *Ledger) expireWaiting(ctx context.Context, cutoff time.Time, breath time.Duration) error {
	for {
		expired := map[string][]string{} // delivery ids by endpoint
		t := new(database.Statement).Add("SELECT endpoint_id, id FROM deliveries WHERE due_at >= 0 AND id < ? ORDER BY id LIMIT ?",
			webhook.TimeBound(webhook.DeliveryPrefix, cutoff), cancelStep)
		err := t.Query(ctx, l.db.Read, func(row database.Row) error {
			var endpoint, id string
			err := row.Scan(&endpoint, &id)
			expired[endpoint] = append(expired[endpoint], id)
			return err
		})
		if err != nil || len(expired) == 0 {
			return err
		}
		for endpoint, ids := range expired {
			for some := range slices.Chunk(ids, expireRows) {
				if err := l.expire(ctx, endpoint, some); err != nil {
					return err
				}
				if err := leave(ctx, breath); err != nil {
					return err
				}
			}
		}
	}
}

func (l *Ledger) expire(ctx context.Context, endpoint string, ids []string) error {
	return l.withLockedWindows(ctx, []string{endpoint}, func(ctx context.Context, b *batch) error {
		w, err := b.window(endpoint)
		if err == nil {
			_, err = b.cancel(ctx, reasonExpired, w, func(t *database.Statement) {
				// Between the first and the last one: planned for their days alone.
				database.InList(t.Add("id >= ? AND id <= ? AND id IN ", ids[0], ids[len(ids)-1]), ids)
			})
		}
		return err
	})
}

// dropDays drops the partitions of whole days before cutoff that nothing
// unfinished refers to, the oldest first, up to one that cannot be dropped:
// mostly since somebody has the tables, who would have the next day's, too.
func (l *Ledger) dropDays(ctx context.Context, cutoff time.Time, how manners) error {
	days, err := l.daysBefore(ctx, cutoff)
	if err != nil {
		return err
	}
	for _, day := range days {
		if err := l.dropDay(ctx, day, how); err != nil {
			return fmt.Errorf("drop %s: %w", day.Format(time.DateOnly), err)
		}
	}
	return nil
}

// daysBefore lists the days before cutoff that any table has a partition of,
// the oldest first: a run that broke off, or a day that could not be made for
// all tables, leaves some of them.
func (l *Ledger) daysBefore(ctx context.Context, cutoff time.Time) (days []time.Time, err error) {
	tables, err := l.db.Tables(ctx)
	for table := range tables {
		for _, p := range database.Partitioned {
			suffix, cut := strings.CutPrefix(table, p.Table+"_")
			if day, err := time.Parse(database.DayFormat, suffix); cut && err == nil && day.Before(cutoff) {
				days = append(days, day)
			}
		}
	}
	slices.SortFunc(days, time.Time.Compare)
	return slices.Compact(days), err
}

// dropDay drops the partitions of a day, events first, unless something
// unfinished refers to it. Whoever repeats a delivery looks for its event and
// holds on to the table of events until the new delivery is committed, so that
// the question asked while nobody else has that table has the last word.
func (l *Ledger) dropDay(ctx context.Context, day time.Time, how manners) error {
	asked := time.Now()
	used, err := refersTo(ctx, l.db.Read, day)
	if err != nil || used {
		return err
	}
	if err := l.settleReplays(ctx, webhook.TimeBound(webhook.DeliveryPrefix, day), webhook.TimeBound(webhook.DeliveryPrefix, day.AddDate(0, 0, 1))); err != nil {
		return fmt.Errorf("settle replays: %w", err)
	}
	for _, p := range database.Partitioned {
		name := p.Table + "_" + day.Format(database.DayFormat)
		rows, err := l.estimate(ctx, name)
		if err != nil {
			return err
		}
		dropped, err := l.db.DropPartition(ctx, p.Table, name, how.patience, func(tx database.Querier) (bool, error) {
			return refersSince(ctx, tx, day, asked)
		})
		if err != nil {
			return fmt.Errorf("drop %s: %w", p.Table, err)
		}
		if !dropped {
			return nil
		}
		l.metrics.deleted(p.Table, rows)
		if err := leave(ctx, how.rest); err != nil {
			return err
		}
	}
	return nil
}

// estimate is how many rows PostgreSQL thinks that a table has: to count them
// would read them all. 0 if it has never looked, or there is no such table.
func (l *Ledger) estimate(ctx context.Context, table string) (rows int64, err error) {
	err = l.db.Read.QueryRowContext(ctx, "SELECT COALESCE(MAX(CAST(GREATEST(reltuples, 0) AS BIGINT)), 0) FROM pg_class WHERE oid = to_regclass($1)", table).Scan(&rows)
	return rows, err
}

// unfinishedOf asks for what is unfinished of a day, from $1 below $2, or repeats
// an event of it, from $3 below $4, among the deliveries that its end describes.
const unfinishedOf = `SELECT EXISTS (SELECT 1 FROM deliveries WHERE due_at IS NOT NULL AND id >= $1 AND id < $2)
	OR EXISTS (SELECT 1 FROM deliveries WHERE queued_at IS NOT NULL AND id >= $1 AND id < $2)
	OR EXISTS (SELECT 1 FROM deliveries WHERE (due_at IS NOT NULL OR queued_at IS NOT NULL) AND event_id >= $3 AND event_id < $4 AND `

// refersTo reports whether something unfinished is of the day, or repeats an
// event of it. Apart from the day's own the deliveries of an event are few.
func refersTo(ctx context.Context, q database.Querier, day time.Time) (used bool, err error) {
	err = q.QueryRowContext(ctx, unfinishedOf+"(id < $1 OR id >= $2))", boundsOf(day)...).Scan(&used)
	return used, err
}

// refersSince is refersTo for what has come since it was asked. Everybody waits
// meanwhile, and a question about every day takes long to plan: of other days it
// looks only at those that a delivery is of which was made since then, by a clock
// that is not a day wrong. None that has ended begins again.
func refersSince(ctx context.Context, q database.Querier, day, asked time.Time) (used bool, err error) {
	args := append(boundsOf(day), webhook.TimeBound(webhook.DeliveryPrefix, asked.AddDate(0, 0, -1)),
		webhook.TimeBound(webhook.DeliveryPrefix, time.Now().AddDate(0, 0, 1)))
	err = q.QueryRowContext(ctx, unfinishedOf+"id >= $5 AND id < $6)", args...).Scan(&used)
	return used, err
}

// boundsOf are the ids between which a day's deliveries and events lie.
func boundsOf(day time.Time) []any {
	next := day.AddDate(0, 0, 1)
	return []any{webhook.TimeBound(webhook.DeliveryPrefix, day), webhook.TimeBound(webhook.DeliveryPrefix, next),
		webhook.TimeBound(webhook.EventPrefix, day), webhook.TimeBound(webhook.EventPrefix, next)}
}

// deleteOld deletes old finished rows in small steps from the tables of events,
// deliveries and attempts: on PostgreSQL those whose day had no partition.
func (l *Ledger) deleteOld(ctx context.Context, cutoff time.Time) error {
	suffix := ""
	if !l.db.Embedded() {
		suffix = "_default"
	}
	deliveries, events := webhook.TimeBound(webhook.DeliveryPrefix, cutoff), webhook.TimeBound(webhook.EventPrefix, cutoff)
	if err := l.settleReplays(ctx, "", deliveries); err != nil {
		return fmt.Errorf("settle replays: %w", err)
	}
	for _, step := range []struct{ table, key, old, bound string }{
		{"attempts", "delivery_id, number", `delivery_id < $1
			AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.id = a.delivery_id AND d.finished_at = 0)`, deliveries},
		{"deliveries", "id", `id < $1 AND finished_at > 0 AND NOT EXISTS (SELECT 1 FROM attempts t WHERE t.delivery_id = a.id)
			AND NOT EXISTS (SELECT 1 FROM replay_items i WHERE i.outcome = 'admitted' AND i.new_id = a.id)`, deliveries},
		{"events", "id", `id < $1 AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event_id = a.id)`, events},
	} {
		err := l.retire(ctx, step.table, fmt.Sprintf("DELETE FROM %[1]s WHERE (%[2]s) IN (SELECT %[2]s FROM %[1]s a WHERE %[3]s LIMIT $2)",
			step.table+suffix, step.key, step.old), step.bound)
		if err != nil {
			return fmt.Errorf("delete old %s: %w", step.table, err)
		}
	}
	return nil
}

// deleteQuotes deletes the quotes that were made before a time. An order keeps
// all that its quote said.
func (l *Ledger) deleteQuotes(ctx context.Context, before time.Time) error {
	return l.retire(ctx, "quotes", "DELETE FROM quotes WHERE id IN (SELECT id FROM quotes WHERE id < $1 LIMIT $2)",
		webhook.TimeBound(orders.QuotePrefix, before))
}

// deleteKeys forgets idempotency keys of before.
func (l *Ledger) deleteKeys(ctx context.Context, before time.Time) error {
	return l.retire(ctx, "idempotency_keys", `DELETE FROM idempotency_keys WHERE (partner_code, key) IN
		(SELECT partner_code, key FROM idempotency_keys WHERE created_at < $1 LIMIT $2)`, database.Micros(before))
}

// deleteObjects forgets the statuses of objects that nothing was heard of since
// before. No index has their age, so that they are looked for where no writer
// waits meanwhile.
func (l *Ledger) deleteObjects(ctx context.Context, before time.Time) error {
	for {
		var old [][]any
		t := new(database.Statement).Add("SELECT partner_code, webhook_type, object_id FROM objects WHERE updated_at < ? LIMIT ?", database.Micros(before), objectsAtOnce)
		err := t.Query(ctx, l.db.Read, func(row database.Row) error {
			var partner, typ, object string
			err := row.Scan(&partner, &typ, &object)
			old = append(old, []any{partner, typ, object})
			return err
		})
		if err != nil {
			return err
		}
		for some := range slices.Chunk(old, database.StepRows) {
			t := new(database.Statement).Add("DELETE FROM objects WHERE updated_at < ? AND (partner_code, webhook_type, object_id) IN (VALUES ", database.Micros(before))
			t.Rows(len(some), func(i int) []any { return some[i] }).Add(")") // the age again: an event may have moved it on
			if err := l.db.InTx(ctx, func(tx database.Querier) error { _, err := t.Exec(ctx, l.db.Batched(tx)); return err }); err != nil {
				return err
			}
			l.metrics.deleted("objects", int64(len(some)))
		}
		if len(old) < objectsAtOnce {
			return nil
		}
	}
}

// retire deletes a few rows of table at a time, see database.DB.InSteps.
func (l *Ledger) retire(ctx context.Context, table, query string, bound any) error {
	return l.db.InSteps(ctx, query, bound, func(rows int64) { l.metrics.deleted(table, rows) })
}
