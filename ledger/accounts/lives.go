package accounts

import (
	"context"
	"fmt"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/partners"
)

// BoundLives brings ends back that lie further ahead of now than a life is
// long: what began by a clock that was ahead counts from now at most. Clocks
// that differ as much as they may shorten nothing. Orders are not among them:
// their end was told to the partner, and to who pays.
func (a *Accounts) BoundLives(ctx context.Context, now time.Time) error {
	end := func(life time.Duration) int64 { return database.Micros(now.Add(life)) }
	wrong := func(life time.Duration) int64 { return database.Micros(now.Add(life + database.MaxClockSkew)) }
	const family = partners.RefreshIdle + partners.AccessLife // Family.EndsAt
	for _, step := range []struct {
		what, query string
		args        []any
	}{
		{"access tokens", "UPDATE access_tokens SET expires_at = $1 WHERE expires_at > $2", []any{end(partners.AccessLife), wrong(partners.AccessLife)}},
		{"token families", `UPDATE token_families SET ends_at = $1, current_until = $2, expires_at = CASE WHEN expires_at > $3 THEN $3 ELSE expires_at END
			WHERE ends_at > $4`, []any{end(family), end(partners.RefreshIdle), end(partners.RefreshLife), wrong(family)}},
		{"used refresh tokens", "UPDATE token_families SET rotated_at = $1 WHERE rotated_at > $2 AND length(sealed_pair) > 0", []any{end(0), wrong(0)}},
		{"sessions", "UPDATE sessions SET expires_at = $1 WHERE expires_at > $2", []any{end(partners.SessionLife), wrong(partners.SessionLife)}},
		{"newest requests", "UPDATE sessions SET seen_at = $1 WHERE seen_at > $2", []any{end(0), wrong(0)}},
		{"invitations", "UPDATE invites SET expires_at = $1 WHERE expires_at > $2", []any{end(partners.InviteLife), wrong(partners.InviteLife)}},
		{"webhook secrets", "UPDATE secrets SET retires_at = $1 WHERE retires_at > $2", []any{end(partners.SecretOverlap), wrong(partners.SecretOverlap)}},
		{"failed sign-ins", "UPDATE login_failures SET last_at = $1 WHERE last_at > $2", []any{end(0), wrong(0)}},
	} {
		if err := database.Run(ctx, a.db.Write, "bound the lives of "+step.what, step.query, step.args...); err != nil {
			return err
		}
	}
	return a.boundOldKeys(ctx, now)
}

// boundOldKeys does the same for the public keys that partners have replaced.
func (a *Accounts) boundOldKeys(ctx context.Context, now time.Time) error {
	end := now.Add(partners.KeyOverlap)
	type change struct{ code, was, is any }
	var changes []change
	err := new(database.Statement).Add("SELECT code, old_keys FROM partners WHERE length(old_keys) > 0").Query(ctx, a.db.Read, func(row database.Row) error {
		var code string
		var stored []byte
		if err := row.Scan(&code, &stored); err != nil {
			return err
		}
		keys, err := rows.ReadOldKeys(stored)
		wrong := false
		for i := range keys {
			if keys[i].Until.After(end.Add(database.MaxClockSkew)) {
				keys[i].Until, wrong = end, true
			}
		}
		if wrong {
			changes = append(changes, change{code, stored, rows.WriteOldKeys(keys)})
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read the keys that were replaced: %w", err)
	}
	for _, c := range changes { // what changes meanwhile waits for the next sweep
		err := database.Run(ctx, a.db.Write, "bound the lives of replaced keys", "UPDATE partners SET old_keys = $3 WHERE code = $1 AND old_keys = $2", c.code, c.was, c.is)
		if err != nil {
			return err
		}
	}
	return nil
}
