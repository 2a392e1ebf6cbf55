package guard

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ledgerhook/webhook"
)

func TestRegistrationWithAllowedNetworks(t *testing.T) {
	g := New(prefixes("127.0.0.0/8", "::1/128", "172.18.0.0/16"))
	inside, outside, private := netip.MustParseAddr("172.18.0.4"), netip.MustParseAddr("8.8.8.8"), netip.MustParseAddr("10.0.0.1")
	for _, tt := range []struct {
		url  string
		at   answer
		want string // part of what is wrong; empty: accepted
	}{
		{"http://127.0.0.1:9000/hook", nil, ""},
		{"http://[::1]:9000/hook", nil, ""},
		{"https://127.0.0.1/hook", nil, ""},
		{"http://10.0.0.1/hook", nil, "not by an address"},
		{"https://8.8.8.8/hook", nil, "not by an address"},
		{"http://[::1%25lo]/hook", nil, "not by an address"},
		{"http://localhost:9000/hook", answer{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")}, ""},
		{"http://localhost:9000/hook", answer{netip.MustParseAddr("::ffff:127.0.0.1")}, ""},
		{"http://receiver:9000/hook", answer{inside}, ""},
		{"https://hooks.corp.internal:10443/hook", answer{inside}, ""},
		{"http://receiver:9000/hook", answer{inside, outside}, "https://"},
		{"http://receiver:9000/hook", answer{outside}, "https://"},
		{"https://receiver/hook", answer{outside}, "with a dot"},
		{"https://partner.example.com:9000/hook", answer{outside}, "443 or 8443"},
		{"http://receiver:9000/hook", answer{inside, private}, "public addresses only"},
		{"http://receiver:9000/hook", nil, "https://"}, // nothing proves that it is inside
		{"https://partner.example.com/hook", answer{inside, outside}, ""},
		{"https://partner.example.com/hook", answer{private}, "public addresses only"},
		{"http://receiver:0/hook", answer{inside}, "1 to 65535"},
		{"http://user:pw@receiver/hook", answer{inside}, "user name"},
		{"http://receiver/hook#", answer{inside}, "fragment"},
		{"ftp://receiver/hook", answer{inside}, "https://"},
		{"http://0x7f.1/hook", answer{inside}, "hexadecimal"},
	} {
		checkWrong(t, tt.url, check(t, g, tt.url, tt.at), tt.want)
	}
}

func TestTheErrorSaysWhatWouldBeRight(t *testing.T) {
	g := New(nil)
	for rawURL, want := range map[string]string{
		"http://partner.example.com/":          "https://",
		"partner.example.com/hook":             "https://partner.example.com/hook",
		"https://partner.example.com:80/":      "443 or 8443",
		"https://partner.example.com:65536/":   "1 to 65535",
		"https://intranet/":                    "with a dot",
		"https://db.internal/":                 "public internet",
		"https://8.8.8.8/":                     "DNS name",
		"https://127.1/":                       "octal",
		"https://a_b.example.com/":             "letters, digits and hyphens",
		"https://partner.example.com../":       "valid DNS name",
		"https://payments.default.svc/":        "names that end in .svc",
		"https://kube.svc.cluster.local/":      "names that end in .local",
		"https://erp.corp/":                    "names that end in .corp",
		"https://nas.LAN./":                    "names that end in .lan",
		"https://a.intranet/":                  "names that end in .intranet",
		"https://a.home/":                      "names that end in .home",
		"https://router.home.arpa/":            "names that end in .home.arpa",
		"https://a.test/":                      "names that end in .test",
		"https://a.example/":                   "names that end in .example",
		"https://x.localdomain/":               "names that end in .localdomain",
		"https://127.0.0.1./":                  "not by an address",
		"https://u:p@partner.example.com/":     "custom header",
		"https://partner.example.com/#x":       "fragment",
		"https://e.com/" + text(MaxURL):        "2048 bytes",
		"https://partner..example.com/":        "valid DNS name",
		"https://xn--a.example.com/":           "valid DNS name",
		"https://partner.example.com\\.x.com/": "like https://partner.example.com/hook",
	} {
		checkWrong(t, rawURL, check(t, g, rawURL, answer{}), want)
	}
}

func check(t *testing.T, g *Guard, rawURL string, at answer) error {
	_, err := g.CheckURL(t.Context(), rawURL, at)
	return err
}

func TestAURLIsKeptAsItIsSent(t *testing.T) {
	for typed, kept := range map[string]string{
		" https://e.com/hook\t\n":                   "https://e.com/hook",
		"https://e.com/hook?shop=My Shop":           "https://e.com/hook?shop=My%20Shop",
		"https://e.com/?name=Nguyễn":                "https://e.com/?name=Nguy%E1%BB%85n",
		"https://e.com/?a=%2f%C3%A9&b=1+1;c[]=~":    "https://e.com/?a=%2f%C3%A9&b=1+1;c[]=~",
		"https://e.com/?off=100%&x=%zz\"<>|^`{}\\":  "https://e.com/?off=100%25&x=%25zz%22%3C%3E%7C%5E%60%7B%7D%5C",
		"https://e.com/?":                           "https://e.com/?",
		"https://E.com./a.b./?to=https://x.com./y?": "https://E.com/a.b./?to=https://x.com./y?",
		"https://e.com.:8443/hook":                  "https://e.com:8443/hook",
	} {
		got, err := New(nil).CheckURL(t.Context(), typed, answer{})
		if err != nil || got != kept {
			t.Errorf("%q is kept as %q (%v), want %q", typed, got, err, kept)
		}
	}
}

func text(n int) string { return strings.Repeat("a", n) }

func checkWrong(t *testing.T, rawURL string, err error, want string) {
	t.Helper()
	var e *webhook.Error
	switch {
	case err == nil:
		if want != "" {
			t.Errorf("%.60s is accepted, want an error with %q", rawURL, want)
		}
	case want == "":
		t.Errorf("%.60s: %v", rawURL, err)
	case !errors.As(err, &e) || len(e.Fields) != 1 || e.Fields[0].Field != "/url" || !strings.Contains(e.Fields[0].Detail, want):
		t.Errorf("%.60s: %v, want an error about /url with %q", rawURL, err, want)
	}
}

// silent is a name server that never answers.
type silent struct{}

func (silent) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestASilentNameServerHoldsARegistrationForThreeSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if _, err := New(nil).CheckURL(t.Context(), "https://slow-dns.example.com/hook", silent{}); err != nil {
			t.Errorf("no answer must not refuse: %v", err)
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("took %s, want 3s", took)
		}
	})
}

