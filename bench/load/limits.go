package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
	_ "modernc.org/sqlite" // the database of an embedded gateway

	"ledgerhook/signer"
)

// Limits is what the same machine does without a gateway, a second.
type Limits struct {
	Signatures float64 // RSA-2048 on all processors
	Signature  float64 // ms of processor time for one of them
	POSTs      float64 // that the same receiver answers a bare client on kept connections
	Rows       float64 // committed durably in groups, into the same kind of database
	RowBytes   int     // of such a row: what a delivery takes there
}

// group is how many rows a commit of the bare database loops has.
const group = 128

// limits measures what nothing that signs, posts and stores can exceed. The
// world's gateway must have ended.
func (w *world) limits(o options, rowBytes int) (l Limits) {
	lasts := min(o.lasts, 3*time.Second)
	l.RowBytes = min(max(rowBytes, 512), 8192)
	var each time.Duration
	var err error
	if l.Signatures, each, err = signing(lasts); err != nil {
		w.t.Fatal(err)
	}
	l.Signature = ms(each)
	bare := w.send(errand{Bare: w.reached.Hosts, Events: 2 * o.events, Batch: 1, Senders: senders})
	l.POSTs = rate(2*o.events, bare.Ended-bare.Began)
	row := bytes.Repeat([]byte("row "), l.RowBytes/4)
	if w.embedded {
		l.Rows, err = sqliteRows(w.t.Context(), filepath.Join(w.t.TempDir(), "limit.db"), row, lasts)
	} else {
		l.Rows, err = postgresRows(w.t.Context(), w.database, row, lasts)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

// signing measures how many RSA-2048 signatures all processors together make
// in a second, and the processor time of one.
func signing(lasts time.Duration) (perSecond float64, each time.Duration, err error) {
	key, err := signer.GenerateKey(2048)
	if err != nil {
		return 0, 0, err
	}
	var made atomic.Int64
	var signers errgroup.Group
	used, began := ownCPU(), time.Now()
	for range runtime.GOMAXPROCS(0) {
		signers.Go(func() error {
			for n := 0; n == 0 || time.Since(began) < lasts; n++ {
				if _, err := key.Sign(fmt.Append(nil, "notification ", n)); err != nil {
					return err
				}
				made.Add(1)
			}
			return nil
		})
	}
	err = signers.Wait()
	took := time.Since(began)
	return float64(made.Load()) / took.Seconds(), (ownCPU() - used) / time.Duration(max(1, made.Load())), err
}

// postgresRows inserts groups of rows from as many connections as there are
// processors, each waiting for its commits.
func postgresRows(ctx context.Context, url string, row []byte, lasts time.Duration) (perSecond float64, err error) {
	setup, err := pgx.Connect(ctx, url)
	if err != nil {
		return 0, err
	}
	defer func() { _ = setup.Close(ctx) }()
	if _, err := setup.Exec(ctx, "CREATE TABLE bare (id bigint PRIMARY KEY, body bytea)"); err != nil {
		return 0, err
	}
	var writers []func(last int64) error
	for range runtime.GOMAXPROCS(0) {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return 0, err
		}
		defer func() { _ = conn.Close(ctx) }()
		ids, bodies := make([]int64, group), make([][]byte, group)
		writers = append(writers, func(last int64) error {
			for i := range group {
				ids[i], bodies[i] = last-int64(i), row
			}
			_, err := conn.Exec(ctx, "INSERT INTO bare SELECT * FROM unnest($1::bigint[], $2::bytea[])", ids, bodies)
			return err
		})
	}
	return inParallel(writers, lasts)
}

// sqliteRows inserts groups of rows as the one writer that SQLite has, with
// the ledger's settings.
func sqliteRows(ctx context.Context, path string, row []byte, lasts time.Duration) (perSecond float64, err error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return 0, err
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(ctx, "CREATE TABLE bare (id INTEGER PRIMARY KEY, body BLOB)"); err != nil {
		return 0, err
	}
	insert, err := db.PrepareContext(ctx, "INSERT INTO bare VALUES ($1, $2)")
	if err != nil {
		return 0, err
	}
	return inParallel([]func(last int64) error{func(last int64) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		for i := range group {
			if _, err := tx.StmtContext(ctx, insert).ExecContext(ctx, last-int64(i), row); err != nil {
				return err
			}
		}
		return tx.Commit()
	}}, lasts)
}

// inParallel has each writer commit one group of rows after another until the
// time is over, and at least one. A writer gets the last of its group's
// numbers. It returns how many rows that were a second.
func inParallel(writers []func(last int64) error, lasts time.Duration) (perSecond float64, err error) {
	var all errgroup.Group
	var next atomic.Int64
	began := time.Now()
	for _, commit := range writers {
		all.Go(func() error {
			for again := true; again; again = time.Since(began) < lasts {
				if err := commit(next.Add(group)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err = all.Wait()
	return float64(next.Load()) / time.Since(began).Seconds(), err
}
