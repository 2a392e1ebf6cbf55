package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ledgerhook/webhook"
)

// replica is a standby of the database that reports are read from.
//
// It never shows less than the primary would: before each question the primary is
// asked how far it has committed, and the replica answers once it is as far. So
// whoever has just changed something sees it, whichever process they changed it
// through. While the replica is away or behind, the primary answers.
type replica struct {
	Pool
	log *slog.Logger

	mu    sync.Mutex
	until time.Time // until when the primary is asked without trying the replica
	fault error     // why the last question went to the primary; nil: it did not
}

const (
	// replicaPatience is how long a question waits for the replica to catch up.
	replicaPatience = 500 * time.Millisecond
	// replicaPause is how long a replica that failed is left alone.
	replicaPause = 5 * time.Second

	// ledgerIdentity tells one ledger from another, wherever it is copied to.
	ledgerIdentity = "(SELECT system_identifier FROM pg_control_system()) || ' ' || current_database() || ' ' || current_schema()"
)

// ForReports is db for reports: what they read comes from the replica, if there
// is one. The original alone is closed.
func (db *DB) ForReports() *DB {
	same := *db
	same.Read.replica = db.replica
	return &same
}

// ByPrimary is p without the replica, for what compares the database's clock with
// what the primary wrote by its own.
func (p Pool) ByPrimary() Pool {
	p.replica = nil
	return p
}

// CheckReplica says what keeps reports from being read from the replica; nil if
// nothing does, or there is none.
func (db *DB) CheckReplica(ctx context.Context) error {
	if db.replica == nil {
		return nil
	}
	now, err := db.Read.position(ctx)
	if err == nil {
		err = db.replica.reach(ctx, now)
	}
	if err != nil {
		return fmt.Errorf("lists and pages are read from the primary: %w", err)
	}
	return nil
}

// position is what a primary has committed: of which ledger, and how far.
type position struct{ ledger, lsn string }

// position asks the primary for it.
func (p Pool) position(ctx context.Context) (at position, err error) {
	err = p.ByPrimary().QueryRowContext(ctx, "SELECT "+ledgerIdentity+", CAST(pg_current_wal_flush_lsn() AS text)").Scan(&at.ledger, &at.lsn)
	return at, err
}

// reach waits until the replica has what the primary had committed at a position.
func (r *replica) reach(ctx context.Context, p position) error {
	ctx, cancel := context.WithTimeout(ctx, replicaPatience)
	defer cancel()
	for {
		var theirs string
		var standby, there bool
		err := r.QueryRowContext(ctx, "SELECT "+ledgerIdentity+", pg_is_in_recovery(), COALESCE(pg_last_wal_replay_lsn() >= CAST($1 AS pg_lsn), FALSE)", p.lsn).
			Scan(&theirs, &standby, &there)
		switch {
		case err != nil:
			return fmt.Errorf("ask the replica how far it is: %w", err)
		case theirs != p.ledger:
			return errors.New("LEDGERHOOK_DATABASE_READ_URL leads to another database than LEDGERHOOK_DATABASE_URL")
		case !standby:
			return errors.New("LEDGERHOOK_DATABASE_READ_URL leads to a server that is no standby")
		case there:
			return nil
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("the replica is more than %s behind the primary", replicaPatience)
		}
	}
}

// answers reports whether the replica may be asked now what would be asked of the
// primary.
func (r *replica) answers(ctx context.Context, primary Pool) bool {
	r.mu.Lock()
	resting := time.Now().Before(r.until)
	r.mu.Unlock()
	if resting {
		return false
	}
	now, err := primary.position(ctx)
	if err != nil {
		return false // the primary will say so itself
	}
	err = r.reach(ctx, now)
	if ctx.Err() == nil {
		r.note(err)
	}
	return err == nil
}

// note keeps what came of a question to the replica.
func (r *replica) note(fault error) {
	r.mu.Lock()
	before := r.fault
	if r.fault = fault; fault != nil {
		r.until = time.Now().Add(replicaPause)
	}
	r.mu.Unlock()
	switch {
	case fault != nil && before == nil:
		r.log.Warn("lists and pages are read from the primary", "error", fault)
	case fault == nil && before != nil:
		r.log.Info("lists and pages are read from the replica again")
	}
}

// refused reports whether the primary is to be asked what the replica answered
// with err: it may know better, unless whoever asked has left.
func (r *replica) refused(ctx context.Context, err error) bool {
	if err == nil || errors.Is(err, sql.ErrNoRows) || ctx.Err() != nil {
		return false
	}
	if Retryable(err) || webhook.KindOf(r.classify(err)) == webhook.KindUnavailable { // a conflict with what it replays, or it is gone
		r.note(err)
	}
	return true
}

// replicaRow is a row that is read when it is scanned, since only then it shows
// whether the replica has it.
type replicaRow struct {
	pool  Pool // with a replica
	ctx   context.Context
	query string
	args  []any
}

// Scan implements Row.
func (q replicaRow) Scan(to ...any) error {
	r := q.pool.replica
	if r.answers(q.ctx, q.pool) {
		if err := r.QueryRowContext(q.ctx, q.query, q.args...).Scan(to...); !r.refused(q.ctx, err) {
			return err
		}
	}
	return q.pool.ByPrimary().QueryRowContext(q.ctx, q.query, q.args...).Scan(to...)
}

// replicaRows are rows of a replica. What breaks off in the middle is asked for
// again by whoever reads them.
type replicaRows struct {
	rows
	replica *replica
}

// Err implements rows.
func (r replicaRows) Err() error {
	err := r.rows.Err()
	if err == nil || webhook.KindOf(err) != webhook.KindInternal {
		return err
	}
	r.replica.note(err) // a conflict with what it replays
	return Unavailable(err)
}

// read asks the replica; nil: the primary is to be asked.
func (r *replica) read(ctx context.Context, primary Pool, query string, args []any) (rows, error) {
	if !r.answers(ctx, primary) {
		return nil, nil
	}
	found, err := r.QueryContext(ctx, query, args...)
	if r.refused(ctx, err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return replicaRows{found, r}, nil
}
