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

func TestAWorkerKnowsWhenOthersMayTakeItForDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWorker(WorkerOptions{Log: slog.New(slog.DiscardHandler)})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		r := &registry{}
		is := func(when string, lost, sure bool) {
			t.Helper()
			synctest.Wait()
			if w.lease.lost() != lost || w.lease.sure() != sure {
				t.Errorf("%s: lost %t, sure of others %t; want %t and %t", when, w.lease.lost(), w.lease.sure(), lost, sure)
			}
		}
		is("without a lease", false, true)
		if err := w.TakeLease(ctx, r, "host"); err != nil {
			t.Fatal(err)
		}
		go w.KeepLease(ctx, r, "host")
		time.Sleep(time.Hour)
		is("after an hour", false, true)
		r.silent.Store(math.MaxInt32)
		time.Sleep(LeaseTime - time.Millisecond)
		is("just before the end", false, true)
		time.Sleep(leaseRenewal)
		is("after the last heartbeat's time", true, false)
		time.Sleep(time.Hour)
		is("in a long silence", true, false)
		r.silent.Store(0)
		time.Sleep(leaseRenewal + renewalTimeout)
		is("heard again", false, false)
		time.Sleep(LeaseTime)
		is("when the others have had their time, too", false, true)
	})
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
			for range LeaseTime / leaseRenewal {
				time.Sleep(leaseRenewal)
				if w.lease.lost() {
					t.Fatal("the lease was lost to one heartbeat")
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
