// Package database opens the ledger's database and carries statements to it,
// PostgreSQL or SQLite.
//
// One SQL text serves both; what differs stands in dialect.go and lanes.go. It
// knows the schema and its migrations, but not what the rows are for.
package database

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// DB is an open database. It is safe for concurrent use.
type DB struct {
	dialect
	Write Pool // SQLite: one connection, immediate transactions
	Read  Pool // another one: no writer waits for readers
	Lease Pool // heartbeats alone
	pools pools

	replica *replica // nil: there is none
	Log     *slog.Logger
	unlock  func() error

	unlimited bool // transactions last as long as they take
	metrics   *Metrics

	horizon *horizon
	days    *days
	heard   *atomic.Pointer[heardTime] // the database's clock, when a lease was renewed
}

// Options say where the database is.
type Options struct {
	DatabaseURL string // postgres://…; empty: SQLite
	// ReadURL is a streaming replica of DatabaseURL that reports are read from;
	// empty: there is none. It may be away.
	ReadURL string
	DataDir string // SQLite: the folder of the database file
	// Dial changes how PostgreSQL is reached, given the way of nil: over TCP, a
	// server that is gone without a word being found out within 5 s.
	Dial func(pgconn.DialFunc) pgconn.DialFunc
	// Tracer is told of every statement that PostgreSQL gets; nil: nobody is.
	Tracer  pgx.QueryTracer
	Log     *slog.Logger
	Metrics *Metrics // nil: nothing is measured

	unlimited bool // see session.go
}

// Open connects to the database and checks that its schema is this
// program's. It changes nothing; see Migrate.
func Open(ctx context.Context, o Options) (*DB, error) {
	db, err := connect(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := db.checkSchema(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	db.metrics.watch(db)
	return db, nil
}

// connect opens the database without looking at what it holds.
func connect(ctx context.Context, o Options) (*DB, error) {
	db := &DB{Log: o.Log, horizon: &horizon{}, days: &days{}, heard: new(atomic.Pointer[heardTime]), unlimited: o.unlimited, metrics: o.Metrics, unlock: func() error { return nil }}
	if db.Log == nil {
		db.Log = slog.New(slog.DiscardHandler)
	}
	var err error
	if o.DatabaseURL == "" {
		err = db.openSQLite(o.DataDir)
	} else {
		err = db.openPostgres(o)
	}
	if err != nil {
		return nil, err
	}
	if err := db.Ping(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// Close closes the connections.
func (db *DB) Close() error {
	var replica error
	if db.replica != nil {
		replica = db.replica.Close()
	}
	return errors.Join(view{db.Write, db.Read}.close(), db.pools.close(), db.Lease.Close(), replica, db.unlock())
}

// Ping reports whether the database answers, as an Unavailable error if not.
func (db *DB) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := db.Write.PingContext(ctx); err != nil {
		return Unavailable(fmt.Errorf("reach the ledger at %s: %w", db.place, err))
	}
	return nil
}

// Embedded reports whether the database belongs to this process alone.
func (db *DB) Embedded() bool { return db.driver == sqliteDriver }

// InTx runs do in one transaction.
func (db *DB) InTx(ctx context.Context, do func(Querier) error) error {
	return db.Write.InTx(ctx, do)
}
