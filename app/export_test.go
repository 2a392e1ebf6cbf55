package app

import ledgerincidents "ledgerhook/ledger/incidents"

// Incidents is what the process keeps of incidents.
func (a *App) Incidents() *ledgerincidents.Store { return a.incidents }
