package guard

import (
	"encoding/csv"
	"errors"
	"net"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"

	"ledgerhook/webhook"
)

// vector is one row of ssrf_cases.csv.
type vector struct{ id, url, resolvesTo, stage, expected, urlPolicy, ipPolicy string }

func readCSV(t testing.TB, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}

func vectors(t testing.TB) []vector {
	var out []vector
	for _, r := range readCSV(t, "testdata/ssrf_cases.csv") {
		out = append(out, vector{r[0], r[1], r[2], r[3], r[4], r[5], r[6]})
	}
	return out
}

// TestEveryVectorIsJudgedAsWritten runs every row of the table. What follows
// from an answer (stage "response") is the sender's; here such a row only
// promises that its URL and address are fine.
func TestEveryVectorIsJudgedAsWritten(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.id, func(t *testing.T) {
			switch v.stage {
			case "registration", "accept", "dial", "registration+dial", "response":
				checkURLPolicy(t, v)
				checkIPPolicy(t, v)
			case "configuration":
				checkHeaderPolicy(t, v)
			default:
				t.Fatalf("unknown stage %q", v.stage)
			}
		})
	}
}

// checkURLPolicy looks at the URL alone: its name does not resolve.
func checkURLPolicy(t *testing.T, v vector) {
	_, err := New(nil).CheckURL(t.Context(), v.url, answer{})
	if (err == nil) != (v.urlPolicy == "allow") {
		t.Errorf("CheckURL(%q) = %v, want %s", v.url, err, v.urlPolicy)
	}
	if err != nil && webhook.KindOf(err) != webhook.KindInvalid {
		t.Errorf("CheckURL(%q) = %v, which is not the caller's fault", v.url, err)
	}
}

// checkIPPolicy looks at the row's addresses, at registration and at the dial.
func checkIPPolicy(t *testing.T, v vector) {
	g := New(nil)
	if first, then, rebinds := strings.Cut(v.resolvesTo, " then "); rebinds {
		if _, err := g.CheckURL(t.Context(), v.url, answer{netip.MustParseAddr(first)}); err != nil {
			t.Errorf("before it rebinds: %v", err)
		}
		v.resolvesTo = then
	}
	var addrs answer
	for s := range strings.SplitSeq(v.resolvesTo, ";") {
		if addr, err := netip.ParseAddr(s); err == nil {
			addrs = append(addrs, addr)
		}
	}
	if len(addrs) == 0 || v.ipPolicy == "either" {
		return // nothing to dial, or both answers are right
	}
	_, registered := g.CheckURL(t.Context(), v.url, addrs)
	if (registered == nil) != (v.ipPolicy == "allow") {
		t.Errorf("CheckURL with %v = %v, want %s", addrs, registered, v.ipPolicy)
	}
	var refused error
	for _, addr := range addrs {
		err := g.Control("tcp", net.JoinHostPort(addr.String(), "443"), nil)
		var blocked *BlockedError
		if err != nil && (!errors.As(err, &blocked) || blocked.Reason != ReasonAddress) {
			t.Errorf("Control(%s) = %v, want a BlockedError for the address", addr, err)
		}
		refused = errors.Join(refused, err)
	}
	if (refused == nil) != (v.ipPolicy == "allow") {
		t.Errorf("Control = %v, want %s", refused, v.ipPolicy)
	}
}

var headerRow = regexp.MustCompile(`^header '(.*)': (?:'(.*)'|v x4097)$`)

func checkHeaderPolicy(t *testing.T, v vector) {
	m := headerRow.FindStringSubmatch(v.url)
	if m == nil {
		t.Fatalf("cannot read %q", v.url)
	}
	name, value := m[1], strings.NewReplacer(`\r`, "\r", `\n`, "\n", `\x00`, "\x00").Replace(m[2])
	if strings.HasSuffix(v.url, "v x4097") {
		value = strings.Repeat("v", 4097)
	}
	if err := CheckHeader(name, value); (err == nil) != (v.expected == "allow") {
		t.Errorf("CheckHeader(%q, %.20q) = %v, want %s", name, value, err, v.expected)
	}
}

// TestNoAddressOfASpecialRangeIsDialled tries both ends of every prefix.
func TestNoAddressOfASpecialRangeIsDialled(t *testing.T) {
	g := New(nil)
	for _, row := range readCSV(t, "testdata/ssrf_prefixes.csv") {
		if row[1] == "everything outside 2000::/3" {
			continue // TestOnlyGlobalUnicastIPv6IsDialled
		}
		p := netip.MustParsePrefix(row[1])
		ends := []netip.Addr{p.Addr(), lastOf(p)}
		if p == netip.MustParsePrefix("::ffff:0:0/96") {
			// Its addresses are IPv4 in other clothes and go by the table of IPv4.
			ends = []netip.Addr{netip.MustParseAddr("::ffff:0.0.0.0"), netip.MustParseAddr("::ffff:255.255.255.255")}
		}
		for _, addr := range ends {
			if err := g.Control("tcp", net.JoinHostPort(addr.String(), "443"), nil); err == nil {
				t.Errorf("%s of %s (%s) may be dialled", addr, p, row[2])
			}
		}
	}
}

func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	addr, _ := netip.AddrFromSlice(b)
	return addr
}
