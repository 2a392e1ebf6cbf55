package guard

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

// answer is a resolver that gives the same addresses for every name; without
// addresses it knows no name.
type answer []netip.Addr

func (a answer) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if len(a) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return a, nil
}

func prefixes(s ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, p := range s {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

func TestTheDialledAddressIsJudged(t *testing.T) {
	g := New(prefixes("127.0.0.0/8", "::1/128", "10.1.0.0/16"))
	for _, tt := range []struct {
		address    string
		tls, plain Reason
	}{
		{"8.8.8.8:443", "", ReasonPlain},
		{"8.8.8.8:8443", "", ReasonPlain},
		{"8.8.8.8:80", ReasonPort, ReasonPlain},
		{"[2606:4700:4700::1111]:443", "", ReasonPlain},
		{"[2606:4700:4700::1111]:22", ReasonPort, ReasonPlain},
		{"127.0.0.1:80", "", ""},
		{"127.0.0.1:6379", "", ""},
		{"[::1]:9000", "", ""},
		{"[::ffff:127.0.0.1]:9000", "", ""},
		{"10.1.2.3:8080", "", ""},
		{"10.2.0.1:443", ReasonAddress, ReasonAddress},
		{"[::ffff:10.2.0.1]:443", ReasonAddress, ReasonAddress},
		{"[::2]:443", ReasonAddress, ReasonAddress},
		{"[2606:4700:4700::1111%eth0]:443", ReasonAddress, ReasonAddress},
		{"[::1%lo]:443", ReasonAddress, ReasonAddress},
		{"/var/run/docker.sock", ReasonAddress, ReasonAddress},
		{"", ReasonAddress, ReasonAddress},
	} {
		if got := reasonOf(t, g.Control("tcp", tt.address, nil)); got != tt.tls {
			t.Errorf("with TLS, %q: %q, want %q", tt.address, got, tt.tls)
		}
		if got := reasonOf(t, g.ControlPlain("tcp", tt.address, nil)); got != tt.plain {
			t.Errorf("without TLS, %q: %q, want %q", tt.address, got, tt.plain)
		}
	}
}

func reasonOf(t *testing.T, err error) Reason {
	if err == nil {
		return ""
	}
	var blocked *BlockedError
	if !errors.As(err, &blocked) || blocked.Error() == "" {
		t.Fatalf("%v is not a BlockedError", err)
	}
	return blocked.Reason
}

func TestABlockedDialNeverConnects(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	dialer := net.Dialer{Control: New(nil).Control}
	_, err = dialer.DialContext(t.Context(), "tcp", listener.Addr().String())
	if reasonOf(t, err) != ReasonAddress {
		t.Fatalf("dial: %v, want a BlockedError", err)
	}
	dialer.Control = New(prefixes("127.0.0.1/32")).Control
	conn, err := dialer.DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatalf("dial into an allowed network: %v", err)
	}
	conn.Close()
}

func TestOnlyGlobalUnicastIPv6IsDialled(t *testing.T) {
	global, mapped := netip.MustParsePrefix("2000::/3"), netip.MustParsePrefix("::ffff:0:0/96")
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "address")
		addr := netip.AddrFrom16([16]byte(b))
		if global.Contains(addr) || mapped.Contains(addr) {
			return
		}
		if New(nil).Control("tcp6", netip.AddrPortFrom(addr, 443).String(), nil) == nil {
			t.Fatalf("%s may be dialled", addr)
		}
	})
}

func TestAnAllowedNetworkOpensNothingElse(t *testing.T) {
	open := netip.MustParsePrefix("10.1.0.0/16")
	allowing, strict := New([]netip.Prefix{open}), New(nil)
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "address")
		addr := netip.AddrFrom4([4]byte(b))
		to := netip.AddrPortFrom(addr, rapid.Uint16().Draw(t, "port")).String()
		got, want := allowing.Control("tcp4", to, nil), strict.Control("tcp4", to, nil)
		if open.Contains(addr) {
			want = nil
		}
		if (got == nil) != (want == nil) {
			t.Fatalf("%s: %v, want %v", to, got, want)
		}
	})
}
