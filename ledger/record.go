package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ledgerhook/delivery"
	"ledgerhook/webhook"
)

type recordOp struct {
	delivery.Result
	counted bool // the fence let it through
}

// Record implements delivery.Ledger. It is fenced by the delivery's
// generation: the second record of an attempt, and one that comes after the
// reconciler gave the delivery up, change nothing and are no error.
func (l *Ledger) Record(ctx context.Context, r delivery.Result) error {
	return l.writer.submit(ctx, &operation{record: &recordOp{Result: r}})
}

// record writes the batch's attempts and their verdicts and frees the slots.
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
		w.settle(op.record.Result)
	}
	return b.insertAttempts(ctx)
}

// moveOn gives each delivery its next state, unless its generation has passed.
func (b *batch) moveOn(ctx context.Context, results map[string]*recordOp) error {
	var ordered []*recordOp
	for _, r := range results {
		ordered = append(ordered, r)
	}
	slices.SortFunc(ordered, func(x, y *recordOp) int { return strings.Compare(x.DeliveryID, y.DeliveryID) })
	t := new(text).add(`UPDATE deliveries SET state = v.column3, due_at = NULLIF(v.column4, -1), finished_at = v.column5,
		reason = v.column6, last_outcome = v.column7, last_status = v.column8, last_class = v.column9,
		generation = generation + 1, queued_at = NULL, lane = ?, next_trigger = ? FROM `, laneRetry, string(webhook.TriggerRetry))
	t.table(len(ordered), func(i int) []any {
		r := ordered[i]
		state, reason := r.Verdict.State, r.Verdict.Reason
		if w := b.windows[r.EndpointID]; w != nil && w.Removed && state == webhook.Pending {
			state, reason = webhook.Cancelled, reasonRemoved // in flight when its endpoint went: no retry
			r.Verdict = delivery.Verdict{State: state, Reason: reason}
		}
		due, finished := int64(-1), micros(b.now)
		if state == webhook.Pending {
			due, finished, reason = micros(r.Verdict.NextAt), 0, ""
		}
		a := r.Attempt
		return []any{r.DeliveryID, r.Generation, string(state), due, finished, reason, string(a.Outcome), a.StatusCode, string(a.ErrorClass)}
	})
	t.add(` WHERE id >= ? AND id <= ? AND id = v.column1 AND generation = v.column2 AND state = 'sending'
		RETURNING id`, ordered[0].DeliveryID, ordered[len(ordered)-1].DeliveryID)
	return t.query(ctx, b.tx, func(rows *sql.Rows) error {
		var id string
		if err := rows.Scan(&id); err != nil {
			return err
		}
		results[id].counted = true
		return nil
	})
}

// settle frees a delivery's slot, or keeps it waiting for its retry, and lets
// the window learn from the attempt.
func (w *window) settle(r delivery.Result) {
	w.Used--
	if r.Verdict.State == webhook.Pending {
		w.waits(laneRetry, 1)
		w.wake(r.Verdict.NextAt)
	}
	switch {
	case r.Attempt.Trigger == webhook.TriggerTest:
	case r.Attempt.Outcome == webhook.OutcomeDelivered:
		w.Grow()
	case r.Attempt.ErrorClass == webhook.ErrorTimeout || r.Attempt.ErrorClass == webhook.ErrorConnect:
		w.Shrink()
	}
}

// attemptColumns are what attemptFields reads.
const attemptColumns = `delivery_id, number, id, trigger, started_at, dns_us, connect_us, tls_us, first_byte_us, total_us,
	peer_ip, tls_version, tls_not_after, request_headers, outcome, status_code, error_class, error_detail, response_headers,
	response_body, truncated, key_id, worker_id, next_at, next_reason`

func attemptFields(a *webhook.Attempt) []any {
	return []any{&a.DeliveryID, &a.Number, &a.ID, &a.Trigger, timeColumn{&a.StartedAt}, microsColumn{&a.Phases.DNS},
		microsColumn{&a.Phases.Connect}, microsColumn{&a.Phases.TLS}, microsColumn{&a.Phases.FirstByte}, microsColumn{&a.Phases.Total},
		&a.PeerIP, &a.TLSVersion, timeColumn{&a.TLSNotAfter}, headerColumn{&a.RequestHeaders}, &a.Outcome, &a.StatusCode,
		&a.ErrorClass, &a.ErrorDetail, headerColumn{&a.ResponseHeaders}, &a.ResponseBody, &a.Truncated, &a.KeyID, &a.Worker,
		timeColumn{&a.NextAt}, &a.NextReason}
}

// insertAttempts writes the attempts that the fence let through.
func (b *batch) insertAttempts(ctx context.Context) error {
	var counted []*recordOp
	for _, op := range b.records {
		if op.record.counted {
			counted = append(counted, op.record)
		}
	}
	for group := range slices.Chunk(counted, statementRows) {
		if err := b.insertSomeAttempts(ctx, group); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) insertSomeAttempts(ctx context.Context, counted []*recordOp) error {
	t := new(text).add("INSERT INTO attempts (" + attemptColumns + ") VALUES ")
	t.rows(len(counted), func(i int) []any {
		r, a := counted[i], counted[i].Attempt
		return []any{r.DeliveryID, a.Number, a.ID, string(a.Trigger), micros(a.StartedAt), a.Phases.DNS.Microseconds(),
			a.Phases.Connect.Microseconds(), a.Phases.TLS.Microseconds(), a.Phases.FirstByte.Microseconds(), a.Phases.Total.Microseconds(),
			a.PeerIP, a.TLSVersion, micros(a.TLSNotAfter), headerBytes(a.RequestHeaders), string(a.Outcome), a.StatusCode,
			string(a.ErrorClass), cleanText(a.ErrorDetail), headerBytes(a.ResponseHeaders), bytesOrEmpty(a.ResponseBody), a.Truncated,
			a.KeyID, a.Worker, micros(r.Verdict.NextAt), r.Verdict.Reason}
	})
	if _, err := t.exec(ctx, b.tx); err != nil {
		return fmt.Errorf("insert attempts: %w", err)
	}
	return nil
}

// headerBytes is how the ledger keeps headers: JSON as bytes.
func headerBytes(h map[string][]string) []byte {
	text, err := json.Marshal(h)
	if err != nil || len(h) == 0 { // a map of strings always has a JSON form
		return []byte("{}")
	}
	return text
}

// headerColumn scans what headerBytes wrote.
type headerColumn struct{ h *map[string][]string }

func (c headerColumn) Scan(v any) error {
	b, ok := v.([]byte)
	if !ok {
		return fmt.Errorf("headers cannot be read from %T", v)
	}
	*c.h = nil
	if err := json.Unmarshal(b, c.h); err != nil {
		return errors.New("headers are damaged")
	}
	return nil
}

// cleanText makes s fit for a text column: PostgreSQL takes neither NUL nor
// broken UTF-8.
func cleanText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

func bytesOrEmpty(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
