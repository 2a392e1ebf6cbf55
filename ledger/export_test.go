package ledger

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerhook/delivery"
	"ledgerhook/ledger/database"
	"ledgerhook/webhook"
)

// TogetherIn lets start hand over n operations, in goroutines of its own, that
// then share one transaction; claims on PostgreSQL share another.
func (l *Ledger) TogetherIn(n int, start func(), gathered ...func()) {
	writers := l.writers()
	entered, release := make(chan struct{}, len(writers)), make(chan struct{})
	var holders []*operation
	for _, w := range writers {
		var once sync.Once
		holder := &operation{alter: &alterOp{do: func(context.Context, *batch) error {
			once.Do(func() { entered <- struct{}{} })
			<-release
			return nil
		}}}
		if err := w.hand(context.Background(), holder); err != nil {
			panic(err)
		}
		<-entered
		holders = append(holders, holder)
	}
	start()
	for l.Waiting() < n {
		runtime.Gosched()
	}
	for _, then := range gathered {
		then()
	}
	close(release)
	for _, holder := range holders {
		<-holder.done
	}
}

// Waiting is how many operations the writers have not begun with.
func (l *Ledger) Waiting() (n int) {
	for _, w := range l.writers() {
		n += len(w.queue) + len(w.records)
	}
	return n
}

// Settle returns when the writers have done all that they were given.
func (l *Ledger) Settle() {
	for range 2 { // what a batch leaves to the next one comes before this
		for _, w := range l.writers() {
			nothing := &operation{alter: &alterOp{do: func(context.Context, *batch) error { return nil }}}
			if err := w.submit(context.Background(), nothing); err != nil {
				panic(err)
			}
		}
	}
}

// ChangeSlowly is a change that takes for as long as it is let.
func (l *Ledger) ChangeSlowly(ctx context.Context) error {
	return l.withLockedWindows(ctx, nil, func(ctx context.Context, b *batch) error {
		<-ctx.Done()
		_, err := b.tx.ExecContext(ctx, "UPDATE partners SET name = ''")
		return err
	})
}

// HoldReaders takes every connection that readers have until release.
func (l *Ledger) HoldReaders(ctx context.Context) (release func(), err error) {
	var held []*sql.Conn
	release = func() {
		for _, c := range held {
			_ = c.Close()
		}
	}
	for range l.db.Read.Stats().MaxOpenConnections {
		c, err := l.db.Read.Conn(ctx)
		if err != nil {
			return release, err
		}
		held = append(held, c)
	}
	return release, nil
}

// Stripe is the first of the rows of the rollups that the ledger's writers count in.
func (l *Ledger) Stripe() int { return l.stripe }

// UseStripes has the writers count in the rows from stripe on.
func (l *Ledger) UseStripes(stripe int) {
	for i, w := range []*writer{l.writer, l.claims} {
		w.stripe = stripe + i
	}
}

// WriterAwaited reports whether anybody has waited for a connection that writes.
func (l *Ledger) WriterAwaited() bool { return l.db.Write.Stats().WaitCount > 0 }

// WithWindow runs do, in a transaction of the delivery path, with a window
// locked. kill ends the transaction's connection, as an administrator would.
func (l *Ledger) WithWindow(ctx context.Context, endpointID string, do func(ctx context.Context, kill func(context.Context))) error {
	return l.withLockedWindows(ctx, []string{endpointID}, func(ctx context.Context, b *batch) error {
		var failed error
		do(ctx, func(ctx context.Context) {
			_, failed = b.tx.ExecContext(ctx, "SELECT pg_terminate_backend(pg_backend_pid())")
		})
		if failed == nil {
			_, failed = b.tx.ExecContext(ctx, "SELECT 1")
		}
		return failed
	})
}

// Prepared are the statements that the session of the latest transaction of
// the delivery path knows, and how many runs of them were planned, with their
// values or without.
func (l *Ledger) Prepared(ctx context.Context) (statements, planned, unplanned int, err error) {
	err = l.db.Write.QueryRowContext(ctx, "SELECT COUNT(*), SUM(custom_plans), SUM(generic_plans) FROM pg_prepared_statements").
		Scan(&statements, &planned, &unplanned)
	return statements, planned, unplanned, err
}

// LoseStatements has the session of the latest transaction of the delivery path
// forget what it was told, as a proxy may that hands it on.
func (l *Ledger) LoseStatements(ctx context.Context) error {
	_, err := l.db.Write.ExecContext(ctx, "DEALLOCATE ALL")
	return err
}

// Statement is a statement as the ledger sent it.
type Statement struct {
	SQL  string
	Args []any
}

// Trace lets told hear of every statement from now on. Nothing may be going on.
func (l *Ledger) Trace(databaseURL string, told func(Statement)) error {
	return l.trace(databaseURL, tracer{told, func() {}})
}

// CountTrips lets trip hear of every round trip to PostgreSQL from now on.
// Nothing may be going on.
func (l *Ledger) CountTrips(databaseURL string, trip func()) error {
	return l.trace(databaseURL, tracer{func(Statement) {}, trip})
}

func (l *Ledger) trace(databaseURL string, t tracer) error {
	db, err := database.Open(context.Background(), database.Options{DatabaseURL: databaseURL, Tracer: t})
	if err != nil {
		return err
	}
	old := *l.db
	*l.db = *db
	return old.Close()
}

type tracer struct {
	told func(Statement)
	trip func()
}

func (t tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	values := d.Args
	for len(values) > 0 {
		if _, ok := values[0].(pgx.QueryExecMode); !ok {
			break
		}
		values = values[1:]
	}
	t.told(Statement{d.SQL, values})
	t.trip()
	return ctx
}

func (t tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (t tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	t.trip()
	return ctx
}

func (t tracer) TraceBatchQuery(_ context.Context, _ *pgx.Conn, d pgx.TraceBatchQueryData) {
	t.told(Statement{d.SQL, d.Args})
}

// TracePrepareStart implements pgx.PrepareTracer.
func (t tracer) TracePrepareStart(ctx context.Context, _ *pgx.Conn, _ pgx.TracePrepareStartData) context.Context {
	t.trip()
	return ctx
}

func (t tracer) TracePrepareEnd(context.Context, *pgx.Conn, pgx.TracePrepareEndData) {}

func (t tracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// ListReplayable is how long the list of what f matches is, unless it is
// refused since that is more than most.
func (l *Ledger) ListReplayable(ctx context.Context, f delivery.Filter, most int) (listed int, refused bool, err error) {
	all, err := l.listReplayable(ctx, f, most)
	if errors.Is(err, errTooMany) {
		return len(all), true, nil
	}
	return len(all), false, err
}

// RetainAt is Retain as it will be at now.
func (l *Ledger) RetainAt(ctx context.Context, now time.Time, keep time.Duration) error {
	return l.retain(ctx, now, keep, manners{patience: 3 * time.Second}) // long enough to be seen
}

// CreateAndDie is CreateEndpoint of a process that dies before it has let go
// what waited.
func (l *Ledger) CreateAndDie(ctx context.Context, e webhook.Endpoint) (webhook.Endpoint, error) {
	e, _, err := l.createEndpoint(ctx, e, nil, nil)
	return e, err
}

// FoldHour folds the facts of an hour into so many minutes.
func (l *Ledger) FoldHour(ctx context.Context, hour, minutes int64) error {
	return l.foldHour(ctx, hour, minutes)
}
