package rows

import (
	"slices"

	"ledgerhook/delivery"
	"ledgerhook/ledger/database"
	"ledgerhook/webhook"
)

// Narrow adds the conditions of f but its bounds above, on deliveries d and
// windows w.
func Narrow(t *database.Statement, f delivery.Filter) {
	t.Since("d.id", webhook.DeliveryPrefix, f.Since)
	t.Equal("d.partner_code", f.PartnerCode)
	t.Equal("d.endpoint_id", f.EndpointID)
	t.Equal("d.webhook_type", string(f.Type))
	t.Equal("d.last_class", string(f.ErrorClass))
	if len(f.PartnerCodes) > 0 {
		database.InList(t.Add(" AND d.partner_code IN "), f.PartnerCodes)
	}
	if len(f.IDs) > 0 {
		database.InList(t.Add(" AND d.id IN "), f.IDs)
	}
	if f.ReplayID != "" {
		t.Add(" AND d.id IN (SELECT new_id FROM replay_items WHERE replay_id = ? AND new_id <> '')", f.ReplayID)
	}
	if f.State != "" {
		along(t, f)
		Shown(t, []webhook.State{f.State})
	}
	if f.StatusCode != 0 {
		t.Add(" AND d.last_status = ?", f.StatusCode)
	}
	if f.Reference != "" {
		t.Add(" AND (d.object_id = ? OR d.event_id = ?)", f.Reference, f.Reference)
	}
}

// along adds what the index of f's state asks for, if there is one. An
// endpoint has indexes of its own.
func along(t *database.Statement, f delivery.Filter) {
	for _, index := range StateIndexes {
		if !slices.Contains(index.States, f.State) {
			continue
		}
		t.Add(" AND " + index.Where)
		if index.All != "" && f.PartnerCode == "" && f.EndpointID == "" {
			t.Add(" AND " + index.All)
		}
	}
}
