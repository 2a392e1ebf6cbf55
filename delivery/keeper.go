package delivery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"ledgerhook/webhook"
)

// Books is what the promoter and the reconciler need of the ledger.
type Books interface {
	// Promote admits what is due in windows whose time has come, in at most
	// limit windows, and reports in how many.
	Promote(ctx context.Context, limit int) (int, error)
	// Rewind brings stored times back that no clock but a wrong one can have written.
	Rewind(ctx context.Context) error
	// Queued lists deliveries that are queued, longest first, from behind one on.
	Queued(ctx context.Context, behind Queued, limit int) ([]Queued, error)
	// Requeue gives queued deliveries the next generation and new tickets.
	Requeue(ctx context.Context, lost []Ticket) (int, error)
	// Abandoned lists what dead workers were sending, and what workerID itself
	// claimed before claimedBefore.
	Abandoned(ctx context.Context, workerID string, claimedBefore time.Time, limit int) ([]InFlight, error)
	// Record is the one of Ledger. It counts unless another keeper was first.
	Record(ctx context.Context, r Result) (counted bool, err error)
}

// Epochs remembers which life of the queue the ledger's queued deliveries are in.
type Epochs interface {
	QueueEpoch(ctx context.Context, shard string) (string, error)
	SetQueueEpoch(ctx context.Context, shard, epoch string) error
}

// Holder is the queue as the reconciler sees it.
type Holder interface {
	Shards() []string
	ShardOf(endpointID string) string
	// Epoch is a mark that changes when the shard loses its tasks.
	Epoch(ctx context.Context, shard string) (string, error)
	// Lost returns those deliveries that the queue will never hand out, also
	// with an error: those it knows of.
	Lost(ctx context.Context, queued []Queued) ([]Ticket, error)
}

// Keeper keeps ledger and queue in step: it is promoter and reconciler. Any
// number of processes may run one.
type Keeper struct {
	Books   Books
	Epochs  Epochs
	Queue   Holder
	Worker  *Worker
	Policy  webhook.RetryPolicy
	Metrics *Metrics
	Log     *slog.Logger

	outage outage
	looked Queued // where requeueLost goes on
	clock  clock
}

const (
	promoteEvery   = 200 * time.Millisecond
	promoteWindows = 128
	promoteRounds  = 16
	reconcileEvery = time.Second
	reconcileRows  = 2000
	// enqueueGrace is how long a ticket may be on its way to the queue.
	enqueueGrace = 3 * time.Second
	// stepTimeout bounds a step: a connection that died without a word must not
	// end the keeping.
	stepTimeout = 30 * time.Second
)

// Run promotes, reconciles and rewinds until ctx ends, side by side: a repair
// may wait long for a store that hangs.
func (k *Keeper) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { again(ctx, promoteEvery, k.promote) })
	all.Go(func() { again(ctx, reconcileEvery, k.reconcile) })
	all.Go(func() { again(ctx, reconcileEvery, k.rewind) })
	all.Wait()
}

