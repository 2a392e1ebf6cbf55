package app

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/orders"
)

// Nobody can be woken for a rate that nobody feeds unless its age is measured.
func TestTheAgeOfARateIsMeasured(t *testing.T) {
	t.Parallel()
	b := ledgertest.New(t, "sqlite")
	registry := prometheus.NewRegistry()
	a := &App{reports: b.Reports, prices: b.Prices, orderMetrics: newOrderMetrics(registry)}
	age := func() (seconds float64, there bool) {
		t.Helper()
		if err := a.watchOrders(t.Context()); err != nil {
			t.Fatal(err)
		}
		found, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range found {
			if family.GetName() == "ledgerhook_rate_age_seconds" {
				m := family.GetMetric()[0]
				return m.GetGauge().GetValue(), m.GetLabel()[0].GetValue() == "USDT"
			}
		}
		return 0, false
	}
	if s, there := age(); there {
		t.Errorf("without a rate there is one of %v s", s)
	}
	if _, err := b.SetRate(t.Context(), orders.Rate{Crypto: "USDT", WalletAddress: "TWallet1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Raw.ExecContext(t.Context(), "UPDATE rates SET updated_at = updated_at - 3600000000"); err != nil {
		t.Fatal(err)
	}
	if s, there := age(); !there || s < time.Hour.Seconds() || s > (2*time.Hour).Seconds() {
		t.Errorf("a rate that is an hour old is %v s old, there %t", s, there)
	}
}
