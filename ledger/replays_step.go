package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/delivery/maintenance"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/webhook"
)

// The bounds of one step of a replay. A rate of delivery.MaxReplayRate is
// reached with room to spare, and no transaction keeps windows locked for long.
const (
	replayStep      = 100 // items that one transaction admits or skips
	replaySteps     = 20  // transactions
	replayEndpoints = 32  // windows that one transaction locks
)

// StepReplays implements maintenance.Replays.
func (l *Ledger) StepReplays(ctx context.Context) (admitted, skipped int, err error) {
	ids, err := l.runningReplays(ctx)
	for _, id := range ids {
		if err != nil {
			break
		}
		err = l.stepReplay(ctx, id, &admitted, &skipped)
	}
	return admitted, skipped, err
}

func (l *Ledger) runningReplays(ctx context.Context) (ids []string, err error) {
	return database.Collect(ctx, l.db.Read, new(database.Statement).Add("SELECT id FROM replays WHERE state = 'running' ORDER BY id"), database.One[string])
}

// stepReplay admits what rate and windows allow of one replay.
func (l *Ledger) stepReplay(ctx context.Context, id string, admitted, skipped *int) error {
	for range replaySteps {
		endpoints, left, err := l.replayEndpoints(ctx, id)
		if err != nil {
			return err
		}
		if !left {
			return l.finishReplay(ctx, id)
		}
		if len(endpoints) == 0 {
			return nil
		}
		var step stepped
		err = l.withLockedWindows(ctx, endpoints, func(ctx context.Context, b *batch) (err error) {
			step, err = b.stepReplay(ctx, id, endpoints)
			return err
		})
		*admitted += step.admitted
		*skipped += step.skipped
		if err != nil || step.admitted+step.skipped == 0 {
			return err
		}
	}
	return nil
}

// replayEndpoints returns the endpoints that could take open items of the
// replay now, those of its first items first, and whether any item is open.
// It steps from endpoint to endpoint through an index: an endpoint that is
// full costs the same however many items wait for it.
func (l *Ledger) replayEndpoints(ctx context.Context, id string) (endpoints []string, left bool, err error) {
	now := time.Now()
	t := new(database.Statement)
	t.Add(`WITH RECURSIVE e (id) AS (
			SELECT MIN(endpoint_id) FROM replay_items WHERE replay_id = ? AND outcome = ''
			UNION ALL
			SELECT (SELECT MIN(endpoint_id) FROM replay_items WHERE replay_id = ? AND outcome = '' AND endpoint_id > e.id) FROM e WHERE e.id IS NOT NULL)
		SELECT `+rows.WindowColumns+", e.id, "+replayWaits+` FROM e JOIN windows w ON w.endpoint_id = e.id
		ORDER BY (SELECT MIN(position) FROM replay_items WHERE replay_id = ? AND outcome = '' AND endpoint_id = e.id)`, id, id, database.Micros(now), id)
	err = t.Query(ctx, l.db.Read, func(row database.Row) error {
		var w window
		var endpoint string
		var waits bool
		if err := row.Scan(append(rows.WindowFields(&w.Window), &endpoint, &waits)...); err != nil {
			return err
		}
		left = true
		if len(endpoints) < replayEndpoints && (w.replayRoom(now) > 0 || w.crowded(now) && !waits) {
			endpoints = append(endpoints, endpoint)
		}
		return nil
	})
	slices.Sort(endpoints)
	return endpoints, left, err
}

// replayRoom is how many open items of a replay may be looked at for the
// window: as many as it has room for, unless deliveries of its own want that
// first; any number if it is gone, since its items are skipped.
func (w *window) replayRoom(now time.Time) int {
	switch {
	case w.Removed:
		return replayStep
	case w.wants(now):
		return 0
	}
	return min(w.Room(now), replayStep)
}