// FuzzCheckURL holds that whatever is accepted is an https URL that net/http
// reads the same way, with a dotted name and an allowed port.
func FuzzCheckURL(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.url)
	}
	g := New(nil)
	public := answer{netip.MustParseAddr("8.8.8.8")}
	f.Fuzz(func(t *testing.T, rawURL string) {
		rawURL, err := g.CheckURL(t.Context(), rawURL, public)
		if err != nil {
			return
		}
		if again, err := g.CheckURL(t.Context(), rawURL, public); err != nil || again != rawURL {
			t.Fatalf("%q becomes %q (%v)", rawURL, again, err)
		}
		u, err := url.Parse(rawURL)
		if err != nil || u.Scheme != "https" || u.User != nil || strings.Contains(rawURL, "#") || len(rawURL) > MaxURL {
			t.Fatalf("%q is accepted", rawURL)
		}
		if p := u.Port(); p != "" && p != "443" && p != "8443" {
			t.Fatalf("%q is accepted with port %s", rawURL, p)
		}
		name, err := dnsName.ToASCII(u.Hostname())
		if err != nil || !strings.Contains(name, ".") || strings.ContainsAny(name, ":%_ \\") {
			t.Fatalf("%q is accepted with host %q", rawURL, name)
		}
		if _, err := netip.ParseAddr(name); err == nil {
			t.Fatalf("%q is accepted with a literal address", rawURL)
		}
	})
}

// Partners read why: it must not map the company's network for them.
func TestWhatANameLeadsToInsideIsNotTold(t *testing.T) {
	t.Parallel()
	g := New(nil)
	resolver := answer{netip.MustParseAddr("10.1.2.3")}
	_, registered := g.CheckURL(t.Context(), "https://inside.example.com/hook", resolver)
	for what, err := range map[string]error{
		"at registration": registered,
		"at the dial":     g.Control("tcp", "10.1.2.3:443", nil),
	} {
		if err == nil || strings.Contains(err.Error(), "10.1.2.3") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
