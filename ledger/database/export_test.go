package database

import (
	"context"
	"time"

	"github.com/pressly/goose/v3"
)

// Plans are those of a session that has just learned its first statement, at
// began: whether they are outdated then, and are made anew, and what learns one
// more.
func Plans(began time.Time) (outdated func(at time.Time) bool, learn func(query string, at time.Time)) {
	p := prepared{known: map[string]bool{}}
	p.learn("SELECT 1", began)
	return p.outdated, p.learn
}

// MigrateDown takes every step of the schema after version back; 0: all.
func MigrateDown(ctx context.Context, o Options, version int64) error {
	return withProvider(ctx, o, func(_ *DB, p *goose.Provider) error {
		_, err := p.DownTo(ctx, version)
		return err
	})
}

// Oldest is the newest step that did more than add.
const Oldest = oldest
