package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"ledgerhook/webhook"
)

const (
	postgresDriver = "postgres"
	sqliteDriver   = "sqlite"
)

// dialect is all that PostgreSQL and SQLite are told differently.
type dialect struct {
	driver    string
	place     string // for messages: no password
	ForUpdate string // at the end of a SELECT that locks what it reads
	Clock     string // the database's time in microseconds, as SQL
	prepares  bool   // PostgreSQL: the delivery path's statements, once a session
}

func (db *DB) openPostgres(o Options) error {
	config, err := o.postgres("LEDGERHOOK_DATABASE_URL", o.DatabaseURL)
	if err != nil {
		return err
	}
	db.dialect = dialect{
		driver:    postgresDriver,
		place:     servers(config) + "/" + config.Database,
		ForUpdate: " FOR UPDATE",
		Clock:     "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)",
		prepares:  config.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement, // unless the address says otherwise
	}
	// What pages read is planned with its values, so that a look-up by id opens
	// one partition.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	db.openPools(*config)
	if o.ReadURL == "" {
		return nil
	}
	if config, err = o.postgres("LEDGERHOOK_DATABASE_READ_URL", o.ReadURL); err != nil {
		return errors.Join(err, db.Close())
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	db.replica = &replica{Pool: db.openPool(newConnector(*config, db.unlimited), queryReplica, replicaConnections), log: db.Log}
	return nil
}

// postgres is how o reaches the server at an address, which a setting holds.
func (o Options) postgres(setting, address string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, errors.New(setting + " is not a PostgreSQL address like postgres://user@host:5432/name")
	}
	config.DialFunc, config.Tracer = o.dialing(), o.Tracer
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	return config, nil
}

// servers are the hosts of an address, of which one is the primary.
func servers(config *pgx.ConnConfig) string {
	all := []string{net.JoinHostPort(config.Host, fmt.Sprint(config.Port))}
	for _, f := range config.Fallbacks {
		if one := net.JoinHostPort(f.Host, fmt.Sprint(f.Port)); !slices.Contains(all, one) { // with TLS and without
			all = append(all, one)
		}
	}
	return strings.Join(all, ",")
}

// openPool opens a group of connections.
func (db *DB) openPool(c driver.Connector, query string, connections int) Pool {
	opened := sql.OpenDB(c)
	opened.SetMaxOpenConns(connections)
	opened.SetMaxIdleConns(connections)
	return Pool{DB: opened, driver: postgresDriver, took: db.metrics.query(query)}
}

// openPools opens every group of connections. They connect when they are first
// used, so that a process has none for roles that it does not play.
func (db *DB) openPools(config pgx.ConnConfig) {
	sessions := newConnector(config, db.unlimited)
	path := sessions
	if db.prepares {
		path = newPreparing(config, db.unlimited)
	}
	both := func(query string, connections int) view {
		p := db.openPool(sessions, query, connections)
		return view{p, p}
	}
	db.Write, db.Read = db.openPool(path, queryBackground, pathConnections), db.openPool(sessions, queryBackground, readConnections)
	db.pools = pools{pages: both(queryPages, pagesConnections), door: both(queryDoor, doorConnections),
		partners: both(queryPartners, partnersConnections)}
	db.Lease = db.openPool(sessions, queryLease, 1)
}

func (db *DB) openSQLite(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	unlock, err := lockDir(dir)
	if err != nil {
		return err
	}
	db.unlock = unlock
	path := filepath.Join(dir, ledgerFile)
	// The files beside it take over its mode, whoever may look into the directory.
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	if err := file.Close(); err != nil {
		return err
	}
	db.dialect = dialect{
		driver: sqliteDriver,
		place:  path,
		Clock:  "CAST(unixepoch('subsec') * 1000000 AS INTEGER)",
	}
	common := "_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_pragma=secure_delete(1)"
	// Without an authority, since the first part of a relative path would be taken for one.
	address := "file:" + (&url.URL{Path: path}).EscapedPath()
	write, err := sql.Open("sqlite", address+"?_txlock=immediate&"+common)
	if err != nil {
		return err
	}
	write.SetMaxOpenConns(1)
	db.Write = Pool{DB: write, driver: sqliteDriver, took: db.metrics.query(queryBackground)}
	reading := func(query string, connections int) Pool {
		read, opened := sql.Open("sqlite", address+"?_pragma=query_only(1)&"+common)
		if err = errors.Join(err, opened); opened == nil {
			read.SetMaxOpenConns(connections)
		}
		return Pool{DB: read, driver: sqliteDriver, took: db.metrics.query(query)}
	}
	both := func(query string, connections int) view {
		return view{Pool{DB: write, driver: sqliteDriver, turn: make(chan struct{}, 1), took: db.metrics.query(query)}, reading(query, connections)}
	}
	db.Read = reading(queryBackground, readConnections)
	db.pools = pools{pages: both(queryPages, pagesConnections), door: both(queryDoor, doorConnections),
		partners: both(queryPartners, partnersConnections)}
	db.Lease = Pool{DB: write, driver: sqliteDriver, took: db.metrics.query(queryLease)}
	return err
}

