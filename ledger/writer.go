package ledger

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/delivery"
	"ledgerhook/ledger/database"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

const (
	// maxBatch is how many operations one transaction takes at most.
	maxBatch = 128
	// alterLimit bounds one alteration, which its neighbours in the batch wait
	// for. What changes many rows does so in steps far below it.
	alterLimit = 2 * time.Second
)

// operation is one caller's part of a batch. Exactly one of append, claim,
// record, alter and order is set; an order's change adds its event as append.
type operation struct {
	append *appendOp
	claim  *claimOp
	record *recordOp
	alter  *alterOp
	order  *orderOp

	err   error
	done  chan struct{}
	taken atomic.Bool // by the writer, or back by who gave an alteration up
}

// alterOp changes windows, and deliveries under them, in its own way.
type alterOp struct {
	partner   string   // that is locked, with the windows of all its endpoints; empty: none
	endpoints []string // whose windows are locked before do runs
	do        func(ctx context.Context, b *batch) error
}

// writer commits what has gathered whenever it is free: nobody waits for a
// timer, and the busier the ledger is the larger its transactions become. Events
// and records share it, since both lock the windows of their endpoints: two
// writers would wait for each other there, and write each window twice.
type writer struct {
	ledger   *Ledger
	stripe   int // of the rollups, so that writers do not wait for each other's rows
	took     prometheus.Observer
	queue    chan *operation
	records  chan *operation // which free the places that others wait for
	admitted func([]delivery.Ticket)
	began    atomic.Pointer[time.Time] // the transaction that is under way; nil: none
	followUp []*operation              // what a batch found it must do next, by the writer alone

	stopping chan struct{}
	stopOnce sync.Once
	finished chan struct{}
}

func startWriter(l *Ledger, stripe int, query string, admitted func([]delivery.Ticket)) *writer {
	w := &writer{
		ledger: l, stripe: stripe, took: l.db.Took(query), queue: make(chan *operation, maxBatch), records: make(chan *operation, maxBatch), admitted: admitted,
		stopping: make(chan struct{}), finished: make(chan struct{}),
	}
	go w.run()
	return w
}

// stop commits what was submitted before it and returns.
func (w *writer) stop() {
	w.stopOnce.Do(func() { close(w.stopping) })
	<-w.finished
}

var errClosed = &webhook.Error{Kind: webhook.KindUnavailable, Message: "the ledger is closing", RetryAfter: time.Second}

// submit runs op in the next batch and returns its error. If ctx ends first
// the caller gives up; the operation may still be done. It goes on in run.
func (w *writer) submit(ctx context.Context, op *operation) error {
	if err := w.hand(ctx, op); err != nil {
		return err
	}
	return w.wait(ctx, op)
}

// submitAll runs ops in their order, see run, and returns the error of each.
func (w *writer) submitAll(ctx context.Context, ops []*operation) []error {
	errs := make([]error, len(ops))
	for i, op := range ops {
		errs[i] = w.hand(ctx, op)
	}
	for i, op := range ops {
		if errs[i] == nil {
			errs[i] = w.wait(ctx, op)
		}
	}
	return errs
}

// hand puts op behind those of its kind that were handed over before it.
func (w *writer) hand(ctx context.Context, op *operation) error {
	op.done = make(chan struct{})
	queue := w.queue
	if op.record != nil {
		queue = w.records
	}
	select {
	case queue <- op:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-w.stopping:
		return errClosed
	}
}

// wait returns the error of an operation that was handed over.
func (w *writer) wait(ctx context.Context, op *operation) error {
	select {
	case <-op.done:
		return op.err
	case <-ctx.Done():
		return ctx.Err()
	case <-w.finished:
	}
	select {
	case <-op.done:
		return op.err
	default:
		return errClosed
	}
}

// run commits what submit and submitAll hand over, batch by batch, and lets them
// go on.
func (w *writer) run() {
	defer close(w.finished)
	for {
		ops := w.gather()
		if ops == nil {
			return
		}
		ops = slices.DeleteFunc(ops, func(op *operation) bool { return !op.taken.CompareAndSwap(false, true) })
		if len(ops) == 0 {
			continue
		}
		w.commit(ops)
	}
}

