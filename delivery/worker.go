package delivery

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

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
	metrics  *Metrics
	log      *slog.Logger
	breakers BreakerMonitor
	tracer   trace.Tracer // nil: nobody asks for spans
	lease    lease

	mu       sync.Mutex
	inFlight map[flight]work
	doubts   map[flight]time.Time // claims that the ledger may have made, and since when
	claiming atomic.Int32         // tickets that may be in flight before it is known
	stuck    atomic.Int32         // records that the ledger does not take just now
}

// work is what the worker is at, or about to be.
type work struct {
	endpointID string
	ends       int32 // of the lease, when it was claimed
}

// flight is one attempt of this process.
type flight struct {
	deliveryID string
	generation int64
}

// WorkerOptions set up a Worker.
type WorkerOptions struct {
	ID       string // wrk_…
	Ledger   Ledger
	Composer *Composer
	Sender   *sender.Sender
	Policy   webhook.RetryPolicy
	Metrics  *Metrics
	Log      *slog.Logger
	Alone    bool         // no other process can work on the ledger
	Tracer   trace.Tracer // makes a span of every attempt; nil: nothing does
}

// NewWorker returns a worker.
func NewWorker(o WorkerOptions) *Worker {
	return &Worker{
		id: o.ID, ledger: o.Ledger, sender: o.Sender, policy: o.Policy, metrics: o.Metrics, log: o.Log, tracer: o.Tracer,
		composer: o.Composer, lease: lease{alone: o.Alone}, inFlight: map[flight]work{}, doubts: map[flight]time.Time{},
	}
}

// ID names the worker in the ledger: wrk_….
func (w *Worker) ID() string { return w.id }

// Deliver makes one attempt at a claimed delivery: it sends, decides what follows
// and records both. What a reused connection dropped is sent again at once.
func (w *Worker) Deliver(ctx context.Context, job Job) {
	defer w.finish(job.Delivery)
	attempt, dropped := w.attempt(ctx, job)
	if dropped {
		job.repeat(attempt)
		attempt, _ = w.attempt(ctx, job)
	}
	verdict := Decide(w.policy, job, attempt, time.Now())
	w.record(ctx, job, attempt, verdict)
}

// Take claims t's delivery and delivers it.
func (w *Worker) Take(ctx context.Context, t Ticket) {
	if job, ok := w.claim(ctx, t); ok {
		w.Deliver(ctx, job)
	}
}

// claim makes t's delivery this worker's. A ticket that is not current, or
// that the ledger cannot be asked about, is dropped: the reconciler brings it
// back if it must. A claim once begun is waited for, since one whose answer
// got lost would use up an attempt that nobody makes.
func (w *Worker) claim(ctx context.Context, t Ticket) (Job, bool) {
	w.claiming.Add(1)
	defer w.claiming.Add(-1)
	if !w.able() || ctx.Err() != nil {
		return Job{}, false
	}
	ends := w.lease.ends.Load()
	job, ok, err := w.ledger.Claim(context.WithoutCancel(ctx), t, w.id)
	if err != nil {
		w.log.Debug("a ticket was dropped", "delivery", t.DeliveryID, "error", err)
		if webhook.KindOf(err) == webhook.KindUnavailable {
			w.lease.doubt()
		}
	}
	if err != nil || !ok {
		return Job{}, false
	}
	if w.lease.expired() || w.lease.ends.Load() > ends {
		return Job{}, false // others may have given it up meanwhile and send it
	}
	w.mu.Lock()
	w.inFlight[flightOf(job.Delivery)] = work{job.Delivery.EndpointID, ends}
	w.mu.Unlock()
	return job, true
}

// Expect says that the ledger is about to claim a delivery for the worker, whose
// id it returns, together with the admission; empty if the worker may begin
// nothing. Exactly one of Begin and Forget must follow.
func (w *Worker) Expect(deliveryID string, generation int64, endpointID string) string {
	if !w.able() {
		return ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inFlight[flight{deliveryID, generation}] = work{endpointID, w.lease.ends.Load()}
	return w.id
}

// Begin delivers what was expected, unless the lease has ended since.
func (w *Worker) Begin(ctx context.Context, job Job) {
	w.mu.Lock()
	expected := w.inFlight[flightOf(job.Delivery)]
	w.mu.Unlock()
	if ctx.Err() != nil || w.lease.expired() || w.lease.ends.Load() > expected.ends {
		w.finish(job.Delivery) // others may have given it up meanwhile and send it
		return
	}
	w.Deliver(ctx, job)
}

// Forget ends the expectation of a delivery that was not claimed or, with
// doubt, of which the ledger has not said whether it was.
func (w *Worker) Forget(deliveryID string, generation int64, doubt bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := flight{deliveryID, generation}
	delete(w.inFlight, f)
	if doubt {
		w.doubts[f] = time.Now()
	}
}

// doubtful reports whether the worker is not at a delivery that the ledger may
// have claimed for it without saying so.
func (w *Worker) doubtful(d webhook.Delivery) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, at := w.inFlight[flightOf(d)]
	_, doubted := w.doubts[flightOf(d)]
	return doubted && !at
}

