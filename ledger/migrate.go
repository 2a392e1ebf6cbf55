package ledger

import (
	"context"
	"fmt"

	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
)

// Migrate brings the database up to this program's schema, see
// database.Migrate, and has every entry of the audit log in its chain.
func Migrate(ctx context.Context, o database.Options) (applied int, err error) {
	return database.Migrate(ctx, o, func(db *database.DB) error {
		if err := audit.ChainOldEntries(ctx, db); err != nil {
			return fmt.Errorf("put old audit entries into the chain: %w", err)
		}
		return nil
	})
}