// NewestEvents reads the newest event of each type, tests left out, among the
// ids from … below.
func (d dialect) NewestEvents(types []webhook.Type, from, below string) *Statement {
	const newest = "SELECT webhook_type, created_at FROM events WHERE webhook_type = %s AND NOT test AND id >= %s AND id < %s ORDER BY id DESC LIMIT 1"
	t := new(Statement)
	from, below = t.Arg(from), t.Arg(below)
	if d.driver == postgresDriver {
		t.Add("SELECT newest.* FROM ").Table(len(types), func(i int) []any { return []any{string(types[i])} })
		return t.Add(", LATERAL (" + fmt.Sprintf(newest, "v.column1", from, below) + ") AS newest")
	}
	for i, typ := range types {
		if i > 0 {
			t.Add(" UNION ALL ")
		}
		t.Add("SELECT * FROM (" + fmt.Sprintf(newest, t.Arg(string(typ)), from, below) + ")")
	}
	return t
}

// NewestAnswers reads the partner and the time that the last attempt took of those
// deliveries that were answered at last, among the newest limit of each partner of
// the ids from … below. PostgreSQL is told a range that holds one code alone: for a
// code that is equal it may walk the deliveries of all partners, which are in the
// order of their ids too.
func (d dialect) NewestAnswers(codes []string, from, below string, limit int) *Statement {
	of := "partner_code = %[1]s"
	if d.driver == postgresDriver {
		of = "partner_code >= %[1]s AND partner_code <= %[1]s"
	}
	t := new(Statement)
	from, below, most := t.Arg(from), t.Arg(below), t.Arg(limit)
	for i, code := range codes {
		if i > 0 {
			t.Add(" UNION ALL ")
		}
		t.Add(fmt.Sprintf("SELECT partner_code, last_us FROM (SELECT partner_code, last_us, last_status FROM deliveries WHERE "+of+" AND id >= %[2]s AND id < %[3]s ORDER BY partner_code DESC, id DESC LIMIT %[4]s) AS p%[5]d WHERE last_status > 0",
			t.Arg(code), from, below, most, i))
	}
	return t
}

// Statement begins a statement of the delivery path, which comes again and again
// with other rows.
func (d dialect) Statement() *Statement { return &Statement{Arrays: d.driver == postgresDriver} }

// InBatch runs do in one transaction of the delivery path, with its long
// statements.
func (db *DB) InBatch(ctx context.Context, do func(tx Querier) error) error {
	if db.driver == postgresDriver {
		err := db.Write.inPipeline(ctx, do)
		if pg, ok := errors.AsType[*pgconn.PgError](err); ok && stale(pg) {
			db.days.forget()
		}
		return err
	}
	return db.Write.unmeasured().InTx(ctx, func(tx Querier) error { return do(db.Batched(tx)) })
}

// Batched is tx as a batch, with its long statements, uses it.
func (d dialect) Batched(tx Querier) Querier {
	if d.driver == sqliteDriver {
		return unnumbered{tx}
	}
	return tx
}

// unnumbered sends statements with ? for $1, $2, …: SQLite looks a numbered
// placeholder up among all of its statement's, so that the cost of one grows
// with the square of its values. 128 rows of 24 take 42 ms, without numbers 2 ms.
type unnumbered struct{ tx Querier }

func (u unnumbered) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	query, args = withoutNumbers(query, args)
	return u.tx.ExecContext(ctx, query, args...)
}

func (u unnumbered) QueryContext(ctx context.Context, query string, args ...any) (rows, error) {
	query, args = withoutNumbers(query, args)
	return u.tx.QueryContext(ctx, query, args...)
}

func (u unnumbered) QueryRowContext(ctx context.Context, query string, args ...any) Row {
	query, args = withoutNumbers(query, args)
	return u.tx.QueryRowContext(ctx, query, args...)
}

// withoutNumbers replaces $1, $2, … by ?, each with the value it stands for.
// The ledger's statements hold no other $.
func withoutNumbers(query string, args []any) (string, []any) {
	var b strings.Builder
	var each []any
	before, query, found := strings.Cut(query, "$")
	for b.WriteString(before); found; b.WriteString(before) {
		n := 0
		for len(query) > 0 && '0' <= query[0] && query[0] <= '9' {
			n = 10*n + int(query[0]-'0')
			query = query[1:]
		}
		b.WriteByte('?')
		each = append(each, args[n-1])
		before, query, found = strings.Cut(query, "$")
	}
	return b.String(), each
}

