package acceptance

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"ledgerhook/app/receiver"
	"ledgerhook/ledger/ledgertest"
)

// postAll posts events of a partner in one batch and returns their ids.
func postAll(g *gateway, partner string, n int) (ids []string) {
	g.tb.Helper()
	for from := 0; from < n; from += 1000 {
		var batch []any
		for i := from; i < min(n, from+1000); i++ {
			batch = append(batch, event(partner, i))
		}
		var said struct {
			Results []struct {
				Status  int
				EventID string
			}
		}
		g.must("POST", "/internal/v1/events/batch", map[string]any{"events": batch}, http.StatusOK, &said)
		for _, r := range said.Results {
			if r.Status != http.StatusAccepted {
				g.tb.Fatalf("an event of a batch got %d", r.Status)
			}
			ids = append(ids, r.EventID)
		}
	}
	slices.Sort(ids)
	return ids
}

// gate is a receiver's decision to let requests wait until it is opened.
type gate struct {
	wait chan struct{}
	once sync.Once
}

func newGate(t *testing.T) *gate {
	g := &gate{wait: make(chan struct{})}
	t.Cleanup(g.open)
	return g
}

func (g *gate) open() { g.once.Do(func() { close(g.wait) }) }

// hold answers only once the gate is open.
func (g *gate) hold(receiver.Received) receiver.Answer {
	<-g.wait
	return receiver.OK
}

func TestAnEmbeddedGatewayKeepsItsBacklogThroughAKill(t *testing.T) {
	t.Parallel()
	g := embedded(t)
	g.start()
	closed := newGate(t)
	p := newPartner(g, "acme", closed.hold)
	ids := postAll(g, p.code, sized(200, 500))
	eventually(t, 10*time.Second, "deliveries are in flight", func() bool { return len(g.deliveries(p.code, "sending")) > 0 })
	g.kill()
	closed.open()
	g.start()
	settle(g, p, ids, deadline)
}

func TestEventsThatTheQueueNeverHeardOfAreDelivered(t *testing.T) {
	t.Parallel()
	cache := startRedis(t)
	g := served(t, ledgertest.Schema(t), cache)
	g.start()
	var partners []*partner // several, so that more than one window's worth is admitted at once
	for i := range 10 {
		partners = append(partners, newPartner(g, fmt.Sprint("acme-", i), takeAll))
	}
	cache.stop()
	var ids [][]string
	for _, p := range partners {
		ids = append(ids, postAll(g, p.code, 10))
	}
	g.kill()
	cache.start()
	g.start()
	for i, p := range partners {
		settle(g, p, ids[i], deadline)
		if p.duplicates() != 0 {
			t.Errorf("%d of %s's events came twice", p.duplicates(), p.code)
		}
	}
}

func TestARequestWhoseAnswerTheGatewayDidNotLiveToSeeIsMadeOnceMore(t *testing.T) {
	both(t, func(t *testing.T, g *gateway) {
		g.start()
		closed := newGate(t)
		p := newPartner(g, "acme", closed.hold)
		ids := postAll(g, p.code, 1)
		eventually(t, 10*time.Second, "the request is made", func() bool { return p.receiver.Seen() == 1 })
		g.kill()
		closed.open()
		g.start()
		// The receiver never got its first answer through: that one counts as taken.
		eventually(t, deadline, "the request is made again", func() bool { return len(p.of(ids[0])) == 2 })
		all := g.await(p.code, deadline)
		checkAttempts(t, g, p, all)
		p.checkRequests()
		if len(all) != 1 || len(all[0].Attempts) != 2 {
			t.Fatalf("deliveries are %+v, want one with two attempts", all)
		}
		first, second := all[0].Attempts[0], all[0].Attempts[1]
		if first.Outcome != "unknown" || second.Outcome != "delivered" {
			t.Errorf("the outcomes are %s and %s, want unknown and delivered", first.Outcome, second.Outcome)
		}
		if n := len(p.of(ids[0])); n != 2 {
			t.Errorf("%d requests, want 2", n)
		}
	})
}
