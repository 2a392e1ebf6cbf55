package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/webhook"
)

// replayable adds the deliveries of f that can be sent again.
func (t *text) replayable(f delivery.Filter) *text {
	t.add(" FROM deliveries d LEFT JOIN windows w ON w.endpoint_id = d.endpoint_id WHERE d.finished_at > 0 AND d.endpoint_id <> '' AND d.trigger <> 'test' AND d.id < ?", before("", f.Until, webhook.DeliveryPrefix))
	t.narrow(f)
	return t
}

// PreviewReplay tells what a replay of f would be, counting no further than
// delivery.MaxReplay.
func (l *Ledger) PreviewReplay(ctx context.Context, f delivery.Filter) (p delivery.ReplayPreview, err error) {
	t := new(text).add("SELECT partner_code, webhook_type, state, last_class, COUNT(*) FROM (SELECT d.partner_code, d.webhook_type, d.state, d.last_class")
	t.replayable(f).add(" LIMIT ?) AS found GROUP BY partner_code, webhook_type, state, last_class ORDER BY 5 DESC, 1, 2, 3, 4", delivery.MaxReplay+1)
	err = t.query(ctx, l.read, func(rows *sql.Rows) error {
		var g delivery.ReplayGroup
		err := rows.Scan(&g.PartnerCode, &g.Type, &g.State, &g.ErrorClass, &g.Count)
		p.Breakdown = append(p.Breakdown, g)
		p.Count += g.Count
		return err
	})
	if err != nil {
		return p, l.broken(err)
	}
	ids := []string{""}
	t = new(text).add("SELECT d.id").replayable(f).add(" ORDER BY d.id DESC LIMIT ?", delivery.ReplaySample)
	err = t.query(ctx, l.read, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	})
	if err != nil {
		return p, l.broken(err)
	}
	p.Sample, err = list(selectPlaced("d.id IN "), ids).add(" ORDER BY d.id DESC").placed(ctx, l.read)
	return p, l.broken(err)
}

// StartReplay freezes the list of what f matches, newest last, and starts
// sending it again.
func (l *Ledger) StartReplay(ctx context.Context, r delivery.Replay) (delivery.Replay, error) {
	filter, err := json.Marshal(r.Filter)
	if err != nil {
		return r, err
	}
	err = l.inTx(ctx, func(tx *sql.Tx) error {
		t := new(text).add("INSERT INTO replay_items (replay_id, position, delivery_id, endpoint_id, new_id, outcome) SELECT CAST(? AS TEXT), ROW_NUMBER() OVER (ORDER BY id), id, endpoint_id, '', '' FROM (SELECT d.id, d.endpoint_id", r.ID)
		n, err := t.replayable(r.Filter).add(" ORDER BY d.id LIMIT ?) AS found", delivery.MaxReplay+1).exec(ctx, tx)
		if err != nil {
			return fmt.Errorf("freeze the list: %w", err)
		}
		if n == 0 {
			return webhook.Invalid("/filter", "must match at least one finished delivery")
		}
		if n > delivery.MaxReplay {
			return webhook.Invalid("/filter", fmt.Sprintf("must match at most %d finished deliveries: narrow it, by time for example", delivery.MaxReplay))
		}
		r.Total = int(n)
		_, err = tx.ExecContext(ctx, `INSERT INTO replays (id, state, reason, filter, rate, total, rate_next, note, created_at, finished_at)
			VALUES ($1, $2, $3, $4, $5, $6, 0, '', $7, 0)`, r.ID, string(r.State), r.Reason, filter, r.Rate, r.Total, micros(r.CreatedAt))
		return err
	})
	return r, err
}

const replayColumns = "id, state, reason, filter, rate, total, note, created_at, finished_at"

func scanReplay(scan func(...any) error) (r delivery.Replay, err error) {
	var filter []byte
	err = scan(&r.ID, &r.State, &r.Reason, &filter, &r.Rate, &r.Total, &r.Note, timeColumn{&r.CreatedAt}, timeColumn{&r.FinishedAt})
	if err == nil {
		err = json.Unmarshal(filter, &r.Filter)
	}
	return r, err
}

