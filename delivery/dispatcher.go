package delivery

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Enqueuer is the queue as the side that fills it sees it.
type Enqueuer interface {
	Enqueue(ctx context.Context, t Ticket) error
}

// Enqueue hands a ticket to the queue, within enqueueTimeout, and counts when
// that fails. A timeout leaves open whether the queue took it.
func Enqueue(ctx context.Context, q Enqueuer, t Ticket, m *Metrics) error {
	ctx, cancel := context.WithTimeout(ctx, enqueueTimeout)
	defer cancel()
	err := q.Enqueue(ctx, t)
	if err != nil {
		m.enqueueFails.Inc()
	}
	return err
}

// Slots are where a worker of the same process carries deliveries out.
type Slots interface {
	// Hold keeps a free slot for the delivery of a ticket that is about to be
	// claimed together with its admission, and returns the id of the worker that
	// it is claimed for; empty if no slot is free. It does not wait. Exactly one
	// of Begin and Leave must follow.
	Hold(t Ticket) (workerID string)
	// Begin has the worker deliver what was claimed.
	Begin(t Ticket, job Job)
	// Leave gives the slot up. With doubt it is not known whether the delivery
	// was claimed.
	Leave(t Ticket, doubt bool)
}

// Dispatcher hands admitted deliveries on without letting anybody wait for it: to
// a free slot of this process, else to the queue. What it cannot hand over the
// reconciler does.
type Dispatcher struct {
	slots   atomic.Pointer[Slots] // nil: this process has none
	queue   Enqueuer
	metrics *Metrics
	log     *slog.Logger
	tickets chan Ticket
	cancel  context.CancelFunc // ends what is on its way

	stopping chan struct{}
	stopOnce sync.Once
	done     sync.WaitGroup
}

const (
	dispatchBuffer  = 16384
	dispatchWorkers = 16 // enqueues on their way at once
	enqueueTimeout  = 3 * time.Second
	// handOverTime is for how long a stop hands over what is left.
	handOverTime = 2 * time.Second
)

// StartDispatcher starts handing over.
func StartDispatcher(q Enqueuer, m *Metrics, log *slog.Logger) *Dispatcher {
	ctx, cancel := context.WithCancel(context.Background())
	d := &Dispatcher{queue: q, metrics: m, log: log, tickets: make(chan Ticket, dispatchBuffer), cancel: cancel, stopping: make(chan struct{})}
	for range dispatchWorkers {
		d.done.Go(func() { d.run(ctx) })
	}
	return d
}

// Use has deliveries begin in s from now on, past the queue.
func (d *Dispatcher) Use(s Slots) { d.slots.Store(&s) }

// Hold implements Slots. There is none as long as there is no worker.
func (d *Dispatcher) Hold(t Ticket) (workerID string) {
	if slots := d.slots.Load(); slots != nil {
		return (*slots).Hold(t)
	}
	return ""
}

// Begin implements Slots.
func (d *Dispatcher) Begin(t Ticket, job Job) {
	d.metrics.first.WithLabelValues(pathDirect).Inc()
	(*d.slots.Load()).Begin(t, job)
}

// Leave implements Slots.
func (d *Dispatcher) Leave(t Ticket, doubt bool) { (*d.slots.Load()).Leave(t, doubt) }

// Dispatch hands tickets over to the queue soon. It never blocks: what does not
// fit is left to the reconciler.
func (d *Dispatcher) Dispatch(tickets []Ticket) {
	for _, t := range tickets {
		if t.DueAt.IsZero() {
			d.metrics.first.WithLabelValues(pathQueue).Inc()
		}
		select {
		case d.tickets <- t:
		default:
			d.metrics.enqueueFails.Inc()
		}
	}
}

func (d *Dispatcher) run(ctx context.Context) {
	for {
		select {
		case t := <-d.tickets:
			d.enqueue(ctx, t)
		default:
			select {
			case t := <-d.tickets:
				d.enqueue(ctx, t)
			case <-d.stopping: // and nothing is left
				return
			}
		}
	}
}

func (d *Dispatcher) enqueue(ctx context.Context, t Ticket) {
	if err := Enqueue(ctx, d.queue, t, d.metrics); err != nil {
		d.log.Debug("a ticket was not enqueued", "delivery", t.DeliveryID, "error", err)
	}
}

// Stop hands over what was admitted before, for handOverTime at most, and ends.
func (d *Dispatcher) Stop() {
	d.stopOnce.Do(func() { close(d.stopping) })
	giveUp := time.AfterFunc(handOverTime, d.cancel)
	defer giveUp.Stop()
	d.done.Wait()
	d.cancel()
}
