package ledger

import (
	"context"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/delivery/maintenance"
	"ledgerhook/ledger/database"
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

// Heartbeat says that a worker lives. The first one registers it. It waits for
// nobody else's connection.
func (l *Ledger) Heartbeat(ctx context.Context, workerID, host string) error {
	var theirs, ours time.Time
	err := l.db.Lease.InTx(ctx, func(tx database.Querier) error {
		now := time.Now()
		err := tx.QueryRowContext(ctx, "INSERT INTO workers (id, host, started_at, seen_at, clock_ahead) VALUES ($1, $2, "+l.db.Clock+", "+l.db.Clock+", $3 - "+l.db.Clock+
			") ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, clock_ahead = excluded.clock_ahead RETURNING seen_at", workerID, host, database.Micros(now)).
			Scan(database.Time(&theirs))
		ours = now
		if err == nil { // a dead one that was heard of by a clock that was ahead lives one lease longer, not until then
			_, err = tx.ExecContext(ctx, "UPDATE workers SET seen_at = "+l.db.Clock+" WHERE seen_at > "+l.db.Clock+" + $1", delivery.LeaseTime.Microseconds())
		}
		return err
	})
	if err == nil {
		l.db.Hear(theirs, ours)
	}
	return err
}

// Deregister ends a worker's lease at once.
func (l *Ledger) Deregister(ctx context.Context, workerID string) error {
	_, err := l.db.Write.ExecContext(ctx, "DELETE FROM workers WHERE id = $1", workerID)
	return err
}

// EndLeases declares every worker dead. An embedded ledger does so when it is
// opened: whoever worked on it before is gone.
func (l *Ledger) EndLeases(ctx context.Context) error {
	_, err := l.db.Write.ExecContext(ctx, "DELETE FROM workers")
	return err
}

// RecordCanary keeps what came of a worker's newest canary: how long it took and
// why it did not arrive, empty if it did. It does nothing for a worker without a
// lease.
func (l *Ledger) RecordCanary(ctx context.Context, workerID string, roundTrip time.Duration, failure string) error {
	_, err := l.db.Write.ExecContext(ctx, "UPDATE workers SET canary_at = "+l.db.Clock+", canary_us = $2, canary_error = $3 WHERE id = $1",
		workerID, roundTrip.Microseconds(), short(failure))
	return err
}

// deleteSilentWorkers forgets the workers that broke off more than a day ago
// and whose deliveries have all been given up.
func (l *Ledger) deleteSilentWorkers(ctx context.Context) error {
	_, err := l.db.Write.ExecContext(ctx, "DELETE FROM workers WHERE seen_at < "+l.db.Clock+` - $1
		AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.queued_at IS NOT NULL AND d.worker_id = workers.id AND d.state = 'sending')`,
		(24 * time.Hour).Microseconds())
	return err
}
