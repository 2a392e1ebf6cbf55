package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/webhook"
)

// orderedGroup is the deliveries of an ordered endpoint with one ordering key.
// Of the unfinished ones only the first, by sequence, can be admitted; the
// others wait in laneBlocked. Tests and repetitions have no key and go past the
// order.
type orderedGroup struct{ endpointID, orderingKey string }

// findBusyGroups reads which groups of the batch's events have unfinished
// deliveries.
func (b *batch) findBusyGroups(ctx context.Context) error {
	var asked []orderedGroup
	for _, op := range b.fresh() {
		for _, endpoint := range op.append.endpoints {
			if w := b.windows[endpoint.ID]; w != nil && w.Ordered {
				asked = append(asked, orderedGroup{endpoint.ID, op.append.Event.OrderingKey})
			}
		}
	}
	return b.findBusy(ctx, asked)
}

// findBusy reads which of the asked groups have unfinished deliveries.
func (b *batch) findBusy(ctx context.Context, asked []orderedGroup) error {
	b.busy = map[orderedGroup]bool{}
	if len(asked) == 0 {
		return nil
	}
	t := b.statement().Add("SELECT DISTINCT endpoint_id, subject FROM deliveries WHERE subject <> '' AND finished_at = 0 AND (endpoint_id, subject) IN (")
	return t.Values(len(asked), func(i int) []any { return []any{asked[i].endpointID, asked[i].orderingKey} }).Add(")").
		Query(ctx, b.tx, func(row database.Row) error {
			var g orderedGroup
			err := row.Scan(&g.endpointID, &g.orderingKey)
			b.busy[g] = true
			return err
		})
}

// laneOfNext is the lane of the next delivery of a group, which is busy from
// then on. What has no ordering key has no order.
func (b *batch) laneOfNext(g orderedGroup) int {
	if b.busy[g] {
		return database.LaneBlocked
	}
	b.busy[g] = g.orderingKey != ""
	return database.LaneFirst
}

// unblock moves, for every group of which a delivery has ended, the first of
// those that are left to where it can be admitted.
func (b *batch) unblock(ctx context.Context) error {
	slices.SortFunc(b.freed, func(x, y orderedGroup) int {
		return cmp.Or(cmp.Compare(x.endpointID, y.endpointID), cmp.Compare(x.orderingKey, y.orderingKey))
	})
	freed := slices.DeleteFunc(slices.Compact(b.freed), func(g orderedGroup) bool {
		w := b.windows[g.endpointID]
		return w == nil || w.Removed
	})
	for group := range slices.Chunk(freed, database.MaxRows) {
		heads, err := b.headsOf(ctx, group)
		if err != nil {
			return err
		}
		if len(heads) == 0 {
			continue
		}
		if err := b.letGo(ctx, func(t *database.Statement) { database.ByID(t, "deliveries", heads) }); err != nil {
			return err
		}
	}
	return b.releaseBlocked(ctx)
}

// headsOf reads the first unfinished delivery of each group that has one.
func (b *batch) headsOf(ctx context.Context, groups []orderedGroup) (ids []string, err error) {
	t := b.statement().Add(`SELECT COALESCE((SELECT d.id FROM deliveries d WHERE d.endpoint_id = v.column1 AND d.subject = v.column2
		AND d.subject <> '' AND d.finished_at = 0 ORDER BY d.sequence LIMIT 1), '') FROM `)
	t.Table(len(groups), func(i int) []any { return []any{groups[i].endpointID, groups[i].orderingKey} })
	err = t.Query(ctx, b.tx, func(row database.Row) error {
		var id string
		err := row.Scan(&id)
		if id != "" {
			ids = append(ids, id)
		}
		return err
	})
	slices.Sort(ids)
	return ids, err
}

// releaseStep is how many blocked deliveries of an endpoint that keeps no order
// any more one transaction lets go: more than it can admit, and few enough to
// hold its window only for a moment.
const releaseStep = 500

