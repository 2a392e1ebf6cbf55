package sender

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"ledgerhook/delivery/guard"
	"ledgerhook/webhook"
)

// nameServer answers for the A records of names. One it does not have does not
// exist.
func nameServer(t *testing.T, names func(string) (addrs []netip.Addr, exists bool)) *net.Resolver {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			if out := answerDNS(buf[:n], names); out != nil {
				pc.WriteTo(out, from)
			}
		}
	}()
	t.Cleanup(func() { pc.Close(); <-done })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, "udp", pc.LocalAddr().String())
		if err == nil {
			// A lookup that was given up goes on reading until its own limit of 5 s.
			context.AfterFunc(t.Context(), func() { c.Close() })
		}
		return c, err
	}}
}

func answerDNS(in []byte, names func(string) ([]netip.Addr, bool)) []byte {
	var p dnsmessage.Parser
	h, err := p.Start(in)
	if err != nil {
		return nil
	}
	q, err := p.Question()
	if err != nil {
		return nil
	}
	addrs, exists := names(strings.TrimSuffix(q.Name.String(), "."))
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: h.ID, Response: true, Authoritative: true, RecursionAvailable: true},
		Questions: []dnsmessage.Question{q}}
	if !exists {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, a := range addrs {
		if q.Type == dnsmessage.TypeA {
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
				Body:   &dnsmessage.AResource{A: a.As4()},
			})
		}
	}
	out, err := m.Pack()
	if err != nil {
		return nil
	}
	return out
}

func zone(names map[string]string) func(string) ([]netip.Addr, bool) {
	return func(name string) ([]netip.Addr, bool) {
		list, exists := names[name]
		var addrs []netip.Addr
		for _, s := range strings.Fields(list) {
			addrs = append(addrs, netip.MustParseAddr(s))
		}
		return addrs, exists
	}
}

// withHost replaces the host of a receiver's URL.
func withHost(url, host string) string { return strings.Replace(url, "127.0.0.1", host, 1) }

func TestNamesThatDoNotResolve(t *testing.T) {
	// dns04
	r := send(t, newSender(t, Options{Resolver: nameServer(t, zone(nil))}), "https://nxdomain.example.com/hook")
	if r.Outcome != failed || r.ErrorClass != webhook.ErrorDNS || r.ErrorDetail != "no address is known for nxdomain.example.com" {
		t.Errorf("an unknown name: %s %q (%s)", r.Outcome, r.ErrorClass, r.ErrorDetail)
	}
	if r.PeerIP != "" || r.Phases.DNS <= 0 || r.Phases.Connect != 0 {
		t.Errorf("an unknown name: %+v", r)
	}
	// dns05. What the net package keeps of the system's settings was read outside of the bubbles.
	for name, limits := range map[string]struct{ connect, attempt time.Duration }{
		"the connection's time is up": {short, patience},
		"the attempt's time is up":    {2 * short, short},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSender(t, Options{Resolver: silentServer(t), ConnectTimeout: limits.connect, Timeout: limits.attempt})
				r := send(t, s, "https://slow-dns.example.com/hook")
				if r.Outcome != failed || r.ErrorClass != webhook.ErrorDNS || r.ErrorDetail != "the DNS did not answer in time for slow-dns.example.com" {
					t.Errorf("%s %q (%s)", r.Outcome, r.ErrorClass, r.ErrorDetail)
				}
				if r.PeerIP != "" || r.Phases.DNS <= 0 || r.Phases.Connect != 0 || r.Phases.Total != short {
					t.Errorf("%+v, want it after %s", r, short)
				}
			})
		})
	}
}

// silentServer is a name server that is there and does not answer, until the
// test ends and with it the lookups that were given up.
func silentServer(t *testing.T) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		context.AfterFunc(t.Context(), func() { near.Close(); far.Close() })
		return near, nil
	}}
}

// dns01: one answer is private.
func TestThePrivateOneOfSeveralAddressesIsNeverDialled(t *testing.T) {
	target := receive(t, nil, keep(ok))
	resolver := nameServer(t, zone(map[string]string{"mixed.example.com": "10.0.0.1 127.0.0.1"}))
	r := send(t, newSender(t, Options{Resolver: resolver}), withHost(target.url, "mixed.example.com"))
	if r.Outcome != delivered || r.PeerIP != "127.0.0.1" || r.Phases.DNS <= 0 {
		t.Errorf("got %s %q (%s) from %s", r.Outcome, r.ErrorClass, r.ErrorDetail, r.PeerIP)
	}
}

// dns02: the name moves to a private address once it is registered.
func TestANameThatRebindsIsBlockedWhenDialled(t *testing.T) {
	target := receive(t, nil, keep(ok))
	var now atomic.Pointer[[]netip.Addr]
	now.Store(&[]netip.Addr{netip.MustParseAddr("8.8.8.8")})
	resolver := nameServer(t, func(string) ([]netip.Addr, bool) { return *now.Load(), true })
	g := guard.New(nil)
	if _, err := g.CheckURL(t.Context(), "https://rebind.example.com/hook", resolver); err != nil {
		t.Fatal(err)
	}
	now.Store(&[]netip.Addr{netip.MustParseAddr("127.0.0.1")})
	r := send(t, newSender(t, Options{Guard: g, Resolver: resolver}), strings.Replace(withHost(target.url, "rebind.example.com"), "http:", "https:", 1))
	if r.Outcome != failed || r.ErrorClass != webhook.ErrorBlocked || r.BlockedReason != guard.ReasonAddress || target.conns.Load() != 0 {
		t.Errorf("got %s %q (%s), %d connections", r.Outcome, r.ErrorClass, r.ErrorDetail, target.conns.Load())
	}
}

func TestBlockedAddressesAreNotDialled(t *testing.T) {
	s := newSender(t, Options{})
	for url, want := range map[string]guard.Reason{
		"https://10.0.0.1/":           guard.ReasonAddress,
		"https://169.254.169.254/":    guard.ReasonAddress,
		"http://[::ffff:10.0.0.1]/":   guard.ReasonAddress,
		"https://8.8.8.8:6379/":       guard.ReasonPort,
		"http://8.8.8.8/":             guard.ReasonPlain,
		"http://8.8.8.8:443/?token=t": guard.ReasonPlain,
	} {
		r := send(t, s, url)
		if r.Outcome != failed || r.ErrorClass != webhook.ErrorBlocked || r.BlockedReason != want || r.StatusCode != 0 {
			t.Errorf("%s: %s %q %q (%s)", url, r.Outcome, r.ErrorClass, r.BlockedReason, r.ErrorDetail)
		}
		checkFit(t, r)
	}
}

func TestARefusedConnectionIsAResult(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	r := send(t, newSender(t, Options{}), "http://"+l.Addr().String()+"/")
	if r.Outcome != failed || r.ErrorClass != webhook.ErrorConnect || r.ErrorDetail != "could not connect: connection refused" || r.PeerIP != "127.0.0.1" {
		t.Errorf("got %s %q (%s) at %s", r.Outcome, r.ErrorClass, r.ErrorDetail, r.PeerIP)
	}
}
