package database

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// Sealer encrypts under the master key; purpose binds a text to its place.
type Sealer interface {
	Seal(purpose string, plain []byte) []byte
	Open(purpose string, sealed []byte) ([]byte, error)
}

const masterKeyCheck = "master-key-check"

// masterKeyKnown is what the check value holds, sealed.
var masterKeyKnown = []byte("ledgerhook")

// ErrOtherMasterKey is what CheckMasterKey says of a wrong key.
var ErrOtherMasterKey = errors.New("the database was encrypted with another master key")

// KeepMasterKey is CheckMasterKey, and makes a new ledger remember the key.
func (db *DB) KeepMasterKey(ctx context.Context, s Sealer) error {
	_, err := db.Write.ExecContext(ctx, "INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT DO NOTHING",
		masterKeyCheck, s.Seal(masterKeyCheck, masterKeyKnown))
	if err != nil {
		return fmt.Errorf("store the master key's check value: %w", err)
	}
	_, err = db.CheckMasterKey(ctx, s)
	return err
}

// CheckMasterKey returns ErrOtherMasterKey if the ledger was encrypted under
// another key. kept is false for a new ledger, which any key fits.
func (db *DB) CheckMasterKey(ctx context.Context, s Sealer) (kept bool, err error) {
	var sealed []byte
	err = db.Read.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = $1", masterKeyCheck).Scan(&sealed)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the master key's check value: %w", err)
	}
	if plain, err := s.Open(masterKeyCheck, sealed); err != nil || !bytes.Equal(plain, masterKeyKnown) {
		return true, ErrOtherMasterKey
	}
	return true, nil
}

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
