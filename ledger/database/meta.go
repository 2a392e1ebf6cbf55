package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// SigningKeys lists the gateway's keys, newest first.
func (db *DB) SigningKeys(ctx context.Context) ([]partners.SigningKey, error) {
	t := new(Statement).Add("SELECT id, private_key, public_key, created_at, " + keyActivates + " AS since, retires_at FROM signing_keys ORDER BY since DESC, id")
	return Collect(ctx, db.Read, t, func(k *partners.SigningKey) []any {
		return []any{&k.ID, &k.Sealed, &k.PublicPEM, Time(&k.CreatedAt), Time(&k.ActivatesAt), Time(&k.RetiresAt)}
	})
}

// keyActivates is from when a key signs.
const keyActivates = "CASE WHEN activates_at = 0 THEN created_at ELSE activates_at END"

const insertSigningKey = `INSERT INTO signing_keys (id, active, private_key, public_key, created_at, activates_at)
	VALUES ($1, $2, $3, $4, $5, $6)`

func signingKeyValues(k partners.SigningKey, first bool) []any {
	return []any{k.ID, first, k.Sealed, k.PublicPEM, Micros(k.CreatedAt), Micros(k.ActivatesAt)}
}

// AddSigningKey stores k unless there is a key already.
func (db *DB) AddSigningKey(ctx context.Context, k partners.SigningKey) error {
	_, err := db.Write.ExecContext(ctx, insertSigningKey+" ON CONFLICT DO NOTHING", signingKeyValues(k, true)...)
	return err
}

// FollowSigningKey stores next, which signs from next.ActivatesAt on, in a
// transaction. The key that signs until then is published until retires. It is a
// Conflict while a key waits at now to become active.
func (db *DB) FollowSigningKey(ctx context.Context, tx Querier, next partners.SigningKey, now, retires time.Time) error {
	var newest partners.SigningKey
	err := tx.QueryRowContext(ctx, "SELECT id, "+keyActivates+" FROM signing_keys WHERE retires_at = 0"+db.ForUpdate).
		Scan(&newest.ID, Time(&newest.ActivatesAt))
	if errors.Is(err, sql.ErrNoRows) {
		return webhook.Conflict("another rotation has just been made: look at the list of keys")
	}
	if err != nil {
		return fmt.Errorf("find the newest signing key: %w", err)
	}
	if newest.ActivatesAt.After(now) {
		return webhook.Conflict(fmt.Sprintf("%s is to sign from %s on: rotate again after that", newest.ID, newest.ActivatesAt.UTC().Format(time.RFC3339)))
	}
	if _, err := tx.ExecContext(ctx, "UPDATE signing_keys SET retires_at = $2 WHERE id = $1", newest.ID, Micros(retires)); err != nil {
		return fmt.Errorf("plan the end of %s: %w", newest.ID, err)
	}
	if _, err := tx.ExecContext(ctx, insertSigningKey, signingKeyValues(next, false)...); err != nil {
		return fmt.Errorf("insert signing key %s: %w", next.ID, err)
	}
	return nil
}
