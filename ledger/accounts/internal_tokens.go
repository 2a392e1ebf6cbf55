package accounts

import (
	"context"
	"fmt"
	"time"

	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

const internalTokenColumns = "id, name, shown, hash, scopes, created_by, created_at, expires_at, last_used_at, revoked_at"

func internalTokenFields(t *partners.InternalToken) []any {
	return []any{&t.ID, &t.Name, &t.Shown, &t.Hash, database.List(&t.Scopes), &t.CreatedBy,
		database.Time(&t.CreatedAt), database.Time(&t.ExpiresAt), database.Time(&t.LastUsedAt), database.Time(&t.RevokedAt)}
}

// AddInternalToken stores a new token of the internal API. A name that was
// given before, and a token beyond partners.MaxInternalTokens, is a Conflict.
func (a *Accounts) AddInternalToken(ctx context.Context, t partners.InternalToken, by ...partners.AuditEntry) error {
	scopes := database.JoinList(t.Scopes)
	told := fmt.Sprintf("%s (%s) until %s", t.Name, scopes, t.ExpiresAt.UTC().Format(time.RFC3339))
	return audit.Do(ctx, a.db, audit.About(by, t.ID, told), func(tx database.Querier) error {
		var active int
		err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM internal_tokens WHERE revoked_at = 0 AND expires_at > $1", database.Micros(t.CreatedAt)).Scan(&active)
		if err != nil {
			return fmt.Errorf("count internal tokens: %w", err)
		}
		if active >= partners.MaxInternalTokens {
			return webhook.Conflict(fmt.Sprintf("there are %d active tokens: revoke one first", active))
		}
		n, err := new(database.Statement).Add("INSERT INTO internal_tokens ("+internalTokenColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, 0) ON CONFLICT (name) DO NOTHING",
			t.ID, t.Name, t.Shown, t.Hash, scopes, t.CreatedBy, database.Micros(t.CreatedAt), database.Micros(t.ExpiresAt)).Exec(ctx, tx)
		if err != nil {
			return fmt.Errorf("insert an internal token: %w", err)
		}
		if n == 0 {
			return webhook.Conflict("the name " + t.Name + " was given to a token before, and a name is given once: choose another one")
		}
		return nil
	})
}

// InternalTokens lists the tokens of the internal API, oldest first; those
// that are revoked or expired stay on the list.
func (a *Accounts) InternalTokens(ctx context.Context) ([]partners.InternalToken, error) {
	return database.Collect(ctx, a.db.Read, new(database.Statement).Add("SELECT "+internalTokenColumns+" FROM internal_tokens ORDER BY id"), internalTokenFields)
}

// ActiveInternalTokens lists those that open the internal API at now.
func (a *Accounts) ActiveInternalTokens(ctx context.Context, now time.Time) ([]partners.InternalToken, error) {
	return database.Collect(ctx, a.db.Read, new(database.Statement).Add("SELECT "+internalTokenColumns+
		" FROM internal_tokens WHERE revoked_at = 0 AND expires_at > ?", database.Micros(now)), internalTokenFields)
}

// RevokeInternalToken ends a token at now; one that was revoked before stays
// as it was. NotFound without such a token.
func (a *Accounts) RevokeInternalToken(ctx context.Context, id string, now time.Time, by ...partners.AuditEntry) (t partners.InternalToken, err error) {
	entries := audit.About(by, id, "")
	err = audit.Do(ctx, a.db, entries, func(tx database.Querier) error {
		err := tx.QueryRowContext(ctx, "UPDATE internal_tokens SET revoked_at = CASE revoked_at WHEN 0 THEN $2 ELSE revoked_at END WHERE id = $1 RETURNING "+internalTokenColumns,
			id, database.Micros(now)).Scan(internalTokenFields(&t)...)
		for i := range entries {
			entries[i].Detail = t.Name
		}
		return database.OrNone(err, webhook.NotFound("token", id))
	})
	return t, err
}

// NoteTokenUse remembers when a token was last used.
func (a *Accounts) NoteTokenUse(ctx context.Context, id string, at time.Time) error {
	_, err := a.db.Write.ExecContext(ctx, "UPDATE internal_tokens SET last_used_at = $2 WHERE id = $1 AND last_used_at < $2", id, database.Micros(at))
	return err
}
