package ledgertest

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"ledgerhook/ledger"
	"ledgerhook/ledger/database"
)

// pool lends ledgers that are migrated already. A migration of PostgreSQL
// makes some 150 tables and indexes, which takes longer than most tests, so
// there is one, and the others are copies of its database.
var pool struct {
	sync.Mutex
	open    bool
	server  *sql.DB // to make and drop databases with; nil: not yet needed
	free    []schema
	all     []schema
	sqlite  []byte // a migrated database file
	failure []error

	whole   template // as a migration leaves it
	fewDays template // of what is lent
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
func borrowed(t testing.TB) database.Options {
	t.Helper()
	if !pool.open {
		o := database.Options{DatabaseURL: Schema(t)}
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
	return database.Options{DatabaseURL: s.address, Dial: s.sessions.dial}
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
	few := pool.fewDays.get(t, func() schema {
		s := migrated(t)
		if err := s.fewerDays(); err != nil {
			t.Fatal(err)
		}
		return s
	})
	s := few.copied(t)
	pool.Lock()
	defer pool.Unlock()
	pool.all = append(pool.all, s)
	return s
}

// template is a schema that others are copies of, made when the first is needed.
type template struct {
	sync.Mutex
	made *schema
}

func (m *template) get(t testing.TB, make func() schema) schema {
	t.Helper()
	m.Lock()
	defer m.Unlock()
	if m.made == nil {
		s := make()
		pool.Lock()
		pool.all = append(pool.all, s)
		pool.Unlock()
		if err := errors.Join(s.sessions.close(), s.run(s.endSessions())); err != nil { // a connection keeps it from being copied
			t.Fatal(err)
		}
		m.made = &s
	}
	return *m.made
}

// migrated returns a schema as a migration leaves it, in a database of its own.
func migrated(t testing.TB) schema {
	t.Helper()
	whole := pool.whole.get(t, func() schema {
		s := blank(t)
		migrate(t, database.Options{DatabaseURL: s.address})
		return s
	})
	return whole.copied(t)
}

// blank returns an empty schema in a database of its own.
func blank(t testing.TB) schema {
	t.Helper()
	s := createDatabase(t, newName(), "template1")
	if err := s.inside("CREATE SCHEMA " + s.name); err != nil {
		t.Fatal(err)
	}
	return s
}

// fresh returns the options of an empty ledger that no other test had before.
func fresh(t *testing.T, driver string) database.Options {
	t.Helper()
	if driver == "sqlite" && pool.open {
		return database.Options{DataDir: copySQLite(t)}
	}
	if pool.open {
		s := migrated(t)
		t.Cleanup(func() {
			if err := s.drop(); err != nil {
				t.Error(err)
			}
		})
		return database.Options{DatabaseURL: s.address}
	}
	o := Options(t, driver)
	migrate(t, o)
	return o
}

// borrow returns the options of an empty, migrated ledger until the test ends.
func borrow(t *testing.T, driver string) database.Options {
	t.Helper()
	if driver == "sqlite" {
		return database.Options{DataDir: copySQLite(t)}
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
		migrate(t, database.Options{DataDir: dir})
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

func migrate(t testing.TB, o database.Options) {
	t.Helper()
	if _, err := ledger.Migrate(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}
