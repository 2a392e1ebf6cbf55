package ledgertest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"ledgerhook/ledger/database"
)

// fillSink takes rows in bulk, of several tables at once.
type fillSink interface {
	insert(ctx context.Context, table string, columns []string, rows [][]any) error
	exec(ctx context.Context, statement string) error
	analyze(ctx context.Context) error
	// dropIndexes drops those of the filled tables that hold nothing together,
	// and returns the statements that make them again.
	dropIndexes(ctx context.Context) ([]string, error)
	close(ctx context.Context) error
}

func openSink(ctx context.Context, o database.Options) (fillSink, error) {
	if o.DatabaseURL == "" {
		return openSQLite(ctx, o)
	}
	s := postgresSink{make(chan *pgx.Conn, fillConns)}
	for range fillConns {
		conn, err := pgx.Connect(ctx, o.DatabaseURL)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("reach the ledger: %w", err), s.close(ctx))
		}
		s.idle <- conn
		if _, err := conn.Exec(ctx, "SET synchronous_commit = off"); err != nil {
			return nil, errors.Join(err, s.close(ctx))
		}
	}
	return s, nil
}

// fillConns is how many tables of PostgreSQL are filled at once.
const fillConns = 3

type postgresSink struct{ idle chan *pgx.Conn }

func (s postgresSink) insert(ctx context.Context, table string, columns []string, rows [][]any) error {
	conn := <-s.idle
	defer func() { s.idle <- conn }()
	if _, err := conn.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromRows(rows)); err != nil {
		return fmt.Errorf("fill %s: %w", table, err)
	}
	return nil
}

func (s postgresSink) exec(ctx context.Context, statement string) error {
	conn := <-s.idle
	defer func() { s.idle <- conn }()
	_, err := conn.Exec(ctx, statement)
	return err
}

// analyze gathers statistics, as PostgreSQL does by itself sooner or later.
func (s postgresSink) analyze(ctx context.Context) error { return s.exec(ctx, "ANALYZE") }

func (s postgresSink) dropIndexes(ctx context.Context) (statements []string, err error) {
	conn := <-s.idle
	defer func() { s.idle <- conn }()
	rows, err := conn.Query(ctx, `SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema()
		AND tablename IN ('events', 'deliveries', 'attempts') AND indexdef LIKE 'CREATE INDEX %'`)
	if err != nil {
		return nil, err
	}
	names := []string{}
	var name, definition string
	_, err = pgx.ForEachRow(rows, []any{&name, &definition}, func() error {
		names = append(names, pgx.Identifier{name}.Sanitize())
		statements = append(statements, strings.Replace(definition, " ON ONLY ", " ON ", 1))
		return nil
	})
	if err == nil {
		_, err = conn.Exec(ctx, "DROP INDEX "+strings.Join(names, ", "))
	}
	return statements, err
}

func (s postgresSink) close(ctx context.Context) (err error) {
	for range len(s.idle) {
		err = errors.Join(err, (<-s.idle).Close(ctx))
	}
	return err
}

// sqliteSink writes everything in one transaction without a journal: what is
// half filled is of no use.
type sqliteSink struct {
	db *sql.DB

	mu      *sync.Mutex // one writer
	tx      *sql.Tx
	inserts map[string]*sql.Stmt // of insertRows rows, by table
}

// insertRows is how many rows one statement inserts.
const insertRows = 50

func openSQLite(ctx context.Context, o database.Options) (fillSink, error) {
	db, err := sql.Open("sqlite", o.DataDir+"/ledger.db?_pragma=busy_timeout(5000)&_pragma=journal_mode(OFF)&_pragma=synchronous(OFF)&_pragma=cache_size(-100000)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	tx, err := db.BeginTx(context.WithoutCancel(ctx), nil) // a context that can end costs each statement a goroutine
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return sqliteSink{db, new(sync.Mutex), tx, map[string]*sql.Stmt{}}, nil
}

func (s sqliteSink) insert(ctx context.Context, table string, columns []string, rows [][]any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx = context.WithoutCancel(ctx)
	row := "(" + strings.Repeat("?, ", len(columns)-1) + "?)"
	for group := range slices.Chunk(rows, insertRows) {
		statement := "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES " + strings.Repeat(row+", ", len(group)-1) + row
		if len(group) < insertRows {
			if _, err := s.tx.ExecContext(ctx, statement, slices.Concat(group...)...); err != nil {
				return fmt.Errorf("fill %s: %w", table, err)
			}
			continue
		}
		if s.inserts[table] == nil {
			prepared, err := s.tx.PrepareContext(ctx, statement)
			if err != nil {
				return fmt.Errorf("fill %s: %w", table, err)
			}
			s.inserts[table] = prepared
		}
		if _, err := s.inserts[table].ExecContext(ctx, slices.Concat(group...)...); err != nil {
			return fmt.Errorf("fill %s: %w", table, err)
		}
	}
	return nil
}

func (s sqliteSink) exec(ctx context.Context, statement string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.tx.ExecContext(context.WithoutCancel(ctx), statement)
	return err
}

// analyze does nothing: an embedded ledger has no statistics.
func (sqliteSink) analyze(context.Context) error { return nil }

func (s sqliteSink) dropIndexes(ctx context.Context) (statements []string, err error) {
	rows, err := s.tx.QueryContext(ctx, `SELECT name, sql FROM sqlite_master WHERE type = 'index'
		AND tbl_name IN ('events', 'deliveries', 'attempts') AND sql LIKE 'CREATE INDEX %'`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name, definition string
		if err := rows.Scan(&name, &definition); err != nil {
			return nil, err
		}
		names, statements = append(names, name), append(statements, definition)
	}
	for _, name := range names {
		err = errors.Join(err, s.exec(ctx, "DROP INDEX "+name))
	}
	return statements, errors.Join(err, rows.Err())
}

// close ends with the journal that the ledger keeps.
func (s sqliteSink) close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	err := s.tx.Commit()
	_, wal := s.db.ExecContext(ctx, "PRAGMA journal_mode = WAL")
	return errors.Join(err, wal, s.db.Close())
}
