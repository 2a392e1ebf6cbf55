package ledger

import (
	"context"
	"maps"
	"slices"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/webhook"
)

// fairShare: every so many admissions the oldest due retry or replay goes
// before first attempts, so that neither starves.
const fairShare = 4

// window is a locked row and whether the batch has changed it.
type window struct {
	webhook.Window
	dirty bool
}

// lockWindows locks the rows of every endpoint that the batch concerns, in
// the order of their ids. An event whose key is known concerns none.
func (b *batch) lockWindows(ctx context.Context) error {
	ids := map[string]bool{}
	for _, op := range b.records {
		ids[op.record.EndpointID] = true
	}
	for _, op := range b.alters {
		for _, id := range op.alter.endpoints {
			ids[id] = true
		}
	}
	for _, op := range b.fresh() {
		for _, endpoint := range op.append.endpoints {
			ids[endpoint.ID] = true
		}
	}
	if len(ids) == 0 {
		return b.readNow(ctx) // the objects
	}
	t := b.statement().Add("SELECT " + rows.WindowColumns + " FROM windows w WHERE ")
	database.In(t, "w.endpoint_id", slices.Sorted(maps.Keys(ids))).Add(" ORDER BY w.endpoint_id" + b.ledger.db.ForUpdate)
	err := b.laterRead(ctx, t, func(row database.Row) error {
		w := &window{}
		if err := row.Scan(rows.WindowFields(&w.Window)...); err != nil {
			return err
		}
		stored := w.Window
		w.Bound(b.now)
		w.dirty = w.Window != stored
		b.windows[w.EndpointID] = w
		return nil
	})
	if err != nil || len(b.records) > 0 { // which are read with them
		return err
	}
	return b.readNow(ctx)
}

// checkRoutes has the batch run again if, before their windows were locked, an
// endpoint of its events was removed or took a waiting place over.
func (b *batch) checkRoutes(context.Context) error {
	for _, op := range b.fresh() {
		for _, endpoint := range op.append.endpoints {
			if w := b.windows[endpoint.ID]; w != nil && (w.Removed || w.Unrouted != endpoint.Window.Unrouted) {
				return &rerouted{}
			}
		}
	}
	return nil
}

// window returns the locked row of an endpoint.
func (b *batch) window(endpointID string) (*window, error) {
	w := b.windows[endpointID]
	if w == nil {
		return nil, webhook.NotFound("endpoint", endpointID)
	}
	w.dirty = true
	return w, nil
}

// wake makes the promoter look at the window at t, if not before.
func (w *window) wake(t time.Time) {
	if w.WakeAt.IsZero() || t.Before(w.WakeAt) {
		w.WakeAt = t
	}
	w.dirty = true
}

// waits counts a delivery into the backlog, or out of it with n = -1. A blocked
// one is not counted as waiting for the window: it waits for its predecessor.
func (w *window) waits(lane, n int) {
	switch lane {
	case database.LaneBlocked:
		w.WaitingBlocked += n
	case database.LaneFirst:
		w.WaitingFirst += n
	default:
		w.WaitingAgain += n
	}
	w.dirty = true
}

// wants reports whether the window has room for something that may be waiting.
func (w *window) wants(now time.Time) bool { return w.Room(now) > 0 && w.backlog(now) }

// backlog reports whether something may be waiting that could be admitted now.
func (w *window) backlog(now time.Time) bool {
	return w.WaitingFirst > 0 || w.WaitingAgain > 0 && !w.WakeAt.IsZero() && !w.WakeAt.After(now.Add(database.LookAhead))
}

// waiting is a delivery that could be admitted.
type waiting struct {
	id         string
	partner    string
	generation int64
	lane       int
	dueAt      time.Time
	first      bool // its first attempt, in whatever lane
}

// refill gives the free places of the batch's windows to what waits for them.
// It reads in statements of its own after the windows are locked: on
// PostgreSQL a statement that locks and reads sees what was there before it
// had the lock, and would lose wake-ups.
func (b *batch) refill(ctx context.Context) error {
	var hungry []*window
	for _, id := range slices.Sorted(maps.Keys(b.windows)) {
		if w := b.windows[id]; w.wants(b.now) {
			hungry = append(hungry, w)
		}
	}
	for group := range slices.Chunk(hungry, 32) {
		candidates, err := b.candidates(ctx, group)
		if err != nil {
			return err
		}
		var picked []delivery.Ticket
		for _, w := range group {
			picked = append(picked, w.admit(candidates[w.EndpointID], b.now)...)
		}
		if err := b.queue(ctx, picked); err != nil {
			return err
		}
		if err := b.setWake(ctx, group); err != nil {
			return err
		}
	}
	return nil
}

