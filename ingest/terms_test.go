package ingest_test

import (
	"testing"
	"time"

	"ledgerhook/ingest"
	"ledgerhook/orders"
	"ledgerhook/partners"
	"ledgerhook/web"
)

// onTerms makes a gate whose terms are changed from those of the interface.
func onTerms(t *testing.T, change func(*ingest.Terms)) *gate {
	g := newGate(t, newBench(t))
	change(&g.terms)
	g.handler = g.process(t, orders.ProductionLimits)
	return g
}

func TestTheTimesOfOrdersAreThoseThatAreSet(t *testing.T) {
	g := onTerms(t, func(terms *ingest.Terms) {
		terms.OrderExpiry, terms.QuoteValidity, terms.RateAge = 2*time.Hour, 30*time.Minute, time.Hour
	})
	g.grant(t, review, nil)
	g.rate(t, "USDT", "26000")
	g.set(t, "UPDATE quotes SET expires_at = expires_at - $1", (29 * time.Minute).Microseconds())
	made := g.grant(t, create, nil)
	shown(t, made, members{"tokenTransfer.price": "25345.5"})
	created, expires := orderTime(t, made, "createdAt"), orderTime(t, made, "expiresAt")
	if life := expires.Sub(created); life != 2*time.Hour {
		t.Errorf("the order lives %s", life)
	}
	g.set(t, "UPDATE rates SET updated_at = $1", ago(59*time.Minute))
	g.grant(t, review, nil)
	g.set(t, "UPDATE rates SET updated_at = $1", ago(61*time.Minute))
	g.refuse(t, key(orders.KeyPriceUnavailable), review, nil)
}

func orderTime(t *testing.T, order map[string]any, name string) time.Time {
	t.Helper()
	text, _ := order[name].(string)
	at, err := time.Parse(orders.TimeFormat, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestTheRatesAreThoseThatAreSetUnlessThePartnerHasItsOwn(t *testing.T) {
	still(t, func(t *testing.T) {
		g := onTerms(t, func(terms *ingest.Terms) {
			terms.Limits = partners.Limits{PerSecond: 10, Burst: 40, CreatePerSecond: 1, CreateBurst: 5}
			terms.EmailRate, terms.BadSignatureRate = web.PerMinute(3), web.PerMinute(7)
		})
		for _, op := range []string{access, verify} {
			g.burst(t, 3, 20, op, g.acme.body(t, op, nil))
		}
		g.burst(t, 5, 1, create, g.acme.body(t, create, nil))
		g.burst(t, 40-14, 1, details, g.acme.body(t, details, nil)) // 4, 4 and 6 came before
		time.Sleep(2 * time.Second)
		g.burst(t, 2, 1, create, g.acme.body(t, create, nil))
		g.burst(t, 20-3, 1, details, g.acme.body(t, details, nil))
		g.burst(t, 7, 9, review, g.acme.body(t, review, members{"signature": "AAAA"}), "source", "198.51.100.8:1")
		other := g.account(t, "globex", keys()[2])
		g.settings(t, "globex", func(s *partners.Settings) { s.Limits = partners.Limits{CreateBurst: 12, Burst: 100} })
		g.burst(t, 12, 1, create, other.body(t, create, nil))
	})
}
