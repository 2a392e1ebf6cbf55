package ledger

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/database"
	"ledgerhook/webhook"
)

// maxRefusalText is how many bytes of a text of a refusal are kept.
const maxRefusalText = 500

// AddRefusals stores what internal systems sent in vain, at most a thousand at
// once. An id and a time are filled in where they are missing.
func (l *Ledger) AddRefusals(ctx context.Context, refusals []delivery.Refusal) error {
	refusals = refusals[:min(len(refusals), database.MaxRows)]
	if len(refusals) == 0 {
		return nil
	}
	now := time.Now()
	t := new(database.Statement).Add("INSERT INTO refusals (id, partner_code, webhook_type, reference, result, reason, event_id, at) ")
	t.Values(len(refusals), func(i int) []any {
		r := refusals[i]
		if r.ID == "" {
			r.ID, r.At = webhook.NewID(webhook.RefusalPrefix), now
		}
		return []any{r.ID, short(r.PartnerCode), short(string(r.Type)), short(r.Reference), string(r.Result),
			short(r.Reason), r.EventID, database.Micros(r.At)}
	})
	err := l.db.InTx(ctx, func(tx database.Querier) error {
		_, err := t.Exec(ctx, l.db.Batched(tx))
		return err
	})
	if err != nil {
		return fmt.Errorf("store refusals: %w", err)
	}
	return nil
}

// short is what is kept of a text that came from outside.
func short(s string) string {
	return database.Text(strings.ToValidUTF8(s[:min(len(s), maxRefusalText)], ""))
}

// deleteRefusals forgets refusals older than cutoff.
func (l *Ledger) deleteRefusals(ctx context.Context, cutoff time.Time) error {
	return l.retire(ctx, "refusals", "DELETE FROM refusals WHERE id IN (SELECT id FROM refusals WHERE id < $1 ORDER BY id LIMIT $2)",
		webhook.TimeBound(webhook.RefusalPrefix, cutoff))
}
