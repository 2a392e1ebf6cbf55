// Package seals finds everything in the ledger that is sealed under the master
// key, and seals it again under another.
package seals

import (
	"context"
	"fmt"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/database"
	"ledgerhook/partners"
)

// Box seals under one master key and opens what others have sealed, too.
type Box interface {
	database.Sealer
	// Names are what the keys are called, the one that seals first.
	Names() []string
	// Reseal returns a sealed text as the key that seals now seals it; nil: it
	// has sealed it itself.
	Reseal(purpose string, sealed []byte) ([]byte, error)
}

// column is one that holds sealed texts; an empty text is none.
type column struct {
	table, id, sealed string
	purpose           func(id string) string
}

// columns are all of them. What else the ledger keeps of the master key is the
// check value, which is turned by itself.
var columns = []column{
	{"signing_keys", "id", "private_key", func(id string) string { return partners.SigningKey{ID: id}.SealPurpose() }},
	{"partners", "code", "secret_key", func(id string) string { return partners.Partner{Code: id}.SealPurpose() }},
	{"secrets", "id", "sealed", func(id string) string { return partners.Secret{ID: id}.SealPurpose() }},
	{"endpoints", "id", "headers", delivery.HeadersPurpose},
	{"people", "id", "totp", func(id string) string { return partners.Person{ID: id}.SealPurpose() }},
	{"mailbox", "id", "sealed_code", func(id string) string { return partners.KeptLetter{ID: id}.SealPurpose() }},
	{"token_families", "id", "sealed_pair", func(id string) string { return partners.Family{ID: id}.SealPurpose() }},
}

// Seals are the sealed texts of a database. It is safe for concurrent use.
type Seals struct {
	db     *database.DB
	settle time.Duration
}

// New are the seals that db holds.
func New(db *database.DB) *Seals { return &Seals{db, settleTime} }

// text is one sealed text.
type text struct {
	id     string
	sealed []byte
}

// step is how many texts are read at once.
const step = 200

// each calls do for every sealed text of the ledger until it says stop.
func (s *Seals) each(ctx context.Context, do func(c column, t text) (stop bool, err error)) error {
	for _, c := range columns {
		for after, more := "", true; more; {
			t := new(database.Statement).Add("SELECT "+c.id+", "+c.sealed+" FROM "+c.table+" WHERE "+c.id+" > ? AND length("+c.sealed+") > 0 ORDER BY "+c.id+" LIMIT ?", after, step)
			found, err := database.Collect(ctx, s.db.Read, t, func(t *text) []any { return []any{&t.id, &t.sealed} })
			if err != nil {
				return fmt.Errorf("read sealed texts of %s: %w", c.table, err)
			}
			for _, each := range found {
				if stop, err := do(c, each); stop || err != nil {
					return err
				}
				after = each.id
			}
			more = len(found) == step
		}
	}
	return nil
}

// named is how many texts are named at most.
const named = 20

// name adds the table and the id of a text, which say nothing of what is in it.
func name(names []string, c column, t text) []string {
	if len(names) == named {
		return names
	}
	return append(names, c.table+" "+t.id)
}

// Look counts the texts that another key of box has sealed than the one that
// seals, and names those that no key opens, 20 at most. It changes nothing.
func (s *Seals) Look(ctx context.Context, box Box) (others int, unreadable []string, err error) {
	err = s.each(ctx, func(c column, t text) (bool, error) {
		again, err := box.Reseal(c.purpose(t.id), t.sealed)
		switch {
		case err != nil:
			unreadable = name(unreadable, c, t)
		case again != nil:
			others++
		}
		return false, nil
	})
	return others, unreadable, err
}

// reseal seals again what another key has sealed, until the time is over; whole
// says that it came to the end. Each text is a change by itself, which locks
// nothing beside its row, and is left alone if it was changed meanwhile.
func (s *Seals) reseal(ctx context.Context, box Box, until time.Time, r *partners.MasterKeyRotation) (whole bool, err error) {
	whole = true
	err = s.each(ctx, func(c column, t text) (stop bool, err error) {
		again, err := box.Reseal(c.purpose(t.id), t.sealed)
		if err != nil {
			r.Unreadable = name(r.Unreadable, c, t)
			return false, nil
		}
		if again == nil {
			return false, nil
		}
		result, err := s.db.Write.ExecContext(ctx, "UPDATE "+c.table+" SET "+c.sealed+" = $1 WHERE "+c.id+" = $2 AND "+c.sealed+" = $3", again, t.id, t.sealed)
		if err != nil {
			return true, fmt.Errorf("seal %s of %s again: %w", c.sealed, t.id, err)
		}
		n, err := result.RowsAffected()
		r.Resealed += int(n)
		whole = time.Now().Before(until)
		return !whole, err
	})
	return whole && err == nil, err
}
