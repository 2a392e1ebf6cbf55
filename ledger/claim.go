package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

type claimOp struct {
	delivery.Ticket
	workerID string

	job     delivery.Job
	claimed bool
}

// noSlots are those of a process without a worker.
type noSlots struct{}

func (noSlots) Hold(delivery.Ticket) string         { return "" }
func (noSlots) Begin(delivery.Ticket, delivery.Job) {}
func (noSlots) Leave(delivery.Ticket, bool)         {}

// hold claims the delivery of a ticket together with its admission if a slot of
// this process is free for it: whoever admits it writes it as claimed. Without
// that claim, which is nil then, the ticket goes to the queue after the commit.
func (b *batch) hold(t delivery.Ticket) *claimOp {
	if t.DueAt.IsZero() {
		if worker := b.ledger.slots.Hold(t); worker != "" {
			c := &claimOp{Ticket: t, workerID: worker}
			b.held = append(b.held, c)
			return c
		}
	}
	b.tickets = append(b.tickets, t)
	return nil
}

// begin has the slots deliver what was claimed for them: it goes on in
// queue.Servers.Begin.
func (b *batch) begin() {
	for _, c := range b.held {
		if c.claimed {
			b.ledger.slots.Begin(c.Ticket, c.job)
		} else {
			b.ledger.slots.Leave(c.Ticket, false)
		}
	}
}

// leave gives up the slots that a batch holds which has failed. With doubt it may
// have been committed all the same.
func (b *batch) leave(doubt bool) {
	for _, c := range b.held {
		b.ledger.slots.Leave(c.Ticket, doubt)
	}
}

// Claim implements delivery.Ledger. It changes no window, so on PostgreSQL it
// does not wait for those who do.
func (l *Ledger) Claim(ctx context.Context, t delivery.Ticket, workerID string) (delivery.Job, bool, error) {
	op := &operation{claim: &claimOp{Ticket: t, workerID: workerID}}
	if err := l.claims.submit(ctx, op); err != nil {
		return delivery.Job{}, false, err
	}
	return op.claim.job, op.claim.claimed, nil
}