// gather waits for the first operation and takes what else is there: records
// first, so that the deliveries under way end however much is accepted, and up to
// half of a batch while others wait, so that accepting goes on however much ends.
func (w *writer) gather() []*operation {
	ops := w.followUp
	w.followUp = nil
	if len(ops) == 0 {
		select {
		case op := <-w.records:
			ops = append(ops, op)
		case op := <-w.queue:
			ops = append(ops, op)
		case <-w.stopping: // what came before the stop is still done
		}
	}
	ops = drain(ops, w.records, maxBatch/2)
	ops = drain(ops, w.queue, maxBatch)
	return drain(ops, w.records, maxBatch)
}

// drain adds what waits in queue to ops, until there are most of them.
func drain(ops []*operation, queue <-chan *operation, most int) []*operation {
	for len(ops) < most {
		select {
		case op := <-queue:
			ops = append(ops, op)
		default:
			return ops
		}
	}
	return ops
}

// commit runs ops in one transaction. When that fails for a reason that may
// be one operation's own, records run again apart from the rest, and then each
// operation by itself, so that a bad row never spoils its neighbours. When the
// database is gone every caller is told so.
func (w *writer) commit(ops []*operation) {
	ops, err := w.persist(ops)
	if late, ok := errors.AsType[*tooSlow](err); ok {
		w.answer([]*operation{late.op}, errTooSlow)
		if ops = slices.DeleteFunc(ops, func(op *operation) bool { return op == late.op }); len(ops) > 0 {
			w.commit(ops)
		}
		return
	}
	if err != nil && mixed(ops) && !unreachable(err) {
		w.commit(slices.DeleteFunc(slices.Clone(ops), func(op *operation) bool { return op.record == nil }))
		w.commit(slices.DeleteFunc(ops, func(op *operation) bool { return op.record != nil }))
		return
	}
	if err != nil && len(ops) > 1 && !unreachable(err) {
		w.ledger.db.Log.Warn("a batch failed and is retried item by item", "operations", len(ops), "error", err)
		w.commitEach(ops)
		return
	}
	w.answer(ops, err)
}

// mixed reports whether there are records in ops, and others: those may wait for
// locks that no record needs.
func mixed(ops []*operation) bool {
	records := 0
	for _, op := range ops {
		if op.record != nil {
			records++
		}
	}
	return records > 0 && records < len(ops)
}

// persist runs ops in one transaction, and once more where that may help. It
// returns the error of those it has not answered. When the connection broke off
// at the commit, that may have come through: events run again, which find
// themselves by their keys. The others are told; callers may repeat a record,
// which is fenced, and an unanswered claim is found abandoned.
func (w *writer) persist(ops []*operation) ([]*operation, error) {
	err := w.transact(ops)
	if _, ok := errors.AsType[database.InDoubt](err); ok {
		events := slices.DeleteFunc(slices.Clone(ops), func(op *operation) bool { return !op.findsItself() })
		w.answer(slices.DeleteFunc(slices.Clone(ops), (*operation).findsItself), err)
		if len(events) == 0 {
			return nil, nil
		}
		return events, w.transact(events)
	}
	if retryable(err) && !mixed(ops) {
		err = w.transact(ops)
	}
	return ops, err
}

// findsItself reports whether op, run again, stores nothing twice and gets the
// answer of its first run.
func (op *operation) findsItself() bool {
	return op.order == nil && op.append != nil && !op.append.Event.Test
}

// commitEach runs each operation in a transaction of its own and answers it at
// once: a claim must not hear of itself when it is taken for lost already.
func (w *writer) commitEach(ops []*operation) {
	for i := range ops {
		alone, err := w.persist(ops[i : i+1])
		if unreachable(err) { // the others would only wait for it, too
			w.answer(ops[i:], err)
			return
		}
		w.answer(alone, err)
	}
}

