package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/webhook"
)

type recordOp struct {
	delivery.Result
	counted     bool // the fence let it through
	trigger     webhook.Trigger
	partner     string
	orderingKey string
	lane        int    // in which it waits if it does
	repeats     string // the event that it brings again; empty unless it repeats a delivery
}

// Record implements delivery.Ledger. It is fenced by the
// delivery's generation: the second record of an attempt, and one that comes
// after the reconciler gave the delivery up, change nothing and are no error.
func (l *Ledger) Record(ctx context.Context, r delivery.Result) (counted bool, err error) {
	op := &operation{record: &recordOp{Result: r}}
	if err := l.writer.submit(ctx, op); err != nil {
		return false, err
	}
	return op.record.counted, nil
}

// record writes the batch's attempts and their verdicts and frees the places.
func (b *batch) record(ctx context.Context) error {
	if len(b.records) == 0 {
		return nil
	}
	results := map[string]*recordOp{}
	for _, op := range b.records {
		op.record.counted = false
		if other := results[op.record.DeliveryID]; other == nil || other.Generation < op.record.Generation {
			results[op.record.DeliveryID] = op.record // an older one is behind the fence anyway
		}
	}
	if err := b.moveOn(ctx, results); err != nil {
		return err
	}
	for _, op := range b.records {
		if !op.record.counted {
			continue
		}
		w, err := b.window(op.record.EndpointID)
		if err != nil {
			return err
		}
		b.settle(w, op.record)
	}
	if err := b.settleRepeated(ctx); err != nil {
		return err
	}
	return b.insertAttempts(ctx)
}

// moveOn gives each delivery its next state, unless its generation has passed.
func (b *batch) moveOn(ctx context.Context, results map[string]*recordOp) error {
	err := b.byDay(ctx, "deliveries", webhook.DeliveryPrefix, slices.Sorted(maps.Keys(results)), func(table string, ids []string) error {
		return b.moveSome(ctx, table, ids, results)
	})
	if err != nil {
		return err
	}
	return b.readNow(ctx)
}

// moveSome moves those of one day, until readNow returns.
func (b *batch) moveSome(ctx context.Context, table string, ids []string, results map[string]*recordOp) error {
	// In flight when its endpoint went: no retry. The windows are locked by the
	// statement before this one, whose rows nobody has read yet.
	t := b.statement().Add("UPDATE "+table+` AS d SET state = CASE WHEN v.gone THEN 'cancelled' ELSE v.column3 END,
		due_at = CASE WHEN v.gone THEN NULL ELSE NULLIF(v.column4, -1) END, finished_at = CASE WHEN v.gone THEN ? ELSE v.column5 END,
		reason = CASE WHEN v.gone THEN ? ELSE v.column6 END, last_outcome = v.column7, last_status = v.column8, last_class = v.column9,
		asked_by_receiver = v.column10, first_at = CASE WHEN first_at = 0 THEN v.column11 ELSE first_at END,
		last_us = v.column12, last_at = ?, attempts = attempts + v.column13, repeats = repeats + v.column13, generation = generation + 1, queued_at = NULL,
		lane = CASE WHEN replay_of <> '' OR lane = 3 AND v.ordered THEN lane ELSE ? END, next_trigger = ?
		FROM (SELECT v.*, COALESCE(w.removed AND v.column3 = 'pending', FALSE) AS gone, COALESCE(w.ordered, FALSE) AS ordered FROM `,
		database.Micros(b.now), reasonRemoved, database.Micros(b.now), database.LaneRetry, string(webhook.TriggerRetry))
	t.Table(len(ids), func(i int) []any {
		r := results[ids[i]]
		reason, due, finished := r.Verdict.Reason, int64(-1), database.Micros(b.now)
		if r.Verdict.State == webhook.Pending {
			due, finished, reason = database.Micros(r.Verdict.NextAt), 0, ""
		}
		a, repeats := r.Attempt, 0
		if r.Dropped != nil {
			repeats = 1
		}
		return []any{r.DeliveryID, r.Generation, string(r.Verdict.State), due, finished, reason, string(a.Outcome), a.StatusCode, string(a.ErrorClass), r.Verdict.AskedByReceiver,
			database.Micros(a.StartedAt), a.Phases.Total.Microseconds(), repeats, r.EndpointID}
	})
	t.Add(" LEFT JOIN windows w ON w.endpoint_id = v.column14) AS v")
	database.JoinID(t.Add(" WHERE "), table, ids).Add(` AND generation = v.column2 AND state = 'sending'
		RETURNING id, trigger, partner_code, subject, lane, state, CASE WHEN replay_of <> '' THEN event_id ELSE '' END`)
	return b.laterRead(ctx, t, func(row database.Row) error {
		var id string
		var read recordOp
		var state webhook.State
		if err := row.Scan(&id, &read.trigger, &read.partner, &read.orderingKey, &read.lane, &state, &read.repeats); err != nil {
			return err
		}
		r := results[id]
		if state != r.Verdict.State {
			r.Verdict = delivery.Verdict{State: state, Reason: reasonRemoved}
		}
		r.counted, r.trigger, r.partner, r.orderingKey, r.lane, r.repeats = true, read.trigger, read.partner, read.orderingKey, read.lane, read.repeats
		return nil
	})
}

