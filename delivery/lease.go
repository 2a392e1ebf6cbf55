package delivery

import (
	"context"
	"sync/atomic"
	"time"
)

// LeaseTime is how long a worker counts as alive after it was last heard of,
// by the database's clock. What a dead one was sending is sent again by others.
const LeaseTime = 5 * time.Second

const (
	leaseRenewal = time.Second
	// renewalTimeout leaves time for a second try, on another connection,
	// before the lease ends.
	renewalTimeout = 2 * time.Second
)

// Leases is what keeping a lease needs of the ledger.
type Leases interface {
	// Heartbeat says that a worker lives. The first one registers it.
	Heartbeat(ctx context.Context, workerID, host string) error
}

// lease is what a worker knows of its own lease. The zero lease is one that
// nobody keeps and that cannot be lost.
type lease struct {
	renewed  atomic.Pointer[time.Time] // begin of the last heartbeat that arrived
	regained atomic.Pointer[time.Time] // when it arrived after the lease had ended
}

// lost reports whether others may take the worker for dead. It must then begin
// nothing: they would send the same at the same time.
func (l *lease) lost() bool { return over(l.renewed.Load()) }

// sure reports whether the silence of others means that they are dead. Just
// after an outage of the ledger nobody has been heard of for a while.
func (l *lease) sure() bool {
	return !l.lost() && (l.regained.Load() == nil || over(l.regained.Load()))
}

// over reports whether a lease that began then has ended.
func over(then *time.Time) bool { return then != nil && time.Since(*then) >= LeaseTime }

func (l *lease) renew(began time.Time) {
	if l.lost() {
		now := time.Now()
		l.regained.Store(&now)
	}
	l.renewed.Store(&began)
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
	var o outage
	tick := time.NewTicker(leaseRenewal)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			err := within(ctx, renewalTimeout, func(ctx context.Context) error { return w.TakeLease(ctx, leases, host) })
			o.tell(ctx, w.log, "keep the worker's lease", "heartbeat", err)
		}
	}
}
