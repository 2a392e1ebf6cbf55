package delivery

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// registry is the ledger as a heartbeat finds it.
type registry struct {
	silent atomic.Int32 // for how many heartbeats connections die without a word
}

func (r *registry) Heartbeat(ctx context.Context, _, _ string) error {
	if r.silent.Load() == 0 {
		return nil
	}
	r.silent.Add(-1)
	<-ctx.Done()
	return ctx.Err()
}

// leased is a worker and what its tests ask of its lease.
type leased struct {
	*Worker
	t *testing.T
}

func (w leased) is(when string, expired, sure bool) {
	w.t.Helper()
	synctest.Wait()
	if w.lease.expired() != expired || w.lease.sure() != sure {
		w.t.Errorf("%s: expired %t, sure of others %t; want %t and %t", when, w.lease.expired(), w.lease.sure(), expired, sure)
	}
}

func TestAWorkerKnowsWhenOthersMayTakeItForDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := leased{NewWorker(WorkerOptions{Log: slog.New(slog.DiscardHandler)}), t}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		r := &registry{}
		w.is("without a lease", false, true)
		if err := w.TakeLease(ctx, r, "host"); err != nil {
			t.Fatal(err)
		}
		w.is("at the start, not knowing what was before", false, false)
		go w.KeepLease(ctx, r, "host")
		time.Sleep(LeaseTime)
		w.is("when the others would have been heard", false, true)
		time.Sleep(time.Hour)
		w.is("after an hour", false, true)
		r.silent.Store(math.MaxInt32)
		time.Sleep(heartbeatGap - time.Millisecond)
		w.is("when a heartbeat is due", false, true)
		time.Sleep(time.Millisecond)
		w.is("when it is missing", false, false)
		time.Sleep(LeaseTime - heartbeatGap - time.Millisecond)
		w.is("just before the end", false, false)
		time.Sleep(LeaseRenewal)
		w.is("after the last heartbeat's time", true, false)
		time.Sleep(time.Hour)
		w.is("in a long silence", true, false)
		r.silent.Store(0)
		time.Sleep(LeaseRenewal + renewalTimeout)
		w.is("heard again", false, false)
		time.Sleep(LeaseTime)
		w.is("when the others have had their time, too", false, true)
	})
}

// TestAnOutageShorterThanTheLeaseLetsNobodySeemDead: others may have been heard
// last a little earlier than this worker, and be heard again a little later.
func TestAnOutageShorterThanTheLeaseLetsNobodySeemDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := leased{NewWorker(WorkerOptions{Log: slog.New(slog.DiscardHandler)}), t}
		for range 10 {
			w.lease.renew(time.Now())
			time.Sleep(LeaseRenewal)
		}
		w.is("before", false, true)
		time.Sleep(LeaseTime - LeaseRenewal - 800*time.Millisecond)
		w.is("as the ledger is back", false, false)
		w.lease.renew(time.Now())
		for range LeaseTime / LeaseRenewal {
			w.is("while the others get their time", false, false)
			time.Sleep(LeaseRenewal)
			w.lease.renew(time.Now())
		}
		w.is("after it", false, true)
	})
}

func TestWhoeverIsAloneIsTakenForDeadByNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := leased{NewWorker(WorkerOptions{Alone: true}), t}
		w.lease.renew(time.Now())
		w.is("at the start", false, true)
		time.Sleep(time.Hour)
		w.is("in a long silence, which nobody hears", false, true)
	})
}

func TestAfterTheLedgerGaveNoAnswerAHeartbeatMustArriveFirst(t *testing.T) {
	w := NewWorker(WorkerOptions{})
	w.lease.doubt()
	if !w.able() {
		t.Error("a worker without a lease waits for a heartbeat that nobody sends")
	}
	w.lease.renew(time.Now())
	for range 2 {
		if !w.able() {
			t.Error("the heartbeat has arrived and nothing may begin")
		}
		w.lease.doubt()
		if w.able() {
			t.Error("something may begin before the next heartbeat")
		}
		w.lease.renew(time.Now())
	}
}

func TestAHeartbeatThatHangsLeavesTimeForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWorker(WorkerOptions{Log: slog.New(slog.DiscardHandler)})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		r := &registry{}
		if err := w.TakeLease(ctx, r, "host"); err != nil {
			t.Fatal(err)
		}
		go w.KeepLease(ctx, r, "host")
		for range 100 {
			r.silent.Store(1)
			for range LeaseTime / LeaseRenewal {
				time.Sleep(LeaseRenewal)
				if w.lease.expired() {
					t.Fatal("the lease expired over one heartbeat")
				}
			}
		}
		if err := w.TakeLease(ctx, refusing{}, "host"); !errors.Is(err, errRefused) {
			t.Errorf("registering: %v", err)
		}
	})
}

var errRefused = errors.New("refused")

type refusing struct{}

func (refusing) Heartbeat(context.Context, string, string) error { return errRefused }
