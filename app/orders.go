package app

import (
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
}

// fromNone labels the making of an order.
const fromNone = "none"

func newOrderMetrics(reg prometheus.Registerer) *orderMetrics {
	m := &orderMetrics{
		orders: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ledgerhook_orders",
			Help: "Orders by status."}, []string{"status"}),
		transitions: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ledgerhook_order_transitions_total",
			Help: "Status changes of orders that this process made; an order begins from none."}, []string{"from", "to"}),
	}
	reg.MustRegister(m.orders, m.transitions)
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
	if from == "" {
		from = fromNone
	}
	m.transitions.WithLabelValues(string(from), string(to)).Inc()
}

// watchOrders keeps the number of orders by status.
func (a *App) watchOrders(ctx context.Context) error {
	counts, err := a.ledger.OrderCounts(ctx)
	if err != nil {
		return err
	}
	for _, s := range orders.Statuses {
		a.orderMetrics.orders.WithLabelValues(string(s)).Set(float64(counts[s]))
	}
	return nil
}