// answer ends ops: each with what it came to, or all with the error of their
// transaction.
func (w *writer) answer(ops []*operation, err error) {
	if retryable(err) && webhook.KindOf(err) != webhook.KindUnavailable { // twice in a row: a later try may well succeed
		err = database.Unavailable(err)
	}
	for _, op := range ops {
		if err != nil {
			op.err = err
		}
		close(op.done)
	}
}

// retryable reports whether the same transaction may well succeed when it is
// run again: that of an event that came as its partner's endpoints changed, and
// whatever the database says so of.
func retryable(err error) bool { return errors.Is(err, errRerouted) || database.Retryable(err) }

// rerouted fails a batch one of whose events goes another way than was read.
type rerouted struct {
	unplaced []string // partners who need a waiting place first
}

func (*rerouted) Error() string { return errRerouted.Message }
func (*rerouted) Unwrap() error { return errRerouted }

// errRerouted is what the sender of an event hears that met it every time.
var errRerouted = &webhook.Error{Kind: webhook.KindUnavailable, RetryAfter: time.Second,
	Message: "the partner's endpoints change at this moment: send this one again"}

// rerouteTries is how often a batch is tried whose events go another way than
// was read. Each failure takes a change that was committed meanwhile.
const rerouteTries = 5

// unreachable reports whether err is the database's absence.
func unreachable(err error) bool {
	_, late := errors.AsType[*tooSlow](err)
	return webhook.KindOf(err) == webhook.KindUnavailable && !late && !retryable(err)
}

// transact runs ops in one transaction of their own, with fresh eyes if the
// endpoints of their partners changed meanwhile.
func (w *writer) transact(ops []*operation) (err error) {
	for range rerouteTries {
		err = w.attempt(ops)
		changed, ok := errors.AsType[*rerouted](err)
		if !ok {
			return err
		}
		if len(changed.unplaced) > 0 {
			if err := w.ledger.makePlaces(context.Background(), changed.unplaced); err != nil {
				return err
			}
		}
	}
	return err
}

// attempt runs ops in one transaction, then tells what it made and hands the
// tickets on.
func (w *writer) attempt(ops []*operation) error {
	ctx, cancel := context.WithTimeout(context.Background(), database.CommitTimeout)
	defer cancel()
	now := time.Now()
	defer database.Observe(w.took, now)
	w.began.Store(&now)
	defer w.began.Store(nil) // before anybody is answered
	var b *batch
	err := w.ledger.db.InBatch(ctx, func(tx database.Querier) (err error) {
		defer func() {
			if v := recover(); v != nil { // in what a caller handed over; see commitEach
				err = fmt.Errorf("%w: %v\n%s", database.ErrPanic, v, debug.Stack())
			}
		}()
		if b != nil { // the run before is rolled back
			b.leave(false)
		}
		b = &batch{ledger: w.ledger, stripe: w.stripe, tx: tx, now: time.Now(), windows: map[string]*window{}}
		return b.run(ctx, ops)
	})
	if err != nil {
		if b != nil {
			b.leave(unreachable(err))
		}
		return err
	}
	w.ledger.metrics.committed(len(ops))
	for _, do := range b.committed {
		do()
	}
	b.begin()
	w.followUp = append(w.followUp, b.followUp...)
	for k, n := range b.made {
		w.ledger.deliveriesMade(k.typ, k.trigger, n)
	}
	if len(b.tickets) > 0 {
		w.admitted(b.tickets)
	}
	return nil
}

// batch is one transaction of the delivery path.
//
// Locks are taken in one order everywhere: orders by id, partners by code,
// idempotency keys and objects sorted, then window rows by endpoint, then
// deliveries, and the head of the audit chain last of all. Two processes can
// then never wait for each other in a circle.
type batch struct {
	ledger  *Ledger
	stripe  int // of the rollups
	tx      database.Querier
	now     time.Time
	windows map[string]*window
	objects map[object]latest // of its events, as they are stored

	appends []*operation
	claims  []*operation
	records []*operation
	alters  []*operation
	orders  []*operation

	facts    map[fact]int
	made     map[kind]int          // deliveries
	freed    []orderedGroup        // whose next delivery may go
	busy     map[orderedGroup]bool // that have unfinished deliveries
	notes    []partners.AuditEntry
	tickets  []delivery.Ticket
	held     []*claimOp // what is claimed with its admission
	followUp []*operation

	committed []func() // what is left to do then
}

