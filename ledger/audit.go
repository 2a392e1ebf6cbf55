package ledger

import (
	"context"
	"database/sql"
	"time"

	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// Audit writes an entry; ID and At are filled in.
func (l *Ledger) Audit(ctx context.Context, e partners.AuditEntry) error {
	return l.broken(insertAudit(ctx, l.write, e, time.Now()))
}

func insertAudit(ctx context.Context, q querier, e partners.AuditEntry, at time.Time) error {
	_, err := q.ExecContext(ctx, "INSERT INTO audit (id, at, actor, action, target, detail) VALUES ($1, $2, $3, $4, $5, $6)",
		webhook.NewID(webhook.AuditPrefix), micros(at), e.Actor, e.Action, e.Target, e.Detail)
	return err
}

// AuditEntries lists entries, newest first, and the cursor of the next page.
func (l *Ledger) AuditEntries(ctx context.Context, cursor string, limit int) (found []partners.AuditEntry, next string, err error) {
	t := new(text).add("SELECT id, at, actor, action, target, detail FROM audit WHERE id < ? ORDER BY id DESC LIMIT ?",
		before(cursor, time.Time{}, webhook.AuditPrefix), limit+1)
	err = t.query(ctx, l.read, func(rows *sql.Rows) error {
		var e partners.AuditEntry
		err := rows.Scan(&e.ID, timeColumn{&e.At}, &e.Actor, &e.Action, &e.Target, &e.Detail)
		found = append(found, e)
		return err
	})
	if len(found) > limit {
		found = found[:limit]
		next = found[limit-1].ID
	}
	return found, next, l.broken(err)
}
