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

// Admission hands admitted deliveries on without letting anybody wait for it: to
// a free slot of this process, else to the queue. What it cannot hand over the
// reconciler does.
type Admission struct {
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
	admissionBuffer  = 16384
	admissionWorkers = 16 // enqueues on their way at once
	enqueueTimeout   = 3 * time.Second
	// handOverTime is for how long a stop hands over what is left.
	handOverTime = 2 * time.Second
)

// StartAdmission starts handing over.
func StartAdmission(q Enqueuer, m *Metrics, log *slog.Logger) *Admission {
	ctx, cancel := context.WithCancel(context.Background())
	a := &Admission{queue: q, metrics: m, log: log, tickets: make(chan Ticket, admissionBuffer), cancel: cancel, stopping: make(chan struct{})}
	for range admissionWorkers {
		a.done.Go(func() { a.run(ctx) })
	}
	return a
}

// Use has deliveries begin in s from now on, past the queue.
func (a *Admission) Use(s Slots) { a.slots.Store(&s) }

// Hold implements Slots. There is none as long as there is no worker.
func (a *Admission) Hold(t Ticket) (workerID string) {
	if slots := a.slots.Load(); slots != nil {
		return (*slots).Hold(t)
	}
	return ""
}

// Begin implements Slots.
func (a *Admission) Begin(t Ticket, job Job) {
	a.metrics.first.WithLabelValues(pathDirect).Inc()
	(*a.slots.Load()).Begin(t, job)
}

// Leave implements Slots.
func (a *Admission) Leave(t Ticket, doubt bool) { (*a.slots.Load()).Leave(t, doubt) }

// Admit hands tickets over to the queue soon. It never blocks: what does not
// fit is left to the reconciler.
func (a *Admission) Admit(tickets []Ticket) {
	for _, t := range tickets {
		if t.DueAt.IsZero() {
			a.metrics.first.WithLabelValues(pathQueue).Inc()
		}
		select {
		case a.tickets <- t:
		default:
			a.metrics.enqueueFails.Inc()
		}
	}
}

func (a *Admission) run(ctx context.Context) {
	for {
		select {
		case t := <-a.tickets:
			a.enqueue(ctx, t)
		default:
			select {
			case t := <-a.tickets:
				a.enqueue(ctx, t)
			case <-a.stopping: // and nothing is left
				return
			}
		}
	}
}

func (a *Admission) enqueue(ctx context.Context, t Ticket) {
	if err := Enqueue(ctx, a.queue, t, a.metrics); err != nil {
		a.log.Debug("a ticket was not enqueued", "delivery", t.DeliveryID, "error", err)
	}
}

// Stop hands over what was admitted before, for handOverTime at most, and ends.
func (a *Admission) Stop() {
	a.stopOnce.Do(func() { close(a.stopping) })
	giveUp := time.AfterFunc(handOverTime, a.cancel)
	defer giveUp.Stop()
	a.done.Wait()
	a.cancel()
}
