package ledgertest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ledgerhook/ledger"
)

// pool lends ledgers that are migrated already. A migration of PostgreSQL
// makes some 150 tables and indexes, which takes longer than most tests.
var pool struct {
	sync.Mutex
	open    bool
	server  *sql.DB // to make, empty and drop schemas with; nil: not yet needed
	free    []schema
	all     []schema
	sqlite  []byte // a migrated database file
	failure []error
}

// Main runs a package's tests, see Lending.
func Main(m *testing.M) { os.Exit(Lending{m}.Run()) }

// Lending are a package's tests, which are lent migrated ledgers one after the
// other: what a test leaves behind is deleted before the next one's turn.
// Without it every test migrates a ledger of its own.
type Lending struct{ Tests *testing.M }

// Run runs the tests and returns their exit code.
func (l Lending) Run() int {
	pool.open = true
	code := l.Tests.Run()
	for _, s := range pool.all {
		pool.failure = append(pool.failure, s.drop())
	}
	if pool.server != nil {
		pool.failure = append(pool.failure, pool.server.Close())
	}
	if err := errors.Join(pool.failure...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	return code
}

// Borrowed returns the address of an empty, migrated schema of the test's own.
// When the test ends, whoever is still connected to it, such as the sessions of
// a process that was killed, is cut off, and it is emptied for the next test:
// so its tables must not be changed, for which there is Schema.
func Borrowed(t testing.TB) string {
	t.Helper()
	return borrowed(t).DatabaseURL
}

// borrowed is Borrowed for whoever opens ledgers in this process.
func borrowed(t testing.TB) ledger.DBOptions {
	t.Helper()
	if !pool.open {
		o := ledger.DBOptions{DatabaseURL: Schema(t)}
		migrate(t, o)
		return o
	}
	s := takeSchema(t)
	t.Cleanup(func() {
		if err := s.empty(); err != nil {
			t.Error(err)
			return
		}
		pool.Lock()
		defer pool.Unlock()
		pool.free = append(pool.free, s)
	})
	return ledger.DBOptions{DatabaseURL: s.address, Dial: s.sessions.dial}
}

// takeSchema takes a free schema or makes one, which takes too long to keep
// others from theirs.
func takeSchema(t testing.TB) schema {
	t.Helper()
	pool.Lock()
	if n := len(pool.free); n > 0 {
		defer pool.Unlock()
		s := pool.free[n-1]
		pool.free = pool.free[:n-1]
		return s
	}
	pool.Unlock()
	s := createSchema(t)
	pool.Lock()
	pool.all = append(pool.all, s)
	pool.Unlock()
	migrate(t, ledger.DBOptions{DatabaseURL: s.address})
	if err := s.fewerDays(); err != nil {
		t.Fatal(err)
	}
	return s
}

// borrow returns the options of an empty, migrated ledger until the test ends.
func borrow(t *testing.T, driver string) ledger.DBOptions {
	t.Helper()
	if driver == "sqlite" {
		return ledger.DBOptions{DataDir: copySQLite(t)}
	}
	return borrowed(t)
}

// copySQLite makes a data directory from the first one that was migrated.
func copySQLite(t *testing.T) string {
	t.Helper()
	pool.Lock()
	defer pool.Unlock()
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger.db")
	if pool.sqlite == nil {
		migrate(t, ledger.DBOptions{DataDir: dir})
		var err error
		if pool.sqlite, err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	if err := os.WriteFile(path, pool.sqlite, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func migrate(t testing.TB, o ledger.DBOptions) {
	t.Helper()
	if _, err := ledger.Migrate(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// schema is a PostgreSQL schema of a test's own.
type schema struct {
	name, server, address string

	sessions *sessions
}

func createSchema(t testing.TB) schema {
	t.Helper()
	server := os.Getenv("LEDGERHOOK_TEST_DATABASE_URL")
	if server == "" {
		t.Fatal("LEDGERHOOK_TEST_DATABASE_URL names no PostgreSQL: run the tests with \"make test\" or \".ci/with-servers go test …\"")
	}
	address, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	s := schema{name: "t" + strings.ToLower(rand.Text()), server: server, sessions: &sessions{address: address.Host}}
	query := address.Query()
	query.Set("search_path", s.name)
	query.Set("application_name", s.name) // whose sessions they are
	address.RawQuery = query.Encode()
	s.address = address.String()
	if err := s.run("CREATE SCHEMA " + s.name); err != nil {
		t.Fatal(err)
	}
	return s
}

// empty deletes all rows but the record of migrations, without looking at
// foreign keys, from the few of its many tables that have any.
func (s schema) empty() error {
	return s.run(s.endSessions() + `
		DO $$ DECLARE t REGCLASS; BEGIN
			PERFORM set_config('session_replication_role', 'replica', true);
			FOR t IN SELECT c.oid FROM pg_class c WHERE c.relnamespace = '` + s.name + `'::regnamespace
				AND c.relkind = 'r' AND c.relname <> 'ledgerhook_migrations' AND pg_relation_size(c.oid) > 0
			LOOP EXECUTE 'DELETE FROM ' || t; END LOOP; END $$`)
}

// fewerDays drops the partitions of the days after tomorrow: each costs every
// session and every plan something, and rows have a place without them.
func (s schema) fewerDays() error {
	return s.run(`DO $$ DECLARE t REGCLASS; BEGIN
			FOR t IN SELECT c.oid FROM pg_class c WHERE c.relnamespace = '` + s.name + `'::regnamespace AND c.relkind = 'r' AND c.relispartition
				AND substring(c.relname FROM '_(\d{8})$') > to_char(clock_timestamp() AT TIME ZONE 'UTC' + INTERVAL '1 day', 'YYYYMMDD')
			LOOP EXECUTE 'DROP TABLE ' || t; END LOOP; END $$`)
}

func (s schema) drop() error {
	return errors.Join(s.sessions.close(), s.run(s.endSessions()+"DROP SCHEMA "+s.name+" CASCADE"))
}

// endSessions is a statement that ends what a process that was killed began.
func (s schema) endSessions() string {
	return "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = '" + s.name + "' AND pid NOT IN (" + s.sessions.pids() + ");"
}

// run executes statements, while tests are lent schemas always on the same few
// connections.
func (s schema) run(statements string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	db, done, err := s.connections()
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statements)
	return errors.Join(err, done())
}

func (s schema) connections() (db *sql.DB, done func() error, err error) {
	if !pool.open {
		db, err = sql.Open("pgx", s.server)
		return db, func() error { return db.Close() }, err
	}
	pool.Lock()
	defer pool.Unlock()
	if pool.server == nil {
		pool.server, err = sql.Open("pgx", s.server)
	}
	return pool.server, func() error { return nil }, err
}
