package ledger_test

import (
	"database/sql"
	"errors"
	"testing"

	"ledgerhook/ledger"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
)

func TestMain(m *testing.M) { ledgertest.Main(m) }

// What a process that is killed leaves behind keeps nobody from its schema. No
// other test runs meanwhile.
func TestABorrowedSchemaIsGivenBackEmpty(t *testing.T) {
	var address string
	var server *sql.DB
	var left *sql.Conn
	t.Run("borrower", func(t *testing.T) {
		address = ledgertest.Borrowed(t)
		l, err := ledgertest.Open(t.Context(), database.Options{DatabaseURL: address}, ledger.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		b := &ledgertest.Bench{Process: l}
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 4)
		store(t, b, ledgertest.NewEvent("acme", "tp_1", "Pending"))
		if server, err = sql.Open("pgx", address); err != nil {
			t.Fatal(err)
		}
		if left, err = server.Conn(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, statement := range []string{"BEGIN", "UPDATE partners SET name = 'locked'", "LOCK TABLE deliveries"} {
			if _, err := left.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
	})
	if _, err := left.ExecContext(t.Context(), "UPDATE partners SET name = 'late'"); err == nil {
		t.Error("a session outlives its test")
	}
	_ = errors.Join(left.Close(), server.Close())
	b := &ledgertest.Bench{At: database.Options{DatabaseURL: address}}
	b.Raw = ledgertest.OpenRaw(t, b.At)
	for _, table := range []string{"partners", "endpoints", "windows", "events", "deliveries", "rollups", "idempotency_keys"} {
		same(t, table, b.Count(t, "SELECT COUNT(*) FROM "+table), 0)
	}
	if b.Count(t, "SELECT COUNT(*) FROM ledgerhook_migrations") == 0 {
		t.Error("the record of migrations is gone, too")
	}
}