// ErrInUse marks a data directory that another process holds.
var ErrInUse = errors.New("the data directory is in use")

// lockDir takes the data directory for this process and writes down which process holds it.
func lockDir(dir string) (unlock func() error, err error) {
	path := filepath.Join(dir, "lock")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of the data directory: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := io.ReadAll(io.LimitReader(file, 64))
		_ = file.Close()
		return nil, fmt.Errorf("%w by process %s: %s", ErrInUse, strings.TrimSpace(string(holder)), dir)
	}
	if err := file.Truncate(0); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if _, err := fmt.Fprintln(file, os.Getpid()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() error {
		// Closing alone would leave the lock with a process that was just started
		// from here and has not become another program yet.
		return errors.Join(syscall.Flock(int(file.Fd()), syscall.LOCK_UN), file.Close())
	}, nil
}

// Retryable reports whether the same transaction may well succeed when it is
// run again: a deadlock, a serialisation failure, or a lock not had in time.
func Retryable(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return crossed(err) || pg.Code == lostStatement || stale(pg)
	}
	var lite *sqlite.Error
	return errors.As(err, &lite) && (lite.Code()&0xff == sqlite3.SQLITE_BUSY || lite.Code()&0xff == sqlite3.SQLITE_LOCKED)
}

// crossed reports whether PostgreSQL ended a transaction or a statement because
// others held what it needed, for too long or while they waited for it. Nothing of
// it is left.
func crossed(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == lockTimeout || brokenOff(err))
}

// brokenOff is crossed without those that only waited for too long.
func brokenOff(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == "40P01" || pg.Code == "40001") // a deadlock, what cannot be one after the other
}

const lockTimeout = "55P03"

// lostStatement is the server's answer to a statement that it was to know.
const lostStatement = "26000"

// stale reports whether the server refuses a statement over what has changed
// since it was prepared: by a migration, or a day that was dropped.
func stale(pg *pgconn.PgError) bool { return pg.Code == "0A000" || pg.Code == "42P01" }

// classify marks err as Unavailable if it is the database of driver that is gone,
// or others that hold what was needed, and as Invalid if it was asked for what no
// text can be, not for a statement that is wrong. Every pool does so with its
// errors.
func classify(driver string, err error) error {
	if err == nil || webhook.KindOf(err) != webhook.KindInternal {
		return err
	}
	if notText(err) {
		return &webhook.Error{Kind: webhook.KindInvalid, Message: "what was asked for must be text in UTF-8, without NUL", Err: err}
	}
	if crossed(err) {
		return &webhook.Error{Kind: webhook.KindUnavailable, Message: "others hold what this needs just now: try again", RetryAfter: time.Second, Err: err}
	}
	if !errors.Is(err, errRow) && !errors.Is(err, ErrPanic) && gone(driver, err) {
		return Unavailable(err)
	}
	return err
}

// Unavailable tells the caller to come back; the cause goes to the log.
func Unavailable(err error) error {
	return &webhook.Error{Kind: webhook.KindUnavailable, Message: "the ledger cannot be reached", RetryAfter: time.Second, Err: err}
}

// gone reports whether err says that the database is away rather than that a
// statement or a row is wrong.
func gone(driver string, err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		// connection exceptions, too many connections, an administrator's
		// shutdown, a server that starts up, a disk that is full, a server
		// that has become a standby, a statement that took too long
		return ended(pg) || pg.Code == "25006" || pg.Code == "57014" || strings.HasPrefix(pg.Code, "08") || strings.HasPrefix(pg.Code, "53") || strings.HasPrefix(pg.Code, "57P")
	}
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		switch lite.Code() & 0xff {
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
			return true
		}
		return false
	}
	if strings.HasSuffix(err.Error(), "sql: database is closed") { // an error without a name
		return true
	}
	// On PostgreSQL all that is no answer of the server is a broken
	// connection, in whatever words.
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, sql.ErrConnDone) || driver == postgresDriver && !errors.Is(err, sql.ErrNoRows)
}

// ErrPanic marks a mistake of ours in what a caller handed over: the database
// is there.
var ErrPanic = errors.New("panic")

// notText reports whether err refuses bytes that are not UTF-8, or NUL, which
// PostgreSQL takes in no text.
func notText(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "22021"
}

// IsUnique reports whether err is a violated unique or primary key.
func IsUnique(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == "23505"
	}
	var lite *sqlite.Error
	return errors.As(err, &lite) && (lite.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || lite.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
}

// How many connections each group of a process has at most, 25 in all; see
// docs/operations.md.
const (
	pathConnections     = 6 // two writers, and what keeps deliveries on their way
	readConnections     = 4 // the internal API and what runs in the background
	pagesConnections    = 6
	doorConnections     = 2
	partnersConnections = 6
	replicaConnections  = 6 // to another server, for what pages and lists read

	connectTimeout = 5 * time.Second
)
