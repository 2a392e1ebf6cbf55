package ledger

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

type appendOp struct {
	delivery.NewEvent
	by     []partners.AuditEntry
	result delivery.Appended

	// found by openEvents
	fresh     bool
	endpoints []webhook.Endpoint // that the event goes to, or its partner's waiting place
}

// Append stores an event, its sequence numbers and one delivery for each
// endpoint that takes it, in one transaction with what else has gathered. Once
// it returns without error nothing can lose them. The same key with other
// content is a Conflict, an unknown partner NotFound. by is about the endpoint
// that alone gets the event.
func (l *Ledger) Append(ctx context.Context, e delivery.NewEvent, by ...partners.AuditEntry) (delivery.Appended, error) {
	op := &appendOp{NewEvent: e, by: by}
	if err := l.writer.submit(ctx, &operation{append: op}); err != nil {
		return delivery.Appended{}, err
	}
	return op.result, nil
}

// AppendAll appends events in their order, each by itself: errs[i] says what
// became of the i-th.
func (l *Ledger) AppendAll(ctx context.Context, events []delivery.NewEvent) (answers []delivery.Appended, errs []error) {
	answers = make([]delivery.Appended, len(events))
	ops := make([]*operation, len(events))
	for i, e := range events {
		ops[i] = &operation{append: &appendOp{NewEvent: e}}
	}
	errs = l.writer.submitAll(ctx, ops)
	for i, op := range ops {
		if errs[i] == nil {
			answers[i] = op.append.result
		}
	}
	return answers, errs
}

// partnerCodeAndKey identifies an idempotency key.
type partnerCodeAndKey struct{ partner, key string }

func (a *appendOp) key() partnerCodeAndKey {
	return partnerCodeAndKey{a.Event.PartnerCode, a.IdempotencyKey}
}

// object identifies a card, top-up, transaction, account or order.
type object struct {
	partner string
	typ     webhook.Type
	id      string
}

func (a *appendOp) object() object {
	return object{a.Event.PartnerCode, a.Event.Type, a.Event.ObjectID}
}

func compareKeys(a, b partnerCodeAndKey) int {
	return cmp.Or(cmp.Compare(a.partner, b.partner), cmp.Compare(a.key, b.key))
}

func compareObjects(a, b object) int {
	return cmp.Or(cmp.Compare(a.partner, b.partner), cmp.Compare(a.typ, b.typ), cmp.Compare(a.id, b.id))
}

// openEvents finds out what each event of the batch is: a new one and for
// whom, a duplicate, or a refusal. It stores their keys, and locks their objects,
// which say at lockWindows which of them repeat a status; a test has neither.
func (b *batch) openEvents(ctx context.Context) error {
	if len(b.appends) == 0 {
		return nil
	}
	for _, op := range b.appends {
		a := op.append
		a.fresh, a.endpoints, a.result = false, nil, delivery.Appended{}
	}
	keys := map[partnerCodeAndKey]*usedKey{}
	if err := b.insertKeys(ctx, b.live(), keys); err != nil { // which of them are new is read with the receivers
		return err
	}
	if err := b.findReceivers(ctx); err != nil {
		return err
	}
	if err := b.returnKeys(ctx, keys); err != nil {
		return err
	}
	if err := b.takeKeys(ctx, keys); err != nil {
		return err
	}
	return b.lockObjects(ctx)
}

// partnerCodes are those of the batch's events, sorted.
func (b *batch) partnerCodes() []string {
	codes := map[string]bool{}
	for _, op := range b.appends {
		codes[op.append.Event.PartnerCode] = true
	}
	return slices.Sorted(maps.Keys(codes))
}

// live returns the appends that have not been refused.
func (b *batch) live() []*operation {
	return slices.DeleteFunc(slices.Clone(b.appends), func(op *operation) bool { return op.err != nil })
}

// fresh returns the appends that store an event.
func (b *batch) fresh() []*operation {
	return slices.DeleteFunc(slices.Clone(b.appends), func(op *operation) bool { return op.err != nil || !op.append.fresh })
}