// Replay returns one replay with its progress, or NotFound.
func (l *Ledger) Replay(ctx context.Context, id string) (r delivery.Replay, err error) {
	r, err = scanReplay(l.read.QueryRowContext(ctx, "SELECT "+replayColumns+" FROM replays WHERE id = $1", id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return r, webhook.NotFound("replay", id)
	}
	if err != nil {
		return r, l.broken(err)
	}
	p := &r.Progress
	err = l.read.QueryRowContext(ctx, `SELECT COALESCE(SUM(CASE WHEN i.outcome = '' THEN 1 END), 0),
		COALESCE(SUM(CASE WHEN i.outcome = 'skipped' THEN 1 END), 0),
		COALESCE(SUM(CASE WHEN d.state = 'delivered' THEN 1 END), 0),
		COALESCE(SUM(CASE WHEN d.finished_at = 0 AND d.last_outcome <> '' THEN 1 END), 0),
		COALESCE(SUM(CASE WHEN d.state IN ('exhausted', 'cancelled') THEN 1 END), 0)
		FROM replay_items i LEFT JOIN deliveries d ON d.id = i.new_id WHERE i.replay_id = $1`, id).
		Scan(&p.Open, &p.Skipped, &p.Delivered, &p.Failing, &p.Failed)
	p.Waiting = r.Total - p.Open - p.Skipped - p.Delivered - p.Failing - p.Failed
	return r, l.broken(err)
}

// Replays lists replays, newest first, without their progress.
func (l *Ledger) Replays(ctx context.Context, cursor string, limit int) (found []delivery.Replay, next string, err error) {
	t := new(text).add("SELECT "+replayColumns+" FROM replays WHERE id < ? ORDER BY id DESC LIMIT ?", before(cursor, time.Time{}, webhook.ReplayPrefix), limit+1)
	err = t.query(ctx, l.read, func(rows *sql.Rows) error {
		r, err := scanReplay(rows.Scan)
		found = append(found, r)
		return err
	})
	if len(found) > limit {
		found = found[:limit]
		next = found[limit-1].ID
	}
	return found, next, l.broken(err)
}

// MoveReplay pauses, resumes or cancels a replay, which is one row: whatever
// runs it sees that with its next step. From a state that does not allow it
// it is a Conflict.
func (l *Ledger) MoveReplay(ctx context.Context, id string, to delivery.ReplayState) error {
	from := map[delivery.ReplayState][]string{
		delivery.ReplayPaused:    {"running"},
		delivery.ReplayRunning:   {"paused", "stopped"},
		delivery.ReplayCancelled: {"running", "paused", "stopped"},
	}[to]
	finished := int64(0)
	if to == delivery.ReplayCancelled {
		finished = micros(time.Now())
	}
	t := new(text).add("UPDATE replays SET state = ?, note = '', finished_at = ? WHERE id = ? AND state IN ", string(to), finished, id)
	n, err := list(t, from).exec(ctx, l.write)
	if err != nil || n == 1 {
		return l.broken(err)
	}
	r, err := l.Replay(ctx, id)
	if err != nil {
		return err
	}
	return webhook.Conflict(fmt.Sprintf("the replay is %s and cannot become %s", r.State, to))
}

// replayStep is how many items of a replay one transaction looks at.
const replayStep = 100

// StepReplays implements delivery.Replays.
func (l *Ledger) StepReplays(ctx context.Context) (admitted, skipped int, err error) {
	var ids []string
	err = new(text).add("SELECT id FROM replays WHERE state = 'running' ORDER BY id").query(ctx, l.read, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	})
	for _, id := range ids {
		if err != nil {
			break
		}
		err = l.stepReplay(ctx, id, &admitted, &skipped)
	}
	return admitted, skipped, l.broken(err)
}

