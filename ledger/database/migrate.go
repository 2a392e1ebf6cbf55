package database

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations
var migrations embed.FS

// migrationsTable remembers which migrations a database has had.
const migrationsTable = "ledgerhook_migrations"

// Migration is one step of the schema.
type Migration struct {
	Version   int64
	Name      string    // empty: a newer program's
	AppliedAt time.Time // zero: pending
}

// Migrate brings the database up to this program's schema, does what is then
// left to do, and returns how many steps that took. It refuses a database that
// holds something else or that a newer program has migrated, and writes nothing
// then.
func Migrate(ctx context.Context, o Options, then func(*DB) error) (applied int, err error) {
	err = withProvider(ctx, o, func(db *DB, p *goose.Provider) error {
		if err := db.checkOurs(ctx); err != nil {
			return err
		}
		if err := db.checkNotNewer(ctx, p); err != nil {
			return err
		}
		results, err := p.Up(ctx)
		if err != nil {
			return fmt.Errorf("migrate %s: %w", db.place, err)
		}
		applied = len(results)
		if err := then(db); err != nil {
			return err
		}
		return db.EnsureDays(ctx)
	})
	return applied, err
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

// checkSchema returns a one-line error unless the schema is exactly this program's.
func (db *DB) checkSchema(ctx context.Context) error {
	p, err := db.provider(ctx)
	if err != nil {
		return err
	}
	if err := db.checkOurs(ctx); err != nil {
		return err
	}
	if err := db.checkNotNewer(ctx, p); err != nil {
		return err
	}
	have, err := db.migrated(ctx)
	if err != nil {
		return err
	}
	if want := len(p.ListSources()); len(have) < want {
		return fmt.Errorf("the database has %d of %d schema steps: run \"ledgerhook migrate\"", len(have), want)
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
				if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock_shared("+migrationLock+")"); err != nil {
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

func (db *DB) checkNotNewer(ctx context.Context, p *goose.Provider) error {
	have, err := db.migrated(ctx)
	if err != nil {
		return err
	}
	sources := p.ListSources()
	newest := sources[len(sources)-1].Version
	for version := range have {
		if version > newest {
			return fmt.Errorf("the database has schema version %d and this program knows %d: run the newer ledgerhook that migrated it", version, newest)
		}
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