// claim moves the batch's tickets from queued to sending, counts their attempts,
// and completes what was claimed with its admission. A ticket whose delivery has
// moved on matches nothing. One whose endpoint has closed meanwhile is handed
// back without using its attempt, in the next batch, since that takes the
// window's lock.
func (b *batch) claim(ctx context.Context) error {
	wanted := map[string]*claimOp{}
	for _, op := range b.claims {
		op.claim.claimed, op.claim.job = false, delivery.Job{}
		if other := wanted[op.claim.DeliveryID]; other == nil || other.Generation < op.claim.Generation {
			wanted[op.claim.DeliveryID] = op.claim
		}
	}
	if len(wanted) > 0 {
		if err := b.takeTickets(ctx, wanted); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(b.held, func(c *claimOp) bool { return !c.claimed }) {
		if err := b.readNow(ctx); err != nil { // what takePicked takes
			return err
		}
	}
	for _, c := range b.held {
		if !c.claimed {
			return database.Changes(0, 1)
		}
		wanted[c.DeliveryID] = c
	}
	return b.completeJobs(ctx, wanted)
}

// takeTickets claims those tickets that are current.
func (b *batch) takeTickets(ctx context.Context, wanted map[string]*claimOp) error {
	ids := slices.Sorted(maps.Keys(wanted))
	err := b.byDay(ctx, "deliveries", webhook.DeliveryPrefix, ids, func(table string, ids []string) error {
		return b.take(ctx, table, ids, wanted)
	})
	if err != nil {
		return err
	}
	if err := b.readNow(ctx); err != nil {
		return err
	}
	return b.handBack(ctx, ids, wanted)
}

// take moves those of one day's tickets, until readNow returns.
func (b *batch) take(ctx context.Context, table string, ids []string, wanted map[string]*claimOp) error {
	t := b.statement().Add("UPDATE "+table+" AS d SET state = 'sending', attempts = attempts + 1, claimed_at = ?, worker_id = v.column3 FROM ", database.Micros(b.now))
	t.Table(len(ids), func(i int) []any {
		c := wanted[ids[i]]
		return []any{c.DeliveryID, c.Generation, c.workerID}
	})
	database.JoinID(t.Add(" WHERE "), table, ids).Add(` AND generation = v.column2 AND state = 'queued'
		AND NOT EXISTS (SELECT 1 FROM windows w WHERE w.endpoint_id = d.endpoint_id
			AND (w.removed OR trigger <> 'test' AND (w.paused OR w.disabled OR w.partner_disabled OR w.not_before > ?
				OR w.breaker <> 'closed' AND w.probe <> d.id)))
		RETURNING `+claimedColumns, database.Micros(b.now))
	return b.laterRead(ctx, t, func(found database.Row) error { return readClaim(found, wanted) })
}

// claimedColumns are what readClaim reads of a delivery that was claimed.
const claimedColumns = rows.DeliveryColumns + ", next_trigger"

func readClaim(found database.Row, wanted map[string]*claimOp) error {
	var job delivery.Job
	if err := found.Scan(append(rows.DeliveryFields(&job.Delivery), &job.Trigger)...); err != nil {
		return err
	}
	c := wanted[job.Delivery.ID]
	c.job, c.claimed = job, true
	return nil
}

// handBack prepares the return of those tickets that are current but whose
// endpoint is closed.
func (b *batch) handBack(ctx context.Context, ids []string, wanted map[string]*claimOp) error {
	missed := slices.DeleteFunc(ids, func(id string) bool { return wanted[id].claimed })
	if len(missed) == 0 {
		return nil
	}
	t := b.statement().Add("SELECT id, generation, endpoint_id FROM deliveries WHERE state = 'queued' AND ")
	return database.ByID(t, "deliveries", missed).Query(ctx, b.tx, func(row database.Row) error {
		var ticket delivery.Ticket
		if err := row.Scan(&ticket.DeliveryID, &ticket.Generation, &ticket.EndpointID); err != nil {
			return err
		}
		if wanted[ticket.DeliveryID].Generation != ticket.Generation {
			return nil
		}
		b.follow(ticket.EndpointID, func(ctx context.Context, b *batch) error { return b.returnTicket(ctx, ticket) })
		return nil
	})
}

// follow lets the writer's next batch do something with the endpoint's window
// locked.
func (b *batch) follow(endpointID string, do func(ctx context.Context, b *batch) error) {
	b.followUp = append(b.followUp, &operation{done: make(chan struct{}), alter: &alterOp{endpoints: []string{endpointID}, do: do}})
}

// takenBack is what becomes of a queued delivery whose ticket is void, beside
// its state: the attempt that it was queued for is made another time.
const takenBack = `queued_at = NULL, generation = generation + 1, next_trigger = CASE WHEN next_trigger <> 'probe' THEN next_trigger
	WHEN attempts = 0 THEN trigger ELSE 'retry' END`

// returnTicket puts a queued delivery back into its window's backlog.
func (b *batch) returnTicket(ctx context.Context, ticket delivery.Ticket) error {
	w, err := b.window(ticket.EndpointID)
	if err != nil {
		return err
	}
	state, finished := webhook.Pending, int64(0)
	var due any = int64(0)
	if w.Removed {
		state, finished, due = webhook.Cancelled, database.Micros(b.now), nil
	}
	var lane int
	var partner, orderingKey string
	var trigger webhook.Trigger
	err = b.tx.QueryRowContext(ctx, "UPDATE deliveries SET state = $1, due_at = $2, finished_at = $3, reason = $4, "+takenBack+
		" WHERE id = $5 AND generation = $6 AND state = 'queued' RETURNING lane, partner_code, subject, trigger",
		string(state), due, finished, reasonOf(state), ticket.DeliveryID, ticket.Generation).Scan(&lane, &partner, &orderingKey, &trigger)
	if err == sql.ErrNoRows {
		return nil // claimed or moved on meanwhile
	}
	if err != nil {
		return err
	}
	w.leave(ticket.DeliveryID, trigger)
	if state == webhook.Pending {
		w.waits(lane, 1)
		w.wake(b.now)
		return nil
	}
	b.ended(trigger, partner, state, ticket.EndpointID, orderingKey)
	return nil
}

// claimedEndpoint is what an attempt needs of its endpoint.
type claimedEndpoint struct {
	url          string
	ackMode      webhook.AckMode
	timeout      time.Duration
	headers      []byte
	breakerEpoch int64
}

// completeJobs adds event, URL and secrets to what was claimed, which nobody
// needs before the commit. What has no event, or an erased one, is not handed
// out; the next batch ends it.
func (b *batch) completeJobs(ctx context.Context, wanted map[string]*claimOp) error {
	events, endpoints, codes := map[string]webhook.Event{}, map[string]claimedEndpoint{}, map[string][]delivery.SealedSecret{}
	for _, c := range wanted {
		if c.claimed {
			events[c.job.Delivery.EventID] = webhook.Event{}
			endpoints[c.job.Delivery.EndpointID] = claimedEndpoint{}
			codes[c.job.Delivery.PartnerCode] = nil
		}
	}
	if len(events) == 0 {
		return nil
	}
	b.takeFresh(events)
	for _, read := range []error{b.readEvents(ctx, events), b.readClaimed(ctx, endpoints), b.readSecrets(ctx, codes)} {
		if read != nil {
			return read
		}
	}
	b.committed = append(b.committed, func() { b.complete(wanted, events, endpoints, codes) })
	return nil
}

func (b *batch) complete(wanted map[string]*claimOp, events map[string]webhook.Event, endpoints map[string]claimedEndpoint, codes map[string][]delivery.SealedSecret) {
	for _, c := range wanted {
		if !c.claimed {
			continue
		}
		d, e := c.job.Delivery, endpoints[c.job.Delivery.EndpointID]
		if reason := unsendable(events[d.EventID]); reason != "" {
			c.claimed = false
			b.follow(d.EndpointID, func(ctx context.Context, b *batch) error { return b.endUnsent(ctx, d, reason) })
			continue
		}
		c.job.Event, c.job.Secrets = events[d.EventID], codes[d.PartnerCode]
		c.job.URL, c.job.AckMode, c.job.Timeout, c.job.Headers, c.job.BreakerEpoch = e.url, e.ackMode, e.timeout, e.headers, e.breakerEpoch
	}
}

// takeFresh fills in the events that the batch itself stores, as they will be read.
func (b *batch) takeFresh(events map[string]webhook.Event) {
	for _, op := range b.fresh() {
		e := op.append.Event
		if _, wanted := events[e.ID]; wanted {
			e.CreatedAt = database.FromMicros(database.Micros(e.CreatedAt))
			events[e.ID] = e
		}
	}
}

// readEvents, readClaimed and readSecrets fill maps whose keys say what is
// wanted, until the commit; events that are there already stay.
func (b *batch) readEvents(ctx context.Context, events map[string]webhook.Event) error {
	unknown := slices.DeleteFunc(slices.Sorted(maps.Keys(events)), func(id string) bool { return events[id].ID != "" })
	return b.byDay(ctx, "events", webhook.EventPrefix, unknown, func(table string, ids []string) error {
		t := b.statement().Add("SELECT " + rows.EventColumns + " FROM " + table + " WHERE ")
		return b.lastRead(ctx, database.ByID(t, table, ids), func(found database.Row) error {
			var e webhook.Event
			err := found.Scan(rows.EventFields(&e)...)
			events[e.ID] = e
			return err
		})
	})
}

func (b *batch) readClaimed(ctx context.Context, endpoints map[string]claimedEndpoint) error {
	t := b.statement().Add("SELECT e.id, e.url, e.ack_mode, e.timeout, e.headers, w.breaker_epoch FROM endpoints e JOIN windows w ON w.endpoint_id = e.id WHERE ")
	return b.lastRead(ctx, database.In(t, "e.id", slices.Sorted(maps.Keys(endpoints))), func(found database.Row) error {
		var id string
		var e claimedEndpoint
		err := found.Scan(&id, &e.url, &e.ackMode, database.Duration(&e.timeout), &e.headers, &e.breakerEpoch)
		endpoints[id] = e
		return err
	})
}

func (b *batch) readSecrets(ctx context.Context, codes map[string][]delivery.SealedSecret) error {
	t := b.statement().Add("SELECT " + rows.SecretColumns + " FROM secrets WHERE state IN ('retiring', 'active') AND ")
	database.In(t, "partner_code", slices.Sorted(maps.Keys(codes))).Add(" ORDER BY state DESC, id") // retiring, then active
	return b.lastRead(ctx, t, func(found database.Row) error {
		var s partners.Secret
		if err := found.Scan(rows.SecretFields(&s)...); err != nil {
			return err
		}
		if s.Signs(b.now) {
			codes[s.PartnerCode] = append(codes[s.PartnerCode], delivery.SealedSecret{Purpose: s.SealPurpose(), Sealed: s.Sealed})
		}
		return nil
	})
}

// unsendable is why a delivery of e ends without an attempt; empty: it does not.
func unsendable(e webhook.Event) string {
	switch {
	case e.ID == "":
		return reasonExpired
	case e.Erased.Done():
		return reasonErased
	}
	return ""
}

// endUnsent cancels a claimed delivery whose event is past its retention and
// gone, or was erased: no attempt can be made of it, now or later.
func (b *batch) endUnsent(ctx context.Context, d webhook.Delivery, reason string) error {
	w, err := b.window(d.EndpointID)
	if err != nil {
		return err
	}
	var orderingKey string
	err = b.tx.QueryRowContext(ctx, `UPDATE deliveries SET state = 'cancelled', reason = $1, finished_at = $2, queued_at = NULL,
		generation = generation + 1, attempts = attempts - 1 WHERE id = $3 AND generation = $4 AND state = 'sending' RETURNING subject`,
		reason, database.Micros(b.now), d.ID, d.Generation).Scan(&orderingKey)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // given up meanwhile
	}
	if err != nil {
		return fmt.Errorf("cancel delivery %s, whose event is %s: %w", d.ID, reason, err)
	}
	if reason == reasonExpired {
		b.ledger.db.Log.Error("a delivery was cancelled because its event is gone", "delivery", d.ID, "event", d.EventID)
	}
	w.leave(d.ID, d.Trigger)
	b.ended(d.Trigger, d.PartnerCode, webhook.Cancelled, d.EndpointID, orderingKey)
	return nil
}
