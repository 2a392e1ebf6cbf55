package ledger

import (
	"context"

	"ledgerhook/delivery/maintenance"
)

// leadLease is the lease of the process that leads maintenance.
const leadLease = "keeper"

// Lead implements maintenance.Election. Like a heartbeat it waits for nobody
// else's connection; where another process leads it locks nothing.
func (l *Ledger) Lead(ctx context.Context, workerID string) (bool, error) {
	// Neither silent nor told of by a clock that was ahead.
	lives := " > " + l.db.Clock + " - $3 AND leases.seen_at <= " + l.db.Clock + " + $3"
	result, err := l.db.Lease.ExecContext(ctx, "INSERT INTO leases (name, holder, seen_at) SELECT $1, $2, "+l.db.Clock+
		" WHERE NOT EXISTS (SELECT 1 FROM leases WHERE leases.name = $1 AND leases.holder <> $2 AND leases.seen_at"+lives+")"+
		" ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, seen_at = excluded.seen_at"+
		" WHERE leases.holder = excluded.holder OR NOT (leases.seen_at"+lives+")",
		leadLease, workerID, maintenance.LeadTime.Microseconds())
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// Resign implements maintenance.Election.
func (l *Ledger) Resign(ctx context.Context, workerID string) error {
	_, err := l.db.Lease.ExecContext(ctx, "DELETE FROM leases WHERE name = $1 AND holder = $2", leadLease, workerID)
	return err
}

var _ maintenance.Election = (*Ledger)(nil)
