package ledger

import (
	"context"
	"database/sql"
	"time"
)

// WorkerLease is a worker process that is registered with the ledger.
type WorkerLease struct {
	ID        string // wrk_…
	Host      string // and its process id, after a slash
	StartedAt time.Time
	Silent    time.Duration // since it was last heard of
	Alive     bool          // it was heard of in the last 5 s, by the database's clock
}

// Workers lists the worker processes, the oldest first. A process that stopped
// in order is not among them; one that broke off is, and is not alive.
func (l *Ledger) Workers(ctx context.Context) (found []WorkerLease, err error) {
	err = new(text).add("SELECT id, host, started_at, "+l.clock+" - seen_at FROM workers ORDER BY started_at, id LIMIT 500").
		query(ctx, l.read, func(rows *sql.Rows) error {
			var w WorkerLease
			var silent int64
			err := rows.Scan(&w.ID, &w.Host, timeColumn{&w.StartedAt}, &silent)
			w.Silent = max(0, time.Duration(silent)*time.Microsecond)
			w.Alive = w.Silent < workerSilence
			found = append(found, w)
			return err
		})
	return found, l.broken(err)
}