// candidates reads, for each window, as many waiting deliveries of each lane
// as it has room for, in order.
func (b *batch) candidates(ctx context.Context, group []*window) (map[string][]waiting, error) {
	var lanes []database.Lane
	for _, w := range group {
		lanes = append(lanes, database.LanesOf(w.Window, w.Room(b.now))...)
	}
	t := b.ledger.db.First(lanes, "endpoint_id, id, partner_code, generation, lane, due_at, attempts = 0 AND replay_of = ''", b.now.Add(database.LookAhead), "")
	found := map[string][]waiting{}
	err := t.Query(ctx, b.tx, func(row database.Row) error {
		var endpoint string
		var d waiting
		if err := row.Scan(&endpoint, &d.id, &d.partner, &d.generation, &d.lane, database.Time(&d.dueAt), &d.first); err != nil {
			return err
		}
		found[endpoint] = append(found[endpoint], d)
		return nil
	})
	return found, err
}

// admit takes places for the candidates in the order of fairness: first
// attempts, then due retries, then due replays; every fairShare-th admission
// the oldest due retry or replay; one that is not yet due only while a place
// stays free beside it.
func (w *window) admit(candidates []waiting, now time.Time) []delivery.Ticket {
	var lanes [database.LaneReplay + 1][]waiting
	for _, d := range candidates {
		lanes[d.lane] = append(lanes[d.lane], d)
	}
	var tickets []delivery.Ticket
	for w.Room(now) > 0 {
		lane := w.nextLane(lanes, now)
		if lane < 0 {
			break
		}
		d := lanes[lane][0]
		lanes[lane] = lanes[lane][1:]
		w.Admit(d.id, now)
		w.waits(d.lane, -1)
		tickets = append(tickets, delivery.Ticket{DeliveryID: d.id, Generation: d.generation, EndpointID: w.EndpointID, PartnerCode: d.partner, DueAt: d.dueAt})
	}
	return tickets
}

// nextLane chooses the lane of the next admission, -1 for none.
func (w *window) nextLane(lanes [database.LaneReplay + 1][]waiting, now time.Time) int {
	due := func(lane int) bool { return len(lanes[lane]) > 0 && !lanes[lane][0].dueAt.After(now) }
	oldest := -1 // of the due retries and replays
	for lane := database.LaneRetry; lane <= database.LaneReplay; lane++ {
		if due(lane) && !lanes[lane][0].first && (oldest < 0 || lanes[lane][0].dueAt.Before(lanes[oldest][0].dueAt)) {
			oldest = lane
		}
	}
	if oldest >= 0 && w.Admissions%fairShare == fairShare-1 {
		return oldest
	}
	for lane := range lanes {
		if due(lane) {
			return lane
		}
	}
	for lane := range lanes {
		if len(lanes[lane]) > 0 && w.Room(now) > 1 {
			return lane
		}
	}
	return -1
}

// queue marks picked deliveries as claimed for a free slot of this process or as
// queued, one admitted before its time from then on.
func (b *batch) queue(ctx context.Context, picked []delivery.Ticket) error {
	if err := b.markProbes(ctx, picked); err != nil {
		return err
	}
	held := map[string]*claimOp{}
	var ids []string // of those for the queue
	for _, p := range picked {
		if c := b.hold(p); c != nil {
			held[p.DeliveryID] = c
		} else {
			ids = append(ids, p.DeliveryID)
		}
	}
	if err := b.takePicked(ctx, held); err != nil {
		return err
	}
	slices.Sort(ids)
	now := database.Micros(b.now)
	return b.byDay(ctx, "deliveries", webhook.DeliveryPrefix, ids, func(table string, ids []string) error {
		t := b.statement().Add("UPDATE "+table+` SET state = 'queued', due_at = NULL, queued_at = CASE WHEN due_at > ? THEN due_at ELSE ? END
			WHERE state = 'pending' AND `, now, now)
		return b.laterChanges(ctx, database.ByID(t, table, ids), len(ids))
	})
}

// takePicked claims picked deliveries, until readNow returns.
func (b *batch) takePicked(ctx context.Context, held map[string]*claimOp) error {
	now := database.Micros(b.now)
	return b.byDay(ctx, "deliveries", webhook.DeliveryPrefix, slices.Sorted(maps.Keys(held)), func(table string, ids []string) error {
		t := b.statement().Add("UPDATE "+table+` SET state = 'sending', attempts = attempts + 1, due_at = NULL, queued_at = ?, claimed_at = ?, worker_id = ?
			WHERE state = 'pending' AND `, now, now, held[ids[0]].workerID)
		return b.laterRead(ctx, database.ByID(t, table, ids).Add(" RETURNING "+claimedColumns), func(found database.Row) error { return readClaim(found, held) })
	})
}

// markProbes gives the attempts of picked deliveries that probe a breaker
// their trigger.
func (b *batch) markProbes(ctx context.Context, picked []delivery.Ticket) error {
	for _, p := range picked {
		if b.windows[p.EndpointID].Breaker.Probe != p.DeliveryID {
			continue
		}
		_, err := b.tx.ExecContext(ctx, "UPDATE deliveries SET next_trigger = $2 WHERE id = $1", p.DeliveryID, string(webhook.TriggerProbe))
		if err != nil {
			return err
		}
	}
	return nil
}

