package audit

import (
	"context"
	"fmt"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/partners"
)

// versionKey is the row of meta that holds which version began to serve last.
const versionKey = "program/version"

// Serves says which version of the program has begun to serve. That it is another
// one than the one before is an entry; of the first one nothing is said, as
// nothing changed.
func (t *Trail) Serves(ctx context.Context, version string) error {
	return t.db.InTx(ctx, func(tx database.Querier) error {
		var before []byte
		err := database.OrNone(tx.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = $1"+t.db.ForUpdate, versionKey).Scan(&before), nil)
		if err != nil {
			return fmt.Errorf("look for the version that served before: %w", err)
		}
		if string(before) == version {
			return nil
		}
		err = database.Run(ctx, tx, "keep the version that serves", "INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
			versionKey, []byte(version))
		if err != nil || len(before) == 0 {
			return err
		}
		e := partners.AuditEntry{Actor: "ledgerhook", Action: "gateway.update", Detail: fmt.Sprintf("%s after %s", version, before)}
		return Append(ctx, tx, []partners.AuditEntry{e}, time.Now())
	})
}
