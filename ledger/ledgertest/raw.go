package ledgertest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"ledgerhook/ledger/database"
)

// OpenRaw connects to a database without a ledger, until the test ends.
func OpenRaw(t *testing.T, o database.Options) *sql.DB {
	t.Helper()
	driver, address := "pgx", o.DatabaseURL
	if address == "" {
		driver, address = "sqlite", filepath.Join(o.DataDir, "ledger.db")
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// AsRole makes o's user one whose sessions begin with settings, as those of a
// database may.
func AsRole(t *testing.T, o *database.Options, settings ...string) {
	t.Helper()
	address, err := url.Parse(o.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	role, password := "r"+strings.ToLower(rand.Text()), rand.Text()
	statements := "CREATE ROLE " + role + " LOGIN SUPERUSER PASSWORD '" + password + "'"
	for _, setting := range settings {
		statements += "; ALTER ROLE " + role + " SET " + setting
	}
	server, err := sql.Open("pgx", o.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.ExecContext(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := server.ExecContext(context.Background(), "REASSIGN OWNED BY "+role+" TO CURRENT_USER; DROP OWNED BY "+role+"; DROP ROLE "+role); err != nil {
			t.Error(err)
		}
		_ = server.Close()
	})
	address.User = url.UserPassword(role, password)
	o.DatabaseURL = address.String()
}
