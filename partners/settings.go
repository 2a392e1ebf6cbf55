package partners

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"ledgerhook/webhook"
)

// Settings are the switches of one partner.
type Settings struct {
	Signatures           []string // webhook.SignatureRSA, webhook.SignatureStandard; at least one
	RequireAccessToken   bool     // quotes and orders need the end-user's bearer token
	RequireVerifiedEmail bool     // quotes and orders need an e-mail that was once verified
	AllowedIPs           []netip.Prefix
	Limits               Limits
	Fees                 Fees
}

// Limits are how often a partner may call, counted after a valid signature.
type Limits struct {
	PerSecond, Burst             int // all operations together
	CreatePerSecond, CreateBurst int // create-cashout, besides
}

// DefaultLimits are those where nobody sets any ("Rate limits" of the
// interface decisions).
var DefaultLimits = Limits{PerSecond: 20, Burst: 100, CreatePerSecond: 5, CreateBurst: 60}

// Or is l with the one of others in place of every 0.
func (l Limits) Or(others Limits) Limits {
	return Limits{cmp.Or(l.PerSecond, others.PerSecond), cmp.Or(l.Burst, others.Burst),
		cmp.Or(l.CreatePerSecond, others.CreatePerSecond), cmp.Or(l.CreateBurst, others.CreateBurst)}
}

// Fees are what a partner pays for an order. The zero value is nothing.
type Fees struct {
	Processing, System Fee
}

// Fee is how one fee is computed: a fixed part and a share of the fiat amount.
type Fee struct {
	Fixed       int64 // dong, 0 … maxFixedFee
	BasisPoints int64 // hundredths of a percent, 0 … maxBasisPoints
}

// Bounds of settings.
const (
	maxAllowedIPs  = 100
	maxLimit       = 100_000
	maxFixedFee    = 499_999_999 // the largest order
	maxBasisPoints = 10_000
)

// DefaultSettings are those of a partner that says nothing.
func DefaultSettings() Settings {
	return Settings{Signatures: []string{webhook.SignatureRSA, webhook.SignatureStandard}}
}

// ParsePrefix reads an entry of allowedIps: an address, or a range of them in
// CIDR form without bits beyond its length.
func ParsePrefix(s string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(s); err == nil && addr.Zone() == "" {
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil || p != p.Masked() || p.Addr().Is4In6() {
		return netip.Prefix{}, fmt.Errorf("must be an address or a range like 203.0.113.0/24 or 2001:db8::/32, not %.64q", s)
	}
	return p, nil
}

// Allows reports whether a request from addr is let in ("Replay of captured
// requests" of the interface decisions). Without a list all are.
func (s Settings) Allows(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	return len(s.AllowedIPs) == 0 || slices.ContainsFunc(s.AllowedIPs, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// Check returns an Invalid error that names the first setting that is wrong.
func (s Settings) Check() error {
	if len(s.Signatures) == 0 {
		return webhook.Invalid("/settings/signatures", `must hold "rsa", "standard" or both`)
	}
	for i, sig := range s.Signatures {
		if sig != webhook.SignatureRSA && sig != webhook.SignatureStandard || slices.Contains(s.Signatures[:i], sig) {
			return webhook.Invalid("/settings/signatures", `must hold "rsa", "standard" or both, once each`)
		}
	}
	if len(s.AllowedIPs) > maxAllowedIPs {
		return webhook.Invalid("/settings/allowedIps", fmt.Sprintf("must hold at most %d addresses and ranges", maxAllowedIPs))
	}
	for _, limit := range []struct {
		name  string
		value int
	}{
		{"perSecond", s.Limits.PerSecond}, {"burst", s.Limits.Burst},
		{"createPerSecond", s.Limits.CreatePerSecond}, {"createBurst", s.Limits.CreateBurst},
	} {
		if limit.value < 0 || limit.value > maxLimit {
			return webhook.Invalid("/settings/limits/"+limit.name, fmt.Sprintf("must be from 1 to %d, or 0 for the default", maxLimit))
		}
	}
	if err := s.Fees.Processing.check("/settings/fees/processing"); err != nil {
		return err
	}
	return s.Fees.System.check("/settings/fees/system")
}

func (f Fee) check(field string) error {
	if f.Fixed < 0 || f.Fixed > maxFixedFee {
		return webhook.Invalid(field+"/fixed", fmt.Sprintf("must be from 0 to %d VND", maxFixedFee))
	}
	if f.BasisPoints < 0 || f.BasisPoints > maxBasisPoints {
		return webhook.Invalid(field+"/basisPoints", fmt.Sprintf("must be from 0 to %d", maxBasisPoints))
	}
	return nil
}
