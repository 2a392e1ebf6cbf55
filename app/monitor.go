package app

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/webhook"
)

const (
	invariantEvery = time.Minute
	endpointsEvery = 15 * time.Second
)

// startMonitor watches what must always be true, and how the partners'
// endpoints are.
func (a *App) startMonitor() {
	drift := prometheus.NewGauge(prometheus.GaugeOpts{Name: "ledgerhook_invariant_drift",
		Help: "Deliveries created less those delivered, exhausted, cancelled and unfinished; anything but 0 is a fault."})
	a.registry.MustRegister(drift)
	var found atomic.Int64
	a.health.AddWarning("invariant", func(context.Context) error {
		if n := found.Load(); n != 0 {
			return fmt.Errorf("the ledger has lost count of %d deliveries: see ledgerhook_invariant_drift", n)
		}
		return nil
	})
	checkInvariant := func(ctx context.Context) error {
		i, err := a.ledger.Invariant(ctx)
		if err != nil {
			return err
		}
		found.Store(i.Drift())
		drift.Set(float64(i.Drift()))
		if i.Drift() != 0 {
			a.log.Error("the invariant does not hold", "created", i.Created, "delivered", i.Delivered, "exhausted", i.Exhausted,
				"cancelled", i.Cancelled, "unfinished", i.Unfinished)
		}
		return nil
	}
	a.background("stop counting orders", func(ctx context.Context) {
		a.every(ctx, ordersEvery, "count the orders", a.watchOrders)
	})
	measureRollups := a.rollupLag()
	a.background("stop measuring the rollups", func(ctx context.Context) {
		a.every(ctx, invariantEvery, "measure the rollups", measureRollups)
	})
	endpoints := newEndpointMetrics(a.registry)
	a.background("stop the monitor", func(ctx context.Context) {
		a.every(ctx, invariantEvery, "check the invariant", checkInvariant)
	})
	a.background("stop watching endpoints", func(ctx context.Context) {
		a.every(ctx, endpointsEvery, "look at the endpoints", func(ctx context.Context) error {
			all, err := a.ledger.PartnerWindows(ctx)
			if err != nil {
				return err
			}
			endpoints.reset()
			for _, p := range all {
				label := a.deliveryMetrics.PartnerLabel(p.PartnerCode)
				for _, state := range []webhook.BreakerState{webhook.BreakerClosed, webhook.BreakerOpen, webhook.BreakerHalfOpen} {
					endpoints.breaker.WithLabelValues(label, string(state)).Add(float64(p.Breakers[state]))
				}
				endpoints.held.WithLabelValues(label).Add(float64(p.Held))
				if !p.LastSuccess.IsZero() {
					endpoints.lastSuccess.WithLabelValues(label).Set(float64(p.LastSuccess.Unix()))
				}
			}
			return nil
		})
	})
}

// rollupLag registers the rollups' lag and returns what measures it.
func (a *App) rollupLag() (measure func(context.Context) error) {
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: "ledgerhook_rollup_lag_seconds",
		Help: "How far the hourly counts are behind the newest delivery; anything but 0 is a fault."})
	a.registry.MustRegister(gauge)
	return func(ctx context.Context) error {
		lag, err := a.ledger.RollupLag(ctx)
		if err == nil {
			gauge.Set(lag.Seconds())
		}
		return err
	}
}

// endpointMetrics are the endpoints group, by partner.
type endpointMetrics struct {
	breaker, held, lastSuccess *prometheus.GaugeVec
}

func newEndpointMetrics(reg prometheus.Registerer) *endpointMetrics {
	m := &endpointMetrics{
		breaker: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ledgerhook_breaker_state",
			Help: "Endpoints of the partner whose circuit breaker is in the state."}, []string{"partner", "state"}),
		held: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ledgerhook_endpoint_held",
			Help: "Deliveries that wait until somebody resumes or enables their endpoint."}, []string{"partner"}),
		lastSuccess: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ledgerhook_endpoint_last_success_timestamp_seconds",
			Help: "When a delivery to any of the partner's endpoints last succeeded; absent before the first."}, []string{"partner"}),
	}
	reg.MustRegister(m.breaker, m.held, m.lastSuccess)
	return m
}

func (m *endpointMetrics) reset() {
	m.breaker.Reset()
	m.held.Reset()
	m.lastSuccess.Reset()
}
