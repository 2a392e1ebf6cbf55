package ledgertest

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// schema is a PostgreSQL schema of a test's own.
type schema struct {
	name     string
	database string // that holds only this; empty: the server's, which holds many
	server   string // where databases are made
	address  string

	sessions *sessions
}

func newName() string { return "t" + strings.ToLower(rand.Text()) }

// locate tells where a schema is, which need not be there yet.
func locate(t testing.TB, name, database string) schema {
	t.Helper()
	server := os.Getenv("LEDGERHOOK_TEST_DATABASE_URL")
	if server == "" {
		t.Fatal("LEDGERHOOK_TEST_DATABASE_URL names no PostgreSQL: run the tests with \"make test\" or \".ci/with-servers go test …\"")
	}
	address, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	s := schema{name: name, database: database, server: server, sessions: &sessions{address: address.Host}}
	if database != "" {
		address.Path = "/" + database
	}
	query := address.Query()
	query.Set("search_path", s.name)
	query.Set("application_name", s.user())
	address.RawQuery = query.Encode()
	s.address = address.String()
	return s
}

// user is what its sessions are called.
func (s schema) user() string { return cmp.Or(s.database, s.name) }

// createSchema makes an empty schema in the server's database.
func createSchema(t testing.TB) schema {
	t.Helper()
	s := locate(t, newName(), "")
	if err := s.run("CREATE SCHEMA " + s.name); err != nil {
		t.Fatal(err)
	}
	return s
}

// createDatabase makes a database that is a copy of another, for the schema
// name, which need not be there yet.
func createDatabase(t testing.TB, name, of string) schema {
	t.Helper()
	s := locate(t, name, newName())
	statement := "CREATE DATABASE " + s.database + " TEMPLATE " + of
	db, done, err := s.connections()
	if err != nil {
		t.Fatal(err)
	}
	var version int
	if err := errors.Join(db.QueryRowContext(t.Context(), "SELECT current_setting('server_version_num')::INT").Scan(&version), done()); err != nil {
		t.Fatal(err)
	}
	if version >= 150_000 {
		statement += " STRATEGY file_copy" // the only one before, and a quarter of the other's CPU
	}
	if err := s.run(statement); err != nil {
		t.Fatal(err)
	}
	return s
}

// copied makes a copy of a schema that has a database of its own, to which
// nobody is connected.
func (s schema) copied(t testing.TB) schema {
	t.Helper()
	return createDatabase(t, s.name, s.database)
}

// empty deletes all rows but the record of migrations, without looking at
// foreign keys, from the few of its many tables that have any.
func (s schema) empty() error {
	return s.inside(s.endSessions() + `
		DO $$ DECLARE t REGCLASS; BEGIN
			PERFORM set_config('session_replication_role', 'replica', true);
			FOR t IN SELECT c.oid FROM pg_class c WHERE c.relnamespace = '` + s.name + `'::regnamespace
				AND c.relkind = 'r' AND c.relname <> 'ledgerhook_migrations' AND pg_relation_size(c.oid) > 0
			LOOP EXECUTE 'DELETE FROM ' || t; END LOOP; END $$`)
}

// fewerDays drops the partitions of the days after tomorrow: each costs every
// session and every plan something, and rows have a place without them.
func (s schema) fewerDays() error {
	return s.inside(`DO $$ DECLARE t REGCLASS; BEGIN
			FOR t IN SELECT c.oid FROM pg_class c WHERE c.relnamespace = '` + s.name + `'::regnamespace AND c.relkind = 'r' AND c.relispartition
				AND substring(c.relname FROM '_(\d{8})$') > to_char(clock_timestamp() AT TIME ZONE 'UTC' + INTERVAL '1 day', 'YYYYMMDD')
			LOOP EXECUTE 'DROP TABLE ' || t; END LOOP; END $$`)
}

func (s schema) drop() error {
	if s.database != "" {
		return errors.Join(s.sessions.close(), s.run("DROP DATABASE "+s.database+" WITH (FORCE)"))
	}
	return errors.Join(s.sessions.close(), s.run(s.endSessions()+"DROP SCHEMA "+s.name+" CASCADE"))
}

// endSessions is a statement that ends what a process that was killed began.
func (s schema) endSessions() string {
	return "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = '" + s.user() +
		"' AND pid <> pg_backend_pid() AND pid NOT IN (" + s.sessions.pids() + ");"
}

// inside executes statements in the schema's own database.
func (s schema) inside(statements string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	config, err := pgx.ParseConfig(s.address)
	if err != nil {
		return err
	}
	config.DialFunc = s.sessions.dial(config.DialFunc)
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statements)
	return errors.Join(err, conn.Close(ctx))
}

// run executes statements at the server, while tests are lent schemas always on
// the same few connections.
func (s schema) run(statements string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
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
