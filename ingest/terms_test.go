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
	g := onTerms(t, func(terms *ingest.Terms) {
		terms.Limits = partners.Limits{PerSecond: 1, Burst: 40, CreatePerSecond: 1, CreateBurst: 5}
		terms.EmailRate, terms.BadSignatureRate = web.PerMinute(3), web.PerMinute(7)
	})
	// Time goes on while a test counts, so a busy machine may see a few more.
	for _, op := range []string{access, verify} {
		if n := g.until429(t, op, g.acme.body(t, op, nil)); n < 3 || n > 5 {
			t.Errorf("%s: %d for an e-mail, want 3", op, n)
		}
	}
	if n := g.until429(t, create, g.acme.body(t, create, nil)); n < 5 || n > 9 {
		t.Errorf("%d creates, want the burst of 5", n)
	}
	if n := g.until429(t, details, g.acme.body(t, details, nil)); n < 15 || n > 40 {
		t.Errorf("%d more requests after about 15 of 40", n)
	}
	if n := g.until429(t, review, g.acme.body(t, review, members{"signature": "AAAA"}), "source", "198.51.100.8:1"); n < 7 || n > 9 {
		t.Errorf("%d bad signatures, want 7", n)
	}
	other := g.account(t, "globex", keys()[2])
	g.settings(t, "globex", func(s *partners.Settings) { s.Limits = partners.Limits{CreateBurst: 12, Burst: 100} })
	if n := g.until429(t, create, other.body(t, create, nil)); n < 12 || n > 18 {
		t.Errorf("%d creates of a partner with its own burst of 12", n)
	}
}
