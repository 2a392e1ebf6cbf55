package acceptance

import (
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
)

const perSecond = 200

// quickly are waits before attempts that let a test see several; at full size
// the defaults hold.
func quickly(g *gateway) {
	if !*full {
		g.set(map[string]string{"LEDGERHOOK_DELIVERY_RETRY": "0s,1s,1s,1s,2s,2s,4s"})
	}
}

// deadline is by when everything must have been delivered, whatever happened.
const deadline = 60 * time.Second

func TestEveryEventIsDeliveredToAReceiverThatStumbles(t *testing.T) {
	both(t, func(t *testing.T, g *gateway) {
		quickly(g)
		g.start()
		p := newPartner(g, "acme", stumble)
		n := sized(300, 2000)
		load := produce(g, p.code, n, perSecond)
		all := settle(g, p, load.finish(), deadline)

		attempts := 0
		for _, d := range all {
			attempts += d.AttemptCount
		}
		if want := n + n/10; attempts != want || p.asked() != want || p.duplicates() != 0 {
			t.Errorf("%d attempts, %d requests, %d of them again: want %d for %d events of which every tenth failed once",
				attempts, p.asked(), p.duplicates(), want, n)
		}
		if got := g.logged("attempt", nil); got != attempts {
			t.Errorf("the log has %d attempts, the ledger %d", got, attempts)
		}
		if got := g.logged("request", map[string]any{"method": "POST", "route": "/internal/v1/events"}); got != load.posts {
			t.Errorf("the log has %d requests for events, %d were made", got, load.posts)
		}
		if bad := g.complaints(); len(bad) > 0 {
			t.Errorf("warnings although nothing went wrong: %q", bad)
		}
	})
}

func TestNothingIsLostWhenTheProcessIsKilled(t *testing.T) {
	both(t, func(t *testing.T, g *gateway) {
		quickly(g)
		g.start()
		p := newPartner(g, "acme", stumble)
		n := sized(400, 2000)
		load := produce(g, p.code, n, perSecond)
		load.reach(sized(150, 600)) // 3 s of load
		g.kill()
		g.start()
		settle(g, p, load.finish(), deadline)
		if p.duplicates() > inFlight {
			t.Errorf("%d requests for events that had been taken, more than could be in flight", p.duplicates())
		}
	})
}

func TestNothingIsLostWhenRedisIsEmptied(t *testing.T) {
	t.Parallel()
	cache := startRedis(t)
	g := served(t, ledgertest.Schema(t), cache)
	quickly(g)
	g.start()
	p := newPartner(g, "acme", stumble)
	n := sized(400, 2000)
	load := produce(g, p.code, n, perSecond)
	load.reach(sized(150, 600))
	cache.flush()
	settle(g, p, load.finish(), deadline)
	if p.duplicates() > inFlight {
		t.Errorf("%d requests for events that had been taken, more than could be in flight", p.duplicates())
	}
}

func TestRolesRunApartAndAWorkerMayDie(t *testing.T) {
	t.Parallel()
	database, cache := ledgertest.Schema(t), startRedis(t)
	role := func(roles string) *gateway {
		g := served(t, database, cache)
		quickly(g)
		g.set(map[string]string{"LEDGERHOOK_ROLES": roles})
		g.start()
		return g
	}
	api, first, second := role("api"), role("worker"), role("worker")
	if a, err := first.call("GET", "/internal/v1/partners", nil); err != nil || a.status != 404 {
		t.Errorf("a worker answers the internal API with %d, %v", a.status, err)
	}
	if first.public != "" {
		t.Errorf("a worker has a public listener: %s", first.public)
	}
	p := newPartner(api, "acme", stumble)
	load := produce(api, p.code, sized(300, 2000), perSecond)
	load.reach(100)
	first.kill()
	settle(api, p, load.finish(), deadline)
	if p.duplicates() > inFlight {
		t.Errorf("%d requests for events that had been taken, more than could be in flight", p.duplicates())
	}
	if second.logged("attempt", nil) == 0 || api.logged("attempt", nil) != 0 {
		t.Error("not the workers made the attempts")
	}
}
