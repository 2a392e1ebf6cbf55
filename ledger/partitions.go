package ledger

import (
	"context"
	"fmt"
	"time"

	"ledgerhook/webhook"
)

// daysAhead is how many days' partitions exist before their first row.
const daysAhead = 7

// partitioned names the tables cut by day and the prefix of the ids they are
// cut by; attempts go with their delivery.
var partitioned = []struct{ table, prefix, with string }{
	{"events", webhook.EventPrefix, ""},
	{"deliveries", webhook.DeliveryPrefix, " WITH (fillfactor = 80)"},
	{"attempts", webhook.DeliveryPrefix, ""},
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
	today := now.UTC().Truncate(24 * time.Hour)
	for day := range daysAhead + 1 {
		from := today.AddDate(0, 0, day)
		for _, p := range partitioned {
			name := p.table + "_" + from.Format("20060102")
			if have[name] {
				continue // without asking for the parent's lock
			}
			_, err := l.write.ExecContext(ctx, fmt.Sprintf(
				"CREATE TABLE IF NOT EXISTS %s PARTITION OF %s FOR VALUES FROM ('%s') TO ('%s')%s", name, p.table,
				webhook.TimeBound(p.prefix, from), webhook.TimeBound(p.prefix, from.AddDate(0, 0, 1)), p.with))
			if err != nil {
				return fmt.Errorf("make the partition of %s for %s: %w", p.table, from.Format(time.DateOnly), err)
			}
		}
	}
	return nil
}
