// Package reports reads the ledger for pages and lists: what was sent, what
// became of it, which receivers fail and for how long. It changes nothing.
package reports

import "ledgerhook/ledger/database"

// Reports are read from one database. They are safe for concurrent use.
type Reports struct{ db *database.DB }

// New are the reports of what db holds.
func New(db *database.DB) *Reports { return &Reports{db} }
