package acceptance

import (
	"strconv"
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
)

func TestNothingIsLostWhenRedisRestartsEmpty(t *testing.T) {
	t.Parallel()
	cache := startRedis(t)
	g := served(t, ledgertest.Schema(t), cache)
	quickly(g)
	g.start()
	p := newPartner(g, "acme", stumble)
	load := produce(g, p.code, sized(400, 2000), perSecond)
	load.reach(sized(150, 600))
	cache.stop()
	load.reach(sized(250, 1000)) // what is accepted is safe without Redis
	cache.start()
	settle(g, p, load.finish(), deadline)
	if load.refused() != 0 {
		t.Errorf("%d events were refused because Redis was away", load.refused())
	}
	if p.duplicates() > inFlight {
		t.Errorf("%d requests for events that had been taken, more than could be in flight", p.duplicates())
	}
}

func TestIngestSaysWhenToComeBackWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	database, cache := startPostgres(t), startRedis(t)
	g := served(t, database.postgresURL(), cache)
	quickly(g)
	g.start()
	p := newPartner(g, "acme", stumble)
	load := produce(g, p.code, sized(400, 2000), perSecond)
	load.reach(sized(150, 600))
	database.stop()
	away := time.Now()
	eventually(t, 30*time.Second, "posts have been refused for 5 s", func() bool {
		return load.refused() > 20 && time.Since(away) > 5*time.Second
	})
	database.start()
	settle(g, p, load.finish(), deadline)
	for _, a := range load.away {
		seconds, err := strconv.Atoi(a.header.Get("Retry-After"))
		if err != nil || seconds < 1 {
			t.Fatalf("a 503 has Retry-After %q: %s", a.header.Get("Retry-After"), a.body)
		}
	}
	t.Logf("%d posts were answered 503, for example %s", load.refused(), load.away[0].body)
	if p.duplicates() > inFlight {
		t.Errorf("%d requests for events that had been taken, more than could be in flight", p.duplicates())
	}
}
