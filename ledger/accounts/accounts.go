// Package accounts keeps the accounts of everybody who deals with the gateway:
// partners with their keys, settings and webhook secrets, the people who may sign
// in, with their sessions and invitations, and partners' users with their tokens
// and codes.
package accounts

import "ledgerhook/ledger/database"

// Accounts are the partners and people that a database knows. It is safe for concurrent use.
type Accounts struct{ db *database.DB }

// New are the accounts that db holds.
func New(db *database.DB) *Accounts { return &Accounts{db} }

// atDoor is a for what anybody can ask for without having signed in.
func (a *Accounts) atDoor() *Accounts { return New(a.db.AtDoor()) }
