package audit

import (
	"context"
	"strings"

	"ledgerhook/ledger/database"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// Columns are what Read reads of an entry.
const Columns = "id, at, actor, action, target, detail, partner_code, seq, hash"

func auditFields(e *partners.AuditEntry) []any {
	return []any{&e.ID, database.Time(&e.At), &e.Actor, &e.Action, &e.Target, &e.Detail, &e.PartnerCode, &e.Seq, &e.Hash}
}

// Read reads the entries that t finds.
func Read(ctx context.Context, q database.Querier, t *database.Statement) (found []partners.AuditEntry, err error) {
	return database.Collect(ctx, q, t, auditFields)
}

// AuditEntries lists entries, newest first, and the cursor of the next page.
func (l *Trail) AuditEntries(ctx context.Context, f partners.AuditFilter) (found []partners.AuditEntry, next string, err error) {
	t := new(database.Statement).Add("SELECT "+Columns+" FROM audit WHERE id < ?", database.Below(f.Cursor, f.Until, webhook.AuditPrefix))
	t.Since("id", webhook.AuditPrefix, f.Since)
	t.Equal("actor", f.Actor)
	t.Equal("target", f.Target)
	t.Equal("partner_code", f.PartnerCode)
	if group, whole := strings.CutSuffix(f.Action, "."); whole {
		t.Add(" AND action >= ? AND action < ?", group+".", group+"/") // / follows . in ASCII
	} else {
		t.Equal("action", f.Action)
	}
	if f.Without != "" {
		t.Add(" AND action <> ?", f.Without)
	}
	found, err = Read(ctx, l.db.Read, t.Add(" ORDER BY id DESC LIMIT ?", f.Limit+1))
	found, next = database.Page(found, f.Limit, func(e partners.AuditEntry) string { return e.ID })
	return found, next, err
}
