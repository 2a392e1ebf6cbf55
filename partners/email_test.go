package partners

import (
	"strings"
	"testing"

	"ledgerhook/webhook"
)

func TestAnAddressHasTheShapeOfRFC5321(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"ann@example.com":              "ann@example.com",
		" ann@example.com ":            "ann@example.com",
		"\u00a0ann@example.com\t":      "ann@example.com",
		"An.N+tag@Example.COM":         "An.N+tag@Example.COM",
		"ann@bücher.example":           "ann@xn--bcher-kva.example",
		"ann@Bücher.Example":           "ann@xn--bcher-kva.example",
		"ann@例え.テスト":                   "ann@xn--r8jz45g.xn--zckzah",
		`"a b@c"@example.com`:          `"a b@c"@example.com`,
		"ann@[192.0.2.1]":              "ann@[192.0.2.1]",
		"ann@[IPv6:2001:db8::1]":       "ann@[IPv6:2001:db8::1]",
		"ann@localhost":                "ann@localhost",
		strings.Repeat("a", 64) + "@b": strings.Repeat("a", 64) + "@b",
		"not-an-email":                 "", "": "", "@": "", "@example.com": "", "ann@": "", "ann@@example.com": "", "a nn@example.com": "",
		".ann@example.com": "", "ann.@example.com": "", "a..n@example.com": "", "ann@-a.example": "", "ann@a_b.example": "", "ann@example..com": "",
		"ann@example.com.": "", "Ann <ann@example.com>": "", "ann@example.com, bob@example.com": "", "ann@example.com\r\nBcc: bob@example.com": "",
		"nguyễn@example.com": "", "ann@[2001:db8::1]": "", "ann@[IPv6:192.0.2.1]": "", "ann@[IPv6:fe80::1%eth0]": "",
		strings.Repeat("a", 65) + "@b": "", "ann@" + strings.Repeat("a", 64) + ".b": "",
		"a@" + strings.Repeat("abcdefgh.", 28) + "b": "",
	} {
		got, err := ReadEmail(typed)
		if got != want || (err == nil) != (want != "") || err != nil && webhook.KindOf(err) != webhook.KindInvalid {
			t.Errorf("%q: %q, %v, want %q", typed, got, err, want)
		}
	}
}

// FuzzReadEmail: what is taken is one bare address of ASCII that reads as itself.
func FuzzReadEmail(f *testing.F) {
	for _, typed := range []string{"ann@example.com", `"a\\"@b.c`, "ann@bücher.example", "ann@[192.0.2.1]"} {
		f.Add(typed)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		got, err := ReadEmail(typed)
		if err != nil {
			return
		}
		again, err := ReadEmail(got)
		if err != nil || again != got || strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("%q is %q, then %q, %v", typed, got, again, err)
		}
	})
}
