package shell

import (
	"log/slog"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"ledgerhook/dashboard/shell/shelltest"
	"ledgerhook/delivery/guard"
	"ledgerhook/delivery/queue"
	"ledgerhook/ledger/incidents"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/web"
)

func TestMain(m *testing.M) { ledgertest.Main(m) }

// stage is both surfaces with the shell's own pages alone, on a real ledger.
type stage struct {
	*Shell
	shelltest.Visitors
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
		Database: b.DB, Ledger: b.Ledger, Accounts: b.Accounts, Trail: b.Trail, Reports: b.Reports, Prices: b.Prices, Incidents: incidents.New(b.DB, incidents.Audience{}), Box: box, Key: key.Public, Guard: guard.New(nil), Resolver: net.DefaultResolver, Queue: q, Log: log,
		Version: "test", PublicURL: "http://public.test", Health: &web.Health{}, Slots: func() (int, int, bool) { return 1, 500, true },
	})
	if err != nil {
		t.Fatal(err)
	}
	shell.delayed = nil // no refusal is kept back
	s := &stage{Shell: shell, Visitors: shelltest.Visitors{Bench: b}}
	s.ops = httptest.NewServer(web.Observe(log, nil, NewSurface(shell, Ops, nil).Handler()))
	s.portal = httptest.NewServer(web.Observe(log, nil, NewSurface(shell, Portal, nil).Handler()))
	t.Cleanup(s.ops.Close)
	t.Cleanup(s.portal.Close)
	return s
}

var byTest = partners.AuditEntry{Actor: "test", Action: "test"}

// What tests ask for pages with.
var (
	stranger = shelltest.Stranger
	ask      = shelltest.Ask
)
