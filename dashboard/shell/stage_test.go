package shell

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
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

// stage is both surfaces with the shell's own pages alone, on a real ledger.
type stage struct {
	*Shell
	bench       *ledgertest.Bench
	ops, portal *httptest.Server
}

func newStage(t *testing.T) *stage {
	t.Helper()
	b, log := ledgertest.New(t, "sqlite"), slog.New(slog.DiscardHandler)
	q, err := queue.Open(t.Context(), queue.Options{Timeout: time.Second, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	box, err := signer.NewBox(make([]byte, signer.MasterKeySize))
	if err != nil {
		t.Fatal(err)
	}
	key, err := signer.GenerateKey(2048)
	if err != nil {
		t.Fatal(err)
	}
	shell, err := New(Options{
		Ledger: b.Ledger, Box: box, Key: key.Public(), Guard: guard.New(nil), Resolver: net.DefaultResolver, Queue: q, Log: log,
		Version: "test", PublicURL: "http://public.test", Health: &web.Health{}, Slots: func() (int, int, bool) { return 1, 500, true },
	})
	if err != nil {
		t.Fatal(err)
	}
	shell.delayed = nil // no refusal is kept back
	s := &stage{Shell: shell, bench: b}
	s.ops = httptest.NewServer(web.Observe(log, nil, NewSurface(shell, Ops, nil).Handler()))
	s.portal = httptest.NewServer(web.Observe(log, nil, NewSurface(shell, Portal, nil).Handler()))
	t.Cleanup(s.ops.Close)
	t.Cleanup(s.portal.Close)
	return s
}

var byTest = partners.AuditEntry{Actor: "test", Action: "test"}

// person makes somebody, an operator if the partner is empty.
func (s *stage) person(t *testing.T, partner string, role partners.Role) partners.Person {
	t.Helper()
	return s.bench.NewPerson(t, partner, role)
}

// signIn makes a person and returns a client that is signed in as them; an
// empty partner makes an operator.
func (s *stage) signIn(t *testing.T, partner string, role partners.Role) *http.Client {
	t.Helper()
	return s.signInAs(t, s.person(t, partner, role))
}

func (s *stage) signInAs(t *testing.T, person partners.Person) *http.Client {
	t.Helper()
	name := "ledgerhook_ops="
	if !person.IsOperator() {
		name = "ledgerhook_portal="
	}
	return &http.Client{CheckRedirect: stranger.CheckRedirect, Transport: withCookie{name + s.bench.SignIn(t, person)}}
}

type withCookie struct{ cookie string }

func (c withCookie) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Add("Cookie", c.cookie)
	return http.DefaultTransport.RoundTrip(r)
}

var stranger = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func ask(t *testing.T, c *http.Client, method, address string, form url.Values) (*http.Response, string) {
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
