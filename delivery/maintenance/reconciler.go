package maintenance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"ledgerhook/delivery"
)

// Epochs remembers which life of the queue the ledger's queued deliveries are in.
type Epochs interface {
	QueueEpoch(ctx context.Context, shard string) (string, error)
	SetQueueEpoch(ctx context.Context, shard, epoch string) error
}

// Holder is the queue as the reconciler sees it.
type Holder interface {
	delivery.Enqueuer
	Shards() []string
	ShardOf(endpointID string) string
	// Epoch is a mark that changes when the shard loses its tasks.
	Epoch(ctx context.Context, shard string) (string, error)
	// Lost returns those deliveries that the queue will never hand out, also
	// with an error: those it knows of.
	Lost(ctx context.Context, queued []delivery.Queued) ([]delivery.Ticket, error)
}

const (
	reconcileRows = 2000
	// enqueueAtOnce is how many enqueues to one shard are on their way at once.
	enqueueAtOnce = 16
	// enqueueGrace is how long a ticket may be on its way to the queue.
	enqueueGrace = 3 * time.Second
)

// reconciler repairs the two ways in which ledger and queue fall apart: the
// queue was emptied, or it lost a ticket.
type reconciler struct {
	store   Store
	epochs  Epochs
	queue   Holder
	metrics *Metrics
	succeed func() // says that the lead's work goes on

	looked delivery.Queued // where requeueLost goes on
	refill refill
	known  map[string]string // epochs of shards, while this process leads
}

// reconcile makes both repairs. Each checks again, in its own statement, that
// there is something to repair, or repeats what harms nobody: the lead need not
// be fenced, and what is repaired by two processes at once is counted by one of
// them.
func (r *reconciler) reconcile(ctx context.Context, s *steps) {
	if s.repair(ctx, "refill", "queue_emptied", r.refillEmptied) && s.repair(ctx, "requeue", "ticket_lost", r.requeueLost) {
		r.succeed()
	}
}

// refill is how far the enqueueing of everything has got.
type refill struct {
	epochs map[string]string // of the shards that it is for
	behind delivery.Queued
}

// refillEmptied enqueues everything queued in a shard again if the shard is not
// the one that it was queued in. The tickets stay what they were: one that is
// there already, or that somebody claims meanwhile, does no harm. A shard that
// does not answer is left for later; what was broken off goes on where it was.
func (r *reconciler) refillEmptied(ctx context.Context) (repaired int, err error) {
	emptied := map[string]string{} // epochs of shards
	for _, shard := range r.queue.Shards() {
		now, known, failed := r.epochsOf(ctx, shard)
		if err = errors.Join(err, failed); failed == nil && known != now {
			emptied[shard] = now
		}
	}
	if !maps.Equal(emptied, r.refill.epochs) {
		r.refill = refill{epochs: maps.Clone(emptied)}
	}
	for more := true; more && len(emptied) > 0; {
		page, failed := r.store.Queued(ctx, r.refill.behind, reconcileRows)
		if failed != nil {
			return repaired, errors.Join(err, failed)
		}
		var lost []delivery.Ticket
		for _, d := range page {
			if emptied[r.queue.ShardOf(d.EndpointID)] != "" {
				lost = append(lost, d.Ticket)
			}
		}
		enqueued, failures := r.enqueue(ctx, lost)
		repaired += enqueued
		for shard, failed := range failures {
			delete(emptied, shard)
			err = errors.Join(err, failed)
		}
		if ctx.Err() != nil {
			return repaired, err
		}
		if more = len(page) == reconcileRows; more {
			r.refill.behind = page[len(page)-1]
			r.succeed()
		}
	}
	r.refill = refill{}
	for shard, epoch := range emptied {
		failed := r.epochs.SetQueueEpoch(ctx, shard, epoch)
		if failed == nil {
			r.known[shard] = epoch
		}
		err = errors.Join(err, failed)
	}
	return repaired, err
}

// enqueue hands tickets to the queue, at the queue's speed, and returns how
// many it took and which shards broke off, with what. What they did not take
// is found lost.
func (r *reconciler) enqueue(ctx context.Context, tickets []delivery.Ticket) (int, map[string]error) {
	shards := map[string][]delivery.Ticket{}
	for _, t := range tickets {
		shard := r.queue.ShardOf(t.EndpointID)
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
					err := delivery.Enqueue(ctx, r.queue, t, r.metrics.delivery)
					if err == nil {
						enqueued.Add(1)
					}
					return err
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

// epochsOf returns the mark that a shard has now and the one that the ledger knows.
func (r *reconciler) epochsOf(ctx context.Context, shard string) (now, known string, err error) {
	if now, err = r.queue.Epoch(ctx, shard); err != nil {
		return "", "", fmt.Errorf("look at %s: %w", shard, err)
	}
	if r.known == nil {
		r.known = map[string]string{}
	}
	if known = r.known[shard]; known != "" {
		return now, known, nil
	}
	known, err = r.epochs.QueueEpoch(ctx, shard)
	if err == nil {
		r.known[shard] = known
	}
	return now, known, err
}

// requeueLost looks for tickets that never reached the queue or got lost in
// it, among reconcileRows deliveries, and goes on at once behind those of which
// some are lost. The next time goes on there, too, so that many that wait for
// their turn hide no lost one.
func (r *reconciler) requeueLost(ctx context.Context) (repaired int, err error) {
	for {
		n, err := r.requeueSome(ctx)
		repaired += n
		if err != nil || n == 0 || r.looked == (delivery.Queued{}) {
			return repaired, err
		}
		r.succeed()
	}
}

// requeueSome looks at the reconcileRows deliveries behind r.looked.
func (r *reconciler) requeueSome(ctx context.Context) (int, error) {
	queued, err := r.store.Queued(ctx, r.looked, reconcileRows)
	if err != nil {
		return 0, err
	}
	if r.looked == (delivery.Queued{}) {
		r.metrics.oldestQueued(queued, r.queue)
	}
	r.looked = delivery.Queued{}
	if len(queued) == reconcileRows {
		r.looked = queued[len(queued)-1]
	}
	now := time.Now()
	young := func(d delivery.Queued) bool { return now.Sub(d.At).Abs() < enqueueGrace } // not what a clock that was ahead queued
	if len(queued) > 0 && young(queued[len(queued)-1]) {
		r.looked = delivery.Queued{}
	}
	queued = slices.DeleteFunc(queued, young)
	if len(queued) == 0 {
		return 0, nil
	}
	lost, failed := r.queue.Lost(ctx, queued) // of the shards that answer
	again, err := r.store.Requeue(ctx, lost)
	_, failures := r.enqueue(ctx, again)
	return len(again), errors.Join(failed, err, errors.Join(slices.Collect(maps.Values(failures))...))
}
