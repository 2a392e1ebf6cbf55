package app

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/ledger/ledgertest"
)

func TestRollupsThatLagAreMeasured(t *testing.T) {
	b := ledgertest.New(t, "sqlite")
	b.Partner(t, "acme")
	b.Endpoint(t, "acme", 4)
	if _, err := b.Append(t.Context(), ledgertest.NewEvent("acme", "tp_1", "Pending")); err != nil {
		t.Fatal(err)
	}
	a := &App{reports: b.Reports, registry: prometheus.NewRegistry()}
	measure := a.rollupLag()
	lag := func() float64 {
		t.Helper()
		if err := measure(t.Context()); err != nil {
			t.Fatal(err)
		}
		found, err := a.registry.Gather()
		if err != nil || len(found) != 1 || found[0].GetName() != "ledgerhook_rollup_lag_seconds" {
			t.Fatalf("%v %v", found, err)
		}
		return found[0].GetMetric()[0].GetGauge().GetValue()
	}
	if s := lag(); s != 0 {
		t.Errorf("the rollups lag by %v s", s)
	}
	if _, err := b.Raw.ExecContext(t.Context(), "UPDATE rollups_all SET hour = hour - 3"); err != nil {
		t.Fatal(err)
	}
	if s := lag(); s < (2*time.Hour).Seconds() || s > (3*time.Hour).Seconds() {
		t.Errorf("three hours back the rollups lag by %v s", s)
	}
}
