package ledger_test

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// A pooler that hands the server's sessions on after each transaction refuses
// most parameters of a start, knows no statement that was prepared before, and
// keeps in a session what one client sets for all that come after it.
func TestTheLedgerWorksBehindAPoolerAndLeavesNothingInItsSessions(t *testing.T) {
	t.Parallel()
	b := ledgertest.New(t, "postgres")
	b.Partner(t, "acme")
	e := b.Endpoint(t, "acme", 8)
	p := startPooler(t, b.At.DatabaseURL)
	direct := b.Ledger
	o := b.At
	o.DatabaseURL = p.address
	behind, err := ledgertest.Open(t.Context(), o, b.Options)
	if err != nil {
		t.Fatal(err)
	}
	b.Ledger = behind.Ledger
	for i := range 3 * poolerSessions { // whoever began in one session goes on in another
		appended, err := b.Append(t.Context(), ledgertest.NewEvent("acme", fmt.Sprint("tp_", i), "Pending"))
		if err != nil {
			t.Fatal(err)
		}
		record(t, b, take(t, b, one(t, b)), okay, delivered)
		if err := b.Heartbeat(t.Context(), worker, "host/1"); err != nil {
			t.Error(err)
		}
		if attempts, err := reports.New(behind.DB.ForPages()).Attempts(t.Context(), appended.DeliveryIDs[0]); err != nil || len(attempts) != 1 {
			t.Errorf("%d attempts, %v", len(attempts), err)
		}
	}
	if _, err := b.UpdateEndpoint(t.Context(), partners.Everything(), e.ID, func(e *webhook.Endpoint) error { e.Description = "new"; return nil }); err != nil {
		t.Error(err)
	}
	if err := behind.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	b.Ledger = direct
	if err := behind.Close(); err != nil {
		t.Error(err)
	}
	b.CheckWindows(t)
	for range poolerSessions {
		if set := settings(t, <-p.free); set != "" {
			t.Errorf("a session that others get has %s", set)
		}
	}
}

const poolerSessions = 3

// pooler does what pgbouncer does in its transaction mode. Whoever begins a
// transaction gets the session that nobody has used for longest.
type pooler struct {
	address string
	free    chan *pgconn.HijackedConn
}

// poolerKeeps are the parameters of a start that it keeps for each client, and
// takes therefore.
var poolerKeeps = map[string]string{"client_encoding": "UTF8", "datestyle": "ISO, YMD", "timezone": "UTC", "standard_conforming_strings": "on"}

func startPooler(t *testing.T, server string) *pooler {
	t.Helper()
	config, err := pgconn.ParseConfig(server)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range poolerKeeps {
		config.RuntimeParams[name] = value
	}
	p := &pooler{free: make(chan *pgconn.HijackedConn, poolerSessions)}
	for range poolerSessions {
		c, err := pgconn.ConnectConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		session, err := c.Hijack()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { session.Conn.Close() })
		p.free <- session
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var clients sync.WaitGroup
	clients.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			clients.Go(func() {
				defer c.Close()
				p.serve(pgproto3.NewBackend(c, c))
			})
		}
	})
	t.Cleanup(func() { l.Close(); clients.Wait() })
	p.address = (&url.URL{Scheme: "postgres", User: url.User("ledgerhook"), Host: l.Addr().String(), Path: "/ledgerhook", RawQuery: "sslmode=disable"}).String()
	return p
}

// serve greets a client and carries its messages until it leaves.
func (p *pooler) serve(client *pgproto3.Backend) {
	first, err := client.ReceiveStartupMessage()
	start, ok := first.(*pgproto3.StartupMessage)
	if err != nil || !ok {
		return
	}
	for name := range start.Parameters {
		if _, kept := poolerKeeps[strings.ToLower(name)]; !kept && !slices.Contains([]string{"user", "database", "application_name"}, name) {
			client.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "08P01", Message: "unsupported startup parameter: " + name})
			_ = client.Flush()
			return
		}
	}
	client.Send(&pgproto3.AuthenticationOk{})
	for name, value := range poolerKeeps {
		client.Send(&pgproto3.ParameterStatus{Name: name, Value: value})
	}
	client.Send(&pgproto3.BackendKeyData{ProcessID: 1, SecretKey: []byte("none")})
	client.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	if client.Flush() != nil {
		return
	}
	l := &loan{pooler: p, client: client}
	for l.carry() {
	}
}

// loan is a client's use of a session, from a transaction's first message to
// the end of its last answer.
type loan struct {
	*pooler
	client *pgproto3.Backend

	mu      sync.Mutex
	session *pgconn.HijackedConn // nil: none
	asked   int                  // answers that are still to come
	open    bool                 // more was sent than they answer
}

// carry sends the client's next message to a session.
func (l *loan) carry() bool {
	m, err := l.client.Receive()
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, leaves := m.(*pgproto3.Terminate); err != nil || leaves {
		if l.session != nil {
			l.session.Conn.Close()
		}
		return false
	}
	if l.session == nil {
		l.session = <-l.free
		go l.answer(l.session)
	}
	switch m.(type) {
	case *pgproto3.Sync, *pgproto3.Query:
		l.asked, l.open = l.asked+1, false
	default:
		l.open = true
	}
	l.session.Frontend.Send(m)
	return l.session.Frontend.Flush() == nil
}

// answer sends what a session answers to the client, and gives the session
// back after the transaction.
func (l *loan) answer(session *pgconn.HijackedConn) {
	for lent := true; lent; {
		m, err := session.Frontend.Receive()
		if err != nil {
			return
		}
		l.mu.Lock()
		if ready, ok := m.(*pgproto3.ReadyForQuery); ok {
			l.asked--
			lent = ready.TxStatus != 'I' || l.asked > 0 || l.open
		}
		l.client.Send(m)
		err = l.client.Flush()
		if !lent {
			l.session = nil
			l.free <- session
		}
		l.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// settings are what was set in a session and is no parameter of its start.
func settings(t *testing.T, session *pgconn.HijackedConn) string {
	t.Helper()
	session.Frontend.Send(&pgproto3.Query{String: "SELECT coalesce(string_agg(name || '=' || setting, ' '), '') FROM pg_settings WHERE source = 'session'"})
	if err := session.Frontend.Flush(); err != nil {
		t.Fatal(err)
	}
	set := ""
	for {
		m, err := session.Frontend.Receive()
		if err != nil {
			t.Fatal(err)
		}
		switch m := m.(type) {
		case *pgproto3.DataRow:
			set = string(m.Values[0])
		case *pgproto3.ReadyForQuery:
			return set
		}
	}
}
