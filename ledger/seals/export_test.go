package seals

import (
	"slices"
	"time"

	"ledgerhook/ledger/database"
)

// Settling are the seals that db holds, whose changes end after so long a time
// without a find.
func Settling(db *database.DB, after time.Duration) *Seals { return &Seals{db, after} }

// Columns are the sealed columns, such as "secrets.sealed", sorted.
func Columns() (names []string) {
	for _, c := range columns {
		names = append(names, c.table+"."+c.sealed)
	}
	slices.Sort(names)
	return names
}

// SettleTime is how long a change waits for what is being written.
const SettleTime = settleTime