// stepReplay admits what it can of one replay. Endpoints without room are
// passed over, so that one of them does not hold up the others.
func (l *Ledger) stepReplay(ctx context.Context, id string, admitted, skipped *int) error {
	full := []string{""}
	for {
		var endpoints []string
		t := new(text).add("SELECT DISTINCT endpoint_id FROM (SELECT endpoint_id FROM replay_items WHERE replay_id = ? AND outcome = '' AND endpoint_id NOT IN ", id)
		err := list(t, full).add(" ORDER BY position LIMIT ?) AS next ORDER BY 1", replayStep).query(ctx, l.read, func(rows *sql.Rows) error {
			var e string
			err := rows.Scan(&e)
			endpoints = append(endpoints, e)
			return err
		})
		if err != nil {
			return err
		}
		if len(endpoints) == 0 {
			return l.finishReplay(ctx, id)
		}
		var step stepped
		err = l.alterWindows(ctx, endpoints, func(ctx context.Context, b *batch) (err error) {
			step, err = b.stepReplay(ctx, id, endpoints)
			return err
		})
		*admitted += step.admitted
		*skipped += step.skipped
		if err != nil || !step.more {
			return err
		}
		full = append(full, endpoints...)
	}
}

// finishReplay ends a replay that has no open items left.
func (l *Ledger) finishReplay(ctx context.Context, id string) error {
	_, err := l.write.ExecContext(ctx, `UPDATE replays SET state = 'finished', finished_at = $2 WHERE id = $1 AND state = 'running'
		AND NOT EXISTS (SELECT 1 FROM replay_items WHERE replay_id = $1 AND outcome = '')`, id, micros(time.Now()))
	return err
}

// stepped is what one transaction did for a replay. more is false when the
// replay's rate is used up or it does not run.
type stepped struct {
	admitted, skipped int
	more              bool
}

// stepReplay admits items of the replay at endpoints, whose windows are locked.
func (b *batch) stepReplay(ctx context.Context, id string, endpoints []string) (step stepped, err error) {
	var rate int
	var next, created time.Time
	err = b.tx.QueryRowContext(ctx, "SELECT rate, rate_next, created_at FROM replays WHERE id = $1 AND state = 'running'"+b.ledger.forUpdate, id).
		Scan(&rate, timeColumn{&next}, timeColumn{&created})
	if errors.Is(err, sql.ErrNoRows) {
		return step, nil
	}
	if err != nil {
		return step, err
	}
	pace := webhook.Window{RateEvery: time.Second / time.Duration(rate), RateNext: next}
	allowed := min(pace.RateRoom(b.now), replayStep)
	items, err := b.replayItems(ctx, id, b.takeReplays(endpoints), created)
	if err != nil {
		return step, err
	}
	under := map[[2]string]bool{}     // way, by event and endpoint: a list may hold an event and its retry by hand
	outcomes := map[int64][2]string{} // new id and outcome by position
	for _, item := range items {
		w := b.windows[item.EndpointID]
		to := [2]string{item.EventID, item.EndpointID}
		switch {
		case item.skip || under[to] || w == nil || w.Removed:
			outcomes[item.position] = [2]string{"", "skipped"}
			step.skipped++
		case step.admitted < allowed && w.Room(b.now) > 0 && !w.wants(b.now):
			newID := webhook.NewID(webhook.DeliveryPrefix)
			if err := b.replayNow(ctx, w, item.Delivery, newID); err != nil {
				return step, err
			}
			pace.Admit("", b.now)
			under[to] = true
			outcomes[item.position] = [2]string{newID, "admitted"}
			step.admitted++
		}
	}
	if len(outcomes) == 0 {
		step.more = allowed > 0
		return step, nil
	}
	positions := slices.Sorted(maps.Keys(outcomes))
	t := new(text).add("UPDATE replay_items SET new_id = v.column2, outcome = v.column3 FROM ")
	t.table(len(positions), func(i int) []any { return []any{positions[i], outcomes[positions[i]][0], outcomes[positions[i]][1]} })
	if _, err := t.add(" WHERE replay_id = ? AND position = v.column1", id).exec(ctx, b.tx); err != nil {
		return step, err
	}
	_, err = b.tx.ExecContext(ctx, "UPDATE replays SET rate_next = $2 WHERE id = $1", id, micros(pace.RateNext))
	step.more = step.admitted < allowed
	return step, err
}

// takeReplays returns those endpoints that have room for replays now, or are
// gone, so that a full one's items do not stand before the others'.
func (b *batch) takeReplays(endpoints []string) []string {
	return slices.DeleteFunc(slices.Clone(endpoints), func(id string) bool {
		w := b.windows[id]
		return w != nil && !w.Removed && (w.Room(b.now) == 0 || w.wants(b.now))
	})
}

