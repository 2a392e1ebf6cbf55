package sender

import (
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ledgerhook/delivery/guard"
	"ledgerhook/webhook"
)

// handshakes counts those of a receiver that closes each connection after its
// answer.
type handshakes struct{ full, resumed atomic.Int64 }

func (h *handshakes) answer(c net.Conn, _ *http.Request) bool {
	if c.(*tls.Conn).ConnectionState().DidResume {
		h.resumed.Add(1)
	} else {
		h.full.Add(1)
	}
	return reply("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")(c, nil)
}

func (h *handshakes) want(t *testing.T, full, resumed int64) {
	t.Helper()
	if f, r := h.full.Load(), h.resumed.Load(); f != full || r != resumed {
		t.Errorf("%d full and %d resumed handshakes, want %d and %d", f, r, full, resumed)
	}
}

func TestNewConnectionsResumeTLSSessions(t *testing.T) {
	t.Parallel()
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			t.Parallel()
			a, expiry := newAuthority(t), inAnHour()
			conf := a.serverConfig(t, expiry)
			conf.MaxVersion = version
			var seen handshakes
			target := receive(t, conf, seen.answer)
			s := newSender(t, Options{RootCAs: a.pool})
			for i := range 5 {
				r := send(t, s, target.url)
				if r.Outcome != delivered || r.TLSVersion != tls.VersionName(version) || !r.TLSNotAfter.Equal(expiry) || len(r.Certificate) != sha256.Size || r.Phases.TLS <= 0 {
					t.Errorf("request %d: %+v", i, r)
				}
			}
			seen.want(t, 1, 4)
		})
	}
}

// TestASessionIsResumedOnlyWhereItBegan has two receivers of one name with one
// ticket key: the session of the one must not reach the other, nor push out
// the other's.
func TestASessionIsResumedOnlyWhereItBegan(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	conf := a.serverConfig(t, inAnHour())
	conf.SetSessionTicketKeys([][32]byte{{1}})
	var one, other handshakes
	first, second := receive(t, conf, one.answer), receive(t, conf, other.answer)
	s := newSender(t, Options{RootCAs: a.pool})
	for range 3 {
		send(t, s, first.url)
		send(t, s, second.url)
	}
	one.want(t, 1, 2)
	other.want(t, 1, 2)
}

// TestASessionProvesOneNameAlone has two names for one receiver, whose
// certificate is for the first.
func TestASessionProvesOneNameAlone(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	var seen handshakes
	target := receive(t, a.serverConfig(t, inAnHour(), "a.example.com"), seen.answer)
	here := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	s := newSender(t, Options{RootCAs: a.pool, Resolver: nameServer(t, func(string) ([]netip.Addr, bool) { return here, true })})
	if r := send(t, s, withHost(target.url, "a.example.com")); r.Outcome != delivered {
		t.Errorf("%s %q (%s)", r.Outcome, r.ErrorClass, r.ErrorDetail)
	}
	if r := send(t, s, withHost(target.url, "b.example.com")); r.ErrorClass != webhook.ErrorTLS {
		t.Errorf("%s %q (%s), want its certificate refused", r.Outcome, r.ErrorClass, r.ErrorDetail)
	}
	seen.want(t, 1, 0)
}

// TestAConnectionThatWouldResumeGoesThroughTheGuard lets a name that was
// allowed lead to a forbidden address.
func TestAConnectionThatWouldResumeGoesThroughTheGuard(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	var seen handshakes
	target := receive(t, a.serverConfig(t, inAnHour(), "a.example.com"), seen.answer)
	var moved atomic.Bool
	s := newSender(t, Options{RootCAs: a.pool, Guard: guard.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}),
		Resolver: nameServer(t, func(string) ([]netip.Addr, bool) {
			if moved.Load() {
				return []netip.Addr{netip.MustParseAddr("127.0.0.2")}, true
			}
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, true
		})})
	url := withHost(target.url, "a.example.com")
	send(t, s, url)
	moved.Store(true)
	if r := send(t, s, url); r.ErrorClass != webhook.ErrorBlocked {
		t.Errorf("%s %q (%s), want it blocked", r.Outcome, r.ErrorClass, r.ErrorDetail)
	}
	seen.want(t, 1, 0)
}

// TestAReceiverThatBreaksOffResumingGetsANewSession has one that ends every
// handshake that would resume a session, and takes one that begins anew.
func TestAReceiverThatBreaksOffResumingGetsANewSession(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	conf := a.serverConfig(t, inAnHour())
	conf.WrapSession = conf.EncryptTicket
	conf.UnwrapSession = func([]byte, tls.ConnectionState) (*tls.SessionState, error) { return nil, errors.New("no") }
	var seen handshakes
	target := receive(t, conf, seen.answer)
	s := newSender(t, Options{RootCAs: a.pool})
	for i := range 4 {
		if r := send(t, s, target.url); r.Outcome != delivered || r.Phases.TLS <= 0 || r.Phases.Total < r.Phases.TLS+r.Phases.Connect {
			t.Errorf("request %d: %s %q (%s) %+v", i, r.Outcome, r.ErrorClass, r.ErrorDetail, r.Phases)
		}
	}
	seen.want(t, 4, 0)
	if conns := target.conns.Load(); conns != 6 { // every other one had a session to resume
		t.Errorf("%d connections, want 6", conns)
	}
}

// What an attempt records of a receiver's certificate was seen within the hour.
func TestSessionsEndWithTheirHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var all sessions
		early := all.at("a:443")
		early.Put("", new(tls.ClientSessionState))
		time.Sleep(sessionsLast - time.Nanosecond)
		if _, ok := all.at("a:443").Get(""); !ok {
			t.Error("it ended early")
		}
		if _, ok := all.at("a:8443").Get(""); ok {
			t.Error("another port has it, too")
		}
		time.Sleep(time.Nanosecond)
		if _, ok := all.at("a:443").Get(""); ok {
			t.Error("it goes on")
		}
		early.Put("", new(tls.ClientSessionState))
		if _, ok := all.at("a:443").Get(""); ok {
			t.Error("a connection from before has brought one")
		}
	})
}

// TestConnectionsAreKeptForAllThatAreMadeAtOnce sends as many at once as
// attempts may be made, twice: the second time nothing is dialled.
func TestConnectionsAreKeptForAllThatAreMadeAtOnce(t *testing.T) {
	t.Parallel()
	const atOnce = 100
	var arrived, sent sync.WaitGroup
	target := receive(t, nil, func(c net.Conn, r *http.Request) bool {
		arrived.Done()
		arrived.Wait()
		return keep(ok)(c, r)
	})
	s := newSender(t, Options{Connections: atOnce, ConnectTimeout: time.Minute})
	for round := range 2 {
		arrived.Add(atOnce)
		for range atOnce {
			sent.Go(func() {
				r := s.Send(t.Context(), Request{URL: target.url, Body: body, Timeout: time.Minute})
				if r.Outcome != delivered {
					t.Errorf("round %d: %s %q (%s)", round, r.Outcome, r.ErrorClass, r.ErrorDetail)
					arrived.Done() // the others go on
				}
			})
		}
		sent.Wait()
	}
	if conns := target.conns.Load(); conns != atOnce {
		t.Errorf("%d connections for %d requests at once, want as many", conns, atOnce)
	}
}