// inDoubt reports whether there may be any such. One is dropped after
// claimedLong: whatever was claimed before is found without it.
func (w *Worker) inDoubt() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.doubts, func(_ flight, since time.Time) bool { return time.Since(since) > claimedLong })
	return len(w.doubts) > 0
}

// able reports whether the worker may begin a delivery: what cannot be
// recorded, or not by us, should not be sent.
func (w *Worker) able() bool {
	return w.stuck.Load() == 0 && !w.lease.expired() && !w.lease.doubtful()
}

// Ready waits until the worker may begin a delivery, which it may not while it
// cannot reach the ledger, and reports whether it may. It waits for limit at
// most, and no longer than ctx lasts.
func (w *Worker) Ready(ctx context.Context, limit time.Duration) bool {
	if w.able() {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	look := time.NewTicker(readyPause)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-look.C:
			if w.able() {
				return true
			}
		}
	}
}

const readyPause = 200 * time.Millisecond

// attempt sends the job once and reports whether a reused connection dropped it.
// Whatever happens is the attempt's outcome, even a fault of ours that this job
// alone brings about.
func (w *Worker) attempt(ctx context.Context, job Job) (a webhook.Attempt, dropped bool) {
	a = webhook.Attempt{
		ID: webhook.NewID(webhook.AttemptPrefix), DeliveryID: job.Delivery.ID, Number: job.Delivery.Attempts,
		Trigger: job.Trigger, StartedAt: time.Now().UTC(), KeyID: job.Event.KeyID, Worker: w.id,
	}
	ctx, end := w.startSpan(ctx, job, &a)
	defer end() // after what a panic makes of the attempt
	defer func() {
		if fault := recover(); fault != nil {
			w.log.Error("an attempt panicked", "delivery", a.DeliveryID, "panic", fault, "stack", string(debug.Stack()))
			a.Outcome, a.ErrorClass, a.ErrorDetail = webhook.OutcomeFailed, webhook.ErrorInternal, "the gateway failed while it made the attempt"
		}
	}()
	header, body, err := w.composer.Compose(ctx, job, a.StartedAt)
	if err != nil {
		w.log.Error("a delivery could not be composed", "delivery", a.DeliveryID, "error", err)
		a.Outcome, a.ErrorClass, a.ErrorDetail = webhook.OutcomeFailed, webhook.ErrorInternal, "the gateway could not compose the message"
		return a, false
	}
	w.tellTrace(ctx, header)
	r := w.sender.Send(ctx, sender.Request{URL: job.URL, Header: header, Body: body, Timeout: job.Timeout,
		AckBody: job.AckMode == webhook.AckBody, Fresh: job.Dropped != nil})
	a.StartedAt, a.Phases = r.StartedAt, r.Phases
	a.PeerIP, a.TLSVersion, a.TLSNotAfter, a.Certificate = r.PeerIP, r.TLSVersion, r.TLSNotAfter, r.Certificate
	a.Outcome, a.StatusCode, a.ErrorClass, a.ErrorDetail = r.Outcome, r.StatusCode, r.ErrorClass, r.ErrorDetail
	a.RequestHeaders, a.ResponseHeaders, a.HeadersCut = mask(header), r.ResponseHeaders, r.HeadersCut
	if r.ErrorClass == webhook.ErrorBlocked {
		w.metrics.blocked.WithLabelValues(string(r.BlockedReason)).Inc()
		w.log.Warn("an address was not dialled", "delivery", a.DeliveryID, "endpoint", job.Delivery.EndpointID, "reason", r.BlockedReason, "address", r.BlockedAddr.String())
	}
	a.ResponseBody, a.Truncated, a.BodyCut, a.Connected = r.ResponseBody, r.Truncated, r.BodyCut, r.Connected
	return a, r.Dropped
}

