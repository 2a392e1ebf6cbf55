package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ledgerFile is the embedded database in its data directory.
const ledgerFile = "ledger.db"

// ErrExists marks a file that was not to be replaced.
var ErrExists = errors.New("the file exists")

// Copied is what is in a backup.
type Copied struct {
	Size   int64     // bytes
	Newest time.Time // when its newest event was accepted; zero: it has none
	Behind int       // steps of the schema that it lacks
}

// Backup writes the embedded ledger of the data directory dir to the file to,
// as it is at one moment, while a server goes on with it. The file is there
// whole or not at all, for its owner alone; one that is there already is
// ErrExists unless replace is set.
func Backup(ctx context.Context, dir, to string, replace bool) (c Copied, err error) {
	if _, err := os.Stat(filepath.Join(dir, ledgerFile)); err != nil {
		return c, fmt.Errorf("there is no ledger to back up: %w", err)
	}
	if to, err = filepath.Abs(to); err != nil {
		return c, err
	}
	if sameFile(filepath.Dir(to), dir) {
		return c, fmt.Errorf("%s is in the data directory, and would be lost with it: name a file elsewhere", to)
	}
	switch info, err := os.Lstat(to); {
	case err == nil && info.IsDir():
		return c, fmt.Errorf("%s is a directory: name a file in it", to)
	case err == nil && !replace:
		return c, fmt.Errorf("%w: %s", ErrExists, to)
	}
	draft, err := os.CreateTemp(filepath.Dir(to), filepath.Base(to)+".*.new") // its mode is 0600
	if err != nil {
		return c, fmt.Errorf("write the backup: %w", err)
	}
	defer func() { err = errors.Join(err, draft.Close(), removeDatabase(draft.Name())) }()
	if err := vacuumInto(ctx, filepath.Join(dir, ledgerFile), draft.Name()); err != nil {
		return c, fmt.Errorf("write the backup: %w", err)
	}
	if c, err = inspect(ctx, draft.Name(), func(*DB) error { return nil }); err != nil {
		return c, err
	}
	return c, place(draft, to)
}

// vacuumInto copies the database at path into the empty file to. What other
// processes write meanwhile is not in it.
func vacuumInto(ctx context.Context, path, to string) (err error) {
	db, err := openFile(path, "ro")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", to)
	return err
}

// openFile opens a database file of whatever schema; mode is SQLite's.
func openFile(path, mode string) (*sql.DB, error) {
	file := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: "mode=" + mode + "&_pragma=busy_timeout(5000)"}
	return sql.Open("sqlite", file.String())
}

// inspect looks through the whole database file at path and returns a one-line
// error unless it is a ledger, sound, of a schema that this program knows, and
// passes check.
func inspect(ctx context.Context, path string, check func(*DB) error) (c Copied, err error) {
	file, err := openFile(path, "rw") // one in WAL mode is not to be read otherwise
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	db := &DB{dialect: dialect{driver: sqliteDriver, place: path}, Read: Pool{DB: file, driver: sqliteDriver}}
	var sound string
	err = db.Read.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&sound)
	switch {
	case ctx.Err() != nil:
		return c, ctx.Err()
	case err != nil:
		return c, fmt.Errorf("this is no database that can be read: %w", err)
	case sound != "ok":
		return c, fmt.Errorf("this database is damaged: %s", strings.ReplaceAll(sound, "\n", "; "))
	}
	if c.Behind, err = db.behind(ctx); err != nil {
		return c, err
	}
	if err := check(db); err != nil {
		return c, err
	}
	err = db.Read.QueryRowContext(ctx, "SELECT created_at FROM events ORDER BY id DESC LIMIT 1").Scan(Time(&c.Newest))
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return c, fmt.Errorf("read the newest event: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return c, err
	}
	c.Size = info.Size()
	return c, nil
}

