package rows

import (
	"ledgerhook/ledger/database"
	"ledgerhook/webhook"
)

// EventColumns are what eventFields reads.
const EventColumns = `id, partner_code, webhook_type, object_id, subject, status, data, key_id, signatures, unexpected,
	filtered, test, created_at, trace, erased_at, erased_by`

// EventFields are the columns of an event.
func EventFields(e *webhook.Event) []any {
	return []any{&e.ID, &e.PartnerCode, &e.Type, &e.ObjectID, &e.OrderingKey, &e.Status, &e.Data, &e.KeyID,
		database.List(&e.Signatures), &e.Unexpected, &e.Filtered, &e.Test, database.Time(&e.CreatedAt), &e.Trace, database.Time(&e.Erased.At), &e.Erased.By}
}
