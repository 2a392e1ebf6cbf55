package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus"
)

// Pool is a group of connections that certain callers share, so that however
// many of them there are, they take none that others need. What its queries and
// transactions return is classified.
type Pool struct {
	*sql.DB
	driver string
	// turn lets one transaction at a time wait for the one connection that
	// SQLite's writers share. Whoever waits for it is served in order: of a
	// thousand sign-ins at most one stands before an event. Nil: the pool has
	// connections of its own.
	turn chan struct{}
	took prometheus.Observer // how long each query took; nil: nobody asks
	// replica is asked first what is only read; nil: there is none, or it is not
	// for this group.
	replica *replica
}

// pools are a process's groups of connections. The delivery path has the
// ledger's own two.
type pools struct {
	pages    view // what people look at and change
	door     view // sign-in, which anybody can reach
	partners view // the partner API
}

// view is where a group of callers reads and writes.
type view struct{ write, read Pool }

func (p pools) close() error {
	return errors.Join(p.pages.close(), p.door.close(), p.partners.close())
}

// close closes connections twice where groups share them, which does no harm.
func (v view) close() error { return errors.Join(v.read.Close(), v.write.Close()) }

// ForPages is db for pages, over connections of their own. The original alone
// is closed.
func (db *DB) ForPages() *DB { return db.over(db.pools.pages) }

// ForPartners is the same for the partner API.
func (db *DB) ForPartners() *DB { return db.over(db.pools.partners) }

// AtDoor is the same for what anybody can ask for without having signed in.
func (db *DB) AtDoor() *DB { return db.over(db.pools.door) }

func (db *DB) over(v view) *DB {
	same := *db
	same.Write, same.Read = v.write, v.read
	return &same
}

// unmeasured is p for who measures by itself.
func (p Pool) unmeasured() Pool {
	p.took = nil
	return p
}

// ExecContext runs a statement in a transaction of its own.
func (p Pool) ExecContext(ctx context.Context, query string, args ...any) (result sql.Result, err error) {
	err = p.InTx(ctx, func(tx Querier) error {
		result, err = tx.ExecContext(ctx, query, args...)
		return err
	})
	return result, err
}

// QueryContext implements querier.
func (p Pool) QueryContext(ctx context.Context, query string, args ...any) (rows, error) {
	defer Observe(p.took, time.Now())
	if p.replica != nil {
		if r, err := p.replica.read(ctx, p, query, args); r != nil || err != nil {
			return r, err
		}
	}
	r, err := p.DB.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, p.classify(err)
	}
	return classifiedRows{r, p}, nil
}

// QueryRowContext implements querier.
func (p Pool) QueryRowContext(ctx context.Context, query string, args ...any) Row {
	if p.replica != nil {
		return replicaRow{p, ctx, query, args}
	}
	defer Observe(p.took, time.Now())
	return classifiedRow{p.DB.QueryRowContext(ctx, query, args...), p}
}

// Classify marks ctx's end and other errors as those of db are, see classify.
func (db *DB) Classify(err error) error { return classify(db.driver, err) }

func (p Pool) classify(err error) error { return classify(p.driver, err) }

// classifiedRows are rows whose end is classified.
type classifiedRows struct {
	*sql.Rows
	pool Pool
}

// Err implements rows.
func (r classifiedRows) Err() error { return r.pool.classify(r.Rows.Err()) }

// classifiedRow is a row whose error is classified.
type classifiedRow struct {
	*sql.Row
	pool Pool
}

// Scan implements row.
func (r classifiedRow) Scan(to ...any) error { return r.pool.classify(r.Row.Scan(to...)) }

// plain is a transaction of database/sql.
type plain struct{ *sql.Tx }

// QueryContext implements querier.
func (t plain) QueryContext(ctx context.Context, query string, args ...any) (rows, error) {
	r, err := t.Tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// QueryRowContext implements querier.
func (t plain) QueryRowContext(ctx context.Context, query string, args ...any) Row {
	return t.Tx.QueryRowContext(ctx, query, args...)
}

// brokenTries is how often a transaction is tried at most that deadlocks end, and
// brokenPause is what whoever it met gets to end first.
const (
	brokenTries = 5
	brokenPause = 50 * time.Millisecond
)

// InTx runs do in one transaction, and again if a deadlock ended it, or on another
// connection if one broke off before it can have been committed.
func (p Pool) InTx(ctx context.Context, do func(Querier) error) error {
	defer Observe(p.took, time.Now())
	if p.turn != nil {
		select {
		case p.turn <- struct{}{}:
			defer func() { <-p.turn }()
		case <-ctx.Done():
			return p.classify(ctx.Err())
		}
	}
	once := func() (undone bool, err error) { return p.once(ctx, do) }
	err := onSound(ctx, once)
	for try := 1; try < brokenTries && brokenOff(err); try++ {
		select {
		case <-time.After(brokenPause):
			err = onSound(ctx, once)
		case <-ctx.Done():
			return p.classify(err)
		}
	}
	return p.classify(err)
}

// severedTries is how often a transaction is tried at most whose connections
// break off: each of a group's may have, which shows when it is used.
const severedTries = 1 + pathConnections

// onSound runs do on another connection if one broke off before anything of it
// can have been committed.
func onSound(ctx context.Context, do func() (undone bool, err error)) error {
	undone, err := do()
	for try := 1; try < severedTries && err != nil && undone && severed(err) && ctx.Err() == nil; try++ {
		undone, err = do()
	}
	if err != nil && !undone && severed(err) && ctx.Err() == nil {
		return InDoubt{err}
	}
	return err
}

// InDoubt is the error of a connection that broke off at a commit, which may
// have come through.
type InDoubt struct{ error }

// Unwrap makes what broke the connection known to errors.Is.
func (e InDoubt) Unwrap() error { return e.error }

// once runs do in one transaction. With an error, undone reports whether
// nothing of it can have stayed.
func (p Pool) once(ctx context.Context, do func(Querier) error) (undone bool, err error) {
	tx, err := p.BeginTx(ctx, nil)
	if err != nil {
		return true, fmt.Errorf("begin: %w", err)
	}
	if err := do(plain{tx}); err != nil {
		_ = tx.Rollback()
		return true, err
	}
	if err := tx.Commit(); err != nil {
		var pg *pgconn.PgError
		return errors.As(err, &pg) && ended(pg), fmt.Errorf("commit: %w", err)
	}
	return false, nil
}
