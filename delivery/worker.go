package delivery

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ledgerhook/delivery/sender"
	"ledgerhook/webhook"
)

// Worker carries deliveries out. It is safe for concurrent use.
type Worker struct {
	id       string
	ledger   Ledger
	composer *Composer
	sender   *sender.Sender
	policy   webhook.RetryPolicy
	timeout  time.Duration
	metrics  *Metrics
	log      *slog.Logger

	mu       sync.Mutex
	inFlight map[string]webhook.Delivery // by id
	stuck    atomic.Int32                // records that the ledger does not take just now
}

// WorkerOptions set up a Worker.
type WorkerOptions struct {
	ID       string // wrk_…
	Ledger   Ledger
	Composer *Composer
	Sender   *sender.Sender
	Policy   webhook.RetryPolicy
	Timeout  time.Duration // of an attempt
	Metrics  *Metrics
	Log      *slog.Logger
}

// NewWorker returns a worker.
func NewWorker(o WorkerOptions) *Worker {
	return &Worker{
		id: o.ID, ledger: o.Ledger, sender: o.Sender, policy: o.Policy, timeout: o.Timeout, metrics: o.Metrics, log: o.Log,
		composer: o.Composer, inFlight: map[string]webhook.Delivery{},
	}
}

// Deliver is the way of every delivery. It claims t's delivery, sends it once,
// decides what follows and records both. A ticket that is not current, or that
// the ledger cannot be asked about, is dropped: the reconciler brings it back
// if it must.
func (w *Worker) Deliver(ctx context.Context, t Ticket) {
	if w.stuck.Load() > 0 {
		return // what cannot be recorded should not be sent
	}
	job, claimed, err := w.ledger.Claim(ctx, t, w.id)
	if err != nil {
		w.log.Debug("a ticket was dropped", "delivery", t.DeliveryID, "error", err)
		return
	}
	if !claimed {
		return
	}
	defer w.track(job)()
	attempt := w.attempt(ctx, job)
	verdict := Decide(w.policy, job, attempt, time.Now())
	w.record(ctx, job, attempt, verdict)
}

// attempt sends the job once. Whatever happens is the attempt's outcome.
func (w *Worker) attempt(ctx context.Context, job Job) webhook.Attempt {
	a := webhook.Attempt{
		ID: webhook.NewID(webhook.AttemptPrefix), DeliveryID: job.Delivery.ID, Number: job.Delivery.Attempts,
		Trigger: job.Trigger, StartedAt: time.Now().UTC(), KeyID: job.Event.KeyID, Worker: w.id,
	}
	header, body, err := w.composer.compose(ctx, job, a.StartedAt)
	if err != nil {
		w.log.Error("a delivery could not be composed", "delivery", a.DeliveryID, "error", err)
		a.Outcome, a.ErrorClass, a.ErrorDetail = webhook.OutcomeFailed, webhook.ErrorInternal, "the gateway could not compose the message"
		return a
	}
	r := w.sender.Send(ctx, sender.Request{URL: job.URL, Header: header, Body: body, Timeout: w.timeout})
	a.StartedAt, a.Phases = r.StartedAt, r.Phases
	a.PeerIP, a.TLSVersion, a.TLSNotAfter = r.PeerIP, r.TLSVersion, r.TLSNotAfter
	a.Outcome, a.StatusCode, a.ErrorClass, a.ErrorDetail = r.Outcome, r.StatusCode, r.ErrorClass, r.ErrorDetail
	a.RequestHeaders, a.ResponseHeaders = header, r.ResponseHeaders
	a.ResponseBody, a.Truncated = r.ResponseBody, r.Truncated
	return a
}

// record writes what happened, even while the process is stopping: it was
// sent, so it must be known. As long as the ledger does not take it the worker
// claims nothing new.
func (w *Worker) record(ctx context.Context, job Job, a webhook.Attempt, v Verdict) {
	result := Result{DeliveryID: job.Delivery.ID, EndpointID: job.Delivery.EndpointID, Generation: job.Delivery.Generation, Attempt: a, Verdict: v}
	err := w.ledger.Record(context.WithoutCancel(ctx), result)
	if err != nil {
		w.log.Error("the ledger does not take an attempt's record", "delivery", a.DeliveryID, "error", err)
		w.stuck.Add(1)
		defer w.stuck.Add(-1)
		err = w.recordUntil(ctx, result)
	}
	if err != nil {
		return // the reconciler will find the delivery abandoned
	}
	w.metrics.attempted(job, a, v)
	w.log.Info("attempt", "delivery", a.DeliveryID, "event", job.Event.ID, "partner", job.Event.PartnerCode,
		"webhook_type", string(job.Event.Type), "number", a.Number, "trigger", string(a.Trigger), "outcome", string(a.Outcome),
		"status", a.StatusCode, "class", string(a.ErrorClass), "ms", a.Phases.Total.Milliseconds(), "state", string(v.State))
}

const (
	recordPause   = 200 * time.Millisecond
	recordLastTry = 5 * time.Second // how long a stopping process goes on trying
)

// recordUntil tries again until the ledger takes the result or the process is
// stopping and has waited long enough.
func (w *Worker) recordUntil(ctx context.Context, result Result) error {
	pause := time.NewTicker(recordPause)
	defer pause.Stop()
	var giveUp <-chan time.Time
	done := ctx.Done()
	for {
		select {
		case <-done:
			done = nil
			giveUp = time.After(recordLastTry)
		case <-giveUp:
			return ctx.Err()
		case <-pause.C:
			if err := w.ledger.Record(context.WithoutCancel(ctx), result); err == nil {
				return nil
			}
		}
	}
}

// track counts the job as this process's until the returned function is called.
func (w *Worker) track(job Job) func() {
	w.mu.Lock()
	w.inFlight[job.Delivery.ID] = job.Delivery
	w.mu.Unlock()
	return func() {
		w.mu.Lock()
		delete(w.inFlight, job.Delivery.ID)
		w.mu.Unlock()
	}
}

// working reports whether the worker is at the delivery just now.
func (w *Worker) working(d webhook.Delivery) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, ok := w.inFlight[d.ID]
	return ok && at.Generation == d.Generation
}

// InFlight is how many deliveries the worker is at.
func (w *Worker) InFlight() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.inFlight)
}

// InFlightBy counts the deliveries the worker is at by what shardOf says of
// their endpoints.
func (w *Worker) InFlightBy(shardOf func(endpointID string) string) map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	counts := map[string]int{}
	for _, d := range w.inFlight {
		counts[shardOf(d.EndpointID)]++
	}
	return counts
}
