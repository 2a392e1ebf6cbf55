package database

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations
var migrations embed.FS

// migrationsTable remembers which migrations a database has had.
const migrationsTable = "ledgerhook_migrations"

// oldest is the oldest schema that programs have to know to live with the
// newest one: the newest step that did more than add. A test reads every later
// step. A step that cannot help it raises this to its own number; docs/operations.md
// says how that is upgraded, and the changelog has to name it.
const oldest = 29

// oldestKey is where a database says what oldest was for who migrated it.
const oldestKey = "schema/oldest"

// Migration is one step of the schema.
type Migration struct {
	Version   int64
	Name      string    // empty: a newer program's
	AppliedAt time.Time // zero: pending
}

// Migrate brings the database up to this program's schema, does what is then
// left to do, and returns how many steps that took: none if a newer program has
// migrated it to a schema that this one can live with. It refuses a database that
// holds something else or that a newer program has migrated further, and writes
// nothing then.
func Migrate(ctx context.Context, o Options, then func(*DB) error) (applied int, err error) {
	err = withProvider(ctx, o, func(db *DB, p *goose.Provider) error {
		if err := db.checkOurs(ctx); err != nil {
			return err
		}
		newer, err := db.checkNotTooNew(ctx, p)
		if err != nil || newer {
			return err
		}
		// Before the steps: from here on no program starts that cannot live with them.
		if err := db.raiseOldest(ctx); err != nil {
			return err
		}
		if applied, err = db.up(ctx, p); err != nil {
			return fmt.Errorf("migrate %s: %w", db.place, err)
		}
		if err := db.raiseOldest(ctx); err != nil { // the first step made the place for it
			return err
		}
		if err := db.yielding(ctx, func() error { return then(db) }); err != nil {
			return err
		}
		return db.yielding(ctx, func() error { return db.EnsureDays(ctx) })
	})
	return applied, err
}

// What a migration needs that others hold it is given up after stepLock, before
// PostgreSQL looks for deadlocks and long before others' patience ends, since they
// wait behind it; and tried again after a pause that grows up to stepPause, for
// some five minutes.
const (
	stepLock  = "900ms"
	stepPause = 2 * time.Second
	stepTries = 120
)

// up takes the steps that the database has not had and returns how many.
func (db *DB) up(ctx context.Context, p *goose.Provider) (applied int, err error) {
	err = db.yielding(ctx, func() error {
		results, err := p.Up(ctx)
		if partial, ok := errors.AsType[*goose.PartialError](err); ok {
			results = partial.Applied
		}
		applied += len(results)
		return err
	})
	return applied, err
}

