package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"ledgerhook/webhook"
)

const (
	reasonExpired = "expired"
	// deleteRows is how many rows SQLite deletes at once: the writer waits meanwhile.
	deleteRows = 500
	// keyLife is how long an idempotency key is remembered at least.
	keyLife = 30 * 24 * time.Hour
)

// Retain ends and deletes what is older than keep before now: deliveries that
// still wait are cancelled as expired; events, deliveries and attempts go when
// nothing unfinished refers to them, on PostgreSQL a whole day at a time, on
// SQLite a few rows at a time.
func (l *Ledger) Retain(ctx context.Context, now time.Time, keep time.Duration) error {
	cutoff := now.Add(-keep).UTC().Truncate(24 * time.Hour)
	if err := l.expireWaiting(ctx, cutoff); err != nil {
		return fmt.Errorf("expire what waits: %w", err)
	}
	var err error
	if l.driver == postgresDriver {
		err = l.dropDays(ctx, cutoff)
	} else {
		err = l.deleteOld(ctx, cutoff)
	}
	if err != nil {
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
	return l.deleteKeys(ctx, now.Add(-max(keep, keyLife)))
}

// expireWaiting cancels deliveries older than cutoff that still wait.
func (l *Ledger) expireWaiting(ctx context.Context, cutoff time.Time) error {
	for {
		expired := map[string][]string{} // delivery ids by endpoint
		t := new(text).add("SELECT endpoint_id, id FROM deliveries WHERE due_at >= 0 AND id < ? ORDER BY id LIMIT ?",
			webhook.TimeBound(webhook.DeliveryPrefix, cutoff), adoptBatch)
		err := t.query(ctx, l.read, func(rows *sql.Rows) error {
			var endpoint, id string
			err := rows.Scan(&endpoint, &id)
			expired[endpoint] = append(expired[endpoint], id)
			return err
		})
		if err != nil || len(expired) == 0 {
			return l.broken(err)
		}
		for endpoint, ids := range expired {
			if err := l.expire(ctx, endpoint, ids); err != nil {
				return err
			}
		}
	}
}

func (l *Ledger) expire(ctx context.Context, endpoint string, ids []string) error {
	var endpoints []string
	if endpoint != "" {
		endpoints = []string{endpoint}
	}
	return l.alterWindows(ctx, endpoints, func(ctx context.Context, b *batch) error {
		_, err := b.cancel(ctx, reasonExpired, endpoint, func(t *text) { list(t.add("endpoint_id = ? AND id IN ", endpoint), ids) })
		return err
	})
}

// dropDays drops the partitions of whole days before cutoff.
func (l *Ledger) dropDays(ctx context.Context, cutoff time.Time) error {
	tables, err := l.tables(ctx)
	if err != nil {
		return l.broken(err)
	}
	var days []string
	for table := range tables {
		var day string
		if n, _ := fmt.Sscanf(table, "events_%8s", &day); n == 1 && table == "events_"+day && day < cutoff.Format("20060102") {
			days = append(days, day)
		}
	}
	slices.Sort(days)
	for _, day := range days {
		from, err := time.Parse("20060102", day)
		if err != nil {
			continue // a table of somebody else's
		}
		inUse, err := l.refersTo(ctx, from)
		if err != nil {
			return l.broken(err)
		}
		if inUse {
			continue
		}
		if err := l.settleReplays(ctx, webhook.TimeBound(webhook.DeliveryPrefix, from), webhook.TimeBound(webhook.DeliveryPrefix, from.AddDate(0, 0, 1))); err != nil {
			return fmt.Errorf("settle replays: %w", err)
		}
		for _, p := range partitioned {
			if err := l.alterTables(ctx, "DROP TABLE IF EXISTS "+p.table+"_"+day); err != nil {
				return fmt.Errorf("drop %s of %s: %w", p.table, day, err)
			}
		}
	}
	return nil
}

// refersTo reports whether something unfinished is of the day from, or
// repeats an event of it.
func (l *Ledger) refersTo(ctx context.Context, from time.Time) (used bool, err error) {
	to := from.AddDate(0, 0, 1)
	err = l.read.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM deliveries WHERE (due_at IS NOT NULL OR queued_at IS NOT NULL)
		AND (id >= $1 AND id < $2 OR event_id >= $3 AND event_id < $4))`,
		webhook.TimeBound(webhook.DeliveryPrefix, from), webhook.TimeBound(webhook.DeliveryPrefix, to),
		webhook.TimeBound(webhook.EventPrefix, from), webhook.TimeBound(webhook.EventPrefix, to)).Scan(&used)
	return used, err
}

// deleteOld deletes old finished rows in small steps.
func (l *Ledger) deleteOld(ctx context.Context, cutoff time.Time) error {
	deliveries, events := webhook.TimeBound(webhook.DeliveryPrefix, cutoff), webhook.TimeBound(webhook.EventPrefix, cutoff)
	if err := l.settleReplays(ctx, "", deliveries); err != nil {
		return fmt.Errorf("settle replays: %w", err)
	}
	for _, step := range []struct{ query, bound string }{
		{`DELETE FROM attempts WHERE rowid IN (SELECT a.rowid FROM attempts a JOIN deliveries d ON d.id = a.delivery_id
			WHERE a.delivery_id < $1 AND d.finished_at > 0 LIMIT $2)`, deliveries},
		{`DELETE FROM deliveries WHERE rowid IN (SELECT rowid FROM deliveries WHERE id < $1 AND finished_at > 0
			AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.delivery_id = deliveries.id)
			AND NOT EXISTS (SELECT 1 FROM replay_items i WHERE i.outcome = 'admitted' AND i.new_id = deliveries.id) LIMIT $2)`, deliveries},
		{`DELETE FROM events WHERE rowid IN (SELECT rowid FROM events WHERE id < $1
			AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event_id = events.id) LIMIT $2)`, events},
	} {
		if err := l.deleteInSteps(ctx, step.query, step.bound); err != nil {
			return err
		}
	}
	return nil
}

// deleteKeys forgets idempotency keys and the statuses of objects that nothing
// was heard of since before.
func (l *Ledger) deleteKeys(ctx context.Context, before time.Time) error {
	err := l.deleteInSteps(ctx, `DELETE FROM idempotency_keys WHERE (partner_code, key) IN
		(SELECT partner_code, key FROM idempotency_keys WHERE created_at < $1 LIMIT $2)`, micros(before))
	if err != nil {
		return err
	}
	return l.deleteInSteps(ctx, `DELETE FROM objects WHERE (partner_code, webhook_type, object_id) IN
		(SELECT partner_code, webhook_type, object_id FROM objects WHERE updated_at < $1 LIMIT $2)
		AND updated_at < $1`, micros(before)) // again: an event may just be moving it on
}

func (l *Ledger) deleteInSteps(ctx context.Context, query string, bound any) error {
	for {
		result, err := l.write.ExecContext(ctx, query, bound, deleteRows)
		if err != nil {
			return l.broken(err)
		}
		if n, err := result.RowsAffected(); err != nil || n < deleteRows {
			return err
		}
	}
}
