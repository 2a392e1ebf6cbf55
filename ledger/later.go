package ledger

import (
	"context"

	"ledgerhook/ledger/database"
)

// later runs a statement whose outcome nothing in the batch depends on, at the
// latest with the commit.
func (b *batch) later(ctx context.Context, t *database.Statement) error { return t.Later(ctx, b.tx) }

// laterChanges is later for a statement that must change n rows.
func (b *batch) laterChanges(ctx context.Context, t *database.Statement, n int) error {
	return t.LaterChanges(ctx, b.tx, n)
}

// laterRead calls scan for every row that t finds, at the latest at the next
// readNow.
func (b *batch) laterRead(ctx context.Context, t *database.Statement, scan func(database.Row) error) error {
	return t.LaterRead(ctx, b.tx, scan)
}

// lastRead is laterRead for what nothing in the batch depends on: it may be read
// with the commit. An error of scan then fails what is committed.
func (b *batch) lastRead(ctx context.Context, t *database.Statement, scan func(database.Row) error) error {
	return t.LastRead(ctx, b.tx, scan)
}

// readNow returns when all that laterRead was asked for has been read.
func (b *batch) readNow(ctx context.Context) error { return database.ReadNow(ctx, b.tx) }

// byDay calls do for each part of ids, which are sorted, see DB.byDay.
func (b *batch) byDay(ctx context.Context, table, prefix string, ids []string, do func(table string, ids []string) error) error {
	return b.ledger.db.ByDay(ctx, b.tx, table, prefix, ids, do)
}
