package database_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3"

	"ledgerhook/ledger"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// schemaOf describes tables and indexes in words that both databases share.
func schemaOf(t *testing.T, b *ledgertest.Bench) (described []string) {
	t.Helper()
	columns := `SELECT m.name || ' ' || c.name || ' ' || substr(c.type, 1, 7) || ' ' || CASE WHEN c."notnull" OR c.pk > 0 THEN 'set' ELSE 'null' END || ' key ' || c.pk
		FROM sqlite_master m JOIN pragma_table_xinfo(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'`
	indexes := `SELECT 'index ' || name || ' of ' || tbl_name FROM sqlite_master WHERE type = 'index' AND name NOT LIKE 'sqlite_%'`
	if !b.DB.Embedded() {
		columns = `SELECT c.relname || ' ' || a.attname || ' ' || format_type(a.atttypid, NULL) || ' ' || CASE WHEN a.attnotnull THEN 'set' ELSE 'null' END ||
			' key ' || COALESCE(array_position(i.indkey::int2[], a.attnum) + 1, 0)
			FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
			LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
			WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition`
		indexes = `SELECT 'index ' || x.relname || ' of ' || c.relname FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_class c ON c.oid = i.indrelid
			WHERE c.relnamespace = current_schema()::regnamespace AND NOT c.relispartition AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = i.indexrelid)`
	}
	types := strings.NewReplacer(" bigint ", " INTEGER ", " integer ", " INTEGER ", " smallint ", " INTEGER ", " BIGINT ", " INTEGER ",
		" text ", " TEXT ", " bytea ", " BLOB ", " boolean ", " BOOLEAN ")
	for _, query := range []string{columns, indexes} {
		list, err := b.Raw.QueryContext(t.Context(), query+" ORDER BY 1")
		if err != nil {
			t.Fatal(err)
		}
		for list.Next() {
			var line string
			if err := list.Scan(&line); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(line, "ledgerhook_migrations") { // goose's own
				described = append(described, types.Replace(line))
			}
		}
		if err := errors.Join(list.Err(), list.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return described
}

func TestBothDatabasesHaveTheSameSchema(t *testing.T) {
	var steps [2][]string
	var schemas [2]map[string]bool
	for i, driver := range ledgertest.Drivers {
		b := ledgertest.New(t, driver)
		var found []database.Migration
		closed(t, b, func() {
			var err error
			if found, err = database.Migrations(t.Context(), b.At); err != nil || len(found) == 0 {
				t.Fatalf("steps %v (%v)", found, err)
			}
		})
		for _, m := range found {
			if m.AppliedAt.IsZero() {
				t.Errorf("%s on %s is pending", m.Name, driver)
			}
			steps[i] = append(steps[i], fmt.Sprint(m.Version, " ", m.Name))
		}
		schemas[i] = map[string]bool{}
		for _, line := range schemaOf(t, b) {
			schemas[i][line] = true
		}
	}
	if diff := cmp.Diff(steps[0], steps[1]); diff != "" {
		t.Errorf("steps (-%s +%s):\n%s", ledgertest.Drivers[0], ledgertest.Drivers[1], diff)
	}
	if diff := cmp.Diff(schemas[0], schemas[1]); diff != "" {
		t.Errorf("schema (-%s +%s):\n%s", ledgertest.Drivers[0], ledgertest.Drivers[1], diff)
	}
}

// closed runs do while the ledger is closed: SQLite is alone on its folder.
func closed(t *testing.T, b *ledgertest.Bench, do func()) {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	do()
	b.Reopen(t)
}

func TestTheSchemaGoesUpAndDownAndUpAgain(t *testing.T) {
	for _, driver := range ledgertest.Drivers {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			o := ledgertest.Options(t, driver)
			wantBlank := func(want bool) {
				t.Helper()
				blank, err := database.Blank(t.Context(), o)
				same(t, "blank", []any{blank, err}, []any{want, error(nil)})
			}
			wantBlank(true)
			if _, err := ledgertest.Open(t.Context(), o, ledger.Options{}); err == nil || !strings.Contains(err.Error(), "ledgerhook migrate") {
				t.Errorf("a blank database is opened: %v", err)
			}
			up := func() (applied int) {
				t.Helper()
				applied, err := ledger.Migrate(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				return applied
			}
			steps, err := database.Migrations(t.Context(), o)
			if err != nil || !steps[0].AppliedAt.IsZero() {
				t.Errorf("steps before the first %v (%v)", steps, err)
			}
			same(t, "steps applied", up(), len(steps))
			same(t, "steps applied again", up(), 0)
			wantBlank(false)
			if err := database.MigrateDown(t.Context(), o, 0); err != nil {
				t.Fatal(err)
			}
			wantBlank(true) // all but the record of migrations is gone
			if _, err := ledgertest.Open(t.Context(), o, ledger.Options{}); err == nil {
				t.Error("a database without schema is opened")
			}
			same(t, "steps applied after all were taken back", up(), len(steps))
			l, err := ledgertest.Open(t.Context(), o, ledger.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// An older program knew one old key, the newest.
func TestAnOldKeyOutlivesTheChangeOfItsTable(t *testing.T) {
	ledgertest.EachFresh(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Partner(t, "globex")
		until := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
		want := []partners.OldKey{{PEM: []byte("-----BEGIN PUBLIC KEY-----\nMII=\n"), Until: until}}
		if _, err := b.UpdatePartner(t.Context(), "acme", func(p *partners.Partner) error {
			p.OldKeys = append(want, partners.OldKey{PEM: []byte("older"), Until: until.Add(-time.Minute)})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		closed(t, b, func() {
			if err := database.MigrateDown(t.Context(), b.At, 12); err != nil {
				t.Fatal(err)
			}
			if _, err := ledger.Migrate(t.Context(), b.At); err != nil {
				t.Fatal(err)
			}
		})
		for code, want := range map[string][]partners.OldKey{"acme": want, "globex": nil} {
			p, err := b.Accounts.Partner(t.Context(), code)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, p.OldKeys); diff != "" {
				t.Errorf("old keys of %s (-want +got):\n%s", code, diff)
			}
		}
	})
}

func TestAForeignDatabaseIsRefusedAndLeftAlone(t *testing.T) {
	for _, driver := range ledgertest.Drivers {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			o := ledgertest.Options(t, driver)
			db := ledgertest.OpenRaw(t, o)
			if _, err := db.ExecContext(t.Context(), "CREATE TABLE invoices (id INTEGER)"); err != nil {
				t.Fatal(err)
			}
			if _, err := ledger.Migrate(t.Context(), o); err == nil || !strings.Contains(err.Error(), "not Ledgerhook's") {
				t.Errorf("a foreign database is migrated: %v", err)
			}
			if _, err := ledgertest.Open(t.Context(), o, ledger.Options{}); err == nil {
				t.Error("a foreign database is opened")
			}
			tables := "SELECT COUNT(*) FROM sqlite_master"
			if driver == "postgres" {
				tables = "SELECT COUNT(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace"
			}
			var n int
			if err := db.QueryRowContext(t.Context(), tables).Scan(&n); err != nil || n != 1 {
				t.Errorf("the foreign database holds %d tables (%v)", n, err)
			}
		})
	}
}

// It says so itself: what it did more than add, this program cannot live with.
func TestASchemaThatNeedsANewerProgramIsRefused(t *testing.T) {
	ledgertest.EachFresh(t, func(t *testing.T, b *ledgertest.Bench) {
		change(t, b, "INSERT INTO ledgerhook_migrations (version_id, is_applied) VALUES (99999, $1)", true)
		change(t, b, "UPDATE meta SET value = $1 WHERE key = 'schema/oldest'", []byte("99999"))
		closed(t, b, func() {
			steps, err := database.Migrations(t.Context(), b.At)
			if newest := steps[len(steps)-1]; err != nil || newest.Version != 99999 || newest.Name != "" || newest.AppliedAt.IsZero() {
				t.Errorf("the status of a newer schema ends with %+v, %v", newest, err)
			}
			if _, err := ledger.Migrate(t.Context(), b.At); err == nil || !strings.Contains(err.Error(), "99999") {
				t.Errorf("a newer schema is migrated: %v", err)
			}
			if _, err := ledgertest.Open(t.Context(), b.At, b.Options); err == nil || !strings.Contains(err.Error(), "newer") {
				t.Errorf("a newer schema is opened: %v", err)
			}
			change(t, b, "DELETE FROM ledgerhook_migrations WHERE version_id = 99999")
		})
	})
}

// While an upgrade goes on, processes of the old version live with the schema of
// the new one, and one that is restarted starts.
func TestASchemaThatANewerProgramHasOnlyAddedToIsLivedWith(t *testing.T) {
	ledgertest.EachFresh(t, func(t *testing.T, b *ledgertest.Bench) {
		change(t, b, "ALTER TABLE events ADD COLUMN of_tomorrow TEXT NOT NULL DEFAULT ''")
		change(t, b, "INSERT INTO ledgerhook_migrations (version_id, is_applied) VALUES (99999, $1)", true)
		b.Partner(t, "acme")
		closed(t, b, func() {
			if n, err := ledger.Migrate(t.Context(), b.At); err != nil || n != 0 {
				t.Errorf("%d steps, %v", n, err)
			}
		})
		b.Endpoint(t, "acme", 4)
		made, err := b.Append(t.Context(), ledgertest.NewEvent("acme", "tp_1", "Pending"))
		if err != nil || len(made.DeliveryIDs) != 1 {
			t.Errorf("%+v, %v", made, err)
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM ledgerhook_migrations WHERE version_id = 99999"); n != 1 {
			t.Error("the newer program's step is forgotten")
		}
		change(t, b, "DELETE FROM ledgerhook_migrations WHERE version_id = 99998 OR version_id = (SELECT MIN(version_id) FROM ledgerhook_migrations WHERE version_id > 0)")
		closed(t, b, func() {
			if _, err := ledgertest.Open(t.Context(), b.At, b.Options); err == nil || !strings.Contains(err.Error(), `run "ledgerhook migrate"`) {
				t.Errorf("a schema that lacks a step of this program's is opened: %v", err)
			}
			change(t, b, "INSERT INTO ledgerhook_migrations (version_id, is_applied) VALUES (1, $1)", true)
		})
	})
}

// An older program that migrates at the same time must not open the door again.
func TestAnOlderProgramNeverLowersWhatTheSchemaNeeds(t *testing.T) {
	ledgertest.EachFresh(t, func(t *testing.T, b *ledgertest.Bench) {
		change(t, b, "UPDATE meta SET value = $1 WHERE key = 'schema/oldest'", []byte("00099"))
		closed(t, b, func() {
			if _, err := ledger.Migrate(t.Context(), b.At); err != nil {
				t.Error(err)
			}
		})
		if n := b.Count(t, "SELECT COUNT(*) FROM meta WHERE key = 'schema/oldest' AND value = $1", []byte("00099")); n != 1 {
			t.Error("it is lowered")
		}
	})
}

// additive are the statements of steps that programs before them can live with.
// A column is there for all of a table's rows and writers, so that it has a
// default. Statistics are no rows: they change how something is found alone.
var additive = []*regexp.Regexp{
	regexp.MustCompile(`^CREATE TABLE \w+ \(`),
	regexp.MustCompile(`^CREATE INDEX \w+ ON `),
	regexp.MustCompile(`^ALTER TABLE \w+ ADD COLUMN \w+ \w+( COLLATE "C")?( NOT NULL DEFAULT [^,]+)?$`),
	regexp.MustCompile(`^ANALYZE \w+$|^(INSERT INTO|DELETE FROM) sqlite_stat1\b`),
}

// ownIndex is a unique index that leaves the default of a column out. One of a
// step's own column refuses nothing that an old program writes.
var ownIndex = regexp.MustCompile(`^CREATE UNIQUE INDEX \w+ ON (\w+) \((\w+)\) WHERE (\w+) <> ''$`)

// refused are the statements of a step that programs before it cannot live with.
func refused(step string) (refused []string) {
	up, _, _ := strings.Cut(step, "-- +goose Down")
	up = regexp.MustCompile(`(?m)--.*$`).ReplaceAllString(up, "")
	for _, statement := range strings.Split(up, ";") {
		statement = strings.Join(strings.Fields(statement), " ")
		if of := ownIndex.FindStringSubmatch(statement); of != nil && of[2] == of[3] && strings.Contains(up, "ALTER TABLE "+of[1]+" ADD COLUMN "+of[2]+" ") {
			continue
		}
		if statement != "" && !slices.ContainsFunc(additive, func(r *regexp.Regexp) bool { return r.MatchString(statement) }) {
			refused = append(refused, statement)
		}
	}
	return refused
}

func TestEveryStepSinceTheOldestOnlyAdds(t *testing.T) {
	t.Parallel()
	looked := 0
	for _, driver := range ledgertest.Drivers {
		files, err := filepath.Glob(filepath.Join("migrations", driver, "*.sql"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			version, err := goose.NumericComponent(filepath.Base(file))
			if err != nil {
				t.Fatal(err)
			}
			if version <= database.Oldest {
				continue
			}
			looked++
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, statement := range refused(string(text)) {
				t.Errorf("%s: programs that do not know it cannot live with %q: add only, or raise oldest", file, statement)
			}
		}
	}
	if looked == 0 {
		t.Error("no step was looked at")
	}
}

func TestAStepThatDoesMoreThanAddIsFound(t *testing.T) {
	t.Parallel()
	for statement, adds := range map[string]bool{
		"CREATE TABLE a (id TEXT PRIMARY KEY, b TEXT NOT NULL UNIQUE)":      true,
		"ALTER TABLE a ADD COLUMN b TEXT NOT NULL DEFAULT ''":               true,
		"ALTER TABLE a ADD COLUMN b BIGINT":                                 true,
		"ALTER TABLE a ADD COLUMN b TEXT COLLATE \"C\" NOT NULL DEFAULT ''": true,
		"CREATE INDEX a_b ON a (b) WHERE b <> ''":                           true,
		"ANALYZE a":                                      true,
		"DELETE FROM sqlite_stat1":                       true,
		"ALTER TABLE a ADD COLUMN b TEXT NOT NULL":       false,
		"ALTER TABLE a ADD COLUMN b TEXT UNIQUE":         false,
		"ALTER TABLE a ADD COLUMN b TEXT, DROP COLUMN c": false,
		"ALTER TABLE a DROP COLUMN b":                    false,
		"ALTER TABLE a RENAME COLUMN b TO c":             false,
		"ALTER TABLE a ALTER COLUMN b SET NOT NULL":      false,
		"ALTER TABLE a ADD CONSTRAINT c CHECK (b > 0)":   false,
		"CREATE UNIQUE INDEX a_b ON a (b)":               false,
		"DROP INDEX a_b":                                 false,
		"DROP TABLE a":                                   false,
		"UPDATE a SET b = 1":                             false,
		"DELETE FROM a":                                  false,
	} {
		if got := refused("-- +goose Up\n-- Why.\n" + statement + ";\n-- +goose Down\nDROP TABLE a;"); (len(got) == 0) != adds {
			t.Errorf("%s: refused %q", statement, got)
		}
	}
}

func TestADataDirectoryHasOneProcessAtATime(t *testing.T) {
	b := ledgertest.New(t, "sqlite")
	for range 2 {
		_, err := ledgertest.Open(t.Context(), b.At, b.Options)
		if !errors.Is(err, database.ErrInUse) || !strings.Contains(err.Error(), fmt.Sprintf("process %d:", os.Getpid())) {
			t.Errorf("a second holder: %v", err)
		}
		if _, err := ledger.Migrate(t.Context(), b.At); !errors.Is(err, database.ErrInUse) {
			t.Errorf("a migration beside it: %v", err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b.Reopen(t)
}

func TestADatabaseThatCannotBeReachedIsUnavailable(t *testing.T) {
	_, err := ledgertest.Open(t.Context(), database.Options{DatabaseURL: "postgres://nobody:hidden@127.0.0.1:1/none"}, ledger.Options{})
	wantKind(t, err, webhook.KindUnavailable)
	if err != nil && strings.Contains(err.Error(), "hidden") {
		t.Errorf("the error holds the password: %v", err)
	}
	_, err = ledgertest.Open(t.Context(), database.Options{DatabaseURL: "postgres://nobody:hidden@host:port/none"}, ledger.Options{})
	if err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("no address: %v", err)
	}
}

// Whoever starts while another process migrates a database that was blank
// finds the whole schema.
func TestNobodyMeetsAHalfMigratedDatabase(t *testing.T) {
	t.Parallel()
	o := ledgertest.Options(t, "postgres")
	raw := ledgertest.OpenRaw(t, o)
	var starting sync.WaitGroup
	start := func() {
		blank, err := database.Blank(t.Context(), o)
		if err == nil && blank {
			_, err = ledger.Migrate(t.Context(), o)
		}
		var l ledgertest.Process
		if err == nil {
			l, err = ledgertest.Open(t.Context(), o, ledger.Options{})
		}
		if err == nil {
			err = l.Close()
		}
		if err != nil {
			t.Error(err)
		}
	}
	starting.Go(start)
	for tables := 0; tables == 0; {
		if err := raw.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()").Scan(&tables); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		starting.Go(start)
	}
	starting.Wait()
}

// A migration that is held up holds up none of another schema, and waits for
// what it needs, however little the server lets others wait.
func TestAMigrationWaitsForNobodyInAnotherSchema(t *testing.T) {
	t.Parallel()
	held := ledgertest.Options(t, "postgres")
	tx, err := ledgertest.OpenRaw(t, held).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "CREATE TABLE partners ()"); err != nil {
		t.Fatal(err)
	}
	ledgertest.AsRole(t, &held, "lock_timeout = '1ms'")
	t.Cleanup(func() { _ = tx.Rollback() }) // if it fails, before the role goes
	migrated := make(chan error, 1)
	go func() {
		_, err := ledger.Migrate(t.Context(), held)
		migrated <- err
	}()
	for waits := false; !waits; {
		if err := tx.QueryRowContext(t.Context(), `SELECT EXISTS (SELECT 1 FROM pg_locks
			WHERE locktype = 'transactionid' AND NOT granted AND transactionid = pg_current_xact_id()::xid)`).Scan(&waits); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-migrated:
			t.Fatalf("a migration that must wait ends: %v", err)
		default:
		}
	}
	if _, err := ledger.Migrate(t.Context(), ledgertest.Options(t, "postgres")); err != nil {
		t.Error(err)
	}
	select {
	case err := <-migrated:
		t.Errorf("the one that was held up ended first: %v", err)
	default:
	}
	if err := errors.Join(tx.Rollback(), <-migrated); err != nil {
		t.Error(err)
	}
}

// A step that waits for a table gives those up that it has, so that nobody waits
// behind it for long, and takes them again when its turn has come.
func TestAMigrationLetsOthersGoFirst(t *testing.T) {
	t.Parallel()
	o := ledgertest.Options(t, "postgres")
	if _, err := ledger.Migrate(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	all, err := database.Migrations(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	later := slices.DeleteFunc(all, func(s database.Migration) bool { return s.Version <= 40 })
	if err := database.MigrateDown(t.Context(), o, 40); err != nil {
		t.Fatal(err)
	}
	raw := ledgertest.OpenRaw(t, o)
	tx, err := raw.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	// The next step alters quotes and then orders, which this one needs the other
	// way round; and it would wait without end.
	if _, err := tx.ExecContext(t.Context(), "SET LOCAL deadlock_timeout = '1h'; LOCK TABLE orders IN ROW EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() }) // if it fails, before the migration is waited for
	type outcome struct {
		applied int
		err     error
	}
	migrated := make(chan outcome, 1)
	go func() {
		applied, err := ledger.Migrate(t.Context(), o)
		migrated <- outcome{applied, err}
	}()
	for waits := false; !waits; {
		if err := raw.QueryRowContext(t.Context(), "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'orders'::regclass)").Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := raw.ExecContext(t.Context(), "UPDATE quotes SET id = id"); err != nil {
		t.Errorf("somebody else's: %v", err)
	}
	if _, err := tx.ExecContext(t.Context(), "UPDATE quotes SET id = id"); err != nil {
		t.Errorf("of who has orders: %v", err)
	}
	select {
	case got := <-migrated:
		t.Errorf("the migration ended while its tables were taken: %+v", got)
	default:
	}
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
	if got := <-migrated; got.applied != len(later) || got.err != nil {
		t.Errorf("%d steps were applied, want %d: %v", got.applied, len(later), got.err)
	}
}

// Two transactions that wait for each other's rows both come through.
func TestATransactionThatADeadlockEndsIsRunAgain(t *testing.T) {
	t.Parallel()
	b := ledgertest.New(t, "postgres")
	if _, err := b.Raw.ExecContext(t.Context(), "INSERT INTO meta (key, value) VALUES ('one', 'x'), ('other', 'x')"); err != nil {
		t.Fatal(err)
	}
	var have, both sync.WaitGroup
	var runs atomic.Int32
	have.Add(2)
	for _, keys := range [][]string{{"one", "other"}, {"other", "one"}} {
		first := true
		both.Go(func() {
			err := b.DB.InTx(t.Context(), func(tx database.Querier) error {
				runs.Add(1)
				if _, err := tx.ExecContext(t.Context(), "UPDATE meta SET value = 'y' WHERE key = $1", keys[0]); err != nil {
					return err
				}
				if first {
					first = false
					have.Done()
					have.Wait()
				}
				_, err := tx.ExecContext(t.Context(), "UPDATE meta SET value = 'y' WHERE key = $1", keys[1])
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if n := runs.Load(); n < 3 {
		t.Errorf("the two ran %d times in all, which is no deadlock", n)
	}
}

func TestNobodyElseReadsTheFilesOfAnEmbeddedLedger(t *testing.T) {
	t.Parallel()
	b := ledgertest.New(t, "sqlite")
	files, err := os.ReadDir(b.At.DataDir)
	if err != nil || len(files) < 3 { // the database, its log, the lock
		t.Fatalf("files %v (%v)", files, err)
	}
	for _, file := range files {
		if info, err := file.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v (%v)", file.Name(), info.Mode(), err)
		}
	}
}

func TestToListTheStepsMakesNoEmbeddedDatabase(t *testing.T) {
	o := ledgertest.Options(t, "sqlite")
	o.DataDir += "/not-there-yet"
	before, err := database.Migrations(t.Context(), o)
	if _, there := os.Stat(o.DataDir); !errors.Is(there, fs.ErrNotExist) || err != nil {
		t.Fatalf("%v, %v", there, err)
	}
	if _, err := ledger.Migrate(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	after, err := database.Migrations(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range after {
		if after[i].AppliedAt.IsZero() {
			t.Errorf("%s is not applied", after[i].Name)
		}
		after[i].AppliedAt = time.Time{}
	}
	same(t, "steps", before, after)
}

// The steps are listed beside a running server, too, which holds the data
// directory.
func TestTheStepsAreListedBesideAServer(t *testing.T) {
	t.Parallel()
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		steps, err := database.Migrations(t.Context(), b.At)
		if err != nil || len(steps) == 0 || steps[len(steps)-1].AppliedAt.IsZero() {
			t.Errorf("%+v, %v", steps, err)
		}
	})
}
