package ledger

import (
	"context"
	"database/sql"
	"errors"

	"ledgerhook/delivery"
	"ledgerhook/webhook"
)

const eventColumns = `id, partner_code, webhook_type, object_id, subject, status, data, key_id, signatures, unexpected,
	filtered, test, created_at, trace`

func eventFields(e *webhook.Event) []any {
	return []any{&e.ID, &e.PartnerCode, &e.Type, &e.ObjectID, &e.Subject, &e.Status, &e.Data, &e.KeyID,
		listColumn[string]{&e.Signatures}, &e.Unexpected, &e.Filtered, &e.Test, timeColumn{&e.CreatedAt}, &e.Trace}
}

// Event returns one event, or NotFound.
func (l *Ledger) Event(ctx context.Context, id string) (e webhook.Event, err error) {
	err = l.db.read.QueryRowContext(ctx, "SELECT "+eventColumns+" FROM events WHERE id = $1", id).Scan(eventFields(&e)...)
	if errors.Is(err, sql.ErrNoRows) {
		return e, webhook.NotFound("event", id)
	}
	return e, err
}

// Events lists events, newest first, and the cursor of the next page.
func (l *Ledger) Events(ctx context.Context, f delivery.EventFilter) (found []webhook.Event, next string, err error) {
	t := new(statement).add("SELECT "+eventColumns+" FROM events WHERE id < ?", before(f.Cursor, f.Until, webhook.EventPrefix))
	t.since("id", webhook.EventPrefix, f.Since)
	t.equal("partner_code", f.PartnerCode)
	t.equal("webhook_type", string(f.Type))
	t.equal("object_id", f.Reference)
	found, err = collect(ctx, l.db.read, t.add(" ORDER BY id DESC LIMIT ?", f.Limit+1), eventFields)
	if len(found) > f.Limit {
		found = found[:f.Limit]
		next = found[f.Limit-1].ID
	}
	return found, next, err
}
