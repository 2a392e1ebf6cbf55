package ingest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ledgerhook/ingest"
	"ledgerhook/orders"
	"ledgerhook/partners"
	"ledgerhook/web"
)

func TestTheRatesAreThoseOfTheInterface(t *testing.T) {
	text, err := os.ReadFile("../partners/testdata/limits.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Rates struct {
			Token  int `json:"access_token_per_email_per_minute"`
			Verify int `json:"verify_per_email_per_minute"`
			Bad    int `json:"bad_signatures_per_code_and_address_per_minute_before_429"`
		} `json:"rate_limits"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	got := ingest.DefaultTerms
	if r := file.Rates; web.PerMinute(r.Token) != got.EmailRate || web.PerMinute(r.Verify) != got.EmailRate || web.PerMinute(r.Bad) != got.BadSignatureRate {
		t.Errorf("%+v, %+v", r, got)
	}
}

func TestRefusedCredentialsOfPartnersAreCountedFromTheStart(t *testing.T) {
	g := newGate(t, newBench(t))
	name := func(reason string) string {
		return fmt.Sprintf("ledgerhook_auth_failures_total{reason=%q,surface=%q}", reason, "partner")
	}
	before := samples(t, g.registry)
	for _, reason := range []string{"signature", "access_token", "refresh_token", "code"} {
		if n, known := before[name(reason)]; !known || n != 0 {
			t.Errorf("%s: %g, known %t", reason, n, known)
		}
	}
	g.refuse(t, key(orders.KeyAuthFailed), review, members{"signature": "AAAA"})
	if n := samples(t, g.registry)[name("signature")]; n != 1 {
		t.Errorf("%g bad signatures", n)
	}
}

// still runs a test in a bubble. Its time stands still while requests are
// answered, however long that takes, so that no bucket gets anything back.
func still(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	keys() // what tests share is made outside
	partnerDocument(t)
	synctest.Test(t, test)
}

// burst fails the test unless a request is answered so many times and then
// refused, as the catalogue says, until its bucket has one more in wait seconds.
func (g *gate) burst(t *testing.T, answered, wait int, op string, body []byte, headers ...string) {
	t.Helper()
	for n := range answered {
		if got := post(t, g.handler, op, body, headers...); got.status == http.StatusTooManyRequests {
			t.Errorf("%s: %d are answered before the first 429, want %d: %.40s", op, n, answered, body)
			return
		}
	}
	got := post(t, g.handler, op, body, headers...)
	checkRefusal(t, op, key(orders.KeyRateLimited), "en", got)
	if after := got.header.Get("Retry-After"); after != fmt.Sprint(wait) {
		t.Errorf("%s: after %d that were answered the next may come in %q s, want %d: %.40s", op, answered, after, wait, body)
	}
}

func TestEachLimitIsAnsweredWith429(t *testing.T) {
	still(t, func(t *testing.T) {
		g := newGate(t, newBench(t))
		g.settings(t, "acme", func(s *partners.Settings) {
			s.Limits = partners.Limits{PerSecond: 10, Burst: 40, CreatePerSecond: 1, CreateBurst: 5}
		})
		g.burst(t, 10, 6, access, g.acme.body(t, access, nil))
		g.burst(t, 0, 6, access, g.acme.body(t, access, members{"userEmail": "AN@Example.com"})) // the same e-mail
		g.grant(t, access, members{"userEmail": "b@example.com"})
		g.burst(t, 10, 6, verify, g.acme.body(t, verify, nil))
		// What is refused for its shape or its signature is counted against none of the partner's limits.
		for range 20 {
			g.refuse(t, key(orders.KeyAuthFailed), create, members{"signature": "AAAA"})
			g.refuse(t, field(orders.KeyMissingField, "userEmail"), create, members{"userEmail": absent})
		}
		g.burst(t, 5, 1, create, g.acme.body(t, create, nil))
		g.burst(t, 40-30, 1, details, g.acme.body(t, details, nil)) // 11, 1, 1, 11 and 6 came before
		time.Sleep(2 * time.Second)
		g.burst(t, 2, 1, create, g.acme.body(t, create, nil))
		g.burst(t, 20-3, 1, details, g.acme.body(t, details, nil))
		other := g.account(t, "globex", keys()[2])
		if got := post(t, g.handler, access, other.body(t, access, nil)); got.status != http.StatusOK {
			t.Errorf("another partner is limited, too: %d", got.status)
		}
	})
}

func TestThirtyBadSignaturesAMinuteWhoeverTheyNameThenAll429(t *testing.T) {
	still(t, func(t *testing.T) {
		g := newGate(t, newBench(t))
		disabled := g.account(t, "gone", keys()[2])
		if _, err := g.UpdatePartner(t.Context(), "gone", func(p *partners.Partner) error { p.Disabled = true; return nil }); err != nil {
			t.Fatal(err)
		}
		for _, body := range [][]byte{
			g.acme.body(t, review, members{"signature": "AAAA"}),
			g.acme.body(t, review, members{"partnerCode": "nobody"}),
			disabled.body(t, review, nil),
		} {
			g.burst(t, 30, 2, review, body)
		}
		g.refuse(t, key(orders.KeyAuthFailed), review, members{"signature": "AAAA"}, "source", "198.51.100.8:1")
	})
}

// Behind one proxy everybody has one address.
func TestOthersBadSignaturesHoldUpNoRightOne(t *testing.T) {
	still(t, func(t *testing.T) {
		g := newGate(t, newBench(t))
		bad := g.acme.body(t, create, members{"signature": "AAAA"})
		for _, left := range []int{30, 0, 0} { // a right one gives nothing back
			g.burst(t, left, 2, create, bad)
			g.grant(t, create, nil)
			g.grant(t, review, nil)
		}
	})
}

// TestWhoItIsNotTakesTheSameTime compares the medians of the answers that
// must not be told apart.
func TestWhoItIsNotTakesTheSameTime(t *testing.T) {
	g := newGate(t, newBench(t))
	g.account(t, "rotated", keys()[1])
	if _, err := g.UpdatePartner(t.Context(), "rotated", func(p *partners.Partner) error {
		p.OldKeys = []partners.OldKey{{PEM: keys()[2].PublicPEM(), Until: time.Now().Add(time.Hour)}}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	wrong, err := keys()[2].Sign([]byte("another text"))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"acme", "nobody", "rotated"}
	compareMedians(t, names, func(took [][]time.Duration) {
		for range 60 {
			if len(took[0])%25 == 0 {
				g.handler = g.process(t, orders.ProductionLimits)
			}
			for i, name := range names {
				body := g.acme.body(t, review, members{"partnerCode": name, "signature": wrong})
				began := time.Now()
				got := post(t, g.handler, review, body)
				took[i] = append(took[i], time.Since(began))
				checkRefusal(t, review, key(orders.KeyAuthFailed), "en", got)
			}
		}
	})
}

// compareMedians prints the medians of what measure takes and fails the test
// if one is far from another every time it is measured: what disturbs once is
// a busy machine, what must not be there is an answer without the work.
func compareMedians(t *testing.T, names []string, measure func(took [][]time.Duration)) {
	t.Helper()
	var report strings.Builder
	for range 4 {
		took := make([][]time.Duration, len(names))
		measure(took)
		report.Reset()
		least, most := time.Hour, time.Duration(0)
		for i, name := range names {
			m := median(took[i])
			least, most = min(least, m), max(most, m)
			fmt.Fprintf(&report, "%s %s  ", name, m.Round(time.Microsecond))
		}
		t.Logf("medians: %s", &report)
		if most <= 3*least+5*time.Millisecond {
			return
		}
	}
	t.Errorf("the medians are far apart: %s", &report)
}

func TestAPartnerIsTakenFromItsAddressesOnly(t *testing.T) {
	eachGate(t, func(t *testing.T, g *gate) {
		g.settings(t, "acme", func(s *partners.Settings) {
			s.AllowedIPs = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/28"), netip.MustParsePrefix("2001:db8::/32")}
		})
		for from, allowed := range map[string]bool{
			"198.51.100.7:1": true, "[2001:db8::7]:1": true, "[::ffff:198.51.100.7]:1": true, "198.51.100.16:1": false, "[2001:db9::1]:1": false,
			"127.0.0.1:1": false, "@": false,
		} {
			if allowed {
				g.grant(t, review, nil, "source", from, "X-Forwarded-For", "203.0.113.1")
			} else {
				g.refuse(t, key(orders.KeyAuthFailed), review, nil, "source", from, "X-Forwarded-For", "198.51.100.7")
			}
		}
	})
}

func TestAReplacedKeyVerifiesForADayMore(t *testing.T) {
	eachGate(t, func(t *testing.T, g *gate) {
		rotate := func(pem []byte, at time.Time) {
			t.Helper()
			if _, err := g.UpdatePartner(t.Context(), "acme", func(p *partners.Partner) error { return p.ReplaceKey(pem, at) }); err != nil {
				t.Fatal(err)
			}
		}
		rotate(keys()[2].PublicPEM(), time.Now())
		changed := g.acme
		changed.key = keys()[2]
		g.granted(t, review, post(t, g.handler, review, changed.body(t, review, nil)))
		g.grant(t, review, nil)
		if _, err := g.UpdatePartner(t.Context(), "acme", func(p *partners.Partner) error {
			p.OldKeys[0].Until = time.Now()
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		g.refuse(t, key(orders.KeyAuthFailed), review, nil)
		g.granted(t, review, post(t, g.handler, review, changed.body(t, review, nil)))
		// The gateway's own signature is nobody's.
		own := g.acme
		own.key = keys()[0]
		checkRefusal(t, review, key(orders.KeyAuthFailed), "en", post(t, g.handler, review, own.body(t, review, nil)))
		own.code = "nobody"
		checkRefusal(t, review, key(orders.KeyAuthFailed), "en", post(t, g.handler, review, own.body(t, review, nil)))
	})
}

func TestAWebhookSecretCountsUntilItIsRevoked(t *testing.T) {
	eachGate(t, func(t *testing.T, g *gate) {
		values := map[string]string{"active": g.acme.webhookSecret}
		for _, name := range []string{"pending", "retiring", "retired", "revoked"} {
			values[name] = "whsec_" + strings.Repeat(name[:1], 10) + name + strings.Repeat("x", 30-len(name)) + "AAA="
			s := g.secret("acme", values[name], partners.SecretState(name))
			if name == "retired" {
				s.State = partners.SecretRetiring
			}
			if err := g.AddSecret(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			until := ago(-time.Hour)
			if name == "retired" {
				until = ago(time.Second)
			}
			g.set(t, "UPDATE secrets SET state = $1, retires_at = $2 WHERE id = $3", string(s.State), until, s.ID)
		}
		for name, good := range map[string]bool{"active": true, "pending": true, "retiring": true, "retired": false, "revoked": false} {
			change := members{"webhookSecretKey": values[name]}
			if good {
				g.grant(t, review, change)
			} else {
				g.refuse(t, key(orders.KeyWebhookSecretInvalid), review, change)
			}
		}
		other := g.account(t, "globex", keys()[2])
		for _, wrong := range []string{other.webhookSecret, g.acme.webhookSecret + "=", strings.ToUpper(g.acme.webhookSecret), " " + g.acme.webhookSecret} {
			g.refuse(t, key(orders.KeyWebhookSecretInvalid), review, members{"webhookSecretKey": wrong})
		}
	})
}
