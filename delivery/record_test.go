package delivery_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/ledger/reports"
	"ledgerhook/webhook"
)

// squeamish is a ledger that will not have one partner's answer.
type squeamish struct{ delivery.Ledger }

func (s squeamish) Record(ctx context.Context, r delivery.Result) (bool, error) {
	if r.Attempt.StatusCode == http.StatusTeapot && len(r.Attempt.ResponseHeaders) > 0 {
		return false, errors.New("this text is not for me")
	}
	return s.Ledger.Record(ctx, r)
}

func TestAnAnswerThatTheLedgerRefusesHoldsNobodyUp(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		var log lines
		g := start(t, b, setup{waits: []time.Duration{0}, log: slog.New(slog.NewTextHandler(&log, nil))})
		odd := receive(t, func(context.Context, int) int { return http.StatusTeapot })
		partner := receive(t, accept)
		g.endpoint(t, odd.URL)
		g.endpoint(t, partner.URL)
		g.run(t, parts{ledger: squeamish{g.Ledger}})
		first := g.append(t, webhook.CreateCard)
		for _, id := range first.DeliveryIDs {
			d, err := g.Delivery(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if d.EndpointID == g.endpointOf(t, odd.URL) {
				_, attempts := g.waitState(t, id, webhook.Exhausted)
				if a := attempts[0]; len(attempts) != 1 || a.StatusCode != http.StatusTeapot || a.ErrorClass != webhook.ErrorHTTP4xx || len(a.ResponseHeaders) > 0 ||
					!strings.Contains(a.ErrorDetail, "did not take") {
					t.Errorf("recorded: %+v", attempts)
				}
				continue
			}
			g.waitState(t, id, webhook.Delivered)
		}
		g.append(t, webhook.CreateCard)
		partner.wait(t, 2)
		if n := strings.Count(log.String(), "not for me"); n < 1 || n > 2 {
			t.Errorf("the refusals of two answers are logged %d times:\n%s", n, log.String())
		}
	})
}

// lines is a log in memory.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (g *gateway) endpointOf(t *testing.T, url string) string {
	t.Helper()
	all, err := g.Endpoints(t.Context(), partnerCode)
	if err != nil {
		t.Fatal(err)
	}
	return all[slices.IndexFunc(all, func(e webhook.Endpoint) bool { return e.URL == url })].ID
}

// TestARecordThatComesTooLateIsNotCounted: the worker was frozen for so long
// that another process gave its delivery up.
func TestARecordThatComesTooLateIsNotCounted(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		g := start(t, b, setup{})
		thaw := make(chan struct{})
		partner := receive(t, func(_ context.Context, n int) int {
			if n == 1 {
				<-thaw
			}
			return http.StatusOK
		})
		g.endpoint(t, partner.URL)
		frozen := g.run(t, parts{idle: true})
		id := g.append(t, webhook.CreateCard).DeliveryIDs[0]
		partner.wait(t, 1)
		claimed, err := g.Claimed(t.Context(), frozen.id, time.Now().Add(time.Hour), 10)
		if err != nil || len(claimed) != 1 {
			t.Fatalf("%d deliveries are being sent (%v)", len(claimed), err)
		}
		counted, err := g.Record(t.Context(), delivery.Result{DeliveryID: id, EndpointID: claimed[0].Job.Delivery.EndpointID, Generation: claimed[0].Job.Delivery.Generation,
			Attempt: webhook.Attempt{ID: webhook.NewID(webhook.AttemptPrefix), DeliveryID: id, Number: 1, Trigger: webhook.TriggerFirst, StartedAt: time.Now(), Outcome: webhook.OutcomeUnknown, Worker: frozen.id},
			Verdict: delivery.Verdict{State: webhook.Pending, NextAt: time.Now()}})
		if !counted || err != nil {
			t.Fatalf("giving up: counted %t (%v)", counted, err)
		}
		partner.wait(t, 2)
		close(thaw)
		g.waitAll(t, 1)
		frozen.stop() // has heard of both answers then
		if n := g.metric(t, "ledgerhook_delivery_attempts_total", "delivered"); n != 1 {
			t.Errorf("%g attempts are counted as delivered, one is recorded", n)
		}
		if n := g.metric(t, "ledgerhook_deliveries_finished_total"); n != 1 {
			t.Errorf("%g ends of one delivery are counted", n)
		}
	})
}

