package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ledgerhook/config"
	"ledgerhook/ledger/database"
)

// errPostgres is what Backup and Restore say of a ledger that is not embedded.
var errPostgres = errors.New("LEDGERHOOK_DATABASE_URL is set: this ledger is in PostgreSQL, which has tools of its own, pg_dump and continuous archiving; docs/operations.md has the steps under \"Backup\"")

// Backup writes the embedded ledger of cfg to file, while a server goes on
// with it, and says in one line what is in it. A file that is there already is
// replaced only if replace is set.
func Backup(ctx context.Context, cfg config.Config, file string, replace bool) (string, error) {
	if cfg.DatabaseURL != "" {
		return "", errPostgres
	}
	made, err := database.Backup(ctx, cfg.DataDir, file, replace)
	if errors.Is(err, database.ErrExists) {
		return "", fmt.Errorf("%w; --force replaces it", err)
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s has the ledger (%s); the master key is not in it: keep that apart", file, contents(made)), nil
}

// Restore makes the backup in file the embedded ledger of cfg and says in
// lines what it did. The ledger that was there is kept aside. Nothing is
// replaced unless the backup is sound and the master key of cfg fits it.
func Restore(ctx context.Context, cfg config.Config, file string) ([]string, error) {
	if cfg.DatabaseURL != "" {
		return nil, errPostgres
	}
	key, err := findMasterKey(cfg)
	if err != nil {
		return nil, err
	}
	done, err := database.Restore(ctx, cfg.DataDir, file, func(db *database.DB) error {
		_, err := key.check(ctx, db)
		return err
	})
	if errors.Is(err, database.ErrInUse) {
		return nil, fmt.Errorf("%w; stop that process first", err)
	}
	if err != nil {
		return nil, err
	}
	lines := []string{fmt.Sprintf("%s has the ledger of the backup (%s)", cfg.DataDir, contents(done.Copied))}
	if done.Kept != "" {
		lines = append(lines, "the ledger that was there is kept as "+done.Kept)
	}
	if done.Behind > 0 {
		lines = append(lines, fmt.Sprintf("its schema lacks %d steps, which \"ledgerhook serve\" takes", done.Behind))
	}
	return lines, nil
}

func contents(c database.Copied) string {
	newest := "no events"
	if !c.Newest.IsZero() {
		newest = "newest event " + c.Newest.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("%.1f MB, %s", float64(c.Size)/1e6, newest)
}
