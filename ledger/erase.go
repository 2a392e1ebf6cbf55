package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	"ledgerhook/orders"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

const (
	// reasonErased is why a delivery ended whose event was erased.
	reasonErased = "erased"
	// eraseStep is how many events one transaction erases.
	eraseStep = 100
	// eraseBudget is how long one call of Erase goes on beginning steps.
	eraseBudget = 8 * time.Second
)

// erasure is one call of Erase, or of its preview.
type erasure struct {
	ledger  *Ledger
	subject partners.DataSubject
	by      partners.AuditEntry
	orders  []string // ids of the data subject's orders
	keys    []string // the ordering keys of its events
	types   []webhook.Type
	counts  partners.ErasureCounts
}

// PreviewErasure counts what Erase would erase, and changes nothing.
func (l *Ledger) PreviewErasure(ctx context.Context, s partners.DataSubject) (partners.ErasureCounts, error) {
	e := &erasure{ledger: l, subject: s}
	if err := e.find(ctx); err != nil {
		return e.counts, err
	}
	if _, err := e.walk(ctx, e.countStep); err != nil {
		return e.counts, err
	}
	return e.counts, e.countRecords(ctx)
}

// Erase erases the content of events, attempts, orders and letters about s;
// ids, statuses, amounts, times, hashes and counts stay. A delivery that still
// waits is cancelled. It goes a few events at a time, each step a transaction
// with by, whose Detail is the reason, and begins no step after 8 s: done is
// false then, or while a delivery is being sent, and a further call goes on.
// Repeating it is safe, also once all is erased. Orders that have not ended are
// a Conflict, and nothing is erased then.
func (l *Ledger) Erase(ctx context.Context, s partners.DataSubject, by partners.AuditEntry) (counts partners.ErasureCounts, done bool, err error) {
	by.Target, by.PartnerCode = s.Target(), s.PartnerCode
	e := &erasure{ledger: l, subject: s, by: by}
	if err := e.find(ctx); err != nil {
		return e.counts, false, err
	}
	if n := e.counts.Unfinished; n > 0 {
		return e.counts, false, webhook.Conflict(fmt.Sprintf("orders that have not ended: %d; erase them once they are SUCCESS or FAIL", n))
	}
	done, err = e.walk(ctx, e.eraseStep)
	if err != nil || !done || e.counts.Sending > 0 {
		return e.counts, false, err
	}
	err = e.eraseRecords(ctx) // last: a person's orders are found by the e-mail
	return e.counts, err == nil, err
}

// find finds the orders and says which events are meant.
func (e *erasure) find(ctx context.Context) error {
	s := e.subject
	switch {
	case s.CardID != "":
		e.keys, e.types = []string{s.CardID}, webhook.TypesErasedWith(webhook.ErasableCard)
		return nil
	case s.AccountID != "":
		e.keys, e.types = []string{s.AccountID}, webhook.TypesErasedWith(webhook.ErasableAccount)
		return nil
	}
	e.types = webhook.TypesErasedWith(webhook.ErasableOrder)
	t := new(database.Statement).Add("SELECT id, external_order_id, status FROM orders WHERE partner_code = ? AND ", s.PartnerCode)
	if s.Email != "" {
		t.Add("email = ?", s.Email)
	} else {
		t.Add("(id = ? OR external_order_id = ?)", s.OrderID, s.OrderID)
	}
	err := t.Add(" ORDER BY id").Query(ctx, e.ledger.db.Read, func(row database.Row) error {
		var id, external string
		var status orders.Status
		err := row.Scan(&id, &external, &status)
		e.orders, e.keys = append(e.orders, id), append(e.keys, external)
		if !status.Final() {
			e.counts.Unfinished++
		}
		return err
	})
	if err == nil && s.OrderID != "" && len(e.orders) == 0 {
		err = webhook.NotFound("order", s.OrderID)
	}
	return err
}

