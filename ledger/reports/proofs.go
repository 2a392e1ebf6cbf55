package reports

import (
	"context"

	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// MaxProofs is how many deliveries Proofs reads at most.
const MaxProofs = 200

// Proof is a delivery with what proves what became of it.
type Proof struct {
	FoundDelivery
	Event    webhook.Event     // zero: past its retention
	Attempts []webhook.Attempt // the newest that are recorded, oldest first
}

// Proofs reads the deliveries of the scope among ids, in their order, each with
// its event and up to attempts of its newest attempts. What the scope does not
// hold is left out, and so is what comes after the first MaxProofs ids.
func (l *Reports) Proofs(ctx context.Context, s partners.Scope, ids []string, attempts int) ([]Proof, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	ids = ids[:min(len(ids), MaxProofs)]
	found, err := l.follow(ctx, DeliveryQuery{Scope: s, Limit: len(ids)}, path{along: func(t *database.Statement) { database.InList(t.Add(" AND d.id IN "), ids) }}, "")
	if err != nil || len(found) == 0 {
		return nil, err
	}
	of := map[string]*Proof{}
	var events []string
	for _, d := range found {
		of[d.ID] = &Proof{FoundDelivery: d}
		events = append(events, d.EventID)
	}
	byEvent := map[string]webhook.Event{}
	t := database.InList(new(database.Statement).Add("SELECT "+rows.EventColumns+" FROM events WHERE id IN "), events).Within(s, "partner_code")
	read, err := database.Collect(ctx, l.db.Read, t, rows.EventFields)
	if err != nil {
		return nil, err
	}
	for _, e := range read {
		byEvent[e.ID] = e
	}
	// One that is under way has a number and no record yet.
	t = database.InList(new(database.Statement).Add("SELECT "+rows.AttemptColumns+" FROM attempts WHERE delivery_id IN "), ids)
	t.Add(" AND number >= (SELECT d.attempts - ? FROM deliveries d WHERE d.id = attempts.delivery_id", attempts).Within(s, "d.partner_code")
	made, err := database.Collect(ctx, l.db.Read, t.Add(") ORDER BY delivery_id, number"), rows.AttemptFields)
	if err != nil {
		return nil, err
	}
	for _, a := range made {
		if p := of[a.DeliveryID]; p != nil {
			p.Attempts = append(p.Attempts, a)
		}
	}
	var proofs []Proof
	for _, id := range ids {
		if p := of[id]; p != nil {
			p.Event = byEvent[p.EventID]
			p.Attempts = p.Attempts[max(0, len(p.Attempts)-attempts):]
			proofs = append(proofs, *p)
			delete(of, id) // named once more
		}
	}
	return proofs, nil
}