// releaseBlocked lets go what still waits for its order at endpoints that keep
// none any more. Every batch that touches such a window does a step, so all
// are let go before their turn comes.
func (b *batch) releaseBlocked(ctx context.Context) error {
	for id, w := range b.windows {
		if w.Ordered || w.Removed || w.WaitingBlocked == 0 {
			continue
		}
		err := b.letGo(ctx, func(t *database.Statement) {
			t.Add(`id IN (SELECT id FROM deliveries WHERE endpoint_id = ? AND lane = 3 AND due_at IS NOT NULL
				ORDER BY due_at, sequence LIMIT ?)`, id, releaseStep)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// unblocked is the lane of a delivery that is not blocked any more: laneFirst
// holds first attempts, and of these only what is due.
const unblocked = "CASE WHEN attempts > 0 OR due_at > ? THEN 1 ELSE 0 END"

// letGo moves those blocked deliveries that where describes to the lane in
// which they would be without an order. One may be blocked although it is
// being sent: order was switched on meanwhile.
func (b *batch) letGo(ctx context.Context, where func(*database.Statement)) error {
	t := b.statement().Add("UPDATE deliveries SET lane = "+unblocked+" WHERE lane = 3 AND ", database.Micros(b.now))
	where(t)
	return t.Add(" RETURNING endpoint_id, lane, due_at").Query(ctx, b.tx, func(row database.Row) error {
		var endpointID string
		var lane int
		var due sql.NullInt64
		if err := row.Scan(&endpointID, &lane, &due); err != nil {
			return err
		}
		if w := b.windows[endpointID]; due.Valid {
			w.waits(database.LaneBlocked, -1)
			w.waits(lane, 1)
			w.wake(later(database.FromMicros(due.Int64), b.now))
		}
		return nil
	})
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// maxReordered is how many unfinished deliveries an endpoint may have when its
// order is switched on, which happens in one transaction that everybody waits for.
const maxReordered = 2_000

// keepOrder begins to keep the order of a window: of what is unfinished, all but
// the first of each ordering key wait from now on. What is in the queue is called
// back; what is being sent waits only if it fails.
func (b *batch) keepOrder(ctx context.Context, w *window) error {
	if n := w.Used + w.WaitingFirst + w.WaitingAgain + w.WaitingBlocked; n > maxReordered {
		return webhook.Conflict(fmt.Sprintf("the endpoint has %d unfinished deliveries: order can be switched on while there are at most %d", n, maxReordered))
	}
	now := database.Micros(b.now)
	unfinished := "SELECT id, event_id, sequence FROM deliveries WHERE endpoint_id = ? AND replay_of = '' AND sequence > 0 AND "
	t := new(database.Statement).Add("UPDATE deliveries SET subject = v.subject, lane = CASE WHEN v.place > 1 THEN 3 WHEN lane <> 3 THEN lane ELSE "+unblocked+` END
		FROM (SELECT d.id, e.subject, ROW_NUMBER() OVER (PARTITION BY e.subject ORDER BY d.sequence) AS place
			FROM (`+unfinished+"due_at IS NOT NULL UNION ALL "+unfinished+`queued_at IS NOT NULL) AS d
			JOIN events e ON e.id = d.event_id WHERE e.subject <> '') AS v
		WHERE deliveries.id = v.id`, now, w.EndpointID, w.EndpointID)
	if _, err := t.Exec(ctx, b.tx); err != nil {
		return fmt.Errorf("put unfinished deliveries in order: %w", err)
	}
	t = new(database.Statement).Add("UPDATE deliveries SET state = 'pending', due_at = CASE WHEN queued_at > ? THEN queued_at ELSE 0 END, "+takenBack+
		" WHERE queued_at IS NOT NULL AND state = 'queued' AND lane = 3 AND endpoint_id = ? RETURNING id, trigger", now, w.EndpointID)
	err := t.Query(ctx, b.tx, func(row database.Row) error {
		var id string
		var trigger webhook.Trigger
		err := row.Scan(&id, &trigger)
		w.leave(id, trigger)
		return err
	})
	if err != nil {
		return fmt.Errorf("call back what is queued: %w", err)
	}
	return b.recount(ctx, w)
}

// recount counts what waits for a window.
func (b *batch) recount(ctx context.Context, w *window) error {
	w.WaitingFirst, w.WaitingAgain, w.WaitingBlocked = 0, 0, 0
	t := new(database.Statement).Add("SELECT lane, COUNT(*) FROM deliveries WHERE endpoint_id = ? AND due_at IS NOT NULL GROUP BY lane", w.EndpointID)
	return t.Query(ctx, b.tx, func(row database.Row) error {
		var lane, n int
		err := row.Scan(&lane, &n)
		w.waits(lane, n)
		return err
	})
}
