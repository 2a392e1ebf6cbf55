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
	if err := errors.Join(pool.failure...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	return code
}

// borrow returns the options of an empty, migrated ledger until the test ends.
func borrow(t *testing.T, driver string) ledger.Options {
	t.Helper()
	if driver == "sqlite" {
		return ledger.Options{DataDir: copySQLite(t)}
	}
	pool.Lock()
	defer pool.Unlock()
	var s schema
	if n := len(pool.free); n > 0 {
		s, pool.free = pool.free[n-1], pool.free[:n-1]
	} else {
		s = createSchema(t)
		pool.all = append(pool.all, s)
		migrate(t, ledger.Options{DatabaseURL: s.address})
	}
	t.Cleanup(func() {
		if err := s.empty(); err != nil {
			t.Error(err)
			return
		}
		pool.Lock()
		defer pool.Unlock()
		pool.free = append(pool.free, s)
	})
	return ledger.Options{DatabaseURL: s.address}
}

// copySQLite makes a data directory from the first one that was migrated.
func copySQLite(t *testing.T) string {
	t.Helper()
	pool.Lock()
	defer pool.Unlock()
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger.db")
	if pool.sqlite == nil {
		migrate(t, ledger.Options{DataDir: dir})
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

func migrate(t *testing.T, o ledger.Options) {
	t.Helper()
	if _, err := ledger.Migrate(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// schema is a PostgreSQL schema of a test's own.
type schema struct{ name, server, address string }

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
	s := schema{name: "t" + strings.ToLower(rand.Text()), server: server}
	query := address.Query()
	query.Set("search_path", s.name)
	address.RawQuery = query.Encode()
	s.address = address.String()
	if err := s.run("CREATE SCHEMA " + s.name); err != nil {
		t.Fatal(err)
	}
	return s
}

// empty deletes all rows but the record of migrations.
func (s schema) empty() error {
	return s.run(`SET session_replication_role = replica; -- which looks at no foreign keys
		DO $$ DECLARE t TEXT; BEGIN
			FOR t IN SELECT c.relname FROM pg_class c WHERE c.relnamespace = '` + s.name + `'::regnamespace
				AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> 'ledgerhook_migrations'
			LOOP EXECUTE format('DELETE FROM ` + s.name + `.%I', t); END LOOP; END $$`)
}

func (s schema) drop() error { return s.run("DROP SCHEMA " + s.name + " CASCADE") }

// run executes statements on a connection of their own.
func (s schema) run(statements string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	db, err := sql.Open("pgx", s.server)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statements)
	return errors.Join(err, db.Close())
}
