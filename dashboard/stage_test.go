package dashboard

import (
	"context"
	"crypto/rsa"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"ledgerhook/delivery/guard"
	"ledgerhook/delivery/queue"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/web"
)

func TestMain(m *testing.M) { ledgertest.Main(m) }

// TestKey is the public half of the key that the pages of every test sign with.
var TestKey = sync.OnceValue(func() *rsa.PublicKey {
	key, err := signer.GenerateKey(2048)
	if err != nil {
		panic(err)
	}
	return key.Public()
})

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
	bench       *ledgertest.Bench
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
	health.Add("ledger", b.Ping)
	d, err := New(Options{
		Ledger: b.Ledger, Box: box, Key: TestKey(), Guard: guard.New(nil), Resolver: net.DefaultResolver, Queue: q, Log: log, Version: "test", PublicURL: "http://public.test", Health: health,
		Slots:    func() (int, int, bool) { return 1, 500, true },
		Settings: []Setting{{Name: "LEDGERHOOK_TOKEN", Value: "***", Meaning: "bearer", Secret: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{Dashboard: d, bench: b}
	s.ops, s.portal = httptest.NewServer(web.Observe(log, nil, d.Ops())), httptest.NewServer(web.Observe(log, nil, d.Portal()))
	t.Cleanup(s.ops.Close)
	t.Cleanup(s.portal.Close)
	return s
}

// person makes somebody, an operator if the partner is empty.
func (s *stage) person(t *testing.T, partner string, role partners.Role) partners.Person {
	t.Helper()
	return s.bench.NewPerson(t, partner, role)
}

// signIn makes a person and returns a client that is signed in as him; an
// empty partner makes an operator.
func (s *stage) signIn(t *testing.T, partner string, role partners.Role) *http.Client {
	t.Helper()
	return s.signInAs(t, s.person(t, partner, role))
}

func (s *stage) signInAs(t *testing.T, person partners.Person) *http.Client {
	t.Helper()
	name := "ledgerhook_ops"
	if !person.IsOperator() {
		name = "ledgerhook_portal"
	}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     withCookie{name + "=" + s.bench.SignIn(t, person)},
	}
}

type withCookie struct{ cookie string }

func (c withCookie) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Add("Cookie", c.cookie)
	return http.DefaultTransport.RoundTrip(r)
}

var stranger = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func ask(t *testing.T, c *http.Client, method, address string, form url.Values, headers ...string) (*http.Response, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if method == "POST" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// formToken is what a form carries that must be done once.
func formToken() string {
	token, _ := partners.NewPageToken()
	return token
}
