package ledger

import (
	"context"
	"maps"
	"slices"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/webhook"
)

// repeated is an event that a delivery has brought to an endpoint once more, or
// tried to.
type repeated struct{ event, endpoint string }

// unsettled is a delivery that ended without success and is not settled.
type unsettled struct {
	id, partner string
	state       webhook.State
	finished    time.Time
}

// settleRepeated marks deliveries that ended without success, and whose event
// another one has brought to the endpoint. That can only become true when a
// repetition ends: the batches of all others pass by without a statement. It
// marks those that were repeated if the repetition was delivered, and the
// repetition itself if it failed where the event had come through before. The
// window of the endpoint, which the batch has locked, keeps every other batch
// from these rows.
func (b *batch) settleRepeated(ctx context.Context) error {
	ended := map[repeated]bool{}
	below := webhook.TimeBound(webhook.DeliveryPrefix, b.now.Add(database.MaxClockSkew)) // no days to come
	for _, op := range b.records {
		if r := op.record; r.counted && r.repeats != "" && r.Verdict.State.Final() {
			ended[repeated{r.repeats, r.EndpointID}] = true
			below = max(below, r.DeliveryID+"~") // one that a clock made which was ahead
		}
	}
	if len(ended) == 0 {
		return nil
	}
	by, open, err := b.ofRepeated(ctx, ended, below)
	if err != nil {
		return err
	}
	settled := map[string]string{} // by which delivery
	for of, vain := range open {
		for _, d := range vain {
			if by[of] == "" {
				continue
			}
			settled[d.id] = by[of]
			if d.state == webhook.Exhausted {
				b.countAt(d.finished, d.partner, rows.FactSettled, 1)
			}
		}
	}
	return b.byDay(ctx, "deliveries", webhook.DeliveryPrefix, slices.Sorted(maps.Keys(settled)), func(table string, ids []string) error {
		t := b.statement().Add("UPDATE " + table + " AS d SET delivered_by = v.column2 FROM ")
		t.Table(len(ids), func(i int) []any { return []any{ids[i], settled[ids[i]]} })
		return b.laterChanges(ctx, database.JoinID(t.Add(" WHERE "), table, ids), len(ids))
	})
}

// ofRepeated returns the first delivery that brought each event to its endpoint,
// and those that are open to be settled by it, of the ids below one.
func (b *batch) ofRepeated(ctx context.Context, ended map[repeated]bool, below string) (by map[repeated]string, open map[repeated][]unsettled, err error) {
	by, open = map[repeated]string{}, map[repeated][]unsettled{}
	unique := map[string]bool{}
	for of := range ended {
		unique[of.event] = true
	}
	events := slices.Sorted(maps.Keys(unique))
	t := b.statement().Add("SELECT id, event_id, endpoint_id, partner_code, state, finished_at FROM deliveries WHERE finished_at > 0 AND delivered_by = '' AND ")
	b.ledger.db.MadeFor(database.In(t, "event_id", events), "id", webhook.DeliveryPrefix, events[0])
	t.Add(" AND id < ?", below)
	err = b.laterRead(ctx, t, func(row database.Row) error {
		var of repeated
		var d unsettled
		err := row.Scan(&d.id, &of.event, &of.endpoint, &d.partner, &d.state, database.Time(&d.finished))
		switch {
		case err != nil || !ended[of]:
		case d.state != webhook.Delivered:
			open[of] = append(open[of], d)
		case by[of] == "" || d.id < by[of]:
			by[of] = d.id
		}
		return err
	})
	if err == nil {
		err = b.readNow(ctx)
	}
	return by, open, err
}