type replayItem struct {
	webhook.Delivery
	position int64
	skip     bool
}

// replayItems reads the next open items. One whose event has been delivered
// to its endpoint since, or is on its way there just now, is to be skipped.
func (b *batch) replayItems(ctx context.Context, id string, endpoints []string, created time.Time) (items []replayItem, err error) {
	if len(endpoints) == 0 {
		return nil, nil
	}
	t := new(text).add(`SELECT i.position, i.endpoint_id, COALESCE(d.id, ''), COALESCE(d.event_id, ''), COALESCE(d.partner_code, ''),
		COALESCE(d.webhook_type, ''), COALESCE(d.object_id, ''), COALESCE(d.sequence, 0), COALESCE(d.finished_at, 0) = 0 OR EXISTS (
			SELECT 1 FROM deliveries o WHERE o.event_id = d.event_id AND o.endpoint_id = d.endpoint_id AND o.id <> d.id
			AND (o.finished_at = 0 OR o.state = 'delivered' AND (d.state <> 'delivered' OR o.finished_at >= ?)))
		FROM replay_items i LEFT JOIN deliveries d ON d.id = i.delivery_id
		WHERE i.replay_id = ? AND i.outcome = '' AND i.endpoint_id IN `, micros(created), id)
	err = list(t, endpoints).add(" ORDER BY i.position LIMIT ?", replayStep).query(ctx, b.tx, func(rows *sql.Rows) error {
		var item replayItem
		d := &item.Delivery
		err := rows.Scan(&item.position, &d.EndpointID, &d.ID, &d.EventID, &d.PartnerCode, &d.Type, &d.ObjectID, &d.Sequence, &item.skip)
		items = append(items, item)
		return err
	})
	return items, err
}

// replayNow makes the delivery of an item that has its slot already.
func (b *batch) replayNow(ctx context.Context, w *window, d webhook.Delivery, newID string) error {
	w.Admit(newID, b.now)
	w.dirty = true
	return b.insertDeliveries(ctx, []newDelivery{{lane: laneReplay, probe: w.Breaker.Probe == newID, Delivery: webhook.Delivery{
		ID: newID, EventID: d.EventID, EndpointID: d.EndpointID, PartnerCode: d.PartnerCode, Type: d.Type, ObjectID: d.ObjectID,
		Sequence: d.Sequence, State: webhook.Queued, Generation: 1, Trigger: webhook.TriggerReplay, ReplayOf: d.ID,
	}}})
}

// The newest admitted items are judged, once there are enough of them.
const (
	replayJudged    = 200
	replayMinJudged = 20
)

// StopFailingReplays implements delivery.Replays.
func (l *Ledger) StopFailingReplays(ctx context.Context) error {
	failing := map[string]string{}
	t := new(text).add(`SELECT r.id, (SELECT COUNT(*) FROM (SELECT new_id FROM replay_items WHERE replay_id = r.id AND outcome = 'admitted'
			ORDER BY position DESC LIMIT ?) AS n JOIN deliveries d ON d.id = n.new_id WHERE d.last_outcome <> ''),
		(SELECT COUNT(*) FROM (SELECT new_id FROM replay_items WHERE replay_id = r.id AND outcome = 'admitted'
			ORDER BY position DESC LIMIT ?) AS n JOIN deliveries d ON d.id = n.new_id WHERE d.last_outcome <> '' AND d.state <> 'delivered')
		FROM replays r WHERE r.state = 'running'`, replayJudged, replayJudged)
	err := t.query(ctx, l.read, func(rows *sql.Rows) error {
		var id string
		var judged, failed int
		err := rows.Scan(&id, &judged, &failed)
		if judged >= replayMinJudged && float64(failed) > delivery.ReplayMaxFailing*float64(judged) {
			failing[id] = fmt.Sprintf("%d of the newest %d deliveries fail", failed, judged)
		}
		return err
	})
	for id, note := range failing {
		if err == nil {
			_, err = l.write.ExecContext(ctx, "UPDATE replays SET state = 'stopped', note = $2 WHERE id = $1 AND state = 'running'", id, note)
		}
	}
	return l.broken(err)
}
