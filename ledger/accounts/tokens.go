package accounts

import (
	"context"
	"fmt"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/partners"
)

const familyColumns = `id, partner_code, email, expires_at, revoked_at, current, current_until, previous, rotated_at, sealed_pair`

func familyFields(f *partners.Family) []any {
	return []any{&f.ID, &f.User.PartnerCode, &f.User.Email, database.Time(&f.ExpiresAt), database.Time(&f.RevokedAt), &f.Current,
		database.Time(&f.CurrentUntil), &f.Previous, database.Time(&f.RotatedAt), &f.SealedPair}
}

// AddFamily implements partners.TokenStore.
func (a *Accounts) AddFamily(ctx context.Context, f partners.Family, first partners.Issued) error {
	return a.db.InTx(ctx, func(tx database.Querier) error {
		err := database.Run(ctx, tx, "insert a token family", "INSERT INTO token_families ("+familyColumns+", ends_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
			f.ID, f.User.PartnerCode, f.User.Email, database.Micros(f.ExpiresAt), database.Micros(f.RevokedAt), f.Current, database.Micros(f.CurrentUntil),
			database.Bytes(f.Previous), database.Micros(f.RotatedAt), database.Bytes(f.SealedPair), database.Micros(f.EndsAt()))
		if err != nil {
			return err
		}
		return insertTokens(ctx, tx, f.ID, first)
	})
}

func insertTokens(ctx context.Context, tx database.Querier, family string, t partners.Issued) error {
	err := database.Run(ctx, tx, "insert a refresh token", "INSERT INTO refresh_tokens (hash, family_id) VALUES ($1, $2)", t.Refresh, family)
	if err != nil {
		return err
	}
	return database.Run(ctx, tx, "insert an access token", "INSERT INTO access_tokens (hash, family_id, expires_at) VALUES ($1, $2, $3)",
		t.Access, family, database.Micros(t.AccessExpires))
}

// AlterFamily implements partners.TokenStore.
func (a *Accounts) AlterFamily(ctx context.Context, refresh []byte, change func(*partners.Family) (*partners.Issued, error)) (found bool, err error) {
	err = a.db.InTx(ctx, func(tx database.Querier) error {
		var f partners.Family
		err := tx.QueryRowContext(ctx, "SELECT "+familyColumns+` FROM token_families
			WHERE id = (SELECT family_id FROM refresh_tokens WHERE hash = $1)`+a.db.ForUpdate, refresh).Scan(familyFields(&f)...)
		if found, err = database.Found(err); err != nil {
			return fmt.Errorf("lock a token family: %w", err)
		}
		if !found {
			return nil
		}
		issued, err := change(&f)
		if err != nil {
			return err
		}
		err = database.Run(ctx, tx, "update a token family", `UPDATE token_families SET revoked_at = $2, current = $3, current_until = $4, previous = $5,
			rotated_at = $6, sealed_pair = $7, ends_at = $8 WHERE id = $1`, f.ID, database.Micros(f.RevokedAt), f.Current, database.Micros(f.CurrentUntil),
			database.Bytes(f.Previous), database.Micros(f.RotatedAt), database.Bytes(f.SealedPair), database.Micros(f.EndsAt()))
		if err != nil || issued == nil {
			return err
		}
		return insertTokens(ctx, tx, f.ID, *issued)
	})
	return found, err
}

// AccessToken implements partners.TokenStore.
func (a *Accounts) AccessToken(ctx context.Context, access []byte) (t partners.AccessToken, found bool, err error) {
	err = a.db.Read.QueryRowContext(ctx, `SELECT f.partner_code, f.email, a.expires_at, f.revoked_at
		FROM access_tokens a JOIN token_families f ON f.id = a.family_id WHERE a.hash = $1`, access).
		Scan(&t.User.PartnerCode, &t.User.Email, database.Time(&t.ExpiresAt), database.Time(&t.RevokedAt))
	found, err = database.Found(err)
	return t, found, err
}

// unverifiedLife is how long failures and locks of an e-mail that was never
// verified are remembered after its last request.
const unverifiedLife = 30 * 24 * time.Hour

// SweepTokens deletes what has ended at now, a few rows at a time: tokens and
// families, sealed pairs past their grace, expired codes, e-mails that were
// never verified, letters of the development mailbox, sessions, invitations.
func (a *Accounts) SweepTokens(ctx context.Context, now time.Time) error {
	for _, step := range []struct {
		what, query string
		before      time.Time
	}{
		{"sealed pairs", `UPDATE token_families SET sealed_pair = '' WHERE rotated_at < $1 AND length(sealed_pair) > 0 AND id IN
			(SELECT id FROM token_families WHERE rotated_at < $1 AND length(sealed_pair) > 0 LIMIT $2)`, now.Add(-partners.RefreshGrace)},
		{"access tokens", `DELETE FROM access_tokens WHERE hash IN
			(SELECT hash FROM access_tokens WHERE expires_at < $1 LIMIT $2)`, now},
		{"refresh tokens", `DELETE FROM refresh_tokens WHERE hash IN (SELECT r.hash FROM refresh_tokens r
			JOIN token_families f ON f.id = r.family_id WHERE f.ends_at < $1 LIMIT $2)`, now},
		{"token families", `DELETE FROM token_families WHERE id IN (SELECT f.id FROM token_families f WHERE f.ends_at < $1
			AND NOT EXISTS (SELECT 1 FROM refresh_tokens r WHERE r.family_id = f.id)
			AND NOT EXISTS (SELECT 1 FROM access_tokens a WHERE a.family_id = f.id) LIMIT $2)`, now},
		{"codes", `UPDATE users SET code_salt = '', code_digest = '', code_expires_at = 0
			WHERE code_expires_at > 0 AND code_expires_at < $1 AND (partner_code, email) IN
			(SELECT partner_code, email FROM users WHERE code_expires_at > 0 AND code_expires_at < $1 LIMIT $2)`, now},
		{"unverified e-mails", `DELETE FROM users WHERE verified_at = 0 AND updated_at < $1 AND (partner_code, email) IN
			(SELECT partner_code, email FROM users WHERE verified_at = 0 AND updated_at < $1 LIMIT $2)`, now.Add(-unverifiedLife)},
	} {
		if err := a.db.InSteps(ctx, step.query, database.Micros(step.before), nil); err != nil {
			return fmt.Errorf("delete old %s: %w", step.what, err)
		}
	}
	if err := a.sweepMailbox(ctx, now.Add(-partners.MailboxLife)); err != nil {
		return err
	}
	return a.sweepPeople(ctx, now)
}
