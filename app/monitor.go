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
		Help: "Deliveries created minus those delivered, exhausted, cancelled and unfinished: those that the ledger has lost count of. Anything but 0 is a fault."})
	a.registry.MustRegister(drift)
	var found atomic.Int64
	a.health.AddWarning("invariant", func(context.Context) error {
		if n := found.Load(); n != 0 {
			return fmt.Errorf("the ledger has lost count of %d deliveries: see ledgerhook_invariant_drift", n)
		}
		return nil
	})
	checkInvariant := func(ctx context.Context) error {
		i, err := a.reports.Invariant(ctx)
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
	measureRollups, lookAtUpkeep := a.rollupLag(), a.upkeep()
	a.background("stop measuring the rollups", func(ctx context.Context) {
		a.every(ctx, invariantEvery, "measure the rollups", measureRollups)
	})
	a.background("stop looking at the database's upkeep", func(ctx context.Context) {
		a.every(ctx, invariantEvery, "look at the database's upkeep", lookAtUpkeep)
	})
	endpoints := newEndpointMetrics(a.registry)
	a.background("stop the monitor", func(ctx context.Context) {
		a.every(ctx, invariantEvery, "check the invariant", checkInvariant)
	})
	a.background("stop watching endpoints", func(ctx context.Context) {
		a.every(ctx, endpointsEvery, "look at the endpoints", func(ctx context.Context) error {
			all, err := a.reports.PartnerWindows(ctx)
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
				endpoints.waiting.WithLabelValues(label).Add(float64(p.Waiting))
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
		Help: "How far the hourly counts, which charts show, are behind the newest delivery. Anything but 0 is a fault."})
	a.registry.MustRegister(gauge)
	return func(ctx context.Context) error {
		lag, err := a.reports.RollupLag(ctx)
		if err == nil {
			gauge.Set(lag.Seconds())
		}
		return err
	}
}

// upkeep registers what hinders PostgreSQL from keeping its tables in order and
// returns what looks at it.
func (a *App) upkeep() (look func(context.Context) error) {
	oldest := prometheus.NewGauge(prometheus.GaugeOpts{Name: "ledgerhook_ledger_oldest_transaction_seconds",
		Help: "For how long PostgreSQL's oldest transaction has been open: vacuum may not remove rows that were replaced since. " +
			"Transactions of other users count only if Ledgerhook's may read all statistics (pg_monitor). 0 on SQLite."})
	dead := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ledgerhook_ledger_dead_rows_ratio",
		Help: "The share of dead rows in a table that every delivery changes; 0 if there are fewer than 1,000. Absent on SQLite."}, []string{"table"})
	a.registry.MustRegister(oldest, dead)
	return func(ctx context.Context) error {
		u, err := a.db.Upkeep(ctx)
		if err != nil {
			return err
		}
		oldest.Set(u.OldestTransaction.Seconds())
		for table, share := range u.DeadRows {
			dead.WithLabelValues(table).Set(share)
		}
		return nil
	}
}

// endpointMetrics are the endpoints group, by partner.
type endpointMetrics struct {
	breaker, held, waiting, lastSuccess *prometheus.GaugeVec
}

func newEndpointMetrics(reg prometheus.Registerer) *endpointMetrics {
	m := &endpointMetrics{
		breaker: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ledgerhook_breaker_state",
			Help: "Endpoints of the partner whose circuit breaker is closed, open or half_open."}, []string{"partner", "state"}),
		held: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ledgerhook_endpoint_held",
			Help: "Deliveries that wait until somebody resumes or enables their endpoint."}, []string{"partner"}),
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ledgerhook_endpoint_waiting",
			Help: "Deliveries that wait for room at their endpoint, for their next attempt or for somebody. Those in the queue are not among them."}, []string{"partner"}),
		lastSuccess: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ledgerhook_endpoint_last_success_timestamp_seconds",
			Help: "When a delivery to any of the partner's endpoints last succeeded, in seconds since 1970; absent before the first."}, []string{"partner"}),
	}
	reg.MustRegister(m.breaker, m.held, m.waiting, m.lastSuccess)
	return m
}

func (m *endpointMetrics) reset() {
	m.breaker.Reset()
	m.held.Reset()
	m.waiting.Reset()
	m.lastSuccess.Reset()
}
