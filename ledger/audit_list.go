package ledger

import (
	"context"
	"strings"

	"ledgerhook/partners"
	"ledgerhook/webhook"
)

const auditColumns = "id, at, actor, action, target, detail, partner_code, seq, hash"

func auditFields(e *partners.AuditEntry) []any {
	return []any{&e.ID, timeColumn{&e.At}, &e.Actor, &e.Action, &e.Target, &e.Detail, &e.PartnerCode, &e.Seq, &e.Hash}
}

func (t *statement) audit(ctx context.Context, q querier) (found []partners.AuditEntry, err error) {
	return collect(ctx, q, t, auditFields)
}

// AuditEntries lists entries, newest first, and the cursor of the next page.
func (l *Ledger) AuditEntries(ctx context.Context, f partners.AuditFilter) (found []partners.AuditEntry, next string, err error) {
	t := new(statement).add("SELECT "+auditColumns+" FROM audit WHERE id < ?", before(f.Cursor, f.Until, webhook.AuditPrefix))
	t.since("id", webhook.AuditPrefix, f.Since)
	t.equal("actor", f.Actor)
	t.equal("target", f.Target)
	t.equal("partner_code", f.PartnerCode)
	if group, whole := strings.CutSuffix(f.Action, "."); whole {
		t.add(" AND action >= ? AND action < ?", group+".", group+"/") // / follows . in ASCII
	} else {
		t.equal("action", f.Action)
	}
	found, err = t.add(" ORDER BY id DESC LIMIT ?", f.Limit+1).audit(ctx, l.db.read)
	if len(found) > f.Limit {
		found = found[:f.Limit]
		next = found[f.Limit-1].ID
	}
	return found, next, err
}