// behind returns how many steps the schema of a ledger lacks, and a one-line
// error if it is none or a newer program's.
func (db *DB) behind(ctx context.Context) (steps int, err error) {
	tables, err := db.Tables(ctx)
	if err != nil {
		return 0, err
	}
	if !tables[migrationsTable] {
		return 0, errors.New("this database holds no ledger")
	}
	all, err := db.steps(ctx)
	if err != nil {
		return 0, err
	}
	for _, step := range all {
		if step.Name == "" {
			return 0, fmt.Errorf("this ledger has schema step %d, which this program does not know: use the newer ledgerhook that made it", step.Version)
		}
		if step.AppliedAt.IsZero() {
			steps++
		}
	}
	return steps, nil
}

// place moves the file draft to the path to once it is on the disk.
func place(draft *os.File, to string) error {
	if err := draft.Sync(); err != nil {
		return fmt.Errorf("write %s: %w", to, err)
	}
	if err := os.Rename(draft.Name(), to); err != nil {
		return err
	}
	return syncDir(filepath.Dir(to))
}

// syncDir puts on the disk which files dir has.
func syncDir(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

func sameFile(one, other string) bool {
	a, err := os.Stat(one)
	if err != nil {
		return false
	}
	b, err := os.Stat(other)
	return err == nil && os.SameFile(a, b)
}

// removeDatabase removes a database file that nobody has open, if it is there,
// with what SQLite may have left beside it.
func removeDatabase(path string) (err error) {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if gone := os.Remove(path + suffix); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// Restored is what a data directory holds after Restore.
type Restored struct {
	Copied
	Kept string // where the ledger that was there is now; empty: there was none
}

// Restore makes the backup in the file from the ledger of the data directory
// dir, and keeps the one that was there beside it. Before it replaces anything
// it looks through the whole backup and asks check, whether its master key is at
// hand for example. It returns ErrInUse while a process has the directory.
func Restore(ctx context.Context, dir, from string, check func(*DB) error) (r Restored, err error) {
	path := filepath.Join(dir, ledgerFile)
	if sameFile(from, path) {
		return r, fmt.Errorf("%s is the ledger itself, not a backup", from)
	}
	if info, err := os.Stat(from + "-wal"); err == nil && info.Size() > 0 {
		return r, fmt.Errorf("%s is not whole: part of it is in %s-wal; make the backup with \"ledgerhook backup\"", from, from)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return r, fmt.Errorf("make the data directory: %w", err)
	}
	unlock, err := lockDir(dir)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	draft, err := copyFile(from, path+".new")
	if err != nil {
		return r, fmt.Errorf("read the backup: %w", err)
	}
	defer func() { err = errors.Join(err, draft.Close(), removeDatabase(draft.Name())) }()
	if r.Copied, err = inspect(ctx, draft.Name(), check); err != nil {
		return r, fmt.Errorf("%s: %w", from, err)
	}
	if r.Kept, err = keepAside(ctx, path); err != nil {
		return r, fmt.Errorf("keep the ledger that is there: %w", err)
	}
	return r, place(draft, path)
}

// copyFile makes a copy for its owner alone, in place of one that was left.
func copyFile(from, to string) (made *os.File, err error) {
	source, err := os.Open(from)
	if err != nil {
		return nil, err
	}
	defer func() { _ = source.Close() }()
	if err := removeDatabase(to); err != nil {
		return nil, err
	}
	if made, err = os.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return nil, err
	}
	if _, err := io.Copy(made, source); err != nil {
		return nil, errors.Join(err, made.Close(), os.Remove(to))
	}
	return made, nil
}

// keepAside gives the database file at path a second name, so that another may
// take its place at one stroke, and returns that name; empty if there is none.
// What SQLite has beside it is taken into it first, or else, if it does not
// open, put aside too: it must not meet the file's successor.
func keepAside(ctx context.Context, path string) (kept string, err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	settled := settle(ctx, path)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	kept = path + ".before-restore-" + time.Now().UTC().Format("20060102T150405Z")
	if err := os.Link(path, kept); err != nil {
		return "", err
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		err := os.Rename(path+suffix, kept+suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", errors.Join(err, settled)
		}
	}
	return kept, nil
}

// settle takes into the database file at path what is beside it.
func settle(ctx context.Context, path string) (err error) {
	db, err := openFile(path, "rw")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}
