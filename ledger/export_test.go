package ledger

import (
	"context"
	"runtime"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

// TogetherIn lets start hand over n operations, in goroutines of its own, that
// then share one transaction.
func (l *Ledger) TogetherIn(n int, start func(), gathered ...func()) {
	entered, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	holder := &operation{alter: &alterOp{do: func(context.Context, *batch) error {
		once.Do(func() { close(entered) })
		<-release
		return nil
	}}}
	if err := l.writer.hand(context.Background(), holder); err != nil {
		panic(err)
	}
	<-entered
	start()
	for len(l.writer.queue) < n {
		runtime.Gosched()
	}
	for _, then := range gathered {
		then()
	}
	close(release)
	<-holder.done
}

// Settle returns when the writer has done all that it was given.
func (l *Ledger) Settle() {
	for range 2 { // what a batch leaves to the next one comes before this
		if err := l.alterWindows(context.Background(), nil, func(context.Context, *batch) error { return nil }); err != nil {
			panic(err)
		}
	}
}

// Statement is a statement as the ledger sent it.
type Statement struct {
	SQL  string
	Args []any
}

// Trace lets told hear of every statement from now on. Nothing may be going on.
func (l *Ledger) Trace(databaseURL string, told func(Statement)) error {
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return err
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.Tracer = tracer(told)
	old := l.write
	l.write = stdlib.OpenDB(*config)
	l.read = l.write
	return old.Close()
}

type tracer func(Statement)

func (t tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	t(Statement{d.SQL, d.Args})
	return ctx
}

func (t tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// MigrateDown takes every step of the schema back.
func MigrateDown(ctx context.Context, o Options) error {
	return withProvider(ctx, o, func(_ *Ledger, p *goose.Provider) error {
		_, err := p.DownTo(ctx, 0)
		return err
	})
}
