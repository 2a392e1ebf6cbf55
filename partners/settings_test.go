package partners

import (
	"errors"
	"net/netip"
	"testing"

	"ledgerhook/webhook"
)

func TestOnlyAddressesAndRangesAreAllowed(t *testing.T) {
	for text, want := range map[string]string{
		"203.0.113.7":         "203.0.113.7/32",
		"203.0.113.0/24":      "203.0.113.0/24",
		"0.0.0.0/0":           "0.0.0.0/0",
		"2001:db8::1":         "2001:db8::1/128",
		"2001:db8::/32":       "2001:db8::/32",
		"::ffff:203.0.113.7":  "203.0.113.7/32",
		"":                    "",
		"203.0.113.7/24":      "", // which of the two was meant?
		"203.0.113":           "",
		"partner.example.com": "",
		"fe80::1%eth0":        "",
		"::ffff:0.0.0.0/96":   "",
		"203.0.113.0/33":      "",
	} {
		p, err := ParsePrefix(text)
		if (err == nil) != (want != "") || err == nil && p.String() != want {
			t.Errorf("ParsePrefix(%q) = %s, %v; want %q", text, p, err, want)
		}
	}
}

func TestAPartnerIsLetInFromItsAddressesAlone(t *testing.T) {
	s := Settings{AllowedIPs: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8::1/128")}}
	for addr, want := range map[string]bool{
		"203.0.113.9": true, "::ffff:203.0.113.9": true, "203.0.114.9": false, "2001:db8::1": true, "2001:db8::2": false, "127.0.0.1": false,
	} {
		if got := s.Allows(netip.MustParseAddr(addr)); got != want {
			t.Errorf("from %s: %t", addr, got)
		}
		if !DefaultSettings().Allows(netip.MustParseAddr(addr)) {
			t.Errorf("without a list, not from %s", addr)
		}
	}
	if s.Allows(netip.Addr{}) {
		t.Error("let in from nowhere")
	}
}

func TestLimitsThatAreNotSetAreTheDefaults(t *testing.T) {
	if got := (Limits{}).Or(DefaultLimits); got != DefaultLimits {
		t.Errorf("%+v", got)
	}
	if got, want := (Limits{Burst: 7, CreatePerSecond: 1}).Or(DefaultLimits), (Limits{20, 7, 1, 60}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestASettingThatIsWrongIsNamed(t *testing.T) {
	for field, spoil := range map[string]func(*Settings){
		"":                                  func(*Settings) {},
		"/settings/signatures":              func(s *Settings) { s.Signatures = []string{"rsa", "rsa"} },
		"/settings/allowedIps":              func(s *Settings) { s.AllowedIPs = make([]netip.Prefix, maxAllowedIPs+1) },
		"/settings/limits/perSecond":        func(s *Settings) { s.Limits.PerSecond = -1 },
		"/settings/limits/burst":            func(s *Settings) { s.Limits.Burst = maxLimit + 1 },
		"/settings/limits/createPerSecond":  func(s *Settings) { s.Limits.CreatePerSecond = -5 },
		"/settings/limits/createBurst":      func(s *Settings) { s.Limits.CreateBurst = maxLimit + 1 },
		"/settings/fees/processing/fixed":   func(s *Settings) { s.Fees.Processing.Fixed = maxFixedFee + 1 },
		"/settings/fees/system/basisPoints": func(s *Settings) { s.Fees.System.BasisPoints = -1 },
	} {
		s := DefaultSettings()
		s.Limits, s.Fees = DefaultLimits, Fees{Fee{maxFixedFee, maxBasisPoints}, Fee{1, 1}}
		spoil(&s)
		named := ""
		if e, ok := errors.AsType[*webhook.Error](s.Check()); ok {
			named = e.Fields[0].Field
		}
		if named != field {
			t.Errorf("named %q, want %q", named, field)
		}
	}
}
