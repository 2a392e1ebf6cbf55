package guard

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/idna"

	"ledgerhook/webhook"
)

// MaxURL is the longest URL that can be registered, in bytes.
const MaxURL = 2048

// lookupTimeout is how long a registration waits for the name to resolve.
const lookupTimeout = 3 * time.Second

// dnsName is the IDNA2008 lookup profile, with the length limits of the DNS.
var dnsName = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.VerifyDNSLength(true))

// privateDomains never name a host on the public internet, whatever the local
// resolver answers: special-use names (RFC 6761, 6762, 7686, 8375, 9476 and
// ICANN's .internal), names that ICANN keeps out of the root because private
// networks use them, and those of clusters and of their habits.
var privateDomains = []string{
	"localhost", "local", "internal", "home.arpa", "onion", "invalid", "test", "example", "alt",
	"corp", "home", "mail", "lan", "intranet", "private", "localdomain", "svc", "cluster", "consul",
}

// Resolver looks names up; *net.Resolver is one. network is "ip".
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// target is a URL that is well-formed, before its addresses are known.
type target struct {
	scheme string
	name   string     // in its ASCII form; empty if the host is a literal address
	addr   netip.Addr // if the host is a literal address
	port   string     // as written, may be empty
}

// CheckURL decides whether rawURL may be registered: https, a DNS name with a
// dot, port 443 or 8443, no userinfo, no fragment, and no address of it
// forbidden. If it does not resolve within 3 s it may: every attempt checks
// the address it dials. A name whose addresses are all in the allowed networks
// may use http and any port, and so may a literal address in them.
//
// It returns the URL as Tidy makes it, which is the one to keep. The error is a
// KindInvalid *webhook.Error about "/url" that says what would be right.
func (g *Guard) CheckURL(ctx context.Context, rawURL string, resolver Resolver) (string, error) {
	rawURL = Tidy(rawURL)
	t, wrong := parseTarget(rawURL)
	if wrong == "" {
		wrong = g.checkTarget(ctx, t, resolver)
	}
	if wrong != "" {
		return "", webhook.Invalid("/url", wrong)
	}
	return rawURL, nil
}

// Tidy is rawURL as it is sent: without blanks around it and without the root's
// dot after the host, the query encoded. What is encoded already stays as it is,
// and so does a text that is no URL.
func Tidy(rawURL string) string {
	rawURL = strings.TrimSpace(rawURL)
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" || strings.Contains(rawURL, "#") {
		return rawURL
	}
	before, query, found := strings.Cut(rawURL, "?")
	if host := strings.TrimSuffix(u.Hostname(), "."); host != u.Hostname() && host != "" {
		before = strings.Replace(before, "//"+u.Hostname(), "//"+host, 1)
	}
	if found {
		before += "?" + encodeQuery(query)
	}
	return before
}

// encodeQuery encodes what RFC 3986 does not let stand in a query. Square
// brackets stay, as they do in a path: too many receivers rely on them.
func encodeQuery(query string) string {
	var b strings.Builder
	for i := range len(query) {
		c := query[i]
		encoded := c == '%' && i+2 < len(query) && isHex(query[i+1]) && isHex(query[i+2])
		if encoded || isAlphanumeric(c) || strings.IndexByte("-._~!$&'()*+,;=:@/?[]", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func isHex(c byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 }

func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// checkTarget returns what is wrong with t, or "".
func (g *Guard) checkTarget(ctx context.Context, t target, resolver Resolver) string {
	if t.name == "" {
		if g.allowed(t.addr) {
			return ""
		}
		return "must name its host by a DNS name, not by an address"
	}
	wrong := t.wrongInPublic()
	if wrong != "" && len(g.allow) == 0 {
		return wrong
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addrs, err := resolver.LookupNetIP(ctx, "ip", t.name)
	if err != nil || len(addrs) == 0 {
		return wrong
	}
	for _, addr := range addrs {
		if !g.allowed(addr) && !IsPublic(addr) {
			return "must resolve to public addresses only, which " + t.name + " does not"
		}
	}
	if wrong != "" && slices.ContainsFunc(addrs, func(a netip.Addr) bool { return !g.allowed(a) }) {
		return wrong
	}
	return ""
}

// parseTarget returns what rawURL points at, or what is wrong with it wherever
// it points.
func parseTarget(rawURL string) (t target, wrong string) {
	if len(rawURL) > MaxURL {
		return t, "must be at most " + strconv.Itoa(MaxURL) + " bytes long"
	}
	u, err := url.Parse(rawURL)
	switch {
	case err != nil || u.Opaque != "" || u.Host == "" || u.Hostname() == "":
		return t, "must be a URL like https://partner.example.com/hook"
	case u.Scheme != "https" && u.Scheme != "http":
		return t, "must begin with https://"
	case u.User != nil:
		return t, "must not hold a user name or password: use a custom header for credentials"
	case strings.Contains(rawURL, "#"):
		return t, "must not hold a fragment: take out the # and what follows it"
	}
	t = target{scheme: u.Scheme, port: u.Port()}
	if port, err := strconv.ParseUint(t.port, 10, 16); t.port != "" && (err != nil || port == 0) {
		return t, "must use a port from 1 to 65535"
	}
	if t.addr, err = netip.ParseAddr(u.Hostname()); err == nil {
		return t, ""
	}
	t.name, err = dnsName.ToASCII(u.Hostname())
	switch {
	case err != nil || strings.HasSuffix(t.name, "."):
		return t, "must name its host by a valid DNS name: letters, digits and hyphens between dots, " +
			"63 characters per part and 253 in all at most"
	case endsInNumber(t.name):
		return t, "must name its host by a DNS name, not by an address in a short, octal or hexadecimal form"
	}
	return t, ""
}

// wrongInPublic returns what keeps t from being an endpoint on the public
// internet, or "".
func (t target) wrongInPublic() string {
	switch {
	case t.scheme != "https":
		return "must begin with https://"
	case t.port != "" && t.port != strconv.Itoa(portHTTPS) && t.port != strconv.Itoa(portHTTPSAlt):
		return "must use port 443 or 8443"
	case !strings.Contains(t.name, "."):
		return "must name its host by a full DNS name with a dot, like partner.example.com"
	}
	for _, d := range privateDomains {
		if strings.HasSuffix(t.name, "."+d) {
			return "must name a host on the public internet: no public DNS serves names that end in ." + d
		}
	}
	return ""
}

// endsInNumber reports whether the last part of name is a number. No such
// domain exists, and many resolvers read such a name as an IPv4 address.
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if strings.Trim(last, "0123456789") == "" {
		return true
	}
	digits, hex := strings.CutPrefix(last, "0x")
	return hex && strings.Trim(digits, "0123456789abcdef") == ""
}