// receiver is a partner whom events are for.
type receiver struct {
	signatures []string
	endpoints  []webhook.Endpoint
	unrouted   string // the id of its waiting place; empty: it has none
}

// readReceivers reads partners and their endpoints.
func (b *batch) readReceivers(ctx context.Context, codes []string) (map[string]*receiver, error) {
	receivers := map[string]*receiver{}
	t := b.statement().Add(`SELECT p.code, p.settings, p.unrouted, COALESCE(e.id, ''), COALESCE(e.types, '')
		FROM partners p LEFT JOIN endpoints e ON e.partner_code = p.code AND e.removed_at = 0 WHERE `)
	err := database.In(t, "p.code", codes).Add(" ORDER BY p.code, e.id").Query(ctx, b.tx, func(row database.Row) error {
		var settings []byte
		var unrouted string
		var e webhook.Endpoint
		if err := row.Scan(&e.PartnerCode, &settings, &unrouted, &e.ID, database.List(&e.Types)); err != nil {
			return err
		}
		code := e.PartnerCode
		if receivers[code] == nil {
			s, err := rows.ReadSettings(settings)
			if err != nil {
				return err
			}
			receivers[code] = &receiver{signatures: s.Signatures, unrouted: unrouted}
		}
		if e.ID != "" {
			receivers[code].endpoints = append(receivers[code].endpoints, e)
		}
		return nil
	})
	return receivers, err
}

// findReceivers finds out to which endpoints the batch's events go. Those of a
// partner without endpoint go to its waiting place; if it has none the batch
// runs again once there is one.
func (b *batch) findReceivers(ctx context.Context) error {
	receivers, err := b.readReceivers(ctx, b.partnerCodes())
	if err != nil {
		return err
	}
	var unplaced []string
	for _, op := range b.appends {
		a := op.append
		r := receivers[a.Event.PartnerCode]
		if r == nil {
			op.err = webhook.NotFound("partner", a.Event.PartnerCode)
			continue
		}
		a.Event.Signatures = r.signatures
		for _, e := range r.endpoints {
			if e.ID == a.EndpointID || a.EndpointID == "" && e.Takes(a.Event.Type) {
				a.endpoints = append(a.endpoints, e)
			}
		}
		switch {
		case a.EndpointID != "" && len(a.endpoints) == 0:
			op.err = webhook.NotFound("endpoint", a.EndpointID)
		case len(r.endpoints) > 0:
			a.Event.Filtered = len(a.endpoints) == 0
		case r.unrouted == "":
			unplaced = append(unplaced, a.Event.PartnerCode)
		default:
			a.Event.Filtered, a.endpoints = false, []webhook.Endpoint{{ID: r.unrouted, Window: webhook.Window{Unrouted: true}}}
		}
	}
	if len(unplaced) > 0 {
		return &rerouted{unplaced}
	}
	return nil
}

// usedKey is what an idempotency key was first used for.
type usedKey struct {
	eventID string
	digest  []byte
}

// insertKeys inserts the idempotency keys of ops in order; a test has none. At
// the next statement that is not put off, have holds those that are new, and
// for the others nil.
func (b *batch) insertKeys(ctx context.Context, ops []*operation, have map[partnerCodeAndKey]*usedKey) error {
	first := map[partnerCodeAndKey]*appendOp{}
	for _, op := range ops {
		if a := op.append; !a.Event.Test && first[a.key()] == nil {
			first[a.key()] = a
			have[a.key()] = nil
		}
	}
	keys := slices.SortedFunc(maps.Keys(first), compareKeys)
	if len(keys) == 0 {
		return nil
	}
	t := b.statement().Add("INSERT INTO idempotency_keys (partner_code, key, event_id, digest, created_at) ")
	t.Values(len(keys), func(i int) []any {
		a := first[keys[i]]
		return []any{a.Event.PartnerCode, a.IdempotencyKey, a.Event.ID, a.Digest, database.Micros(b.now)}
	})
	return b.laterRead(ctx, t.Add(" ON CONFLICT DO NOTHING RETURNING partner_code, key"), func(row database.Row) error {
		var k partnerCodeAndKey
		if err := row.Scan(&k.partner, &k.key); err != nil {
			return err
		}
		have[k] = &usedKey{first[k].Event.ID, first[k].Digest}
		return nil
	})
}