// statement begins a statement of the batch.
func (b *batch) statement() *database.Statement { return b.ledger.db.Statement() }

func (b *batch) run(ctx context.Context, ops []*operation) error {
	for _, op := range ops {
		op.err = nil
		switch {
		case op.order != nil:
			op.append = nil // of a run that was rolled back
			b.orders = append(b.orders, op)
		case op.append != nil:
			b.appends = append(b.appends, op)
		case op.claim != nil:
			b.claims = append(b.claims, op)
		case op.record != nil:
			b.records = append(b.records, op)
		case op.alter != nil:
			b.alters = append(b.alters, op)
		}
	}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"change orders", b.changeOrders}, // locks orders, adds the events of those that moved
		{"lock partners", b.lockPartners}, // that are changed
		{"open events", b.openEvents},     // locks keys and objects, drops known keys
		{"hold orders", b.holdOrders},     // to their events
		{"lock windows", b.lockWindows},   // of every endpoint concerned
		{"record attempts", b.record},     // frees places
		{"check routes", b.checkRoutes},   // of events, whose windows are read now
		{"store events", b.storeEvents},   // drops repeated statuses
		{"alter windows", b.alter},        // pause, retry, promote, …
		{"append deliveries", b.appendTo}, // takes places while there is room
		{"unblock ordered groups", b.unblock},
		{"refill windows", b.refill}, // gives free places to what waits
		{"store windows", b.storeWindows},
		{"claim deliveries", b.claim}, // sees the windows as this batch leaves them
		{"store facts", b.storeFacts},
		{"store notes", b.storeNotes}, // locks the head of the audit chain
	} {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// alter runs the alterations one by one. A refusal, which is an error for the
// caller, has written nothing and leaves the others alone; one that takes too
// long leaves the batch to its neighbours.
func (b *batch) alter(ctx context.Context) error {
	if len(b.alters) > 0 {
		if err := b.readNow(ctx); err != nil { // what would be sent with the first one, within its limit
			return err
		}
	}
	for _, op := range b.alters {
		limited, cancel := context.WithTimeout(ctx, alterLimit)
		err := op.alter.do(limited, b)
		late := err != nil && limited.Err() != nil && ctx.Err() == nil
		cancel()
		var refusal *webhook.Error
		switch {
		case late:
			return &tooSlow{op}
		case errors.As(err, &refusal):
			op.err = err
		case err != nil:
			return err
		}
	}
	return nil
}

// errTooSlow is what the caller of an alteration hears that was cut off.
var errTooSlow = &webhook.Error{Kind: webhook.KindUnavailable, RetryAfter: time.Second,
	Message: "the change took too long beside others and was not made: try again"}

// tooSlow fails a batch over one of its alterations. It is no absence of the
// database: the others are run again without it.
type tooSlow struct{ op *operation }

func (e *tooSlow) Error() string { return "an alteration took more than " + alterLimit.String() }
func (e *tooSlow) Unwrap() error { return errTooSlow }

// withLockedWindows runs do with the windows of endpoints locked, in the next
// batch. Once that has begun it waits for it whatever happens to ctx, since
// do's results belong to the caller; before, an end of ctx takes it back.
func (l *Ledger) withLockedWindows(ctx context.Context, endpoints []string, do func(ctx context.Context, b *batch) error) error {
	return l.change(ctx, &alterOp{endpoints: endpoints, do: do})
}

// change runs an alteration as withLockedWindows does.
func (l *Ledger) change(ctx context.Context, alter *alterOp) error {
	op := &operation{alter: alter}
	if err := l.writer.hand(ctx, op); err != nil {
		return err
	}
	select {
	case <-op.done:
	case <-l.writer.finished:
	case <-ctx.Done():
		if op.taken.CompareAndSwap(false, true) {
			return l.db.Classify(ctx.Err())
		}
	}
	return l.writer.wait(context.WithoutCancel(ctx), op)
}
