package accounts

import (
	"context"
	"time"

	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	"ledgerhook/partners"
)

// RotateSigningKey stores next, which signs from next.ActivatesAt on. The key
// that signs until then is published until retires. It is a Conflict while a
// key waits at now to become active.
func (a *Accounts) RotateSigningKey(ctx context.Context, next partners.SigningKey, now, retires time.Time, by ...partners.AuditEntry) error {
	detail := "signs from " + next.ActivatesAt.UTC().Format(time.RFC3339)
	return audit.Do(ctx, a.db, audit.About(by, next.ID, detail), func(tx database.Querier) error {
		return a.db.FollowSigningKey(ctx, tx, next, now, retires)
	})
}
