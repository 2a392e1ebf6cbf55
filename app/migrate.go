package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"ledgerhook/config"
	"ledgerhook/ledger"
	"ledgerhook/ledger/database"
)

// MigrationStatus is one step of the ledger's schema.
type MigrationStatus struct {
	Version   int64
	Name      string    // empty: a newer program's
	AppliedAt time.Time // zero: pending
}

// Migrate brings the ledger's database up and says in one line what it did.
func Migrate(ctx context.Context, cfg config.Config, log *slog.Logger) (string, error) {
	applied, err := ledger.Migrate(ctx, databaseOptions(cfg, log))
	if err != nil {
		return "", err
	}
	if applied == 0 {
		return "the database is up to date", nil
	}
	return fmt.Sprintf("%d schema steps applied, the database is up to date", applied), nil
}

// MigrateStatus lists the steps of the schema and when each was applied.
func MigrateStatus(ctx context.Context, cfg config.Config) ([]MigrationStatus, error) {
	steps, err := database.Migrations(ctx, databaseOptions(cfg, slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, err
	}
	statuses := make([]MigrationStatus, len(steps))
	for i, s := range steps {
		statuses[i] = MigrationStatus(s)
	}
	return statuses, nil
}
