package database

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"ledgerhook/webhook"
)

// daysAhead is how many days' partitions exist before their first row.
const daysAhead = 7

// DayFormat is how the name of a partition ends.
const DayFormat = "20060102"

// Partitioned names the tables cut by day and the prefix of the ids they are
// cut by; attempts go with their delivery. A delivery is claimed soon after it
// was stored, often with all the others of its page: with room for each of them
// that is an update in place, which touches no index.
var Partitioned = []struct{ Table, Prefix, with string }{
	{"events", webhook.EventPrefix, ""},
	{"deliveries", webhook.DeliveryPrefix, " WITH (fillfactor = 50)"},
	{"attempts", webhook.DeliveryPrefix, ""},
}

// EnsureDays makes the partitions of today, by the database's clock, and the
// days ahead, whatever this machine's clock says.
func (db *DB) EnsureDays(ctx context.Context) error {
	skew, err := db.ClockSkew(ctx)
	if err != nil {
		return err
	}
	return db.EnsurePartitions(ctx, time.Now().Add(-skew))
}

// EnsurePartitions makes the partitions of the day of now and the days ahead.
// It is safe to repeat and does nothing on SQLite.
func (db *DB) EnsurePartitions(ctx context.Context, now time.Time) error {
	if db.driver != postgresDriver {
		return nil
	}
	have, err := db.Tables(ctx)
	if err != nil {
		return err
	}
	var errs []error // one day that cannot be made must not keep the others from it
	today := now.UTC().Truncate(24 * time.Hour)
	for day := range daysAhead + 1 {
		from := today.AddDate(0, 0, day)
		for _, p := range Partitioned {
			name := p.Table + "_" + from.Format(DayFormat)
			if have[name] {
				continue // without asking for the parent's lock
			}
			_, err := db.Write.ExecContext(ctx, LockPartitions+fmt.Sprintf(
				"CREATE TABLE IF NOT EXISTS %s PARTITION OF %s FOR VALUES FROM ('%s') TO ('%s')%s", name, p.Table,
				webhook.TimeBound(p.Prefix, from), webhook.TimeBound(p.Prefix, from.AddDate(0, 0, 1)), p.with))
			if err != nil {
				errs = append(errs, fmt.Errorf("make the partition of %s for %s: %w", p.Table, from.Format(time.DateOnly), err))
			}
		}
	}
	return errors.Join(errs...)
}

// LockPartitions begins a transaction that makes or drops a partition, which
// takes the whole table for a moment. It waits only briefly for locks, since
// everybody else waits behind it, and alone, since two processes that make the
// same table collide even if they say IF NOT EXISTS.
const LockPartitions = "SET LOCAL lock_timeout = '3s'; " +
	"SELECT pg_advisory_xact_lock(hashtext('ledgerhook partitions'), hashtext(current_schema())); "

const (
	// dropTries is how often a partition is tried to be dropped whose table others
	// have, and dropPause what lies between two tries at most: half a minute and
	// more in all.
	dropTries = 12
	dropPause = 5 * time.Second
)

// DropPartition takes a partition from its table and deletes it, unless inUse,
// which is asked while nobody else has the table, says that it is in use. It may
// be asked again. What is no partition any more, since whoever took it away died,
// is deleted without asking, and what is not there has been dropped.
//
// Who works with the table waits meanwhile for a few milliseconds: a vacuum of
// the partition ends or is ended before, and the files go afterwards. Everybody
// waits behind whoever has had the table for longer, so that this gives up after
// the patience, and tries again later.
func (db *DB) DropPartition(ctx context.Context, table, name string, patience time.Duration, inUse func(Querier) (bool, error)) (dropped bool, err error) {
	pause := 2 * patience
	for try := 1; ; try++ {
		err = db.InTx(ctx, func(tx Querier) (err error) {
			dropped, err = detach(ctx, tx, table, name, patience, inUse)
			return err
		})
		if err == nil && dropped {
			_, err = db.Write.ExecContext(ctx, "DROP TABLE IF EXISTS "+name)
		}
		if err == nil || !Retryable(err) && !timedOut(err) || try == dropTries {
			return dropped && err == nil, err
		}
		select {
		case <-time.After(min(pause, dropPause)):
			pause *= 2
		case <-ctx.Done():
			return false, err
		}
	}
}

// timedOut reports whether the server ended a statement that took too long.
func timedOut(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "57014"
}

