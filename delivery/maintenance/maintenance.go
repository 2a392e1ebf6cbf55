// Package maintenance keeps the ledger and the queue in step.
//
// Every worker process runs a Maintainer. It ends the process's own attempts
// that came to nothing and looks stored times over. One process of all, the
// leader, promotes what is due, repairs what the queue lost, ends the attempts
// of dead workers and carries bulk replays on.
//
// A worker's lease is no part of this: the worker asks it before each claim, so
// it lies beside the worker in delivery. So do the recoveries of attempts, which
// only a worker's own state can judge; here is when they are made.
package maintenance

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/delivery/outage"
)

// Store is what promoter, rewinder and reconciler need of the ledger.
type Store interface {
	// Promote admits what is due in windows whose time has come, in at most
	// limit windows, and reports in how many.
	Promote(ctx context.Context, limit int) (int, error)
	// Rewind brings stored times back that no clock but a wrong one can have written.
	Rewind(ctx context.Context) error
	// Queued lists deliveries that are queued, longest first, from behind one on.
	Queued(ctx context.Context, behind delivery.Queued, limit int) ([]delivery.Queued, error)
	// Requeue gives queued deliveries the next generation and returns their new
	// tickets, also with an error: those of the deliveries that it took.
	Requeue(ctx context.Context, lost []delivery.Ticket) ([]delivery.Ticket, error)
}

// Maintainer keeps ledger and queue in step. Every worker process runs one, and
// recovers its own attempts; one of them leads and does what is done once for
// all: it promotes, reconciles and carries replays on.
type Maintainer struct {
	Store    Store
	Claims   delivery.Claims
	Epochs   Epochs
	Election Election // nil: no other process works on the ledger
	Replays  Replays  // nil: there are none
	// Watch is what else the leader does until its context ends; nil: nothing.
	Watch   func(ctx context.Context)
	Queue   Holder
	Worker  *delivery.Worker
	Metrics *Metrics
	Log     *slog.Logger
}

const (
	reconcileEvery = time.Second
	// ownEvery is how often a process looks for claims of its own whose answers
	// got lost.
	ownEvery = 10 * time.Second
	// stepTimeout bounds a step: a connection that died without a word must not
	// end the maintenance.
	stepTimeout = 30 * time.Second
)

// Run maintains until ctx ends. A process without election leads.
func (m *Maintainer) Run(ctx context.Context) {
	s := &steps{log: m.Log, metrics: m.Metrics}
	lead := &leader{id: m.Worker.ID(), election: m.Election, log: m.Log}
	r := &reconciler{store: m.Store, epochs: m.Epochs, queue: m.Queue, metrics: m.Metrics, succeed: lead.succeed}
	w := &rewinder{store: m.Store, steps: s}
	var all sync.WaitGroup
	all.Go(func() { again(ctx, ownEvery, m.recovering(s, "claimed", m.Worker.RecoverClaimed)) })
	all.Go(func() { again(ctx, reconcileEvery, m.recovering(s, "doubted", m.Worker.RecoverDoubted)) })
	all.Go(func() { again(ctx, reconcileEvery, w.rewind) })
	all.Go(func() { lead.run(ctx, func(ctx context.Context) { m.lead(ctx, s, r) }) })
	all.Wait()
}

// lead does what one process does for all until ctx ends. The duties are done
// side by side: a repair may wait long for a store that hangs.
func (m *Maintainer) lead(ctx context.Context, s *steps, r *reconciler) {
	r.known = nil // others may have led meanwhile
	p := promoter{m.Store, s}
	var all sync.WaitGroup
	all.Go(func() { again(ctx, promoteEvery, p.promote) })
	all.Go(func() { again(ctx, reconcileEvery, m.recovering(s, "abandoned", m.Worker.RecoverAbandoned)) })
	all.Go(func() { again(ctx, reconcileEvery, func(ctx context.Context) { r.reconcile(ctx, s) }) })
	if m.Replays != nil {
		all.Go(func() { runReplays(ctx, m.Replays, m.Metrics, m.Log) })
	}
	if m.Watch != nil {
		all.Go(func() { m.Watch(ctx) })
	}
	all.Wait()
	m.Metrics.oldest.Reset() // another process knows now
}

// recovering is the duty of recovering attempts of one kind.
func (m *Maintainer) recovering(s *steps, kind string, recover func(context.Context, delivery.Claims) (int, error)) func(context.Context) {
	return func(ctx context.Context) {
		s.repair(ctx, "recover "+kind, "worker_dead", func(ctx context.Context) (int, error) { return recover(ctx, m.Claims) })
	}
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

// steps runs the steps of duties, each within stepTimeout, and logs what fails.
type steps struct {
	log     *slog.Logger
	metrics *Metrics
	failing outage.Log
}

// run reports whether the step went well.
func (s *steps) run(ctx context.Context, name string, do func(context.Context) error) (ok bool) {
	err := within(ctx, stepTimeout, do)
	s.failing.Note(ctx, s.log, "maintain the queue", name, err)
	return err == nil
}

// repair is run for a step that says how many deliveries it put back on their
// way, which are counted under the reason.
func (s *steps) repair(ctx context.Context, name, reason string, do func(context.Context) (int, error)) (ok bool) {
	return s.run(ctx, name, func(ctx context.Context) error {
		n, err := do(ctx)
		if n > 0 {
			s.metrics.repaired.WithLabelValues(reason).Add(float64(n))
			s.log.Info("deliveries were recovered", "reason", reason, "deliveries", n)
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
