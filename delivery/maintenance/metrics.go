package maintenance

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/delivery"
)

// Metrics count repairs and replayed items, and say how old the
// oldest queued delivery is.
type Metrics struct {
	delivery *delivery.Metrics
	repaired *prometheus.CounterVec // by reason
	oldest   *prometheus.GaugeVec   // by queue
	replayed *prometheus.CounterVec // by result
}

// NewMetrics registers the metrics with reg. Tickets that the queue
// does not take are counted by d.
func NewMetrics(reg prometheus.Registerer, d *delivery.Metrics) *Metrics {
	m := &Metrics{
		delivery: d,
		repaired: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ledgerhook_reconciler_repaired_total",
			Help: "Recovered deliveries: worker_dead, queue_emptied or ticket_lost."}, []string{"reason"}),
		oldest: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ledgerhook_queue_oldest_due_age_seconds",
			Help: "For how long the longest queued delivery has waited for a worker. The process that leads has it."}, []string{"queue"}),
		replayed: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ledgerhook_replay_deliveries_total",
			Help: "Items of bulk replays that became deliveries (admitted) or were skipped."}, []string{"result"}),
	}
	reg.MustRegister(m.repaired, m.oldest, m.replayed)
	for _, reason := range []string{"worker_dead", "queue_emptied", "ticket_lost"} {
		m.repaired.WithLabelValues(reason)
	}
	for _, result := range []string{"admitted", "skipped"} {
		m.replayed.WithLabelValues(result)
	}
	return m
}

// oldestQueued sets the age of each shard's longest queued delivery. queued are
// the longest of all shards, at most reconcileRows: what one holds beyond them
// has not waited longer than the last.
func (m *Metrics) oldestQueued(queued []delivery.Queued, q Holder) {
	ages := map[string]float64{}
	for _, shard := range q.Shards() {
		ages[shard] = 0
		if len(queued) == reconcileRows {
			ages[shard] = time.Since(queued[reconcileRows-1].At).Seconds()
		}
	}
	for _, d := range queued {
		shard := q.ShardOf(d.EndpointID)
		ages[shard] = max(ages[shard], time.Since(d.At).Seconds())
	}
	for shard, age := range ages {
		m.oldest.WithLabelValues(shard).Set(age)
	}
}