// crowded reports whether what waits for the window leaves no room for items
// of a replay. One of them may then wait in the backlog, where a fairShare-th
// admission takes it, after the retries that were due before it; else a replay
// would stand still for as long as the backlog lasts.
func (w *window) crowded(now time.Time) bool {
	return w.backlog(now) && w.Open() && w.Breaker.State == webhook.BreakerClosed && !now.Before(w.NotBefore)
}

// replayWaits says in SQL whether a due repetition waits for the window w.
const replayWaits = "EXISTS (SELECT 1 FROM deliveries d WHERE d.endpoint_id = w.endpoint_id AND d.lane = 2 AND d.due_at IS NOT NULL AND d.due_at <= ?)"

// finishReplay ends a replay that has no open items left.
func (l *Ledger) finishReplay(ctx context.Context, id string) error {
	_, err := l.db.Write.ExecContext(ctx, `UPDATE replays SET state = 'finished', finished_at = $2 WHERE id = $1 AND state = 'running'
		AND NOT EXISTS (SELECT 1 FROM replay_items WHERE replay_id = $1 AND outcome = '')`, id, database.Micros(time.Now()))
	return err
}

// stepped is what one transaction did for a replay.
type stepped struct{ admitted, skipped int }

// replayed is what an item became.
type replayed struct{ newID, outcome string }

// stepReplay admits items of the replay at endpoints, whose windows are
// locked. The replay's row is locked, too: it is still running, and no other
// process looks at its items.
func (b *batch) stepReplay(ctx context.Context, id string, endpoints []string) (step stepped, err error) {
	r := delivery.Replay{ID: id}
	var filter []byte
	var next time.Time
	err = b.tx.QueryRowContext(ctx, "SELECT rate, rate_next, created_at, filter FROM replays WHERE id = $1 AND state = 'running'"+b.ledger.db.ForUpdate, id).
		Scan(&r.Rate, database.Time(&next), database.Time(&r.CreatedAt), &filter)
	if errors.Is(err, sql.ErrNoRows) {
		return step, nil
	}
	if err == nil {
		err = json.Unmarshal(filter, &r.Filter)
	}
	if err != nil {
		return step, err
	}
	pace := webhook.Window{RateEvery: time.Second / time.Duration(r.Rate), RateNext: next}
	pace.Bound(b.now)
	items, err := b.replayItems(ctx, r, endpoints)
	if err != nil {
		return step, err
	}
	became := map[int64]replayed{}
	var made []newDelivery
	for _, item := range items[:min(len(items), replayStep)] {
		w := b.windows[item.EndpointID]
		switch {
		case item.skip || w.Removed:
			became[item.position] = replayed{"", "skipped"}
			step.skipped++
		case pace.RateRoom(b.now) > 0 && (w.replayRoom(b.now) > 0 || w.crowded(b.now)):
			newID := webhook.NewID(webhook.DeliveryPrefix)
			if w.crowded(b.now) {
				made = append(made, b.waitAgain(w, item.Delivery, newID, webhook.TriggerReplay))
			} else {
				made = append(made, b.replayNow(w, item.Delivery, newID))
			}
			pace.Admit("", b.now)
			became[item.position] = replayed{newID, "admitted"}
			step.admitted++
		}
	}
	if err := b.storePace(ctx, id, next, pace.RateNext); err != nil || len(became) == 0 {
		return step, err
	}
	if err := b.insertDeliveries(ctx, made); err != nil {
		return step, err
	}
	return step, b.storeReplayed(ctx, id, became)
}

// storePace writes how far the replay's rate is used, if that has changed.
func (b *batch) storePace(ctx context.Context, id string, was, next time.Time) error {
	if next.Equal(was) {
		return nil
	}
	_, err := b.tx.ExecContext(ctx, "UPDATE replays SET rate_next = $2 WHERE id = $1", id, database.Micros(next))
	return err
}