// walk calls step for all events about the data subject, a few at a time, unless
// its budget ends first.
func (e *erasure) walk(ctx context.Context, step func(ctx context.Context, events []string) error) (whole bool, err error) {
	began := time.Now()
	for _, orderingKey := range e.keys {
		after := ""
		for {
			if time.Since(began) > eraseBudget {
				return false, nil
			}
			events, err := e.nextEvents(ctx, orderingKey, after)
			if err != nil {
				return false, fmt.Errorf("find events to erase: %w", err)
			}
			if len(events) == 0 {
				break
			}
			if err := step(ctx, events); err != nil {
				return false, fmt.Errorf("erase events: %w", err)
			}
			after = events[len(events)-1]
		}
	}
	return true, nil
}

// nextEvents lists the next events with an ordering key, erased ones too. Two
// indexes know it: of most events the object is the ordering key.
func (e *erasure) nextEvents(ctx context.Context, orderingKey, after string) ([]string, error) {
	t := new(database.Statement).Add("SELECT id FROM (")
	for i, of := range []string{"object_id = ? AND subject = object_id", "subject = ? AND subject <> object_id"} {
		if i > 0 {
			t.Add(" UNION ALL ")
		}
		t.Add("SELECT id FROM events WHERE "+of+" AND partner_code = ? AND id > ? AND ", orderingKey, e.subject.PartnerCode, after)
		database.In(t, "webhook_type", e.types)
	}
	return database.Collect(ctx, e.ledger.db.Read, t.Add(") AS found ORDER BY id LIMIT ?", eraseStep), database.One[string])
}

// erasedDelivery is a delivery of an event that is erased.
type erasedDelivery struct {
	id, endpoint string
	state        webhook.State
}

func (e *erasure) deliveries(ctx context.Context, events []string) ([]erasedDelivery, error) {
	db := e.ledger.db
	t := database.InList(new(database.Statement).Add("SELECT id, endpoint_id, state FROM deliveries WHERE event_id IN "), events)
	return database.Collect(ctx, db.Read, db.MadeFor(t, "id", webhook.DeliveryPrefix, events[0]).Add(" ORDER BY id"), func(d *erasedDelivery) []any {
		return []any{&d.id, &d.endpoint, &d.state}
	})
}

// hasContent says in SQL that an attempt has something to erase: headers are
// JSON, and none are "{}".
const hasContent = "(length(request_headers) > 2 OR length(response_headers) > 2 OR length(response_body) > 0 OR error_detail <> '')"

func (e *erasure) countStep(ctx context.Context, events []string) error {
	db := e.ledger.db
	var fresh int
	t := database.InList(new(database.Statement).Add("SELECT COUNT(*) FROM events WHERE erased_at = 0 AND id IN "), events)
	if err := db.Read.QueryRowContext(ctx, t.String(), t.Args...).Scan(&fresh); err != nil {
		return err
	}
	e.counts.Events += fresh
	all, err := e.deliveries(ctx, events)
	if err != nil || len(all) == 0 {
		return err
	}
	var ids []string
	for _, d := range all {
		ids = append(ids, d.id)
		switch d.state {
		case webhook.Pending, webhook.Queued:
			e.counts.Deliveries++
		case webhook.Sending:
			e.counts.Sending++
		}
	}
	var attempts int
	t = database.InList(new(database.Statement).Add("SELECT COUNT(*) FROM attempts WHERE "+hasContent+" AND delivery_id IN "), ids)
	err = db.Read.QueryRowContext(ctx, t.String(), t.Args...).Scan(&attempts)
	e.counts.Attempts += attempts
	return err
}

