package web

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func TestTheClientIsTheLastAddressBeforeOurProxies(t *testing.T) {
	t.Parallel()
	ours := Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	tests := []struct {
		name, peer string
		header     []string // "Name: value"
		client     string
		secure     bool
	}{
		{"nobody in between", "203.0.113.9:4711", nil, "203.0.113.9", false},
		{"a stranger who claims to be a proxy", "203.0.113.9:4711", []string{"X-Forwarded-For: 192.0.2.1", "X-Forwarded-Proto: https"}, "203.0.113.9", false},
		{"one proxy", "10.0.0.1:80", []string{"X-Forwarded-For: 192.0.2.1", "X-Forwarded-Proto: https"}, "192.0.2.1", true},
		{"one proxy without TLS", "10.0.0.1:80", []string{"X-Forwarded-For: 192.0.2.1", "X-Forwarded-Proto: http"}, "192.0.2.1", false},
		{"a proxy that says nothing", "10.0.0.1:80", nil, "10.0.0.1", false},
		{"two of ours", "10.0.0.1:80", []string{"X-Forwarded-For: 192.0.2.1, 10.0.0.2"}, "192.0.2.1", false},
		{"what the client invents before it", "10.0.0.1:80", []string{"X-Forwarded-For: 127.0.0.1, 192.0.2.1"}, "192.0.2.1", false},
		{"what the client invents in a line of its own", "10.0.0.1:80", []string{"X-Forwarded-For: 10.0.0.7", "X-Forwarded-For: 192.0.2.1, 10.0.0.2"}, "192.0.2.1", false},
		{"all are ours", "10.0.0.1:80", []string{"X-Forwarded-For: 10.0.0.3, 10.0.0.2"}, "10.0.0.3", false},
		{"no address", "10.0.0.1:80", []string{"X-Forwarded-For: 192.0.2.1, nonsense"}, "10.0.0.1", false},
		{"no address behind one of ours", "10.0.0.1:80", []string{"X-Forwarded-For: <script>, 10.0.0.2"}, "10.0.0.2", false},
		{"IPv6 with and without port", "[fd00::1]:80", []string{"X-Forwarded-For: 2001:db8::7"}, "2001:db8::7", false},
		{"IPv4 in IPv6", "[::ffff:10.0.0.1]:80", []string{"X-Forwarded-For: ::ffff:192.0.2.1"}, "192.0.2.1", false},
		{"a port", "10.0.0.1:80", []string{"X-Forwarded-For: 192.0.2.1:5060"}, "192.0.2.1", false},
		{"Forwarded", "10.0.0.1:80", []string{`Forwarded: for=192.0.2.1;proto=https;by=10.0.0.1`}, "192.0.2.1", true},
		{"Forwarded with IPv6", "10.0.0.1:80", []string{`Forwarded: For="[2001:db8:cafe::17]:4711"; Proto=HTTPS`}, "2001:db8:cafe::17", true},
		{"Forwarded twice", "10.0.0.1:80", []string{`Forwarded: for=198.51.100.1;proto=https, for=192.0.2.1;proto=http, for=10.0.0.2;proto=https`}, "192.0.2.1", false},
		{"who hides", "10.0.0.1:80", []string{`Forwarded: for=_hidden;proto=https`}, "10.0.0.1", true},
		{"Forwarded beside X-Forwarded-For is the client's", "10.0.0.1:80", []string{"X-Forwarded-For: 192.0.2.1", "Forwarded: for=127.0.0.1;proto=https"}, "192.0.2.1", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr = tt.peer
			for _, line := range tt.header {
				name, value, _ := strings.Cut(line, ": ")
				r.Header.Add(name, value)
			}
			ours.Handle(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if client := ClientAddress(r); client != tt.client || Secure(r) != tt.secure {
					t.Errorf("%s, secure %t, want %s, %t", client, Secure(r), tt.client, tt.secure)
				}
			})).ServeHTTP(httptest.NewRecorder(), r)
		})
	}
}

// Whatever is sent, the client is an address, and a stranger's own.
func FuzzTheClientIsAnAddress(f *testing.F) {
	f.Add("192.0.2.1, 10.0.0.2", `for="[2001:db8::1]:80";proto=https`, "https")
	f.Add("", "for=_a, for=unknown", "")
	f.Fuzz(func(t *testing.T, forwardedFor, forwarded, proto string) {
		header := http.Header{"X-Forwarded-For": {forwardedFor}, "Forwarded": {forwarded}, "X-Forwarded-Proto": {proto}}
		for _, peer := range []string{"10.0.0.1:80", "203.0.113.9:80"} {
			r := &http.Request{RemoteAddr: peer, Header: header}
			Proxies{netip.MustParsePrefix("10.0.0.0/8")}.Handle(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				client, err := netip.ParseAddr(ClientAddress(r))
				if err != nil || peer == "203.0.113.9:80" && (client.String() != "203.0.113.9" || Secure(r)) {
					t.Errorf("from %s: %s (%v)", peer, client, err)
				}
			})).ServeHTTP(nil, r)
		}
	})
}
