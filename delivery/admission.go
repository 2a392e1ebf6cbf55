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

// Slots are where a worker of the same process carries deliveries out.
type Slots interface {
	// Begin begins a ticket's delivery, which is due, and reports true if it has
	// a free slot for it. It does not wait.
	Begin(t Ticket) bool
}

// Admission hands admitted tickets on without letting anybody wait for it: to
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

// Admit hands tickets over soon. It never blocks: what does not fit is left to
// the reconciler.
func (a *Admission) Admit(tickets []Ticket) {
	slots := a.slots.Load()
	for _, t := range tickets {
		if slots != nil && t.DueAt.IsZero() && (*slots).Begin(t) {
			a.metrics.first.WithLabelValues(pathDirect).Inc()
			continue
		}
		if t.DueAt.IsZero() {
			a.metrics.first.WithLabelValues(pathQueue).Inc()
		}
		select {
		case a.tickets <- t:
		default:
			a.metrics.enqueueFailed()
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
	ctx, cancel := context.WithTimeout(ctx, enqueueTimeout)
	defer cancel()
	if err := a.queue.Enqueue(ctx, t); err != nil {
		a.metrics.enqueueFailed()
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
