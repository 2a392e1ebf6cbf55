package delivery

import (
	"context"
	"sync/atomic"
	"time"

	"ledgerhook/delivery/outage"
)

// LeaseTime is how long a worker counts as alive after it was last heard of,
// by the database's clock. What a dead one was sending is sent again by others.
const LeaseTime = 5 * time.Second

// LeaseRenewal is how often a worker says that it lives.
const LeaseRenewal = time.Second

const (
	// renewalTimeout leaves time for a second try, on another connection,
	// before the lease ends.
	renewalTimeout = 2 * time.Second
	// heartbeatGap between two heartbeats means that one of them was missing.
	heartbeatGap = 2 * LeaseRenewal
)

// Leases is what keeping a lease needs of the ledger.
type Leases interface {
	// Heartbeat says that a worker lives. The first one registers it.
	Heartbeat(ctx context.Context, workerID, host string) error
}

// lease is what a worker knows of its own lease. The zero lease is one that
// nobody keeps and that cannot be lost.
type lease struct {
	alone   bool                      // there are no others, and there cannot be
	renewed atomic.Pointer[time.Time] // begin of the last heartbeat that arrived
	steady  atomic.Pointer[time.Time] // since when they have arrived in time
	ends    atomic.Int32              // how often the lease has ended
	doubted atomic.Pointer[time.Time] // renewed as it was when the ledger last gave no answer
}

// expired reports whether others may take the worker for dead. It must then begin
// nothing: they would send the same at the same time.
func (l *lease) expired() bool { return !l.alone && past(l.renewed.Load(), LeaseTime) }

// doubt notes that the ledger gave no answer.
func (l *lease) doubt() { l.doubted.Store(l.renewed.Load()) }

// doubtful reports whether the ledger has been out of reach since the last
// heartbeat.
func (l *lease) doubtful() bool {
	renewed := l.renewed.Load()
	return renewed != nil && renewed == l.doubted.Load()
}

// sure reports whether the silence of others means that they are dead. They
// too could not be heard while the ledger was away, and get as long to be heard
// again: after the last gap in this worker's own heartbeats, and after its
// start, for it does not know what was before.
func (l *lease) sure() bool {
	steady := l.steady.Load()
	return l.alone || !past(l.renewed.Load(), heartbeatGap) && (steady == nil || past(steady, LeaseTime))
}

// past reports whether d has passed since then, if that ever was.
func past(then *time.Time, d time.Duration) bool { return then != nil && time.Since(*then) >= d }

func (l *lease) renew(began time.Time) {
	if l.expired() {
		l.ends.Add(1)
	}
	if before := l.renewed.Load(); before == nil || began.Sub(*before) >= heartbeatGap {
		now := time.Now()
		l.steady.Store(&now)
	}
	l.renewed.Store(&began) // last: whoever sees it sees what it brought about
}

// TakeLease registers the worker. KeepLease must follow, since the worker
// claims nothing once its lease has ended.
func (w *Worker) TakeLease(ctx context.Context, leases Leases, host string) error {
	began := time.Now()
	if err := leases.Heartbeat(ctx, w.id, host); err != nil {
		return err
	}
	w.lease.renew(began)
	return nil
}

// KeepLease renews the lease until ctx ends.
func (w *Worker) KeepLease(ctx context.Context, leases Leases, host string) {
	var failing outage.Log
	tick := time.NewTicker(LeaseRenewal)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			failing.Note(ctx, w.log, "keep the worker's lease", "heartbeat", w.renewLease(ctx, leases, host))
		}
	}
}

func (w *Worker) renewLease(ctx context.Context, leases Leases, host string) error {
	ctx, cancel := context.WithTimeout(ctx, renewalTimeout)
	defer cancel()
	return w.TakeLease(ctx, leases, host)
}
