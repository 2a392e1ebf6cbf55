package web

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxies are the networks of those who are believed when they say whom they
// speak for: in X-Forwarded-For and X-Forwarded-Proto or, without the former,
// in Forwarded (RFC 7239).
type Proxies []netip.Prefix

type secureKey struct{}

// Handle has next see requests as they came to the first of our proxies: the
// client is the last address on the way here that is none of theirs. From
// anybody else, what a request says of its way is ignored.
func (p Proxies) Handle(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if peer, err := netip.ParseAddrPort(r.RemoteAddr); err == nil && p.trust(peer.Addr()) {
			client, secure := p.client(hop{address: peer.Addr()}, r.Header)
			r = r.WithContext(context.WithValue(r.Context(), secureKey{}, secure))
			r.RemoteAddr = netip.AddrPortFrom(client, 0).String()
		}
		next.ServeHTTP(w, r)
	})
}

// Secure reports whether the client speaks https, with us or with a proxy that
// is believed.
func Secure(r *http.Request) bool {
	secure, _ := r.Context().Value(secureKey{}).(bool)
	return secure || r.TLS != nil
}

// ClientAddress is the address that a request comes from, without its port.
func ClientAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

func (p Proxies) trust(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return slices.ContainsFunc(p, func(n netip.Prefix) bool { return n.Contains(a) })
}

// hop is one address on the way of a request, and how it spoke to the next.
type hop struct {
	address netip.Addr
	secure  bool
}

// client goes back from the peer as long as it meets proxies that are believed.
// A hop that hides itself or is no address ends the way: whoever told of it
// stands for what lies behind.
func (p Proxies) client(peer hop, header http.Header) (netip.Addr, bool) {
	way := forwardedFor(header)
	if len(way) == 0 {
		way = forwarded(header)
	}
	at := peer
	for _, before := range slices.Backward(way) {
		if !p.trust(at.address) {
			break
		}
		if !before.address.IsValid() {
			at.secure = before.secure
			break
		}
		at = before
	}
	return at.address.Unmap(), at.secure
}

// forwardedFor reads X-Forwarded-For. Proxies set X-Forwarded-Proto anew, so it
// is of the whole way.
func forwardedFor(header http.Header) (way []hop) {
	proto := last(header.Values("X-Forwarded-Proto"))
	for _, one := range list(header.Values("X-Forwarded-For")) {
		way = append(way, hop{address(one), strings.EqualFold(proto, "https")})
	}
	return way
}

// forwarded reads Forwarded.
func forwarded(header http.Header) (way []hop) {
	for _, element := range list(header.Values("Forwarded")) {
		var h hop
		for pair := range strings.SplitSeq(element, ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
			switch value = strings.Trim(value, `"`); strings.ToLower(name) {
			case "for":
				h.address = address(value)
			case "proto":
				h.secure = strings.EqualFold(value, "https")
			}
		}
		way = append(way, h)
	}
	return way
}

// list takes the lines of a header apart. No value of these headers that is of
// use has a comma in it.
func list(lines []string) (all []string) {
	for _, line := range lines {
		for one := range strings.SplitSeq(line, ",") {
			all = append(all, strings.TrimSpace(one))
		}
	}
	return all
}

func last(lines []string) string {
	if all := list(lines); len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

// address reads an address with or without a port; the zero value if it is not one.
func address(s string) netip.Addr {
	if withPort, err := netip.ParseAddrPort(s); err == nil {
		return withPort.Addr()
	}
	a, _ := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	return a
}