// returnKeys takes back the keys that insertKeys inserted for events which have
// been refused since, and gives them to whoever in the batch has the same.
func (b *batch) returnKeys(ctx context.Context, have map[partnerCodeAndKey]*usedKey) error {
	returned := map[partnerCodeAndKey]bool{}
	for _, op := range b.appends {
		k := op.append.key()
		if used := have[k]; op.err != nil && used != nil && used.eventID == op.append.Event.ID {
			returned[k] = true
			delete(have, k)
		}
	}
	if len(returned) == 0 {
		return nil
	}
	keys := slices.SortedFunc(maps.Keys(returned), compareKeys)
	t := b.statement().Add("DELETE FROM idempotency_keys WHERE (partner_code, key) IN (")
	t.Values(len(keys), func(i int) []any { return []any{keys[i].partner, keys[i].key} })
	if err := b.later(ctx, t.Add(")")); err != nil {
		return err
	}
	same := slices.DeleteFunc(b.live(), func(op *operation) bool { return !returned[op.append.key()] })
	if len(same) == 0 {
		return nil
	}
	if err := b.insertKeys(ctx, same, have); err != nil {
		return err
	}
	return b.readNow(ctx)
}

// takeKeys makes an event a duplicate or a conflict whose key was there already,
// or is twice in the batch.
func (b *batch) takeKeys(ctx context.Context, have map[partnerCodeAndKey]*usedKey) error {
	inserted, known := map[partnerCodeAndKey]bool{}, []partnerCodeAndKey(nil)
	for _, k := range slices.SortedFunc(maps.Keys(have), compareKeys) {
		if inserted[k] = have[k] != nil; !inserted[k] {
			known = append(known, k)
		}
	}
	if len(known) > 0 {
		t := b.statement().Add("SELECT partner_code, key, event_id, digest FROM idempotency_keys WHERE (partner_code, key) IN (")
		err := t.Values(len(known), func(i int) []any { return []any{known[i].partner, known[i].key} }).Add(")").Query(ctx, b.tx, func(row database.Row) error {
			var k partnerCodeAndKey
			s := &usedKey{}
			err := row.Scan(&k.partner, &k.key, &s.eventID, &s.digest)
			have[k] = s
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, op := range b.live() {
		a := op.append
		if a.Event.Test {
			a.fresh = true
			continue
		}
		s := have[a.key()]
		if s == nil { // it was removed at this moment
			s = &usedKey{}
		}
		switch {
		case !bytes.Equal(s.digest, a.Digest):
			op.err = webhook.Conflict("the idempotency key was used for other content, by event " + s.eventID)
		case s.eventID == a.Event.ID && inserted[a.key()]:
			a.fresh = true
		default: // ours after all if an earlier commit of this very event lost its answer
			a.result = delivery.Appended{EventID: s.eventID, Duplicate: s.eventID != a.Event.ID}
		}
	}
	return nil
}

// lockObjects makes the objects that are new to the batch's events, with their
// first status, and locks and reads those that are known, until readNow returns.
func (b *batch) lockObjects(ctx context.Context) error {
	first := map[object]latest{}
	for _, op := range b.fresh() {
		a := op.append
		if _, known := first[a.object()]; !known && !a.Event.Test {
			first[a.object()] = latest{a.Event.Status, a.Event.ID}
		}
	}
	if len(first) == 0 {
		return nil
	}
	b.objects = map[object]latest{}
	t := b.putObjects(first).Add(` ON CONFLICT (partner_code, webhook_type, object_id) DO UPDATE SET updated_at = excluded.updated_at
		RETURNING partner_code, webhook_type, object_id, status, event_id`)
	return b.laterRead(ctx, t, func(row database.Row) error {
		var o object
		var l latest
		err := row.Scan(&o.partner, &o.typ, &o.id, &l.status, &l.eventID)
		b.objects[o] = l
		return err
	})
}

// storeEvents makes an event a duplicate that repeats the status of its object
// without a key of its own, flags moves its life cycle does not know, and stores
// what is new. A test may be one too many: see takeTests.
func (b *batch) storeEvents(ctx context.Context) error {
	have := maps.Clone(b.objects)
	told := map[string]string{} // by the event that repeats a status: the one that reported it
	for _, op := range b.fresh() {
		a := op.append
		if a.Event.Test {
			continue
		}
		was := have[a.object()]
		if was.eventID == a.Event.ID { // its first
			was = latest{}
		}
		if a.DefaultKey && was.status == a.Event.Status {
			if err := b.pointKey(ctx, a, was.eventID); err != nil {
				return err
			}
			a.fresh, a.result = false, delivery.Appended{EventID: was.eventID, Duplicate: true}
			told[a.Event.ID] = was.eventID
			continue
		}
		// An order's life cycle is ours, and begins before its first event.
		a.Event.Unexpected = op.order == nil && !webhook.Expected(a.Event.Type, was.status, a.Event.Status)
		have[a.object()] = latest{a.Event.Status, a.Event.ID}
	}
	for _, op := range b.live() { // the same key again in this batch
		if first := told[op.append.result.EventID]; first != "" {
			op.append.result.EventID = first
		}
	}
	maps.DeleteFunc(have, func(o object, l latest) bool { return l == b.objects[o] })
	if len(have) > 0 {
		if err := b.later(ctx, b.putObjects(have).Add(` ON CONFLICT (partner_code, webhook_type, object_id)
			DO UPDATE SET status = excluded.status, event_id = excluded.event_id`)); err != nil {
			return err
		}
	}
	return b.insertEvents(ctx, slices.DeleteFunc(b.fresh(), func(op *operation) bool { return op.append.Event.Test }))
}

// latest is the last status of an object, and the event that reported it.
type latest struct{ status, eventID string }

// putObjects begins a statement that inserts objects, in order.
func (b *batch) putObjects(objects map[object]latest) *database.Statement {
	sorted := slices.SortedFunc(maps.Keys(objects), compareObjects)
	t := b.statement().Add("INSERT INTO objects (partner_code, webhook_type, object_id, status, event_id, updated_at) ")
	return t.Values(len(sorted), func(i int) []any {
		o := sorted[i]
		return []any{o.partner, string(o.typ), o.id, objects[o].status, objects[o].eventID, database.Micros(b.now)}
	})
}

// pointKey makes the key of a repeated status answer with the event that
// reported it first.
func (b *batch) pointKey(ctx context.Context, a *appendOp, eventID string) error {
	_, err := b.tx.ExecContext(ctx, "UPDATE idempotency_keys SET event_id = $1 WHERE partner_code = $2 AND key = $3",
		eventID, a.Event.PartnerCode, a.IdempotencyKey)
	return err
}

// answerStored answers for events that were stored before as they were
// answered then.
func (b *batch) answerStored(ctx context.Context) error {
	stored := slices.DeleteFunc(b.live(), func(op *operation) bool { return op.append.fresh })
	if len(stored) == 0 {
		return nil
	}
	answers := map[string]*delivery.Appended{}
	for _, op := range stored {
		answers[op.append.result.EventID] = &delivery.Appended{}
	}
	ids := slices.Sorted(maps.Keys(answers))
	t := b.statement().Add("SELECT id, filtered, unexpected FROM events WHERE ")
	err := database.ByID(t, "events", ids).Query(ctx, b.tx, func(row database.Row) error {
		var id string
		var filtered, unexpected bool
		err := row.Scan(&id, &filtered, &unexpected)
		answers[id].Filtered, answers[id].Unexpected = filtered, unexpected
		return err
	})
	if err != nil {
		return err
	}
	t = database.In(b.statement().Add("SELECT event_id, id FROM deliveries WHERE replay_of = '' AND "), "event_id", ids)
	err = b.ledger.db.MadeFor(t, "id", webhook.DeliveryPrefix, ids[0]).Add(" ORDER BY id").Query(ctx, b.tx, func(row database.Row) error {
		var event, id string
		err := row.Scan(&event, &id)
		answers[event].DeliveryIDs = append(answers[event].DeliveryIDs, id)
		return err
	})
	for _, op := range stored {
		r, a := &op.append.result, answers[op.append.result.EventID]
		r.Filtered, r.Unexpected, r.DeliveryIDs = a.Filtered, a.Unexpected, a.DeliveryIDs
	}
	return err
}

func (b *batch) insertEvents(ctx context.Context, ops []*operation) error {
	for group := range slices.Chunk(ops, database.MaxRows) {
		t := b.statement().Add(`INSERT INTO events (id, partner_code, webhook_type, object_id, subject, status, data, key_id,
			signatures, unexpected, filtered, test, created_at, trace) `)
		t.Values(len(group), func(i int) []any {
			e := group[i].append.Event
			return []any{e.ID, e.PartnerCode, string(e.Type), e.ObjectID, e.OrderingKey, e.Status, e.Data, e.KeyID,
				database.JoinList(e.Signatures), e.Unexpected, e.Filtered, e.Test, database.Micros(e.CreatedAt), e.Trace}
		})
		if err := b.later(ctx, t.Add(" ON CONFLICT DO NOTHING")); err != nil {
			return err
		}
	}
	return nil
}

// newDelivery is a delivery about to be inserted.
type newDelivery struct {
	webhook.Delivery
	lane        int
	orderingKey string // at ordered endpoints
	probe       bool
	worker      string // that it is claimed for
}

// kind is what deliveries that were made are told by.
type kind struct {
	typ     webhook.Type
	trigger webhook.Trigger
}

// appendTo makes the deliveries of the batch's new events. One goes straight
// to the queue if its window has room and nobody waits before it.
func (b *batch) appendTo(ctx context.Context) error {
	if err := b.takeTests(ctx); err != nil {
		return err
	}
	if err := b.findBusyGroups(ctx); err != nil {
		return err
	}
	var made []newDelivery
	for _, op := range b.fresh() {
		a := op.append
		a.result = delivery.Appended{EventID: a.Event.ID, Filtered: a.Event.Filtered, Unexpected: a.Event.Unexpected}
		for _, endpoint := range a.endpoints {
			w, err := b.window(endpoint.ID)
			if err != nil {
				return err
			}
			d := b.place(w, a)
			made = append(made, d)
			a.result.DeliveryIDs = append(a.result.DeliveryIDs, d.ID)
		}
		b.acted(a.by, a.EndpointID, a.Event.ID)
	}
	if err := b.insertDeliveries(ctx, made); err != nil {
		return err
	}
	return b.answerStored(ctx)
}

// takeTests gives the batch's tests their places and stores their events. One
// too many is refused here, where its window is locked, and has written nothing
// that its neighbours would have to be run again without.
func (b *batch) takeTests(ctx context.Context) error {
	var taken []*operation
	for _, op := range b.fresh() {
		if !op.append.Event.Test {
			continue
		}
		w := b.windows[op.append.EndpointID]
		if w == nil {
			op.err = webhook.NotFound("endpoint", op.append.EndpointID)
		} else if op.err = w.Test(); op.err == nil {
			w.dirty = true
			taken = append(taken, op)
		}
	}
	return b.insertEvents(ctx, taken)
}

// place numbers a delivery and gives it a place in its window, or in the
// backlog. A test is outside the sequence and has its place.
func (b *batch) place(w *window, a *appendOp) newDelivery {
	if a.Event.Test {
		return newDelivery{Delivery: a.delivery(w.EndpointID, 0, webhook.Queued)}
	}
	d := newDelivery{Delivery: a.delivery(w.EndpointID, w.NextSequence, webhook.Pending)}
	w.NextSequence++
	if w.Ordered {
		d.orderingKey = a.Event.OrderingKey
		d.lane = b.laneOfNext(orderedGroup{w.EndpointID, d.orderingKey})
	}
	wake := b.now.Add(time.Second) // it may wait for a gate that no record opens, while a retry is due much later
	if wait, _ := b.ledger.retry.Wait(0); wait > 0 && d.lane == database.LaneFirst {
		d.lane, d.DueAt = database.LaneRetry, b.now.Add(wait)
		wake = d.DueAt
	}
	if d.lane == database.LaneFirst && w.Room(b.now) > 0 && !w.wants(b.now) {
		d.State = webhook.Queued
		w.Admit(d.ID, b.now)
		d.probe = w.Breaker.Probe == d.ID
		return d
	}
	w.waits(d.lane, 1)
	w.wake(wake)
	return d
}

func (a *appendOp) delivery(endpointID string, sequence int64, state webhook.State) webhook.Delivery {
	trigger := webhook.TriggerFirst
	if a.Event.Test {
		trigger = webhook.TriggerTest
	}
	return webhook.Delivery{
		ID: webhook.NewID(webhook.DeliveryPrefix), EventID: a.Event.ID, EndpointID: endpointID, PartnerCode: a.Event.PartnerCode,
		Type: a.Event.Type, ObjectID: a.Event.ObjectID, Sequence: sequence, State: state, Generation: 1, Trigger: trigger,
	}
}

// next is the trigger of the next attempt.
func (d *newDelivery) next() webhook.Trigger {
	if d.probe {
		return webhook.TriggerProbe
	}
	return d.Trigger
}

// handOut makes a delivery that has its place in the window one that is claimed
// for a free slot of this process, or gives it a ticket for the queue.
func (b *batch) handOut(d *newDelivery) {
	c := b.hold(delivery.Ticket{DeliveryID: d.ID, Generation: d.Generation, EndpointID: d.EndpointID, PartnerCode: d.PartnerCode})
	if c == nil {
		return
	}
	d.State, d.Attempts, d.worker = webhook.Sending, 1, c.workerID
	c.job, c.claimed = delivery.Job{Delivery: d.Delivery, Trigger: d.next()}, true
	c.job.Delivery.CreatedAt = database.FromMicros(database.Micros(b.now))
}

// insertDeliveries writes new deliveries. A first attempt that waits for room
// alone has due_at 0, never "now": clocks differ.
func (b *batch) insertDeliveries(ctx context.Context, made []newDelivery) error {
	for group := range slices.Chunk(made, database.MaxRows) {
		if err := b.insertSome(ctx, group); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) insertSome(ctx context.Context, made []newDelivery) error {
	t := b.statement().Add(`INSERT INTO deliveries (id, event_id, endpoint_id, partner_code, webhook_type, object_id, sequence,
		state, reason, generation, attempts, trigger, next_trigger, replay_of, lane, due_at, queued_at, claimed_at, worker_id,
		last_outcome, last_status, last_class, created_at, finished_at, subject) `)
	if b.made == nil {
		b.made = map[kind]int{}
	}
	for i := range made {
		d := &made[i]
		b.made[kind{d.Type, d.Trigger}]++
		if d.Trigger != webhook.TriggerTest {
			b.count(d.PartnerCode, rows.FactCreated, 1)
		}
		if d.State == webhook.Queued {
			b.handOut(d)
		}
	}
	t.Values(len(made), func(i int) []any {
		d := made[i]
		var dueAt, queuedAt any
		var claimedAt int64
		switch d.State {
		case webhook.Sending:
			claimedAt = database.Micros(b.now)
			fallthrough
		case webhook.Queued:
			queuedAt = database.Micros(b.now)
		default:
			dueAt = database.Micros(d.DueAt)
		}
		return []any{d.ID, d.EventID, d.EndpointID, d.PartnerCode, string(d.Type), d.ObjectID, d.Sequence,
			string(d.State), "", d.Generation, d.Attempts, string(d.Trigger), string(d.next()), d.ReplayOf, d.lane, dueAt, queuedAt, claimedAt, d.worker,
			"", 0, "", database.Micros(b.now), 0, d.orderingKey}
	})
	return b.later(ctx, t)
}
