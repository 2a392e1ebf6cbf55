package app

import (
	"cmp"
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/orders"
)

const ordersEvery = 15 * time.Second

// orderMetrics are the orders group, but for quotes, which are counted where
// partners ask for them.
type orderMetrics struct {
	orders      *prometheus.GaugeVec
	transitions *prometheus.CounterVec
	rateAge     *prometheus.GaugeVec
}

// fromNone labels the making of an order.
const fromNone = "none"

func newOrderMetrics(reg prometheus.Registerer) *orderMetrics {
	m := &orderMetrics{
		orders: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ledgerhook_orders",
			Help: "Orders by status."}, []string{"status"}),
		transitions: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ledgerhook_order_transitions_total",
			Help: "Status changes of orders that this process made; a new order comes from none."}, []string{"from", "to"}),
	}
	m.rateAge = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ledgerhook_rate_age_seconds",
		Help: "How old the rate of a cryptocurrency is; one that is too old gives no quote. Absent without a rate."}, []string{"crypto"})
	reg.MustRegister(m.orders, m.transitions, m.rateAge)
	m.transitions.WithLabelValues(fromNone, string(orders.StatusAwaitingPayment))
	for _, from := range orders.Statuses {
		for _, to := range from.Next() {
			m.transitions.WithLabelValues(string(from), string(to))
		}
	}
	return m
}

// moved counts an order that was made or has changed its status.
func (m *orderMetrics) moved(from, to orders.Status) {
	m.transitions.WithLabelValues(string(cmp.Or(from, fromNone)), string(to)).Inc()
}

// watchOrders keeps the number of orders by status and the ages of the rates.
func (a *App) watchOrders(ctx context.Context) error {
	counts, err := a.reports.OrderCounts(ctx)
	if err != nil {
		return err
	}
	for _, s := range orders.Statuses {
		a.orderMetrics.orders.WithLabelValues(string(s)).Set(float64(counts[s]))
	}
	rates, err := a.prices.Rates(ctx)
	if err != nil {
		return err
	}
	a.orderMetrics.rateAge.Reset()
	for _, r := range rates {
		a.orderMetrics.rateAge.WithLabelValues(r.Crypto).Set(max(0, time.Since(r.UpdatedAt)).Seconds())
	}
	return nil
}
