package database

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Ready reports whether the database accepts writes: a mark of
// this check is committed. The error says what is wrong, without a secret, and
// is Unavailable.
func (db *DB) Ready(ctx context.Context, mark string) error {
	_, err := db.Write.ExecContext(ctx, "INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
		"ready/"+mark, []byte(time.Now().UTC().Format(time.RFC3339)))
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return Unavailable(fmt.Errorf("write to the ledger at %s: %w", db.place, explain(err)))
}

// explain says of what an operator can mend what it comes from.
func explain(err error) error {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "25006" {
		return fmt.Errorf("PostgreSQL is read-only, a standby or with default_transaction_read_only on: %w", err)
	}
	return err
}