// eraseStep erases events, so that from now on no claim of a delivery gets
// their data, then ends the deliveries that wait, then erases what attempts
// brought. A delivery that is being sent by then has been claimed before.
func (e *erasure) eraseStep(ctx context.Context, events []string) error {
	t := new(database.Statement).Add("UPDATE events SET data = ?, erased_at = ?, erased_by = ? WHERE erased_at = 0 AND id IN ",
		[]byte{}, database.Micros(time.Now()), e.by.Actor)
	n, err := e.change(ctx, "events", database.InList(t, events))
	if err != nil {
		return err
	}
	e.counts.Events += n
	all, err := e.deliveries(ctx, events)
	if err != nil || len(all) == 0 {
		return err
	}
	waiting := map[string][]string{} // delivery ids by endpoint
	var ids []string
	for _, d := range all {
		ids = append(ids, d.id)
		if d.state == webhook.Pending || d.state == webhook.Queued {
			waiting[d.endpoint] = append(waiting[d.endpoint], d.id)
		}
	}
	for _, endpoint := range slices.Sorted(maps.Keys(waiting)) {
		if err := e.cancel(ctx, endpoint, waiting[endpoint]); err != nil {
			return err
		}
	}
	if all, err = e.deliveries(ctx, events); err != nil {
		return err
	}
	for _, d := range all {
		if d.state == webhook.Sending {
			e.counts.Sending++
		}
	}
	t = new(database.Statement).Add("UPDATE attempts SET request_headers = ?, response_headers = ?, response_body = ?, error_detail = '' WHERE "+hasContent+" AND delivery_id IN ",
		[]byte("{}"), []byte("{}"), []byte{})
	n, err = e.change(ctx, "attempts", database.InList(t, ids))
	e.counts.Attempts += n
	return err
}

// change runs a statement with its entry in the audit log; one that changes
// nothing has none.
func (e *erasure) change(ctx context.Context, what string, t *database.Statement) (changed int, err error) {
	ctx, cancel := context.WithTimeout(ctx, database.CommitTimeout)
	defer cancel()
	err = e.ledger.db.InTx(ctx, func(tx database.Querier) error {
		n, err := t.Exec(ctx, tx)
		if changed = int(n); err != nil || n == 0 {
			return err
		}
		return audit.Append(ctx, tx, []partners.AuditEntry{e.entry(fmt.Sprintf("%s: %d", what, n))}, time.Now())
	})
	return changed, err
}

// entry is by with what was erased before the reason.
func (e *erasure) entry(what string) partners.AuditEntry {
	entry := e.by
	entry.Detail = what + "; " + e.by.Detail
	return entry
}

// cancel ends those of an endpoint's deliveries that still wait.
func (e *erasure) cancel(ctx context.Context, endpoint string, ids []string) error {
	var n int
	err := e.ledger.withLockedWindows(ctx, []string{endpoint}, func(ctx context.Context, b *batch) error {
		w, err := b.window(endpoint)
		if err != nil {
			return err
		}
		if n, err = b.cancel(ctx, reasonErased, w, func(t *database.Statement) { database.InList(t.Add("id IN "), ids) }); err != nil {
			return err
		}
		queued, err := b.cancelQueued(ctx, reasonErased, w, ids)
		if n += queued; err == nil && n > 0 {
			b.notes = append(b.notes, e.entry("waiting deliveries: "+strconv.Itoa(n)))
		}
		return err
	})
	e.counts.Deliveries += n
	return err
}

// cancelQueued ends those of the deliveries that have a place in the window and
// are not claimed yet, and reports how many.
func (b *batch) cancelQueued(ctx context.Context, reason string, w *window, ids []string) (n int, err error) {
	t := new(database.Statement).Add("UPDATE deliveries SET state = 'cancelled', reason = ?, queued_at = NULL, finished_at = ?, generation = generation + 1 WHERE state = 'queued' AND endpoint_id = ? AND id IN ",
		reason, database.Micros(b.now), w.EndpointID)
	err = database.InList(t, ids).Add(" RETURNING id, trigger, partner_code, subject").Query(ctx, b.tx, func(row database.Row) error {
		var id, partner, orderingKey string
		var trigger webhook.Trigger
		if err := row.Scan(&id, &trigger, &partner, &orderingKey); err != nil {
			return err
		}
		n++
		w.leave(id, trigger)
		b.ended(trigger, partner, webhook.Cancelled, w.EndpointID, orderingKey)
		return nil
	})
	return n, err
}
