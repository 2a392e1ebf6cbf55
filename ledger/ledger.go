// Package ledger keeps everything the gateway must not forget, in PostgreSQL
// or SQLite, and owns every line of SQL.
//
// One SQL text serves both databases; what differs stands in dialect.go. The
// writes of the delivery path (append, claim, record and what moves a window)
// go through writers that commit what has gathered in one transaction, on
// SQLite one, on PostgreSQL one each for events, claims and records; see
// writer.go for its order of locks.
package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"ledgerhook/delivery"
	"ledgerhook/orders"
	"ledgerhook/webhook"
)

// Ledger is an open database. It is safe for concurrent use.
type Ledger struct {
	dialect
	write  pool // SQLite: one connection, immediate transactions
	read   pool // another one: no writer waits for readers
	pools  pools
	log    *slog.Logger
	writer *writer
	// On PostgreSQL claims and records have writers of their own, so that
	// accepting never waits behind them; on SQLite, which has one writer, they
	// are the same.
	claims, records *writer
	unlock          func() error
	slot            int // of the rollups

	unlimited bool // transactions last as long as they take
	metrics   *Metrics

	horizon *horizon
	days    *days
	heard   *atomic.Pointer[heardTime] // the database's clock, when a lease was renewed

	retry          webhook.RetryPolicy
	slots          delivery.Slots
	deliveriesMade func(t webhook.Type, trigger webhook.Trigger, n int)
	orderMoved     func(from, to orders.Status)
}

// Options say where the ledger is and who hears of admitted deliveries.
type Options struct {
	DatabaseURL string // postgres://…; empty: SQLite
	DataDir     string // SQLite: the folder of the database file
	// Dial changes how PostgreSQL is reached, given the way of nil: over TCP, a
	// server that is gone without a word being found out within 5 s.
	Dial func(pgconn.DialFunc) pgconn.DialFunc
	Log  *slog.Logger
	// Retry's first wait is the one before the first attempt at a new event's
	// deliveries; what comes after a failure is decided by who records it.
	Retry webhook.RetryPolicy
	// Admitted is told of deliveries that were given a slot, after their
	// commit. It must not block. Nil: nobody listens.
	Admitted func([]delivery.Ticket)
	// Slots are where this process delivers what it admits; nil: nowhere. A
	// delivery that has a free one is claimed together with its admission.
	Slots delivery.Slots
	// DeliveriesMade is told of the deliveries that this process made, n of
	// one type and trigger, after their commit. It must not block. Nil: nobody
	// listens.
	DeliveriesMade func(t webhook.Type, trigger webhook.Trigger, n int)
	// Metrics counts what this ledger does; nil: nothing does.
	Metrics *Metrics
	// OrderMoved is told of each order that this process made (from is empty)
	// and of each change of a status, after the commit. It must not block.
	// Nil: nobody listens.
	OrderMoved func(from, to orders.Status)

	unlimited bool // see session.go
}

// Open connects to the ledger and checks that its schema is this program's.
// It changes nothing; see Migrate.
func Open(ctx context.Context, o Options) (*Ledger, error) {
	l, err := connect(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := l.checkSchema(ctx); err != nil {
		return nil, errors.Join(err, l.close())
	}
	admitted := o.Admitted
	if admitted == nil {
		admitted = func([]delivery.Ticket) {}
	}
	if l.slots = o.Slots; l.slots == nil {
		l.slots = noSlots{}
	}
	if l.deliveriesMade = o.DeliveriesMade; l.deliveriesMade == nil {
		l.deliveriesMade = func(webhook.Type, webhook.Trigger, int) {}
	}
	if l.orderMoved = o.OrderMoved; l.orderMoved == nil {
		l.orderMoved = func(orders.Status, orders.Status) {}
	}
	if l.Embedded() {
		l.writer = startWriter(l, l.slot, queryWriter, admitted)
		l.claims, l.records = l.writer, l.writer
	} else {
		l.writer = startWriter(l, l.slot, queryEvents, admitted)
		l.claims, l.records = startWriter(l, l.slot+1, queryClaims, admitted), startWriter(l, l.slot+2, queryRecords, admitted)
	}
	l.metrics.watch(l)
	return l, nil
}

// writers are those of the ledger, each once.
func (l *Ledger) writers() []*writer {
	return slices.Compact([]*writer{l.claims, l.records, l.writer})
}

const (
	// rollupSlots is how many rows of one partner's fact writers spread over.
	rollupSlots = 8
	// maxSlot keeps two writers from sharing a row of all partners' facts,
	// which every batch changes.
	maxSlot = 1 << 16
)

// connect opens the database without looking at what it holds.
func connect(ctx context.Context, o Options) (*Ledger, error) {
	l := &Ledger{log: o.Log, retry: o.Retry, slot: rand.IntN(maxSlot), horizon: &horizon{}, days: &days{}, heard: new(atomic.Pointer[heardTime]), unlimited: o.unlimited, metrics: o.Metrics, unlock: func() error { return nil }}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if o.DatabaseURL == "" {
		err = l.openSQLite(o.DataDir)
	} else {
		err = l.openPostgres(o)
	}
	if err != nil {
		return nil, err
	}
	if err := l.Ping(ctx); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

// Close ends the writer after what has gathered, then the connections.
func (l *Ledger) Close() error {
	for _, w := range l.writers() {
		w.stop()
	}
	return l.close()
}

func (l *Ledger) close() error {
	return errors.Join(view{l.write, l.read}.close(), l.pools.close(), l.unlock())
}

// Ping reports whether the database answers, as an Unavailable error if not.
func (l *Ledger) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := l.write.PingContext(ctx); err != nil {
		return unavailable(fmt.Errorf("reach the ledger at %s: %w", l.place, err))
	}
	return nil
}

// Embedded reports whether the ledger belongs to this process alone.
func (l *Ledger) Embedded() bool { return l.driver == sqliteDriver }

// inTx runs do in one transaction.
func (l *Ledger) inTx(ctx context.Context, do func(querier) error) error {
	return l.write.inTx(ctx, do)
}
