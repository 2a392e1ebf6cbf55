package database

import (
	"context"
	"errors"
	"fmt"
)

// Sealer encrypts under a master key; purpose binds a text to its place.
type Sealer interface {
	Seal(purpose string, plain []byte) []byte
	Open(purpose string, sealed []byte) ([]byte, error)
	// Follow makes the master key that has sealed a text the one that seals.
	Follow(purpose string, sealed []byte) error
}

// What the ledger says of its master key: a text that the key has sealed. While
// one key takes another's place there is the other's text, too.
const (
	masterKeyCheck   = "master-key-check"
	previousKeyCheck = "master-key-check/previous"
)

// masterKeyKnown is what the check values hold, sealed.
var masterKeyKnown = []byte("ledgerhook")

// What CheckMasterKey says of wrong keys.
var (
	ErrOtherMasterKey   = errors.New("the database was encrypted with another master key")
	ErrPreviousNotThere = errors.New("the database's master key is being changed, and the previous one is needed until that has ended")
)

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

// CheckMasterKey makes s seal with the key that the ledger says. It returns
// ErrOtherMasterKey if s does not know that one, and ErrPreviousNotThere if s
// knows only one of two that are needed. kept is false for a new ledger, which
// any key fits.
func (db *DB) CheckMasterKey(ctx context.Context, s Sealer) (kept bool, err error) {
	says, err := db.masterKeySays(ctx, db.Read)
	if err != nil || len(says.present) == 0 {
		return false, err
	}
	if s.Follow(masterKeyCheck, says.present) != nil {
		return true, ErrOtherMasterKey
	}
	if len(says.previous) == 0 {
		return true, nil
	}
	if _, err := s.Open(masterKeyCheck, says.previous); err != nil {
		return true, ErrPreviousNotThere
	}
	return true, nil
}

// masterKeySays is what the ledger says of its master key.
type masterKeySays struct {
	present, previous []byte // check values; empty: none
}

func (db *DB) masterKeySays(ctx context.Context, q Querier) (says masterKeySays, err error) {
	t := new(Statement).Add("SELECT key, value FROM meta WHERE key IN (?, ?)", masterKeyCheck, previousKeyCheck)
	err = t.Query(ctx, q, func(row Row) error {
		var key string
		var value []byte
		err := row.Scan(&key, &value)
		switch key {
		case masterKeyCheck:
			says.present = value
		case previousKeyCheck:
			says.previous = value
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("read the master key's check value: %w", err)
	}
	return says, err
}