// record writes what happened, even while the process is stopping: it was
// sent, so it must be known. As long as the ledger does not take it the worker
// claims nothing new.
func (w *Worker) record(ctx context.Context, job Job, a webhook.Attempt, v Verdict) {
	result := Result{DeliveryID: job.Delivery.ID, EndpointID: job.Delivery.EndpointID, Generation: job.Delivery.Generation, Attempt: a, Dropped: job.Dropped, Verdict: v, BreakerEpoch: job.BreakerEpoch}
	result.Trip, result.Refused = w.breakers.Observe(job.Delivery.EndpointID, job.Event.ID, job.BreakerEpoch, a)
	counted, err := w.ledger.Record(context.WithoutCancel(ctx), result)
	if err != nil {
		counted, err = w.recordUntil(ctx, result, err)
	}
	if err != nil {
		return // the reconciler will find the delivery abandoned
	}
	if !counted {
		w.log.Warn("an attempt was recorded too late: its delivery has been given up and is sent again", "delivery", a.DeliveryID, "number", a.Number)
		return
	}
	if job.Dropped != nil {
		w.tell(job, *job.Dropped, Verdict{State: webhook.Sending})
	}
	w.tell(job, a, v)
}

// tell counts and logs a recorded attempt.
func (w *Worker) tell(job Job, a webhook.Attempt, v Verdict) {
	w.metrics.attempted(job, a, v)
	log := w.log
	if a.Trace != "" {
		log = log.With("trace", a.Trace)
	}
	log.Info("attempt", "delivery", a.DeliveryID, "event", job.Event.ID, "partner", job.Event.PartnerCode,
		"webhook_type", string(job.Event.Type), "number", a.Number, "trigger", string(a.Trigger), "outcome", string(a.Outcome),
		"status", a.StatusCode, "class", string(a.ErrorClass), "ms", a.Phases.Total.Milliseconds(), "state", string(v.State))
}

const (
	recordPause   = 200 * time.Millisecond
	recordLastTry = 5 * time.Second // how long a stopping process goes on trying
)

// recordUntil tries again, after err, until the ledger takes the result or the
// process is stopping and has waited long enough. What a ledger that can be
// reached refuses is tried without the receiver's part: no answer may hold up
// the worker, and with it all partners.
func (w *Worker) recordUntil(ctx context.Context, result Result, err error) (counted bool, _ error) {
	w.stuck.Add(1)
	defer w.stuck.Add(-1)
	pause := time.NewTicker(recordPause)
	defer pause.Stop()
	var giveUp <-chan time.Time
	done := ctx.Done()
	for told := webhook.Kind(-1); err != nil; {
		if kind := webhook.KindOf(err); kind != told {
			w.log.Error("the ledger does not take an attempt's record", "delivery", result.DeliveryID, "error", err)
			told = kind
		}
		if told != webhook.KindUnavailable {
			result.Attempt = withoutAnswer(result.Attempt)
		}
		select {
		case <-done:
			done = nil
			giveUp = time.After(recordLastTry)
		case <-giveUp:
			return false, err
		case <-pause.C:
			counted, err = w.ledger.Record(context.WithoutCancel(ctx), result)
		}
	}
	return counted, nil
}

// withoutAnswer is a without the texts that its receiver had a hand in.
func withoutAnswer(a webhook.Attempt) webhook.Attempt {
	a.ResponseHeaders, a.ResponseBody, a.Truncated = nil, nil, true
	a.ErrorDetail = "the ledger did not take what the receiver answered"
	return a
}

// Recording is an error while the ledger does not take the record of an attempt.
func (w *Worker) Recording(context.Context) error {
	if n := w.stuck.Load(); n > 0 {
		return fmt.Errorf("%d attempts cannot be recorded: nothing is sent until they are", n)
	}
	return nil
}

func flightOf(d webhook.Delivery) flight { return flight{d.ID, d.Generation} }

// finish ends what a claim began.
func (w *Worker) finish(d webhook.Delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.inFlight, flightOf(d))
}

// working reports whether the worker is at the delivery just now.
func (w *Worker) working(d webhook.Delivery) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.inFlight[flightOf(d)]
	return ok
}

// InFlight is how many deliveries the worker is at, or about to be.
func (w *Worker) InFlight() int {
	claiming := int(w.claiming.Load()) // first: what is claimed meanwhile is counted twice, never missed
	w.mu.Lock()
	defer w.mu.Unlock()
	return claiming + len(w.inFlight)
}

// InFlightBy counts the deliveries the worker is at by what shardOf says of
// their endpoints.
func (w *Worker) InFlightBy(shardOf func(endpointID string) string) map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	counts := map[string]int{}
	for _, at := range w.inFlight {
		counts[shardOf(at.endpointID)]++
	}
	return counts
}
