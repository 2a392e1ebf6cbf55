package delivery

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"ledgerhook/webhook"
)

// Claims is what ending attempts that nobody is making any more needs of the
// ledger, beside Ledger.
type Claims interface {
	// Abandoned lists what dead workers other than workerID were sending.
	Abandoned(ctx context.Context, workerID string, limit int) ([]InFlight, error)
	// Claimed lists what workerID claimed before a time, or by a clock that was ahead.
	Claimed(ctx context.Context, workerID string, before time.Time, limit int) ([]InFlight, error)
}

// claimedLong is after which time a delivery that this process does not work
// at, but that the ledger says it does, is the trace of a claim whose answer
// got lost.
const claimedLong = 30 * time.Second

// recoverRows is how many deliveries are recovered in one go.
const recoverRows = 2000

// recoverAtOnce is how many records are on their way at once: as many as the
// ledger takes in one transaction if nothing else waits.
const recoverAtOnce = 128

// RecoverAbandoned records an unknown outcome for what dead workers were
// sending, which makes it due at once, and reports for how many deliveries. At
// most recoverRows are recovered in one call.
func (w *Worker) RecoverAbandoned(ctx context.Context, c Claims) (int, error) {
	abandoned, err := c.Abandoned(ctx, w.id, recoverRows)
	if err != nil {
		return 0, err
	}
	return w.giveUp(ctx, abandoned, func(InFlight) bool { return w.lease.sure() })
}

// RecoverClaimed does the same for what this process claimed without hearing of it.
func (w *Worker) RecoverClaimed(ctx context.Context, c Claims) (int, error) {
	claimed, err := c.Claimed(ctx, w.id, time.Now().Add(-claimedLong), recoverRows)
	if err != nil {
		return 0, err
	}
	return w.giveUp(ctx, claimed, func(f InFlight) bool { return !w.working(f.Job.Delivery) })
}

// RecoverDoubted does so without delay for what may have been claimed by a
// transaction whose answer got lost. It asks the ledger nothing as long as there
// is no such claim.
func (w *Worker) RecoverDoubted(ctx context.Context, c Claims) (int, error) {
	if !w.inDoubt() {
		return 0, nil
	}
	claimed, err := c.Claimed(ctx, w.id, time.Now(), recoverRows)
	if err != nil {
		return 0, err
	}
	return w.giveUp(ctx, claimed, func(f InFlight) bool { return w.doubtful(f.Job.Delivery) })
}

// giveUp gives up those that nobody makes as far as gone can tell, and reports
// for how many it was the first to do so.
func (w *Worker) giveUp(ctx context.Context, all []InFlight, gone func(InFlight) bool) (int, error) {
	var recovered atomic.Int64
	var records errgroup.Group
	records.SetLimit(recoverAtOnce)
	for _, f := range all {
		if !gone(f) {
			continue
		}
		records.Go(func() error {
			counted, err := w.giveUpOne(ctx, f)
			if counted {
				recovered.Add(1)
			}
			return err
		})
	}
	err := records.Wait()
	return int(recovered.Load()), err
}

func (w *Worker) giveUpOne(ctx context.Context, f InFlight) (counted bool, err error) {
	d := f.Job.Delivery
	a := webhook.Attempt{
		ID: webhook.NewID(webhook.AttemptPrefix), DeliveryID: d.ID, Number: d.Attempts, Trigger: f.Job.Trigger,
		StartedAt: f.ClaimedAt, Outcome: webhook.OutcomeUnknown, Worker: f.WorkerID,
		ErrorDetail: "the worker was gone before it could record what came of this attempt",
	}
	v := Decide(w.policy, f.Job, a, time.Now())
	counted, err = w.ledger.Record(ctx, Result{DeliveryID: d.ID, EndpointID: d.EndpointID, Generation: d.Generation, Attempt: a, Verdict: v})
	if counted {
		w.metrics.attempted(f.Job, a, v)
	}
	return counted, err
}
