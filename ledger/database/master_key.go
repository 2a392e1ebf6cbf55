package database

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
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
	keyChangedAt     = "master-key-check/changed-at" // when that last found something to do, in microseconds
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
	says, err := db.masterKeySays(ctx, db.Read, "")
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
	changedAt         []byte
}

func (db *DB) masterKeySays(ctx context.Context, q Querier, forUpdate string) (says masterKeySays, err error) {
	t := new(Statement).Add("SELECT key, value FROM meta WHERE key IN (?, ?, ?)"+forUpdate, masterKeyCheck, previousKeyCheck, keyChangedAt)
	err = t.Query(ctx, q, func(row Row) error {
		var key string
		var value []byte
		err := row.Scan(&key, &value)
		switch key {
		case masterKeyCheck:
			says.present = value
		case previousKeyCheck:
			says.previous = value
		case keyChangedAt:
			says.changedAt = value
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("read the master key's check value: %w", err)
	}
	return says, err
}

// TurnMasterKey says in the ledger, in a transaction, that the key of s seals
// from now on, and remembers the one before. turned is false if it does already.
func (db *DB) TurnMasterKey(ctx context.Context, tx Querier, s Sealer) (turned bool, err error) {
	says, err := db.masterKeySays(ctx, tx, db.ForUpdate)
	if err != nil {
		return false, err
	}
	if _, err := s.Open(masterKeyCheck, says.present); err == nil {
		return false, nil
	}
	now, err := db.clockMicros(ctx, tx)
	if err != nil {
		return false, err
	}
	for _, row := range []struct {
		key   string
		value []byte
	}{{previousKeyCheck, says.present}, {masterKeyCheck, s.Seal(masterKeyCheck, masterKeyKnown)}, {keyChangedAt, now}} {
		_, err := tx.ExecContext(ctx, "INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value", row.key, row.value)
		if err != nil {
			return false, fmt.Errorf("turn the master key's check value: %w", err)
		}
	}
	return true, nil
}

// clockMicros is the time by the database's clock, as meta keeps it.
func (db *DB) clockMicros(ctx context.Context, q Querier) ([]byte, error) {
	var us int64
	if err := q.QueryRowContext(ctx, "SELECT "+db.Clock).Scan(&us); err != nil {
		return nil, fmt.Errorf("read the database's clock: %w", err)
	}
	return strconv.AppendInt(nil, us, 10), nil
}

// TouchMasterKeyChange notes that the change of the master key that is under way
// has found something to do.
func (db *DB) TouchMasterKeyChange(ctx context.Context) error {
	now, err := db.clockMicros(ctx, db.Write)
	if err != nil {
		return err
	}
	if _, err := db.Write.ExecContext(ctx, "UPDATE meta SET value = $1 WHERE key = $2", now, keyChangedAt); err != nil {
		return fmt.Errorf("note the change of the master key: %w", err)
	}
	return nil
}

// MasterKeyChange reports whether the master key is being changed, and for how
// long that has found nothing to do.
func (db *DB) MasterKeyChange(ctx context.Context) (quiet time.Duration, changing bool, err error) {
	says, err := db.masterKeySays(ctx, db.Read, "")
	if err != nil || len(says.previous) == 0 {
		return 0, false, err
	}
	now, err := db.clockMicros(ctx, db.Read)
	if err != nil {
		return 0, true, err
	}
	last, err := strconv.ParseInt(string(says.changedAt), 10, 64)
	if err != nil {
		return 0, true, fmt.Errorf("read when the master key was changed: %w", err)
	}
	us, err := strconv.ParseInt(string(now), 10, 64)
	return time.Duration(us-last) * time.Microsecond, true, err
}

// EndMasterKeyChange forgets the previous master key, in a transaction. ended is
// false if somebody else has done it.
func (db *DB) EndMasterKeyChange(ctx context.Context, tx Querier) (ended bool, err error) {
	result, err := tx.ExecContext(ctx, "DELETE FROM meta WHERE key IN ($1, $2)", previousKeyCheck, keyChangedAt)
	if err != nil {
		return false, fmt.Errorf("end the change of the master key: %w", err)
	}
	n, err := result.RowsAffected()
	return n > 0, err
}
