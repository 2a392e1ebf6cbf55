package database

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
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

// SigningKey is a key of the gateway, its private half sealed.
type SigningKey struct {
	ID        string
	Active    bool
	Sealed    []byte
	PublicPEM []byte
	CreatedAt time.Time
}

// SigningKeys lists the gateway's keys, newest first.
func (db *DB) SigningKeys(ctx context.Context) ([]SigningKey, error) {
	t := new(Statement).Add("SELECT id, active, private_key, public_key, created_at FROM signing_keys ORDER BY created_at DESC, id")
	return Collect(ctx, db.Read, t, func(k *SigningKey) []any {
		return []any{&k.ID, &k.Active, &k.Sealed, &k.PublicPEM, Time(&k.CreatedAt)}
	})
}

// AddSigningKey stores k as the active key unless there is one already.
func (db *DB) AddSigningKey(ctx context.Context, k SigningKey) error {
	_, err := db.Write.ExecContext(ctx, `INSERT INTO signing_keys (id, active, private_key, public_key, created_at)
		VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`, k.ID, true, k.Sealed, k.PublicPEM, Micros(k.CreatedAt))
	return err
}
