package database

import (
	"context"
	"time"
)

// deadRowsLeast is how many dead rows a table must have for them to matter:
// vacuum leaves tables alone that have few.
const deadRowsLeast = 1000

// hot are the tables whose rows every delivery changes; of deliveries the days
// that are changed.
var hot = []string{"windows", "rollups", "rollups_all", "deliveries"}

// Upkeep is how well PostgreSQL can keep its tables in order.
type Upkeep struct {
	// OldestTransaction is for how long the longest transaction in the database
	// has been open, a prepared one among them: vacuum may not take rows that
	// were replaced since. Those of other users count only if ours may read all
	// statistics (pg_monitor).
	OldestTransaction time.Duration
	// DeadRows is the share of rows of each hot table that are dead, from 0 to
	// 1; 0 also if they are fewer than 1,000.
	DeadRows map[string]float64
}

// Upkeep looks at PostgreSQL's statistics; SQLite has nothing to look at.
func (db *DB) Upkeep(ctx context.Context) (u Upkeep, err error) {
	u.DeadRows = map[string]float64{}
	if db.driver != postgresDriver {
		return u, nil
	}
	var open int64
	if err := db.Read.QueryRowContext(ctx, `SELECT CAST(EXTRACT(EPOCH FROM COALESCE(clock_timestamp() - MIN(began), INTERVAL '0')) * 1000000 AS BIGINT) FROM (
		SELECT xact_start AS began FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type NOT LIKE 'autovacuum%'
		UNION ALL SELECT prepared FROM pg_prepared_xacts WHERE database = current_database()) AS transactions`).Scan(&open); err != nil {
		return u, err
	}
	u.OldestTransaction = max(0, time.Duration(open)*time.Microsecond)
	now := time.Now().UTC()
	for _, table := range hot {
		names := []string{table}
		if table == "deliveries" {
			names = []string{table + now.Format("_"+DayFormat), table + now.AddDate(0, 0, -1).Format("_"+DayFormat)}
		}
		var live, dead int64
		t := InList(new(Statement).Add("SELECT COALESCE(SUM(n_live_tup), 0), COALESCE(SUM(n_dead_tup), 0) FROM pg_stat_user_tables WHERE schemaname = current_schema() AND relname IN "), names)
		if err := t.Query(ctx, db.Read, func(r Row) error { return r.Scan(&live, &dead) }); err != nil {
			return u, err
		}
		u.DeadRows[table] = 0
		if dead >= deadRowsLeast {
			u.DeadRows[table] = float64(dead) / float64(live+dead)
		}
	}
	return u, nil
}
