package delivery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
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
	// Requeue gives queued deliveries the next generation and returns their new
	// tickets, also with an error: those of the deliveries that it took.
	Requeue(ctx context.Context, lost []Ticket) ([]Ticket, error)
}

// Claims is what the keeper needs of the ledger to end attempts that nobody
// is making any more.
type Claims interface {
	// Abandoned lists what dead workers other than workerID were sending.
	Abandoned(ctx context.Context, workerID string, limit int) ([]InFlight, error)
	// Claimed lists what workerID claimed before a time, or by a clock that was ahead.
	Claimed(ctx context.Context, workerID string, before time.Time, limit int) ([]InFlight, error)
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
	Enqueuer
	Shards() []string
	ShardOf(endpointID string) string
	// Epoch is a mark that changes when the shard loses its tasks.
	Epoch(ctx context.Context, shard string) (string, error)
	// Lost returns those deliveries that the queue will never hand out, also
	// with an error: those it knows of.
	Lost(ctx context.Context, queued []Queued) ([]Ticket, error)
}

// Keeper keeps ledger and queue in step: it is promoter and reconciler, and
// carries replays on. Every worker process runs one; one of them leads and does
// what is done for all.
type Keeper struct {
	Books   Books
	Claims  Claims
	Epochs  Epochs
	Leading Election
	Replays Replays // nil: there are none
	Queue   Holder
	Worker  *Worker
	Policy  webhook.RetryPolicy
	Metrics *Metrics
	Log     *slog.Logger

	outage outage
	leader leader
	looked Queued // where requeueLost goes on
	refill refill
	known  map[string]string // epochs of shards, while this process leads
	clock  clock
}

const (
	promoteEvery   = 200 * time.Millisecond
	promoteWindows = 128
	promoteRounds  = 16
	reconcileEvery = time.Second
	reconcileRows  = 2000
	// ownEvery is how often a process looks for claims of its own whose answers
	// got lost.
	ownEvery = 10 * time.Second
	// enqueueAtOnce is how many enqueues to one shard are on their way at once.
	enqueueAtOnce = 16
	// enqueueGrace is how long a ticket may be on its way to the queue.
	enqueueGrace = 3 * time.Second
	// stepTimeout bounds a step: a connection that died without a word must not
	// end the keeping.
	stepTimeout = 30 * time.Second
)

// Run keeps until ctx ends. Whoever is alone leads without asking.
func (k *Keeper) Run(ctx context.Context) {
	k.leader.id, k.leader.log = k.Worker.id, k.Log
	if !k.Worker.lease.alone {
		k.leader.election = k.Leading
	}
	var all sync.WaitGroup
	all.Go(func() { again(ctx, ownEvery, k.recoverOwn) })
	all.Go(func() { again(ctx, reconcileEvery, k.recoverDoubtful) })
	all.Go(func() { again(ctx, reconcileEvery, k.rewind) })
	all.Go(func() { k.leader.run(ctx, k.lead) })
	all.Wait()
}

