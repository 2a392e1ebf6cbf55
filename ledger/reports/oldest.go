package reports

import (
	"context"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/partners"
)

// OldestWaiting is when the oldest delivery of the scope was created that
// waits for its first or its next attempt; zero: none does.
func (l *Reports) OldestWaiting(ctx context.Context, s partners.Scope) (at time.Time, err error) {
	err = new(database.Statement).Add("SELECT created_at FROM deliveries WHERE due_at IS NOT NULL").Within(s, "partner_code").
		Add(" ORDER BY id LIMIT 1").Query(ctx, l.db.Read, func(row database.Row) error { return row.Scan(database.Time(&at)) })
	return at, err
}