// settle frees a delivery's place, keeps it waiting for its retry or counts its
// end, and lets the window learn from the attempt.
func (b *batch) settle(w *window, r *recordOp) {
	isProbe := w.Breaker.Probe == r.DeliveryID
	w.leave(r.DeliveryID, r.trigger)
	if r.Verdict.State == webhook.Pending {
		w.waits(r.lane, 1)
		w.wake(r.Verdict.NextAt)
	} else {
		b.ended(r.trigger, r.partner, r.Verdict.State, r.EndpointID, r.orderingKey)
	}
	if r.trigger == webhook.TriggerTest {
		return
	}
	b.count(r.partner, rows.FactAttempt+string(r.Attempt.Outcome), 1)
	if r.Dropped != nil {
		b.count(r.partner, rows.FactAttempt+string(r.Dropped.Outcome), 1)
	}
	b.countTimes(r)
	if pause := b.now.Add(r.Verdict.EndpointPause); r.Verdict.EndpointPause > 0 && pause.After(w.NotBefore) {
		w.NotBefore = pause
	}
	w.resize(r.Attempt)
	passed := w.Breaker.State == webhook.BreakerClosed
	w.judge(r.Result, isProbe, b.now)
	switch passes := w.Breaker.State == webhook.BreakerClosed; {
	case passed && !passes:
		b.count(r.partner, rows.FactHeldBack, 1)
	case passes && !passed:
		b.count(r.partner, rows.FactLetGo, 1)
	}
	b.observe(w, r)
}

// countTimes counts how long the answer took, if there was one or too long was
// waited for it, and how long after the delivery was made its first attempt began.
func (b *batch) countTimes(r *recordOp) {
	if took, known := answerTime(r.Attempt); known {
		b.count(r.partner, rows.Answers.Fact(took), 1)
	}
	first := &r.Attempt
	if r.Dropped != nil {
		first = r.Dropped
	}
	if first.Number == 1 && r.trigger == webhook.TriggerFirst {
		b.count(r.partner, rows.FirstAttempts.Fact(first.StartedAt.Sub(webhook.IDTime(webhook.DeliveryPrefix, r.DeliveryID))), 1)
	}
}

// answerTime is how long an attempt's answer took, or was waited for in vain; not
// known if the gateway broke off, or had nothing that could be answered. What ended
// by a limit took that, whole seconds, and a little until it was noticed.
func answerTime(a webhook.Attempt) (took time.Duration, known bool) {
	timedOut := a.ErrorClass == webhook.ErrorTimeout
	if took = a.Phases.Total; timedOut || a.BodyCut {
		took = took.Truncate(time.Second)
	}
	return took, a.Outcome != webhook.OutcomeUnknown && (a.StatusCode != 0 || timedOut && a.Connected)
}

