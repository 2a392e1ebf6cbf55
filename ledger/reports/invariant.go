package reports

import "context"

// Invariant is what must always be true of all deliveries but tests.
type Invariant struct {
	Created, Delivered, Exhausted, Cancelled int64
	Unfinished                               int64 // counted live
}

// Drift is by how much the ledger contradicts itself; it must be 0.
func (i Invariant) Drift() int64 {
	return i.Created - i.Delivered - i.Exhausted - i.Cancelled - i.Unfinished
}

// Invariant reads both sides in one statement, so of one moment.
func (l *Reports) Invariant(ctx context.Context) (i Invariant, err error) {
	err = l.db.Read.QueryRowContext(ctx, `SELECT
		COALESCE(SUM(CASE WHEN fact = 'created' THEN n END), 0), COALESCE(SUM(CASE WHEN fact = 'delivered' THEN n END), 0),
		COALESCE(SUM(CASE WHEN fact = 'exhausted' THEN n END), 0), COALESCE(SUM(CASE WHEN fact = 'cancelled' THEN n END), 0),
		(SELECT COUNT(*) FROM deliveries WHERE due_at >= 0 AND trigger <> 'test')
		+ (SELECT COUNT(*) FROM deliveries WHERE queued_at IS NOT NULL AND trigger <> 'test')
		FROM rollups_all WHERE fact IN ('created', 'delivered', 'exhausted', 'cancelled')`).
		Scan(&i.Created, &i.Delivered, &i.Exhausted, &i.Cancelled, &i.Unfinished)
	return i, err
}
