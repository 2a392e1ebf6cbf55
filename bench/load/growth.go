package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"ledgerhook/bench/stage"
	"ledgerhook/ledger"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
)

// pauseAll has what was filled in wait: its receivers do not exist.
const pauseAll = "UPDATE windows SET paused = true, wake_at = NULL"

// fill puts old deliveries into the ledger of a gateway that has not started.
func (w *world) fill(g *stage.Gateway, n int) {
	ctx, at := w.t.Context(), database.Options{DataDir: filepath.Join(g.Dir, "data")}
	if w.postgres != nil {
		at = database.Options{DatabaseURL: w.database}
	}
	if _, err := ledger.Migrate(ctx, at); err != nil {
		w.t.Fatal(err)
	}
	if err := ledgertest.Fill(ctx, at, n); err != nil {
		w.t.Fatal(err)
	}
	if err := pause(ctx, at); err != nil {
		w.t.Fatal(err)
	}
}

func pause(ctx context.Context, at database.Options) error {
	db, err := database.Open(ctx, at)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return database.Run(ctx, db.Write, "pause all", pauseAll)
}

// keepWaiting makes deliveries for an endpoint that nobody serves.
func (w *world) keepWaiting(n int) {
	const code = "dead"
	w.addPartner(code, fmt.Sprintf("http://127.0.0.1:%d/hooks", stage.FreePort(w.t)))
	stage.PostFrom(w.gateway, code, 0, n)
}

// leaveOpen opens a transaction that keeps PostgreSQL from clearing away what
// is updated or deleted from now on, if that is asked for.
func (w *world) leaveOpen(o options) (end func()) {
	if !o.openTransaction || w.postgres == nil {
		return func() {}
	}
	ctx := w.t.Context()
	conn, err := pgx.Connect(ctx, w.database)
	if err != nil {
		w.t.Fatal(err)
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err == nil {
		_, err = tx.Exec(ctx, "SELECT count(*) FROM windows") // with which its view begins
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return func() { _ = conn.Close(context.Background()) }
}