// patchy is a ledger whose connections for heartbeats die without a word.
type patchy struct {
	delivery.Leases
	dead atomic.Bool
}

func (p *patchy) Heartbeat(ctx context.Context, workerID, host string) error {
	if p.dead.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return p.Leases.Heartbeat(ctx, workerID, host)
}

func TestAWorkerThatOthersTakeForDeadBeginsNothing(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		g := start(t, b, setup{})
		partner := receive(t, accept)
		g.endpoint(t, partner.URL)
		leases := &patchy{Leases: g.Ledger}
		run := g.run(t, parts{leases: leases})
		g.append(t, webhook.CreateCard)
		g.waitAll(t, 1)
		leases.dead.Store(true)
		eventually(t, "the worker is silent for too long", func() bool { return !g.alive(t, run.id) })
		for range webhook.StartWindow {
			g.append(t, webhook.CreateCard)
		}
		eventually(t, "it has fetched the tickets", func() bool {
			depths, err := g.queue.Depths(t.Context())
			return err == nil && depths[0].Active >= webhook.StartWindow
		})
		if n := len(partner.requests()); n != 1 {
			t.Errorf("%d notifications were sent without a lease", n-1)
		}
		leases.dead.Store(false)
		g.waitAll(t, 1+webhook.StartWindow)
		if n := partner.duplicates(); n > 0 {
			t.Errorf("%d notifications were sent twice", n)
		}
	})
}

// tardy is a ledger whose answers to claims take a while.
type tardy struct {
	delivery.Ledger
	claimed, answer chan struct{}
}

func (l tardy) Claim(ctx context.Context, t delivery.Ticket, workerID string) (delivery.Job, bool, error) {
	job, ok, err := l.Ledger.Claim(ctx, t, workerID)
	select {
	case l.claimed <- struct{}{}:
	default: // nobody waits for one that comes later
	}
	<-l.answer
	return job, ok, err
}

// lateSlots are slots that hear late of what was claimed for them.
type lateSlots struct {
	delivery.Slots
	tardy
}

func (l lateSlots) Begin(t delivery.Ticket, job delivery.Job) {
	go func() {
		l.claimed <- struct{}{}
		<-l.answer
		l.Slots.Begin(t, job)
	}()
}

func TestAClaimWhoseAnswerOutlivesTheLeaseIsLeftToOthers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ heardAgain, admitted bool }{
		"silent still": {false, false}, "heard again": {true, false},
		"silent still, claimed with its admission": {false, true}, "heard again, claimed with its admission": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
				g := start(t, b, setup{})
				partner := receive(t, accept)
				g.endpoint(t, partner.URL)
				late := tardy{g.Ledger, make(chan struct{}, 1), make(chan struct{})}
				leases := &patchy{Leases: g.Ledger}
				slow := g.run(t, parts{ledger: late, leases: leases, idle: true})
				answer := sync.OnceFunc(func() { close(late.answer) })
				t.Cleanup(answer) // before its own cleanup, which waits for its handlers
				if test.admitted {
					g.dispatcher.Use(lateSlots{slow.servers, late})
				}
				g.append(t, webhook.CreateCard)
				<-late.claimed
				leases.dead.Store(true)
				g.run(t, parts{})
				g.waitAll(t, 1)
				if test.heardAgain {
					leases.dead.Store(false)
					eventually(t, "the worker is heard again", func() bool { return g.alive(t, slow.id) })
				}
				answer()
				slow.stop() // waits for its handlers
				if n := len(partner.requests()); n != 1 {
					t.Errorf("%d requests were made, the last by a worker that others took for dead", n)
				}
			})
		})
	}
}

// alive reports whether the ledger counts a worker as alive.
func (g *gateway) alive(t *testing.T, id string) bool {
	t.Helper()
	workers, err := g.Workers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(workers, func(w reports.WorkerLease) bool { return w.ID == id && w.Alive })
}
