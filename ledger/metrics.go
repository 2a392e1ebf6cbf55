package ledger

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are how large the ledger's commits are and what it deletes. A nil
// *Metrics counts nothing.
type Metrics struct {
	batches     prometheus.Histogram
	deletedRows *prometheus.CounterVec
}

// retained are the tables that retention deletes from.
var retained = []string{"events", "deliveries", "attempts", "replay_items", "quotes", "refusals", "idempotency_keys", "objects"}

// NewMetrics registers the metrics of one ledger with reg.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		batches: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "ledgerhook_ledger_commit_batch_size",
			Help: "How many operations one transaction of the delivery path committed.", Buckets: []float64{1, 2, 4, 8, 16, 32, 64, maxBatch},
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour}),
		deletedRows: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ledgerhook_retention_deleted_rows_total",
			Help: "Rows that retention deleted. Of a day that PostgreSQL drops as a whole they are as many as it estimated."}, []string{"table"}),
	}
	reg.MustRegister(m.batches, m.deletedRows)
	for _, table := range retained {
		m.deletedRows.WithLabelValues(table)
	}
	return m
}

func (m *Metrics) committed(operations int) {
	if m != nil {
		m.batches.Observe(float64(operations))
	}
}

func (m *Metrics) deleted(table string, rows int64) {
	if m != nil {
		m.deletedRows.WithLabelValues(table).Add(float64(rows))
	}
}
