package maintenance

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/delivery/outage"
)

// LeadTime is how long a process leads after it last said so, by the
// database's clock. One that freezes is replaced within LeaseTime: the others
// ask once a LeaseRenewal.
const LeadTime = delivery.LeaseTime - delivery.LeaseRenewal

// unfitAfter is after which time a leader whose work does not succeed gives the
// lead up for at least restFor: others may reach what it does not.
const (
	unfitAfter = 2 * delivery.LeaseTime
	restFor    = 2 * delivery.LeaseRenewal
	// leadTimeout leaves time for a second try, on another connection, before
	// the lead ends.
	leadTimeout = 2 * time.Second
)

// Election is what choosing one process of all needs of the ledger.
type Election interface {
	// Lead reports whether workerID leads for the next LeadTime: it did before,
	// or nobody does.
	Lead(ctx context.Context, workerID string) (bool, error)
	// Resign ends the lead of workerID, if it leads.
	Resign(ctx context.Context, workerID string) error
}

// leader runs duties that one process does for all. A process that was frozen
// may believe for a moment that it still leads: a duty must harm nothing when
// two processes do it.
type leader struct {
	id       string
	election Election // nil: there are no others
	log      *slog.Logger
	fit      atomic.Pointer[time.Time] // when the duties last succeeded, or began
}

// succeed notes that the duties can be done here.
func (l *leader) succeed() {
	now := time.Now()
	l.fit.Store(&now)
}

// run has duties done whenever this process leads, until ctx ends. The context
// of duties ends with the lead.
func (l *leader) run(ctx context.Context, duties func(ctx context.Context)) {
	if l.election == nil {
		duties(ctx)
		return
	}
	var failing outage.Log
	tick := time.NewTicker(delivery.LeaseRenewal)
	defer tick.Stop()
	for {
		leads, until, err := l.lead(ctx)
		failing.Note(ctx, l.log, "find out who leads maintenance", "lead", err)
		pause := tick.C
		if leads {
			l.serve(ctx, until, duties)
			pause = time.After(restFor)
		}
		select {
		case <-ctx.Done():
			return
		case <-pause:
		}
	}
}

// lead asks for the lead; until is when it ends unless it is renewed.
func (l *leader) lead(ctx context.Context) (leads bool, until time.Time, err error) {
	until = time.Now().Add(LeadTime)
	err = within(ctx, leadTimeout, func(ctx context.Context) error {
		leads, err = l.election.Lead(ctx, l.id)
		return err
	})
	return leads && err == nil, until, err
}

// serve has duties done for as long as this process leads, and gives the lead up.
func (l *leader) serve(ctx context.Context, until time.Time, duties func(ctx context.Context)) {
	l.log.Info("this process leads maintenance")
	l.succeed()
	leading, end := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() { duties(leading) })
	l.renew(leading, end, until)
	end()
	done.Wait()
	resigning := context.WithoutCancel(ctx)
	if err := within(resigning, leadTimeout, func(ctx context.Context) error { return l.election.Resign(ctx, l.id) }); err != nil {
		l.log.Debug("the lead was not resigned and will expire", "error", err)
	}
	if ctx.Err() == nil {
		l.log.Info("this process no longer leads maintenance")
	}
}

// renew returns when this process leads no longer or should not. It calls end
// as soon as the lead is over, also while the ledger gives no answer.
func (l *leader) renew(ctx context.Context, end func(), until time.Time) {
	over := time.AfterFunc(time.Until(until), end)
	defer over.Stop()
	tick := time.NewTicker(delivery.LeaseRenewal)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if time.Since(*l.fit.Load()) >= unfitAfter {
			return
		}
		leads, until, err := l.lead(ctx)
		switch {
		case err != nil: // the next try may come in time
		case !leads:
			return
		default:
			over.Reset(time.Until(until))
		}
	}
}
