package acceptance

import (
	"context"
	"fmt"
	"testing"

	"ledgerhook/app/receiver"
	"ledgerhook/bench/stage"
	"ledgerhook/ledger/ledgertest"
)

// gate is a receiver's decision to let requests wait until it is opened, at
// the latest when its test ends: before the receiver waits for them.
type gate struct {
	ctx  context.Context
	open context.CancelFunc
}

func newGate(t *testing.T) *gate {
	ctx, open := context.WithCancel(t.Context())
	return &gate{ctx, open}
}

// hold answers only once the gate is open.
func (g *gate) hold(receiver.Received) receiver.Answer {
	<-g.ctx.Done()
	return receiver.OK
}

func TestAnEmbeddedGatewayKeepsItsBacklogThroughAKill(t *testing.T) {
	t.Parallel()
	g := stage.Embedded(t)
	g.Start()
	closed := newGate(t)
	p := stage.NewPartner(g, "acme", closed.hold)
	ids := stage.PostAll(g, p.Code, sized(200, 500))
	stage.Asking(t, deadline, "deliveries are in flight", func() bool { return len(g.Deliveries(p.Code, "sending")) > 0 })
	g.Kill()
	closed.open()
	g.Start()
	stage.Settle(g, p, ids, deadline)
}

func TestEventsThatTheQueueNeverHeardOfAreDelivered(t *testing.T) {
	t.Parallel()
	cache := stage.StartRedis(t)
	g := stage.Served(t, ledgertest.Borrowed(t), cache)
	g.Set(map[string]string{"LEDGERHOOK_ROLES": "api"}) // with a worker of its own it would need no queue
	g.Start()
	var partners []*stage.Partner // several, so that more than one window's worth is admitted at once
	for i := range 10 {
		partners = append(partners, stage.NewPartner(g, fmt.Sprint("acme-", i), stage.TakeAll))
	}
	cache.Stop()
	var ids [][]string
	for _, p := range partners {
		ids = append(ids, stage.PostAll(g, p.Code, 10))
	}
	g.Kill()
	cache.Start()
	g.Set(map[string]string{"LEDGERHOOK_ROLES": "api,worker,dashboard"})
	g.Start()
	for i, p := range partners {
		stage.Settle(g, p, ids[i], deadline)
		if p.Duplicates() != 0 {
			t.Errorf("%d of %s's events came twice", p.Duplicates(), p.Code)
		}
	}
}

func TestFirstAttemptsNeedNoRedis(t *testing.T) {
	t.Parallel()
	cache := stage.StartRedis(t)
	g := stage.Served(t, ledgertest.Borrowed(t), cache)
	g.Start()
	p := stage.NewPartner(g, "acme", stage.TakeAll)
	cache.Stop()
	ids := stage.PostAll(g, p.Code, 10)
	stage.Eventually(t, deadline, "all are delivered while Redis is away", func() bool { return p.Has() == len(ids) })
	cache.Start()
	stage.Settle(g, p, ids, deadline)
	if p.Duplicates() != 0 {
		t.Errorf("%d events came twice", p.Duplicates())
	}
}

func TestARequestWhoseAnswerTheGatewayDidNotLiveToSeeIsMadeOnceMore(t *testing.T) {
	both(t, func(t *testing.T, g *stage.Gateway) {
		g.Start()
		closed := newGate(t)
		p := stage.NewPartner(g, "acme", closed.hold)
		ids := stage.PostAll(g, p.Code, 1)
		stage.Eventually(t, deadline, "the request is made", func() bool { return p.Receiver.Seen() == 1 })
		g.Kill()
		closed.open()
		g.Start()
		// The receiver never got its first answer through: that one counts as taken.
		stage.Eventually(t, deadline, "the request is made again", func() bool { return len(p.Of(ids[0])) == 2 })
		all := g.Await(p.Code, deadline)
		stage.CheckAttempts(t, g, p, all)
		p.CheckRequests()
		if len(all) != 1 || len(all[0].Attempts) != 2 {
			t.Fatalf("deliveries are %+v, want one with two attempts", all)
		}
		first, second := all[0].Attempts[0], all[0].Attempts[1]
		if first.Outcome != "unknown" || second.Outcome != "delivered" {
			t.Errorf("the outcomes are %s and %s, want unknown and delivered", first.Outcome, second.Outcome)
		}
		if n := len(p.Of(ids[0])); n != 2 {
			t.Errorf("%d requests, want 2", n)
		}
	})
}