// detach takes a partition from its table, if it is of it, unless it is in use.
// The detachment may get lost with the server, and is then made again: its
// commit waits for no disk.
func detach(ctx context.Context, tx Querier, table, name string, patience time.Duration, inUse func(Querier) (bool, error)) (detached bool, err error) {
	if _, err := tx.ExecContext(ctx, LockPartitions+"SET LOCAL synchronous_commit = off"); err != nil {
		return false, err
	}
	var partition bool
	err = tx.QueryRowContext(ctx, "SELECT COALESCE(BOOL_OR(relispartition), FALSE) FROM pg_class WHERE oid = to_regclass($1)", name).Scan(&partition)
	if err != nil || !partition {
		return err == nil, err
	}
	// Asked once before, so that the server has at hand what it asks for.
	if used, err := inUse(tx); err != nil || used {
		return false, err
	}
	// No reader or writer minds these two locks, but vacuum does, of the default
	// partition, too, which a detachment takes; both are had before whoever makes
	// partitions gives up, and after autovacuum has been asked to end. Of the locks
	// that readers mind the parent's comes first, as with everybody but batches, which
	// name days: to those it gives way after the patience.
	_, err = tx.ExecContext(ctx, fmt.Sprintf(`SET LOCAL lock_timeout = '1400ms'; LOCK TABLE %[1]s, %[2]s_default IN SHARE UPDATE EXCLUSIVE MODE;
		SET LOCAL lock_timeout = %[3]d; SET LOCAL statement_timeout = %[4]d; SET LOCAL idle_in_transaction_session_timeout = '1s';
		LOCK TABLE ONLY %[2]s IN ACCESS EXCLUSIVE MODE`, name, table, patience.Milliseconds(), (patience+time.Second).Milliseconds()))
	if err != nil {
		return false, err
	}
	if used, err := inUse(tx); err != nil || used {
		return false, err
	}
	_, err = tx.ExecContext(ctx, "ALTER TABLE "+table+" DETACH PARTITION "+name)
	return err == nil, err
}

// days knows which partitions there are, so that a batch names those that its
// ids are of: a statement on a whole table is planned for all its days, and
// locks and opens each of them.
type days struct {
	mu    sync.Mutex
	have  map[string]bool
	asked time.Time
}

const (
	daysAgain = time.Minute // after which a day that was not there is asked for again
	fewDays   = 3           // that a batch names; of more, one statement does for all
)

// knows reports whether a partition is there; asked is false if nobody has
// looked lately.
func (d *days) knows(name string) (known, asked bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.have[name], time.Since(d.asked) < daysAgain
}

func (d *days) set(have map[string]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.have, d.asked = have, time.Now()
}

// forget has the next batch look again: a partition was dropped.
func (d *days) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.have, d.asked = nil, time.Time{}
}

// ByDay calls do for each part of ids, which are sorted, with the partition of
// table that holds it, or with the table itself where there is no such or where
// there would be many.
func (db *DB) ByDay(ctx context.Context, q Querier, table, prefix string, ids []string, do func(table string, ids []string) error) error {
	type part struct {
		table string
		ids   []string
	}
	var parts []part
	for i, id := range ids {
		name, err := db.dayOf(ctx, q, table, prefix, id)
		if err != nil {
			return err
		}
		if n := len(parts); n > 0 && parts[n-1].table == name {
			parts[n-1].ids = append(parts[n-1].ids, id)
		} else {
			parts = append(parts, part{name, ids[i : i+1 : len(ids)]})
		}
	}
	if len(parts) > fewDays {
		return do(table, ids)
	}
	for _, p := range parts {
		if err := do(p.table, p.ids); err != nil {
			return err
		}
	}
	return nil
}

// ByID appends what finds the rows of ids in table, see byDay.
func ByID(t *Statement, table string, ids []string) *Statement {
	if t.Arrays && !strings.Contains(table, "_") { // a whole table: of all days, only theirs
		t.Add("id >= ? AND id <= ? AND ", ids[0], ids[len(ids)-1])
	}
	return In(t, "id", ids)
}

// JoinID is ByID for a statement that joins the ids as v.column1: by these alone
// SQLite would walk the whole table.
func JoinID(t *Statement, table string, ids []string) *Statement {
	return ByID(t.Add("id = v.column1 AND "), table, ids)
}

// dayOf returns the partition of table that holds id.
func (db *DB) dayOf(ctx context.Context, q Querier, table, prefix, id string) (string, error) {
	at := webhook.IDTime(prefix, id)
	if db.Embedded() || at.IsZero() {
		return table, nil
	}
	name := table + "_" + at.Format(DayFormat)
	known, asked := db.days.knows(name)
	if !known && !asked {
		have := map[string]bool{}
		err := new(Statement).Add("SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent IN ('events'::regclass, 'deliveries'::regclass)").
			Query(ctx, q, func(rows Row) error {
				var name string
				err := rows.Scan(&name)
				have[name] = true
				return err
			})
		if err != nil {
			return "", err
		}
		db.days.set(have)
		known = have[name]
	}
	if !known {
		return table, nil
	}
	return name, nil
}