// setWake sets when the promoter must look again at windows that were just
// refilled: at the next due time, or soon while due work lacks room.
func (b *batch) setWake(ctx context.Context, group []*window) error {
	var again []database.Lane
	for _, w := range group {
		w.dirty = true
		w.WakeAt = time.Time{}
		if w.WaitingFirst > 0 {
			w.wake(b.now.Add(time.Second))
		}
		if w.WaitingAgain > 0 {
			again = append(again, database.Lane{EndpointID: w.EndpointID, Number: database.LaneRetry, Limit: 1}, database.Lane{EndpointID: w.EndpointID, Number: database.LaneReplay, Limit: 1})
		}
	}
	if len(again) == 0 {
		return nil
	}
	t := b.ledger.db.First(again, "endpoint_id, due_at", time.Time{}, "")
	return t.Query(ctx, b.tx, func(row database.Row) error {
		var id string
		var due time.Time
		if err := row.Scan(&id, database.Time(&due)); err != nil {
			return err
		}
		w := b.windows[id]
		if !due.After(b.now) {
			due = b.now.Add(time.Second)
		}
		w.wake(due)
		return nil
	})
}

// storeWindows writes the rows that the batch has changed.
func (b *batch) storeWindows(ctx context.Context) error {
	var changed []*window
	for _, id := range slices.Sorted(maps.Keys(b.windows)) {
		if b.windows[id].dirty {
			changed = append(changed, b.windows[id])
		}
	}
	for group := range slices.Chunk(changed, database.MaxRows/2) { // of more values than others
		if err := b.storeSome(ctx, group); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) storeSome(ctx context.Context, changed []*window) error {
	endpoints := make([]string, len(changed))
	for i, w := range changed {
		endpoints[i] = w.EndpointID
	}
	t := b.statement().Add(`UPDATE windows SET max_in_flight = v.column2, grown = v.column3, used = v.column4,
		waiting_first = v.column5, waiting_again = v.column6, waiting_blocked = v.column7, admissions = v.column8,
		next_sequence = v.column9, paused = v.column10, disabled = v.column11, partner_disabled = v.column12,
		removed = v.column13, wake_at = NULLIF(v.column14, 0), breaker = v.column15, open_until = v.column16,
		breaker_epoch = v.column17, breaker_opened = v.column18, breaker_reason = v.column19, probe = v.column20,
		probes_passed = v.column21, last_success = v.column22, failing_since = v.column23, failed = v.column24,
		gone = v.column25, warned = v.column26, disabled_reason = v.column27, not_before = v.column28,
		rate_every = v.column29, rate_next = v.column30, ordered = v.column31, filtering = v.column32, tests = v.column33,
		breaker_refused = v.column34, attempts_failed = v.column35, attempts_alike = v.column36, last_outcome = v.column37,
		last_class = v.column38, last_status = v.column39, took_us = v.column40, usual_us = v.column41, slow_since = v.column42 FROM `)
	t.Table(len(changed), func(i int) []any {
		w := changed[i]
		k, h := w.Breaker, w.Health
		return []any{w.EndpointID, w.MaxInFlight, w.Grown, w.Used, w.WaitingFirst, w.WaitingAgain, w.WaitingBlocked, w.Admissions,
			w.NextSequence, w.Paused, w.Disabled, w.PartnerDisabled, w.Removed, database.Micros(w.wakeUp(b.now)), string(k.State),
			database.Micros(k.OpenUntil), k.Epoch, k.Opened, k.Reason, k.Probe, k.Passed, database.Micros(h.LastSuccess), database.Micros(h.FailingSince),
			h.Failed, h.Gone, h.Warned.Microseconds(), h.DisabledReason, database.Micros(w.NotBefore), w.RateEvery.Microseconds(),
			database.Micros(w.RateNext), w.Ordered, w.Filtering, w.Tests, k.Refused, h.Attempts, h.Alike, string(h.Last.Outcome),
			string(h.Last.ErrorClass), h.Last.StatusCode, h.Pace.Took.Microseconds(), h.Pace.Usual.Microseconds(), database.Micros(h.Pace.SlowSince)}
	})
	t.Add(" WHERE windows.endpoint_id = v.column1")
	if t.Arrays {
		database.In(t.Add(" AND "), "endpoint_id", endpoints)
	}
	return b.later(ctx, t)
}

// wakeUp is when the promoter must look at the window: never while it is
// closed by somebody (whoever opens it wakes it), nor before its gate opens.
func (w *window) wakeUp(now time.Time) time.Time {
	if !w.Open() || w.Filtering || w.WaitingFirst+w.WaitingAgain == 0 || w.Breaker.State == webhook.BreakerOpen && w.Breaker.OpenUntil.IsZero() {
		return time.Time{}
	}
	gate := w.GateAt(now)
	if gate.IsZero() {
		return w.WakeAt
	}
	if w.WakeAt.Before(gate) { // also when nobody set it: what waits must be looked at then
		return gate
	}
	return w.WakeAt
}
