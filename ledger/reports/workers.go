package reports

import (
	"context"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/database"
)

// WorkerLease is a worker process that is registered with the ledger.
type WorkerLease struct {
	ID        string // wrk_…
	Host      string // and its process id, after a slash
	StartedAt time.Time
	Silent    time.Duration // since it was last heard of
	Alive     bool          // it was heard of in the last 5 s, by the database's clock
	Ahead     time.Duration // how far its clock is ahead of the database's
	Canary    Canary        // its newest one
}

// Canary is what came of a notification that a worker sent to itself.
type Canary struct {
	At        time.Time     // by the database's clock; zero: there was none yet
	Age       time.Duration // since At
	RoundTrip time.Duration // from composing it to its verified answer
	Failure   string        // why it did not arrive; empty: it did
}

// Workers lists the worker processes, the oldest first. A process that stopped
// in order is not among them; one that broke off is, and is not alive.
func (l *Reports) Workers(ctx context.Context) (found []WorkerLease, err error) {
	err = new(database.Statement).Add("SELECT id, host, started_at, "+l.db.Clock+" - seen_at, clock_ahead, canary_at, "+l.db.Clock+" - canary_at, canary_us, canary_error FROM workers ORDER BY started_at, id LIMIT 500").
		Query(ctx, l.db.Read.ByPrimary(), func(row database.Row) error {
			var w WorkerLease
			err := row.Scan(&w.ID, &w.Host, database.Time(&w.StartedAt), database.Duration(&w.Silent), database.Duration(&w.Ahead),
				database.Time(&w.Canary.At), database.Duration(&w.Canary.Age), database.Duration(&w.Canary.RoundTrip), &w.Canary.Failure)
			w.Silent, w.Canary.Age = max(0, w.Silent), max(0, w.Canary.Age)
			w.Alive = w.Silent < delivery.LeaseTime
			found = append(found, w)
			return err
		})
	return found, err
}