// storeReplayed writes what became of items.
func (b *batch) storeReplayed(ctx context.Context, id string, became map[int64]replayed) error {
	positions := slices.Sorted(maps.Keys(became))
	t := b.statement().Add("UPDATE replay_items SET new_id = v.column2, outcome = v.column3 FROM ")
	t.Table(len(positions), func(i int) []any {
		return []any{positions[i], became[positions[i]].newID, became[positions[i]].outcome}
	})
	_, err := t.Add(" WHERE replay_id = ? AND position = v.column1", id).Exec(ctx, b.tx)
	return err
}

type replayItem struct {
	webhook.Delivery
	position int64
	skip     bool
}

// replayItems reads the first open items of each endpoint, as many as its
// window has room for, or one to wait there, in the order of the list.
func (b *batch) replayItems(ctx context.Context, r delivery.Replay, endpoints []string) (items []replayItem, err error) {
	for _, endpoint := range endpoints {
		w := b.windows[endpoint]
		if w == nil {
			continue
		}
		room := w.replayRoom(b.now)
		if w.crowded(b.now) {
			err := new(database.Statement).Add("SELECT CASE WHEN "+replayWaits+" THEN 0 ELSE 1 END FROM windows w WHERE w.endpoint_id = ?", database.Micros(b.now), endpoint).
				Query(ctx, b.tx, func(row database.Row) error { return row.Scan(&room) })
			if err != nil {
				return nil, err
			}
		}
		if room > 0 {
			found, err := b.endpointItems(ctx, r, endpoint, room)
			if err != nil {
				return nil, err
			}
			items = append(items, found...)
		}
	}
	slices.SortFunc(items, func(x, y replayItem) int { return cmp.Compare(x.position, y.position) })
	return items, nil
}

// endpointItems reads the first open items of one endpoint. To be skipped is
// one whose event has been delivered to the endpoint since, or is on its way
// there just now, one whose event or delivery is past its retention or erased, and a test.
// Of one that ended without success since means since then, or since the replay
// was made if that includes what is settled.
func (b *batch) endpointItems(ctx context.Context, r delivery.Replay, endpoint string, limit int) (items []replayItem, err error) {
	t := new(database.Statement).Add(`SELECT i.position, i.endpoint_id, COALESCE(d.id, ''), COALESCE(d.event_id, ''), COALESCE(d.partner_code, ''),
		COALESCE(d.webhook_type, ''), COALESCE(d.object_id, ''), COALESCE(d.sequence, 0), COALESCE(d.finished_at, 0) = 0
		OR NOT EXISTS (SELECT 1 FROM events e WHERE e.id = d.event_id AND NOT e.test AND e.erased_at = 0)
		OR EXISTS (SELECT 1 FROM deliveries o WHERE o.event_id = d.event_id AND o.endpoint_id || '' = d.endpoint_id AND o.id <> d.id
			AND (o.finished_at = 0 OR o.state = 'delivered' AND (d.state <> 'delivered' AND ? OR o.finished_at >= ?)))
		FROM replay_items i LEFT JOIN deliveries d ON d.id = i.delivery_id
		WHERE i.replay_id = ? AND i.outcome = '' AND i.endpoint_id = ? ORDER BY i.position LIMIT ?`, !r.Filter.IncludeSettled, database.Micros(r.CreatedAt), r.ID, endpoint, limit)
	err = t.Query(ctx, b.tx, func(row database.Row) error {
		var item replayItem
		d := &item.Delivery
		err := row.Scan(&item.position, &d.EndpointID, &d.ID, &d.EventID, &d.PartnerCode, &d.Type, &d.ObjectID, &d.Sequence, &item.skip)
		items = append(items, item)
		return err
	})
	return items, err
}

// replayNow makes the delivery of an item that has its place already.
func (b *batch) replayNow(w *window, d webhook.Delivery, newID string) newDelivery {
	w.Admit(newID, b.now)
	w.dirty = true
	again := repetition(d, newID, webhook.TriggerReplay)
	again.State, again.probe = webhook.Queued, w.Breaker.Probe == newID
	return again
}

var _ maintenance.Replays = (*Ledger)(nil)
