// Package guard decides which addresses and headers a notification may carry
// or go to, so that no partner can point the gateway at a network of its own
// operator ("Addresses" of the delivery rules).
//
// It looks twice: when a URL is registered, where its owner still reads the
// answer, and at the address actually dialled, because a name may resolve to
// something else by then.
package guard

import (
	"fmt"
	"net/netip"
	"slices"
	"syscall"

	"code.dny.dev/ssrf"
)

// azureWireServer answers for metadata inside Azure. It is a public address
// by every registry, so it has to be refused by hand.
var azureWireServer = netip.MustParsePrefix("168.63.129.16/32")

// public knows every special-purpose range of IANA's registries and refuses
// what lies outside the global unicast range of IPv6. Ports are judged here
// and not there, because the allowed networks take any port.
var public = ssrf.New(ssrf.WithAnyPort(), ssrf.WithAnyNetwork(), ssrf.WithDeniedV4Prefixes(azureWireServer))

// The ports that a public endpoint may listen on.
const (
	portHTTPS    = 443
	portHTTPSAlt = 8443
)

// Guard holds what is allowed beyond public addresses. It is safe for
// concurrent use.
type Guard struct {
	allow []netip.Prefix
}

// New returns a Guard that permits https on ports 443 and 8443 of public
// addresses. For addresses inside allow, and for those only, it also permits
// http, any port and literal addresses.
func New(allow []netip.Prefix) *Guard {
	return &Guard{allow: slices.Clone(allow)}
}

// Reason is the rule a blocked address broke: a closed set, fit for a label.
type Reason string

const (
	ReasonAddress Reason = "address" // not a public address
	ReasonPort    Reason = "port"    // neither 443 nor 8443
	ReasonPlain   Reason = "plain"   // http to an address outside the allowed networks
)

// Reasons lists every reason.
var Reasons = []Reason{ReasonAddress, ReasonPort, ReasonPlain}

// BlockedError says that Addr was not dialled.
type BlockedError struct {
	Addr   netip.AddrPort // zero if what was to be dialled was no address at all
	Reason Reason
}

// Error does not say what a name leads to inside the company: partners read it.
func (e *BlockedError) Error() string {
	switch e.Reason {
	case ReasonPort:
		return fmt.Sprintf("port %d of %s is blocked: only ports %d and %d are allowed",
			e.Addr.Port(), e.Addr.Addr(), portHTTPS, portHTTPSAlt)
	case ReasonPlain:
		return fmt.Sprintf("http to %s is blocked: only https is allowed", e.Addr.Addr())
	default:
		return "the address is blocked: it is not a public address"
	}
}

// Control is the net.Dialer.Control of connections that will speak TLS. It
// judges the address that is about to be dialled, whatever was resolved
// before, and returns a *BlockedError if that is not allowed.
func (g *Guard) Control(_, address string, _ syscall.RawConn) error {
	return g.check(address, false)
}

// ControlPlain is Control for connections without TLS: they may go to the
// allowed networks only.
func (g *Guard) ControlPlain(_, address string, _ syscall.RawConn) error {
	return g.check(address, true)
}

func (g *Guard) check(address string, plain bool) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return &BlockedError{Reason: ReasonAddress}
	}
	switch {
	case g.allowed(ap.Addr()):
		return nil
	case !IsPublic(ap.Addr()):
		return &BlockedError{ap, ReasonAddress}
	case plain:
		return &BlockedError{ap, ReasonPlain}
	case ap.Port() != portHTTPS && ap.Port() != portHTTPSAlt:
		return &BlockedError{ap, ReasonPort}
	}
	return nil
}

// allowed reports whether the operator opened addr's network. An address with
// a zone is in no network.
func (g *Guard) allowed(addr netip.Addr) bool {
	addr = addr.Unmap()
	return slices.ContainsFunc(g.allow, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// IsPublic reports whether addr is one of the public internet. An IPv4 address
// in its IPv6 form is judged by the rules of IPv4: resolvers hand out both.
func IsPublic(addr netip.Addr) bool {
	return addr.IsValid() && addr.Zone() == "" && public.SafeAddr(addr.Unmap()) == nil
}