// leave gives back the place of a delivery.
func (w *window) leave(deliveryID string, trigger webhook.Trigger) {
	w.Used--
	if trigger == webhook.TriggerTest {
		w.Tests = max(0, w.Tests-1) // one may have begun before tests were counted
	}
	if w.Breaker.Probe == deliveryID {
		w.Breaker.Probe = ""
	}
	w.dirty = true
}

// resize widens or halves the window after an attempt.
func (w *window) resize(a webhook.Attempt) {
	switch {
	case a.BodyCut: // delivered or not, the receiver held a place for all the time it was given
		w.Shrink()
	case a.Outcome == webhook.OutcomeDelivered:
		w.Grow()
	case a.ErrorClass == webhook.ErrorTimeout || a.ErrorClass == webhook.ErrorConnect:
		w.Shrink()
	}
}

// judge moves the breaker: on a probe's outcome, or when a worker's judge of
// the current epoch says that it must trip.
func (w *window) judge(r delivery.Result, isProbe bool, now time.Time) {
	switch {
	case isProbe && r.Attempt.NotSent():
		// It says nothing of the receiver: another probe follows.
	case isProbe && r.Attempt.Refused() && r.Attempt.StatusCode == w.Breaker.Refused:
		w.Breaker.Refuse(now, w.Breaker.Refused, fmt.Sprintf("the probe was answered %d like all before it", w.Breaker.Refused))
	case isProbe:
		passed := r.Attempt.Outcome != webhook.OutcomeUnknown && !r.Attempt.CountsAsFailure()
		if w.Breaker.Probed(passed, now) {
			w.Grown = min(webhook.StartWindow, w.MaxInFlight)
		}
	case r.Trip != "" && w.Breaker.State == webhook.BreakerClosed && r.BreakerEpoch == w.Breaker.Epoch:
		w.Breaker.Refuse(now, r.Refused, r.Trip)
	}
}

// observe keeps the endpoint's health and disables it when it is beyond hope,
// which no clock but the database's may say.
func (b *batch) observe(w *window, r *recordOp) {
	warning, disable := w.Health.Observe(r.Attempt, r.Verdict.State, b.ledger.db.ByDatabase(b.now))
	if disable != "" && !w.Disabled {
		w.Disabled = true
		b.note("endpoint.disable", w.EndpointID, disable)
	} else if warning != "" {
		b.note("endpoint.warn", w.EndpointID, warning)
	}
}

// insertAttempts writes the attempts that the fence let through.
func (b *batch) insertAttempts(ctx context.Context) error {
	var counted []webhook.Attempt
	for _, op := range b.records {
		r := op.record
		if !r.counted {
			continue
		}
		if r.Dropped != nil {
			counted = append(counted, *r.Dropped)
		}
		r.Attempt.DeliveryID, r.Attempt.NextAt, r.Attempt.NextReason = r.DeliveryID, r.Verdict.NextAt, r.Verdict.Reason
		counted = append(counted, r.Attempt)
	}
	for group := range slices.Chunk(counted, database.MaxRows) {
		if err := b.insertSomeAttempts(ctx, group); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) insertSomeAttempts(ctx context.Context, counted []webhook.Attempt) error {
	t := b.statement().Add("INSERT INTO attempts (" + rows.AttemptColumns + ") ")
	t.Values(len(counted), func(i int) []any {
		a := counted[i]
		return []any{a.DeliveryID, a.Number, a.ID, string(a.Trigger), database.Micros(a.StartedAt), a.Phases.DNS.Microseconds(),
			a.Phases.Connect.Microseconds(), a.Phases.TLS.Microseconds(), a.Phases.FirstByte.Microseconds(), a.Phases.Total.Microseconds(),
			a.PeerIP, a.TLSVersion, database.Micros(a.TLSNotAfter), rows.HeaderBytes(a.RequestHeaders), string(a.Outcome), a.StatusCode,
			string(a.ErrorClass), database.Text(a.ErrorDetail), rows.HeaderBytes(a.ResponseHeaders), database.Bytes(a.ResponseBody), a.Truncated,
			a.KeyID, a.Worker, database.Micros(a.NextAt), a.NextReason, a.HeadersCut, database.Bytes(a.Certificate)}
	})
	return b.later(ctx, t)
}
