package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ledgerhook/webhook"
)

// daysAhead is how many days' partitions exist before their first row.
const daysAhead = 7

// dayFormat is how the name of a partition ends.
const dayFormat = "20060102"

// partitioned names the tables cut by day and the prefix of the ids they are
// cut by; attempts go with their delivery.
var partitioned = []struct{ table, prefix, with string }{
	{"events", webhook.EventPrefix, ""},
	{"deliveries", webhook.DeliveryPrefix, " WITH (fillfactor = 80)"},
	{"attempts", webhook.DeliveryPrefix, ""},
}

// EnsureDays makes the partitions of today, by the database's clock, and the
// days ahead, whatever this machine's clock says.
func (l *Ledger) EnsureDays(ctx context.Context) error {
	skew, err := l.ClockSkew(ctx)
	if err != nil {
		return err
	}
	return l.EnsurePartitions(ctx, time.Now().Add(-skew))
}

// EnsurePartitions makes the partitions of the day of now and the days ahead.
// It is safe to repeat and does nothing on SQLite.
func (l *Ledger) EnsurePartitions(ctx context.Context, now time.Time) error {
	if l.driver != postgresDriver {
		return nil
	}
	have, err := l.tables(ctx)
	if err != nil {
		return err
	}
	var errs []error // one day that cannot be made must not keep the others from it
	today := now.UTC().Truncate(24 * time.Hour)
	for day := range daysAhead + 1 {
		from := today.AddDate(0, 0, day)
		for _, p := range partitioned {
			name := p.table + "_" + from.Format(dayFormat)
			if have[name] {
				continue // without asking for the parent's lock
			}
			_, err := l.write.ExecContext(ctx, lockPartitions+fmt.Sprintf(
				"CREATE TABLE IF NOT EXISTS %s PARTITION OF %s FOR VALUES FROM ('%s') TO ('%s')%s", name, p.table,
				webhook.TimeBound(p.prefix, from), webhook.TimeBound(p.prefix, from.AddDate(0, 0, 1)), p.with))
			if err != nil {
				errs = append(errs, fmt.Errorf("make the partition of %s for %s: %w", p.table, from.Format(time.DateOnly), l.broken(err)))
			}
		}
	}
	return errors.Join(errs...)
}

// lockPartitions begins a transaction that makes or drops a partition, which
// takes the whole table for a moment. It waits for that only briefly, since
// everybody else waits behind it, and alone, since two processes that make the
// same table collide even if they say IF NOT EXISTS.
const lockPartitions = "SET LOCAL lock_timeout = '3s'; " +
	"SELECT pg_advisory_xact_lock(hashtext('ledgerhook partitions'), hashtext(current_schema())); "