// lead does what one process does for all until ctx ends. The duties are done
// side by side: a repair may wait long for a store that hangs.
func (k *Keeper) lead(ctx context.Context) {
	k.known = nil // others may have led meanwhile
	var all sync.WaitGroup
	all.Go(func() { again(ctx, promoteEvery, k.promote) })
	all.Go(func() { again(ctx, reconcileEvery, k.recoverDead) })
	all.Go(func() { again(ctx, reconcileEvery, k.reconcile) })
	if k.Replays != nil {
		all.Go(func() { runReplays(ctx, k.Replays, k.Metrics, k.Log) })
	}
	all.Wait()
	k.Metrics.oldest.Reset() // another process knows now
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

// reconcile repairs the two ways in which ledger and queue fall apart. Each
// repair checks again, in its own statement, that there is something to
// repair, or repeats what harms nobody: the lead need not be fenced, and what
// is repaired by two processes at once is counted by one of them.
func (k *Keeper) reconcile(ctx context.Context) {
	if k.repair(ctx, "queue_emptied", k.refillEmptied) && k.repair(ctx, "ticket_lost", k.requeueLost) {
		k.leader.succeed()
	}
}

func (k *Keeper) recoverDead(ctx context.Context) { k.repair(ctx, "worker_dead", k.recoverAbandoned) }

func (k *Keeper) recoverOwn(ctx context.Context) { k.repair(ctx, "worker_dead", k.recoverClaimed) }

func (k *Keeper) recoverDoubtful(ctx context.Context) {
	if k.Worker.inDoubt() {
		k.repair(ctx, "worker_dead", k.recoverDoubted)
	}
}

// repair reports whether the repair could be made, or there was none to make.
func (k *Keeper) repair(ctx context.Context, reason string, do func(context.Context) (int, error)) bool {
	return k.step(ctx, "reconcile "+reason, func(ctx context.Context) error {
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

func (k *Keeper) step(ctx context.Context, name string, do func(context.Context) error) (ok bool) {
	err := within(ctx, stepTimeout, do)
	k.outage.tell(ctx, k.Log, "keep deliveries on their way", name, err)
	return err == nil
}

// refill is how far the enqueueing of everything has got.
type refill struct {
	epochs map[string]string // of the shards that it is for
	behind Queued
}

// refillEmptied enqueues everything queued in a shard again if the shard is not
// the one that it was queued in. The tickets stay what they were: one that is
// there already, or that somebody claims meanwhile, does no harm. A shard that
// does not answer is left for later; what was broken off goes on where it was.
func (k *Keeper) refillEmptied(ctx context.Context) (repaired int, err error) {
	emptied := map[string]string{} // epochs of shards
	for _, shard := range k.Queue.Shards() {
		now, known, failed := k.epochs(ctx, shard)
		if err = errors.Join(err, failed); failed == nil && known != now {
			emptied[shard] = now
		}
	}
	if !maps.Equal(emptied, k.refill.epochs) {
		k.refill = refill{epochs: maps.Clone(emptied)}
	}
	for more := true; more && len(emptied) > 0; {
		page, failed := k.Books.Queued(ctx, k.refill.behind, reconcileRows)
		if failed != nil {
			return repaired, errors.Join(err, failed)
		}
		var lost []Ticket
		for _, d := range page {
			if emptied[k.Queue.ShardOf(d.EndpointID)] != "" {
				lost = append(lost, d.Ticket)
			}
		}
		enqueued, failures := k.enqueue(ctx, lost)
		repaired += enqueued
		for shard, failed := range failures {
			delete(emptied, shard)
			err = errors.Join(err, failed)
		}
		if ctx.Err() != nil {
			return repaired, err
		}
		if more = len(page) == reconcileRows; more {
			k.refill.behind = page[len(page)-1]
			k.leader.succeed()
		}
	}
	k.refill = refill{}
	for shard, epoch := range emptied {
		failed := k.Epochs.SetQueueEpoch(ctx, shard, epoch)
		if failed == nil {
			k.known[shard] = epoch
		}
		err = errors.Join(err, failed)
	}
	return repaired, err
}

// enqueue hands tickets to the queue, at the queue's speed, and returns how
// many it took and which shards broke off, with what. What they did not take
// is found lost.
func (k *Keeper) enqueue(ctx context.Context, tickets []Ticket) (int, map[string]error) {
	shards := map[string][]Ticket{}
	for _, t := range tickets {
		shard := k.Queue.ShardOf(t.EndpointID)
		shards[shard] = append(shards[shard], t)
	}
	var enqueued atomic.Int64
	var mu sync.Mutex
	failed := map[string]error{}
	var all sync.WaitGroup
	for shard, tickets := range shards {
		all.Go(func() {
			one, ctx := errgroup.WithContext(ctx)
			one.SetLimit(enqueueAtOnce)
			for _, t := range tickets {
				one.Go(func() error {
					err := within(ctx, enqueueTimeout, func(ctx context.Context) error { return k.Queue.Enqueue(ctx, t) })
					if err != nil {
						k.Metrics.enqueueFailed()
						return err
					}
					enqueued.Add(1)
					return nil
				})
			}
			if err := one.Wait(); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed[shard] = fmt.Errorf("hand tickets to %s: %w", shard, err)
			}
		})
	}
	all.Wait()
	return int(enqueued.Load()), failed
}

// epochs returns the mark that a shard has now and the one that the ledger knows.
func (k *Keeper) epochs(ctx context.Context, shard string) (now, known string, err error) {
	if now, err = k.Queue.Epoch(ctx, shard); err != nil {
		return "", "", fmt.Errorf("look at %s: %w", shard, err)
	}
	if k.known == nil {
		k.known = map[string]string{}
	}
	if known = k.known[shard]; known != "" {
		return now, known, nil
	}
	known, err = k.Epochs.QueueEpoch(ctx, shard)
	if err == nil {
		k.known[shard] = known
	}
	return now, known, err
}

// requeueLost looks for tickets that never reached the queue or got lost in
// it, among reconcileRows deliveries, and goes on at once behind those of which
// some are lost. The next time goes on there, too, so that many that wait for
// their turn hide no lost one.
func (k *Keeper) requeueLost(ctx context.Context) (repaired int, err error) {
	for {
		n, err := k.requeueSome(ctx)
		repaired += n
		if err != nil || n == 0 || k.looked == (Queued{}) {
			return repaired, err
		}
		k.leader.succeed()
	}
}

// requeueSome looks at the reconcileRows deliveries behind k.looked.
func (k *Keeper) requeueSome(ctx context.Context) (int, error) {
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
	again, err := k.Books.Requeue(ctx, lost)
	_, failures := k.enqueue(ctx, again)
	return len(again), errors.Join(failed, err, errors.Join(slices.Collect(maps.Values(failures))...))
}

// claimedLong is after which time a delivery that this process does not work
// at, but that the ledger says it does, is the trace of a claim whose answer
// got lost.
const claimedLong = 30 * time.Second

// recoverAtOnce is how many records are on their way at once: as many as the
// ledger takes in one transaction.
const recoverAtOnce = 128

// recoverAbandoned records an unknown outcome for what dead workers were
// sending, which makes it due at once.
func (k *Keeper) recoverAbandoned(ctx context.Context) (int, error) {
	abandoned, err := k.Claims.Abandoned(ctx, k.Worker.id, reconcileRows)
	if err != nil {
		return 0, err
	}
	return k.giveUp(ctx, abandoned, func(InFlight) bool { return k.Worker.lease.sure() })
}

// recoverClaimed does the same for what this process claimed without hearing of it.
func (k *Keeper) recoverClaimed(ctx context.Context) (int, error) {
	claimed, err := k.Claims.Claimed(ctx, k.Worker.id, time.Now().Add(-claimedLong), reconcileRows)
	if err != nil {
		return 0, err
	}
	return k.giveUp(ctx, claimed, func(f InFlight) bool { return !k.Worker.working(f.Job.Delivery) })
}

// recoverDoubted does so without delay for what may have been claimed by a
// transaction whose answer got lost.
func (k *Keeper) recoverDoubted(ctx context.Context) (int, error) {
	claimed, err := k.Claims.Claimed(ctx, k.Worker.id, time.Now(), reconcileRows)
	if err != nil {
		return 0, err
	}
	return k.giveUp(ctx, claimed, func(f InFlight) bool { return k.Worker.doubtful(f.Job.Delivery) })
}

// giveUp gives up those that nobody makes as far as gone can tell, and reports
// for how many it was the first to do so.
func (k *Keeper) giveUp(ctx context.Context, all []InFlight, gone func(InFlight) bool) (int, error) {
	var recovered atomic.Int64
	var records errgroup.Group
	records.SetLimit(recoverAtOnce)
	for _, f := range all {
		if !gone(f) {
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
	err := records.Wait()
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
	counted, err = k.Claims.Record(ctx, Result{DeliveryID: d.ID, EndpointID: d.EndpointID, Generation: d.Generation, Attempt: a, Verdict: v})
	if counted {
		k.Metrics.attempted(f.Job, a, v)
	}
	return counted, err
}
