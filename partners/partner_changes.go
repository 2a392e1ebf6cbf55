package partners

import (
	"fmt"
	"slices"
	"strings"
)

// Changes says for the audit log what differs in after: "name: Acme → Acme
// JSC, limits.burst: 0 → 50". Of a key, and of a list of addresses, only that
// it differs. Whether a partner is disabled is an act of its own.
func (p Partner) Changes(after Partner) string {
	var all []string
	add := func(name string, differs bool) {
		if differs {
			all = append(all, name)
		}
	}
	value := func(name string, before, after any) {
		add(fmt.Sprintf("%s: %v → %v", name, before, after), before != after)
	}
	s, t := p.Settings, after.Settings
	value("name", p.Name, after.Name)
	add("publicKey", string(p.PublicKey) != string(after.PublicKey))
	value("signatures", strings.Join(s.Signatures, " "), strings.Join(t.Signatures, " "))
	value("requireAccessToken", s.RequireAccessToken, t.RequireAccessToken)
	value("requireVerifiedEmail", s.RequireVerifiedEmail, t.RequireVerifiedEmail)
	add("allowedIps", !slices.Equal(s.AllowedIPs, t.AllowedIPs))
	value("limits.perSecond", s.Limits.PerSecond, t.Limits.PerSecond)
	value("limits.burst", s.Limits.Burst, t.Limits.Burst)
	value("limits.createPerSecond", s.Limits.CreatePerSecond, t.Limits.CreatePerSecond)
	value("limits.createBurst", s.Limits.CreateBurst, t.Limits.CreateBurst)
	for _, fee := range []struct {
		name          string
		before, after Fee
	}{{"processing", s.Fees.Processing, t.Fees.Processing}, {"system", s.Fees.System, t.Fees.System}} {
		value("fees."+fee.name+".fixed", fee.before.Fixed, fee.after.Fixed)
		value("fees."+fee.name+".basisPoints", fee.before.BasisPoints, fee.after.BasisPoints)
	}
	return strings.Join(all, ", ")
}