// yielding runs do, nothing of which is left if it fails, and again if that was
// because others hold what it needs, or it and they waited for each other.
func (db *DB) yielding(ctx context.Context, do func() error) error {
	pause := 50 * time.Millisecond
	for try := 1; ; try++ {
		err := do()
		if err == nil || !crossed(err) {
			return err
		}
		if try == stepTries {
			return fmt.Errorf("%w: others hold what this needs: look for long transactions in pg_stat_activity, such as pg_dump's, and run it again after them", err)
		}
		db.Log.Info("the migration lets others go first and tries again", "try", try, "error", err)
		select {
		case <-time.After(pause):
			pause = min(2*pause, stepPause)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Migrations lists the steps of the schema and when the database had each. It
// changes nothing: an embedded database that is not there yet is not made, and
// one that a server holds is only read.
func Migrations(ctx context.Context, o Options) (steps []Migration, err error) {
	if o.DatabaseURL == "" {
		return sqliteSteps(ctx, filepath.Join(o.DataDir, ledgerFile))
	}
	err = withProvider(ctx, o, func(db *DB, _ *goose.Provider) error {
		steps, err = db.steps(ctx)
		return err
	})
	return steps, err
}

func sqliteSteps(ctx context.Context, path string) (steps []Migration, err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return pendingSteps("migrations/" + sqliteDriver)
	}
	db, err := openFile(path, "ro")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	of := &DB{dialect: dialect{driver: sqliteDriver, place: path}, Read: Pool{DB: db, driver: sqliteDriver}}
	return of.steps(ctx)
}

// steps are this program's, with the time at which the database had each, and
// behind them those of a newer program that the database had.
func (db *DB) steps(ctx context.Context) ([]Migration, error) {
	known, err := db.migrated(ctx)
	if err != nil {
		return nil, err
	}
	steps, err := pendingSteps("migrations/" + db.driver)
	for i, step := range steps {
		steps[i].AppliedAt = known[step.Version]
		delete(known, step.Version)
	}
	for _, version := range slices.Sorted(maps.Keys(known)) {
		steps = append(steps, Migration{Version: version, AppliedAt: known[version]})
	}
	return steps, err
}

// pendingSteps are those of a database that had none.
func pendingSteps(dir string) (steps []Migration, err error) {
	files, err := migrations.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		version, err := goose.NumericComponent(f.Name())
		if err != nil {
			return nil, err
		}
		steps = append(steps, Migration{Version: version, Name: f.Name()})
	}
	return steps, nil
}

func withProvider(ctx context.Context, o Options, do func(*DB, *goose.Provider) error) (err error) {
	o.unlimited = true
	db, err := connect(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	p, err := db.provider(ctx)
	if err != nil {
		return err
	}
	return do(db, p)
}

// migrationLock is the advisory lock of who migrates: one per schema, since
// those of a database have nothing to do with each other.
const migrationLock = "hashtextextended('ledgerhook migrations ' || COALESCE(current_schema(), ''), 0)"

func (db *DB) provider(ctx context.Context) (*goose.Provider, error) {
	dir, err := fs.Sub(migrations, "migrations/"+db.driver)
	if err != nil {
		return nil, err
	}
	options := []goose.ProviderOption{
		goose.WithTableName(migrationsTable), goose.WithDisableGlobalRegistry(true), goose.WithSlog(db.Log),
	}
	name := goose.DialectSQLite3
	if db.driver == postgresDriver {
		name = goose.DialectPostgres
		var id int64
		if err := db.Read.QueryRowContext(ctx, "SELECT "+migrationLock).Scan(&id); err != nil {
			return nil, err
		}
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockID(id), lock.WithLockTimeout(1, 300)) // asks every second, not every five
		if err != nil {
			return nil, err
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	return goose.NewProvider(name, db.Write.DB, dir, options...)
}

// checkSchema returns a one-line error unless the schema is this program's, or a
// newer one that it can live with.
func (db *DB) checkSchema(ctx context.Context) error {
	p, err := db.provider(ctx)
	if err != nil {
		return err
	}
	if err := db.checkOurs(ctx); err != nil {
		return err
	}
	if _, err := db.checkNotTooNew(ctx, p); err != nil {
		return err
	}
	have, err := db.migrated(ctx)
	if err != nil {
		return err
	}
	known := 0
	for _, step := range p.ListSources() {
		if !have[step.Version].IsZero() {
			known++
		}
	}
	if want := len(p.ListSources()); known < want {
		return fmt.Errorf("the database has %d of %d schema steps: run \"ledgerhook migrate\"", known, want)
	}
	return nil
}

// Blank reports whether the database holds nothing, or nothing but an empty
// record of migrations, which a migration makes before it takes its lock. While
// another process migrates the database, Blank waits for the end of that.
func Blank(ctx context.Context, o Options) (blank bool, err error) {
	err = withProvider(ctx, o, func(db *DB, _ *goose.Provider) error {
		return db.InTx(ctx, func(tx Querier) error {
			if db.driver == postgresDriver { // a migration holds this lock, but not the shared one
				if _, err := tx.ExecContext(ctx, "SET LOCAL lock_timeout = 0; SELECT pg_advisory_xact_lock_shared("+migrationLock+")"); err != nil {
					return err
				}
			}
			tables, err := db.Tables(ctx)
			delete(tables, migrationsTable) // never alone once a step was taken
			blank = len(tables) == 0
			return err
		})
	})
	return blank, err
}

// checkNotTooNew reports whether a newer program has migrated the database, and
// refuses it if this one cannot live with that.
func (db *DB) checkNotTooNew(ctx context.Context, p *goose.Provider) (newer bool, err error) {
	have, err := db.migrated(ctx)
	if err != nil || len(have) == 0 {
		return false, err
	}
	sources := p.ListSources()
	mine, newest := sources[len(sources)-1].Version, slices.Max(slices.Collect(maps.Keys(have)))
	if newest <= mine {
		return false, nil
	}
	needed, err := db.oldest(ctx)
	if err != nil {
		return true, err
	}
	if needed == 0 { // a program that did not know yet how to say so
		needed = newest
	}
	if mine < needed {
		return true, fmt.Errorf("the database has schema version %d and needs a program that knows %d, and this one knows %d: run the newer ledgerhook that migrated it", newest, needed, mine)
	}
	return true, nil
}

// oldest is the oldest schema that a program has to know for this database; 0:
// it does not say.
func (db *DB) oldest(ctx context.Context) (version int64, err error) {
	var text []byte
	err = db.Read.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = $1", oldestKey).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err == nil {
		version, err = strconv.ParseInt(string(text), 10, 64)
	}
	if err != nil {
		return 0, fmt.Errorf("read which programs the schema needs: %w", err)
	}
	return version, nil
}

// raiseOldest says in the database which programs can live with it, once there
// is a place for that. It never takes back what a newer program said.
func (db *DB) raiseOldest(ctx context.Context) error {
	tables, err := db.Tables(ctx)
	if err != nil || !tables["meta"] {
		return err
	}
	_, err = db.Write.ExecContext(ctx, "INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE meta.value < excluded.value",
		oldestKey, fmt.Appendf(nil, "%05d", oldest)) // as long as each other, so that bytes compare as numbers
	if err != nil {
		return fmt.Errorf("say which programs the schema needs: %w", err)
	}
	return nil
}

// checkOurs refuses a database that holds tables but not our record of migrations.
func (db *DB) checkOurs(ctx context.Context) error {
	tables, err := db.Tables(ctx)
	if err != nil || len(tables) == 0 || tables[migrationsTable] {
		return err
	}
	return fmt.Errorf("the database %s holds tables that are not Ledgerhook's: give it an empty one", db.place)
}

// Tables are those of the schema.
func (db *DB) Tables(ctx context.Context) (map[string]bool, error) {
	query := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
	if db.driver == postgresDriver {
		query = "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p')"
	}
	tables := map[string]bool{}
	err := new(Statement).Add(query).Query(ctx, db.Read, func(rows Row) error {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		tables[name] = true
		return nil
	})
	return tables, err
}

// migrated returns the versions that the database has had.
func (db *DB) migrated(ctx context.Context) (map[int64]time.Time, error) {
	tables, err := db.Tables(ctx)
	if err != nil || !tables[migrationsTable] {
		return nil, err
	}
	versions := map[int64]time.Time{}
	err = new(Statement).Add("SELECT version_id, tstamp FROM "+migrationsTable+" WHERE version_id > 0").Query(ctx, db.Read, func(rows Row) error {
		var version int64
		var at time.Time
		if err := rows.Scan(&version, &at); err != nil {
			return err
		}
		versions[version] = at
		return nil
	})
	return versions, err
}
