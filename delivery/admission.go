package delivery

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Enqueuer is the queue as the side that fills it sees it.
type Enqueuer interface {
	Enqueue(ctx context.Context, t Ticket) error
}

// Admission hands admitted tickets to the queue without letting anybody wait
// for it. What it cannot hand over the reconciler does.
type Admission struct {
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

// Admit hands tickets over soon. It never blocks: what does not fit is left to
// the reconciler.
func (a *Admission) Admit(tickets []Ticket) {
	for _, t := range tickets {
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
