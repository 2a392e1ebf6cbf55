package dashboard

import (
	"context"
	"crypto/rsa"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"ledgerhook/dashboard/shell/shelltest"
	"ledgerhook/delivery"
	"ledgerhook/delivery/guard"
	"ledgerhook/delivery/queue"
	"ledgerhook/ledger/incidents"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/orders"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/web"
)

func TestMain(m *testing.M) { ledgertest.Main(m) }

var testKey = sync.OnceValue(func() *signer.Key {
	key, err := signer.GenerateKey(2048)
	if err != nil {
		panic(err)
	}
	return key
})

// TestKey is the public half of the key that the pages of every test sign with.
var TestKey = sync.OnceValue(func() *rsa.PublicKey { return testKey().Public() })

type testKeys struct{}

func (testKeys) Key(context.Context, string) (*signer.Key, error) { return testKey(), nil }

// Forms lists the patterns of every form of both surfaces.
func Forms() (patterns []string) {
	for _, pattern := range Patterns() {
		if form, is := strings.CutPrefix(pattern, "POST "); is {
			patterns = append(patterns, form)
		}
	}
	return patterns
}

// stage is both surfaces on a real ledger and queue, with one person signed in
// on each.
type stage struct {
	*Dashboard
	shelltest.Visitors
	ops, portal *httptest.Server
}

func newStage(t *testing.T) *stage {
	t.Helper()
	return stageOn(t, ledgertest.New(t, "sqlite"))
}

func stageOn(t *testing.T, b *ledgertest.Bench) *stage {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	q, err := queue.Open(t.Context(), queue.Options{Timeout: time.Second, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	box, err := signer.NewBox(make([]byte, signer.MasterKeySize))
	if err != nil {
		t.Fatal(err)
	}
	health := &web.Health{}
	health.Add("ledger", b.DB.Ping)
	d, err := New(Options{
		Database: b.DB, Ledger: b.Ledger, Accounts: b.Accounts, Trail: b.Trail, Reports: b.Reports, Prices: b.Prices, Incidents: incidents.New(b.DB, incidents.Audience{}), Box: box, Key: TestKey, Guard: guard.New(nil), Resolver: net.DefaultResolver, Queue: q, Log: log, Version: "test", PublicURL: "http://public.test", Health: health, Composer: delivery.NewComposer(testKeys{}, box, nil),
		RateAge:  orders.DefaultRateAge,
		Slots:    func() (int, int, bool) { return 1, 500, true },
		Settings: []Setting{{Name: "LEDGERHOOK_TOKEN", Value: "***", Meaning: "bearer", Secret: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{Dashboard: d, Visitors: shelltest.Visitors{Bench: b}}
	s.ops, s.portal = httptest.NewServer(web.Observe(log, nil, d.Ops())), httptest.NewServer(web.Observe(log, nil, d.Portal()))
	t.Cleanup(s.ops.Close)
	t.Cleanup(s.portal.Close)
	return s
}

// What tests ask for pages with.
var (
	stranger = shelltest.Stranger
	ask      = shelltest.Ask
)

// lead asks, and for the page that the answer leads to if it does.
func lead(t *testing.T, c *http.Client, method, address string, form url.Values) (*http.Response, string) {
	t.Helper()
	resp, body := ask(t, c, method, address, form)
	if to, err := resp.Location(); err == nil {
		return ask(t, c, http.MethodGet, to.String(), nil)
	}
	return resp, body
}

// formToken is what a form carries that must be done once.
func formToken() string {
	token, _ := partners.NewPageToken()
	return token
}
