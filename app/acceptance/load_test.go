package acceptance

import (
	"testing"
	"time"

	"ledgerhook/bench/stage"
	"ledgerhook/ledger/ledgertest"
)

const perSecond = 200

// quickly are waits before attempts that let a test see several; at full size
// the defaults hold.
func quickly(g *stage.Gateway) {
	if !*full {
		g.Set(map[string]string{"LEDGERHOOK_DELIVERY_RETRY": "0s,1s,1s,1s,2s,2s,4s"})
	}
}

// deadline is by when everything must have been delivered, whatever happened.
const deadline = 60 * time.Second

func TestEveryEventIsDeliveredToAReceiverThatStumbles(t *testing.T) {
	both(t, func(t *testing.T, g *stage.Gateway) {
		quickly(g)
		g.Start()
		p := stage.NewPartner(g, "acme", stage.Stumble)
		n := sized(300, 2000)
		load := stage.Produce(g, p.Code, n, perSecond)
		all := stage.Settle(g, p, load.Finish(), deadline)

		attempts := 0
		for _, d := range all {
			attempts += d.AttemptCount
		}
		if want := n + n/10; attempts != want || p.Asked() != want || p.Duplicates() != 0 {
			t.Errorf("%d attempts, %d requests, %d of them again: want %d for %d events of which every tenth failed once",
				attempts, p.Asked(), p.Duplicates(), want, n)
		}
		if got := g.Logged("attempt", nil); got != attempts {
			t.Errorf("the log has %d attempts, the ledger %d", got, attempts)
		}
		if got := g.Logged("request", map[string]any{"method": "POST", "route": "/internal/v1/events"}); got != load.Posts {
			t.Errorf("the log has %d requests for events, %d were made", got, load.Posts)
		}
		if bad := g.Complaints(); len(bad) > 0 {
			t.Errorf("warnings although nothing went wrong: %q", bad)
		}
	})
}

func TestNothingIsLostWhenTheProcessIsKilled(t *testing.T) {
	both(t, func(t *testing.T, g *stage.Gateway) {
		quickly(g)
		g.Start()
		p := stage.NewPartner(g, "acme", stage.Stumble)
		n := sized(400, 2000)
		load := stage.Produce(g, p.Code, n, perSecond)
		load.Reach(sized(150, 600)) // 3 s of load
		g.Kill()
		g.Start()
		stage.Settle(g, p, load.Finish(), deadline)
		if p.Duplicates() > stage.InFlight {
			t.Errorf("%d requests for events that had been taken, more than could be in flight", p.Duplicates())
		}
	})
}

func TestNothingIsLostWhenRedisIsEmptied(t *testing.T) {
	t.Parallel()
	cache := stage.StartRedis(t)
	g := stage.Served(t, ledgertest.Borrowed(t), cache)
	quickly(g)
	g.Start()
	p := stage.NewPartner(g, "acme", stage.Stumble)
	n := sized(400, 2000)
	load := stage.Produce(g, p.Code, n, perSecond)
	load.Reach(sized(150, 600))
	cache.Flush()
	stage.Settle(g, p, load.Finish(), deadline)
	if p.Duplicates() > stage.InFlight {
		t.Errorf("%d requests for events that had been taken, more than could be in flight", p.Duplicates())
	}
}

func TestRolesRunApartAndAWorkerMayDie(t *testing.T) {
	t.Parallel()
	database, cache := ledgertest.Schema(t), stage.StartRedis(t) // which the first of them migrates
	role := func(roles string) *stage.Gateway {
		g := stage.Served(t, database, cache)
		quickly(g)
		g.Set(map[string]string{"LEDGERHOOK_ROLES": roles})
		g.Start()
		return g
	}
	api, first, second := role("api"), role("worker"), role("worker")
	if a, err := first.Call("GET", "/internal/v1/partners", nil); err != nil || a.Status != 404 {
		t.Errorf("a worker answers the internal API with %d, %v", a.Status, err)
	}
	if first.Public != "" {
		t.Errorf("a worker has a public listener: %s", first.Public)
	}
	p := stage.NewPartner(api, "acme", stage.Stumble)
	load := stage.Produce(api, p.Code, sized(300, 2000), perSecond)
	load.Reach(100)
	first.Kill()
	stage.Settle(api, p, load.Finish(), deadline)
	if p.Duplicates() > stage.InFlight {
		t.Errorf("%d requests for events that had been taken, more than could be in flight", p.Duplicates())
	}
	if second.Logged("attempt", nil) == 0 || api.Logged("attempt", nil) != 0 {
		t.Error("not the workers made the attempts")
	}
}
