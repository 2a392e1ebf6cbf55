// Package prices keeps what a cryptocurrency costs: the rates that somebody has
// set, and the quotes that partners were given by them.
package prices

import (
	"context"
	"time"

	"ledgerhook/ledger/database"
)

// Prices are the rates and quotes of one database. They are safe for concurrent
// use.
type Prices struct{ db *database.DB }

// New are the prices that db holds.
func New(db *database.DB) *Prices { return &Prices{db} }

// BoundAges makes rates that were set later than now, by a clock that was ahead,
// as old as now. Clocks that differ as much as they may change nothing.
func (p *Prices) BoundAges(ctx context.Context, now time.Time) error {
	return database.Run(ctx, p.db.Write, "bound the ages of rates", "UPDATE rates SET updated_at = $1 WHERE updated_at > $2",
		database.Micros(now), database.Micros(now.Add(database.MaxClockSkew)))
}
