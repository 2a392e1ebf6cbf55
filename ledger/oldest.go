package ledger

import (
	"context"
	"time"
)

// OldestWaiting is when the oldest delivery of the scope was created that
// waits for its first or its next attempt; zero: none does.
func (l *Ledger) OldestWaiting(ctx context.Context, s Scope) (at time.Time, err error) {
	err = new(statement).add("SELECT created_at FROM deliveries WHERE due_at IS NOT NULL").within(s, "partner_code").
		add(" ORDER BY id LIMIT 1").query(ctx, l.db.read, func(rows row) error { return rows.Scan(timeColumn{&at}) })
	return at, err
}
