package ledger

import (
	"context"
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
	objectsAtOnce = 20 * database.StepRows
	// expireRows is how many deliveries end in one transaction: events that are
	// accepted meanwhile wait for it.
	expireRows = 100
	// keyLife is how long an idempotency key is remembered at least.
	keyLife = 30 * 24 * time.Hour
	// dropRest is how long others have the ledger to themselves before the next
	// partition goes: thirty days are gone within half a minute.
	dropRest = 200 * time.Millisecond
)

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
	return l.retain(ctx, now, keep, dropRest)
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

func (l *Ledger) retain(ctx context.Context, now time.Time, keep, rest time.Duration) error {
	cutoff := now.Add(-keep).UTC().Truncate(24 * time.Hour)
	suffix := ""
	if !l.db.Embedded() {
		suffix = "_default" // of rows whose day had no partition
		if err := l.dropDays(ctx, cutoff, rest); err != nil {
			return err
		}
	}
	if err := l.deleteOld(ctx, cutoff, suffix); err != nil {
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
	bound := now.Add(-max(keep, keyLife))
	if err := l.deleteKeys(ctx, bound); err != nil {
		return fmt.Errorf("delete idempotency keys: %w", err)
	}
	if err := l.deleteObjects(ctx, bound); err != nil {
		return fmt.Errorf("delete statuses of objects: %w", err)
	}
	// Last, so that what ends here can be seen until the next run.
	if err := l.expireWaiting(ctx, cutoff); err != nil {
		return fmt.Errorf("expire what waits: %w", err)
	}
	return nil
}

// expireWaiting cancels deliveries older than cutoff that still wait.
func (l *Ledger) expireWaiting(ctx context.Context, cutoff time.Time) error {
	for {
		expired := map[string][]string{} // delivery ids by endpoint
		t := new(database.Statement).Add("SELECT endpoint_id, id FROM deliveries WHERE due_at >= 0 AND id < ? ORDER BY id LIMIT ?",
			webhook.TimeBound(webhook.DeliveryPrefix, cutoff), expireRows)
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
			if err := l.expire(ctx, endpoint, ids); err != nil {
				return err
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
// unfinished refers to, and rests after each of them.
func (l *Ledger) dropDays(ctx context.Context, cutoff time.Time, rest time.Duration) error {
	days, err := l.daysBefore(ctx, cutoff)
	if err != nil {
		return err
	}
	for _, day := range days {
		asked := time.Now()
		inUse, err := refersTo(ctx, l.db.Read, day)
		if err != nil {
			return err
		}
		if inUse {
			continue
		}
		if err := l.settleReplays(ctx, webhook.TimeBound(webhook.DeliveryPrefix, day), webhook.TimeBound(webhook.DeliveryPrefix, day.AddDate(0, 0, 1))); err != nil {
			return fmt.Errorf("settle replays: %w", err)
		}
		if err := l.dropDay(ctx, day, asked, rest); err != nil {
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

// dropDay drops the partitions of a day that nothing unfinished referred to when
// it was asked, events first, unless an event of it has been repeated since.
// Whoever repeats a delivery looks for its event and holds on to the table of
// events until the new delivery is committed, so that the question asked while
// nobody else has that table has the last word, for the other tables too.
func (l *Ledger) dropDay(ctx context.Context, day, asked time.Time, rest time.Duration) error {
	for _, p := range database.Partitioned {
		name := p.Table + "_" + day.Format(database.DayFormat)
		rows, err := l.estimate(ctx, name)
		if err != nil {
			return err
		}
		dropped, err := l.db.DropPartition(ctx, p.Table, name, rest, func(tx database.Querier) (bool, error) {
			if p.Table != database.Partitioned[0].Table {
				return false, nil
			}
			return repeatedSince(ctx, tx, day, asked)
		})
		if err != nil {
			return fmt.Errorf("drop %s: %w", p.Table, err)
		}
		if !dropped {
			return nil
		}
		l.metrics.deleted(p.Table, rows)
	}
	return nil
}

// estimate is how many rows PostgreSQL thinks that a table has: to count them
// would read them all. 0 if it has never looked, or there is no such table.
func (l *Ledger) estimate(ctx context.Context, table string) (rows int64, err error) {
	err = l.db.Read.QueryRowContext(ctx, "SELECT COALESCE(MAX(CAST(GREATEST(reltuples, 0) AS BIGINT)), 0) FROM pg_class WHERE oid = to_regclass($1)", table).Scan(&rows)
	return rows, err
}

// refersTo reports whether something unfinished is of the day, or repeats an
// event of it. Apart from the day's own the deliveries of an event are few.
func refersTo(ctx context.Context, q database.Querier, day time.Time) (used bool, err error) {
	next := day.AddDate(0, 0, 1)
	err = q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM deliveries WHERE due_at IS NOT NULL AND id >= $1 AND id < $2)
		OR EXISTS (SELECT 1 FROM deliveries WHERE queued_at IS NOT NULL AND id >= $1 AND id < $2)
		OR EXISTS (SELECT 1 FROM deliveries WHERE (due_at IS NOT NULL OR queued_at IS NOT NULL)
			AND (id < $1 OR id >= $2) AND event_id >= $3 AND event_id < $4)`,
		webhook.TimeBound(webhook.DeliveryPrefix, day), webhook.TimeBound(webhook.DeliveryPrefix, next),
		webhook.TimeBound(webhook.EventPrefix, day), webhook.TimeBound(webhook.EventPrefix, next)).Scan(&used)
	return used, err
}

// repeatedSince reports whether an unfinished delivery repeats an event of the
// day that was not there when it was asked. Others wait meanwhile, so that it looks
// only at the days around then: whoever repeats an event gives the delivery an id
// by a clock that is not a day wrong, and no delivery begins again.
func repeatedSince(ctx context.Context, q database.Querier, day, asked time.Time) (repeated bool, err error) {
	err = q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM deliveries WHERE (due_at IS NOT NULL OR queued_at IS NOT NULL)
			AND id >= $1 AND id < $2 AND event_id >= $3 AND event_id < $4)`,
		webhook.TimeBound(webhook.DeliveryPrefix, asked.AddDate(0, 0, -1)), webhook.TimeBound(webhook.DeliveryPrefix, asked.AddDate(0, 0, 1)),
		webhook.TimeBound(webhook.EventPrefix, day), webhook.TimeBound(webhook.EventPrefix, day.AddDate(0, 0, 1))).Scan(&repeated)
	return repeated, err
}

// deleteOld deletes old finished rows in small steps from the tables of events,
// deliveries and attempts whose names end in suffix.
func (l *Ledger) deleteOld(ctx context.Context, cutoff time.Time, suffix string) error {
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
