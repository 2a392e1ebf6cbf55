package acceptance

import (
	"strconv"
	"testing"
	"time"

	"ledgerhook/bench/stage"
	"ledgerhook/ledger/ledgertest"
)

func TestNothingIsLostWhenRedisRestartsEmpty(t *testing.T) {
	t.Parallel()
	cache := stage.StartRedis(t)
	g := stage.Served(t, ledgertest.Borrowed(t), cache)
	quickly(g)
	g.Start()
	p := stage.NewPartner(g, "acme", stage.Stumble)
	load := stage.Produce(g, p.Code, sized(400, 2000), perSecond)
	load.Reach(sized(150, 600))
	cache.Stop()
	load.Reach(sized(250, 1000)) // what is accepted is safe without Redis
	cache.Start()
	stage.Settle(g, p, load.Finish(), deadline)
	if load.Refused() != 0 {
		t.Errorf("%d events were refused because Redis was away", load.Refused())
	}
	if p.Duplicates() > stage.InFlight {
		t.Errorf("%d requests for events that had been taken, more than could be in flight", p.Duplicates())
	}
}

func TestIngestSaysWhenToComeBackWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	database, cache := stage.StartPostgres(t), stage.StartRedis(t)
	g := stage.Served(t, database.PostgresURL(), cache)
	quickly(g)
	g.Start()
	p := stage.NewPartner(g, "acme", stage.Stumble)
	load := stage.Produce(g, p.Code, sized(400, 2000), perSecond)
	load.Reach(sized(150, 600))
	database.Stop()
	away := time.Now()
	stage.Eventually(t, 30*time.Second, "posts have been refused for 5 s", func() bool {
		return load.Refused() > 20 && time.Since(away) > 5*time.Second
	})
	database.Start()
	stage.Settle(g, p, load.Finish(), deadline)
	for _, a := range load.Away {
		seconds, err := strconv.Atoi(a.Header.Get("Retry-After"))
		if err != nil || seconds < 1 {
			t.Fatalf("a 503 has Retry-After %q: %s", a.Header.Get("Retry-After"), a.Body)
		}
	}
	t.Logf("%d posts were answered 503, for example %s", load.Refused(), load.Away[0].Body)
	if p.Duplicates() > stage.InFlight {
		t.Errorf("%d requests for events that had been taken, more than could be in flight", p.Duplicates())
	}
}
