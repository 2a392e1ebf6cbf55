package accounts_test

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

func TestSettingsReadBackAsTheyWereSet(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		for _, want := range []partners.Settings{
			partners.DefaultSettings(),
			{
				Signatures: []string{webhook.SignatureStandard}, RequireAccessToken: true, RequireVerifiedEmail: true,
				AllowedIPs: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8::1/128")},
				Limits:     partners.Limits{PerSecond: 1, Burst: 2, CreatePerSecond: 3, CreateBurst: 4},
				Fees:       partners.Fees{Processing: partners.Fee{Fixed: 1000}, System: partners.Fee{Fixed: 5, BasisPoints: 25}},
			},
		} {
			_, err := b.UpdatePartner(t.Context(), "acme", func(p *partners.Partner) error { p.Settings = want; return nil })
			if err != nil {
				t.Fatal(err)
			}
			got, err := b.Accounts.Partner(t.Context(), "acme")
			if err != nil {
				t.Fatal(err)
			}
			equal := cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
			if diff := cmp.Diff(want, got.Settings, equal); diff != "" {
				t.Errorf("(-set +read):\n%s", diff)
			}
		}
	})
}