// again runs do, at once and then at each interval, until ctx ends.
func again(ctx context.Context, interval time.Duration, do func(context.Context)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		do(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// promote ends after some rounds even if there is more, so that windows which
// want something each time take no more than a turn.
func (k *Keeper) promote(ctx context.Context) {
	k.step(ctx, "promote", func(ctx context.Context) error {
		for range promoteRounds {
			if n, err := k.Books.Promote(ctx, promoteWindows); err != nil || n < promoteWindows {
				return err
			}
		}
		return nil
	})
}

// reconcile repairs the three ways in which ledger and queue fall apart. Each
// repair checks again, in its own statement, that there is something to
// repair, so keepers of several processes do not disturb each other, and what
// is repaired is counted by one of them.
func (k *Keeper) reconcile(ctx context.Context) {
	k.repair(ctx, "worker_dead", k.recoverAbandoned)
	k.repair(ctx, "queue_emptied", k.refillEmptied)
	k.repair(ctx, "ticket_lost", k.requeueLost)
}

func (k *Keeper) repair(ctx context.Context, reason string, do func(context.Context) (int, error)) {
	k.step(ctx, "reconcile "+reason, func(ctx context.Context) error {
		n, err := do(ctx)
		if n > 0 {
			k.Metrics.repaired.WithLabelValues(reason).Add(float64(n))
			k.Log.Info("deliveries were put back on their way", "reason", reason, "deliveries", n)
		}
		return err
	})
}

// within runs do, which ends when limit has passed.
func within(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return do(ctx)
}

func (k *Keeper) step(ctx context.Context, name string, do func(context.Context) error) {
	k.outage.tell(ctx, k.Log, "keep deliveries on their way", name, within(ctx, stepTimeout, do))
}

// refillEmptied sends everything queued in a shard again if the shard is not
// the one that it was queued in. A shard that does not answer is left for later.
func (k *Keeper) refillEmptied(ctx context.Context) (repaired int, err error) {
	emptied := map[string]string{} // epochs of shards
	for _, shard := range k.Queue.Shards() {
		now, known, failed := k.epochs(ctx, shard)
		if err = errors.Join(err, failed); failed == nil && known != now {
			emptied[shard] = now
		}
	}
	if len(emptied) == 0 {
		return 0, err
	}
	queued, failed := k.Books.Queued(ctx, Queued{}, allQueued)
	if failed != nil {
		return 0, errors.Join(err, failed)
	}
	var lost []Ticket
	for _, d := range queued {
		if emptied[k.Queue.ShardOf(d.EndpointID)] != "" {
			lost = append(lost, d.Ticket)
		}
	}
	repaired, failed = k.Books.Requeue(ctx, lost)
	for shard, epoch := range emptied {
		if failed == nil {
			failed = k.Epochs.SetQueueEpoch(ctx, shard, epoch)
		}
	}
	return repaired, errors.Join(err, failed)
}

// epochs returns the mark that a shard has now and the one that the ledger knows.
func (k *Keeper) epochs(ctx context.Context, shard string) (now, known string, err error) {
	if now, err = k.Queue.Epoch(ctx, shard); err != nil {
		return "", "", fmt.Errorf("look at %s: %w", shard, err)
	}
	known, err = k.Epochs.QueueEpoch(ctx, shard)
	return now, known, err
}

// allQueued bounds the one read of everything queued; windows bound it further.
const allQueued = 1 << 20

// requeueLost looks for tickets that never reached the queue or got lost in
// it, among reconcileRows deliveries. The next time goes on behind them, so
// that many that wait for their turn hide no lost one.
func (k *Keeper) requeueLost(ctx context.Context) (int, error) {
	queued, err := k.Books.Queued(ctx, k.looked, reconcileRows)
	if err != nil {
		return 0, err
	}
	if k.looked == (Queued{}) {
		k.Metrics.oldestQueued(queued, k.Queue)
	}
	k.looked = Queued{}
	if len(queued) == reconcileRows {
		k.looked = queued[len(queued)-1]
	}
	now := time.Now()
	young := func(d Queued) bool { return now.Sub(d.At).Abs() < enqueueGrace } // not what a clock that was ahead queued
	if len(queued) > 0 && young(queued[len(queued)-1]) {
		k.looked = Queued{}
	}
	queued = slices.DeleteFunc(queued, young)
	if len(queued) == 0 {
		return 0, nil
	}
	lost, failed := k.Queue.Lost(ctx, queued) // of the shards that answer
	repaired, err := k.Books.Requeue(ctx, lost)
	return repaired, errors.Join(failed, err)
}

// claimedLong is after which time a delivery that this process does not work
// at, but that the ledger says it does, is the trace of a claim whose answer
// got lost.
const claimedLong = 30 * time.Second

// recoverAtOnce is how many records are on their way at once: as many as the
// ledger takes in one transaction.
const recoverAtOnce = 128

// recoverAbandoned records an unknown outcome for what nobody is sending any
// more, which makes it due at once.
func (k *Keeper) recoverAbandoned(ctx context.Context) (int, error) {
	abandoned, err := k.Books.Abandoned(ctx, k.Worker.id, time.Now().Add(-claimedLong), reconcileRows)
	if err != nil {
		return 0, err
	}
	var recovered atomic.Int64
	var records errgroup.Group
	records.SetLimit(recoverAtOnce)
	for _, f := range abandoned {
		if ours := f.WorkerID == k.Worker.id; ours && k.Worker.working(f.Job.Delivery) || !ours && !k.Worker.lease.sure() {
			continue
		}
		records.Go(func() error {
			counted, err := k.recover(ctx, f)
			if counted {
				recovered.Add(1)
			}
			return err
		})
	}
	err = records.Wait()
	return int(recovered.Load()), err
}

func (k *Keeper) recover(ctx context.Context, f InFlight) (counted bool, err error) {
	d := f.Job.Delivery
	a := webhook.Attempt{
		ID: webhook.NewID(webhook.AttemptPrefix), DeliveryID: d.ID, Number: d.Attempts, Trigger: f.Job.Trigger,
		StartedAt: f.ClaimedAt, Outcome: webhook.OutcomeUnknown, Worker: f.WorkerID,
		ErrorDetail: "the worker was gone before it could record what came of this attempt",
	}
	v := Decide(k.Policy, f.Job, a, time.Now())
	counted, err = k.Books.Record(ctx, Result{DeliveryID: d.ID, EndpointID: d.EndpointID, Generation: d.Generation, Attempt: a, Verdict: v})
	if counted {
		k.Metrics.attempted(f.Job, a, v)
	}
	return counted, err
}
