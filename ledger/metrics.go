package ledger

import (
	"database/sql"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are how long the ledger's statements take, how large its commits are,
// what its connections do, and what it deletes. A nil *Metrics counts nothing.
type Metrics struct {
	queries     *prometheus.HistogramVec
	batches     prometheus.Histogram
	deletedRows *prometheus.CounterVec
	connections *prometheus.Desc
	pools       []namedPool
}

// namedPool is a group of connections as pools calls it.
type namedPool struct {
	name string
	db   *sql.DB
}

// Who asks the ledger, and which connections it takes. The writers of the
// delivery path ask for a whole batch.
const (
	queryEvents     = "events"  // the writer of events, orders and what people change
	queryClaims     = "claims"  // the writer of claims
	queryRecords    = "records" // the writer of attempts
	queryWriter     = "writer"  // SQLite: the one writer of all that
	queryBackground = "background"
	queryPages      = "pages"
	queryDoor       = "sign_in"
	queryPartners   = "partners"
	queryLease      = "lease"

	poolDelivery = "delivery" // of the writers
)

// retained are the tables that retention deletes from.
var retained = []string{"events", "deliveries", "attempts", "replay_items", "quotes", "refusals", "idempotency_keys", "objects"}

// NewMetrics registers the metrics of one ledger with reg.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		queries: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "ledgerhook_ledger_query_duration_seconds",
			Help: "How long the database took, by who asked: events, claims or records is a whole transaction of the delivery path " +
				"(on SQLite writer is all three); background, pages, sign_in, partners and lease are single statements and small transactions, " +
				"with the wait for a connection.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}, NativeHistogramBucketFactor: 1.1,
			NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour}, []string{"query"}),
		batches: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "ledgerhook_ledger_commit_batch_size",
			Help: "How many operations one transaction of the delivery path committed.", Buckets: []float64{1, 2, 4, 8, 16, 32, 64, maxBatch},
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour}),
		deletedRows: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ledgerhook_retention_deleted_rows_total",
			Help: "Rows that retention deleted. Of a day that PostgreSQL drops as a whole they are as many as it estimated."}, []string{"table"}),
		connections: prometheus.NewDesc("ledgerhook_ledger_pool_connections",
			"Connections to the database by what they are for: in_use, idle, or unopened, which may still be opened.", []string{"pool", "state"}, nil),
	}
	reg.MustRegister(m.queries, m.batches, m.deletedRows, m)
	for _, query := range []string{queryEvents, queryClaims, queryRecords, queryWriter, queryBackground, queryPages, queryDoor, queryPartners, queryLease} {
		m.queries.WithLabelValues(query)
	}
	for _, table := range retained {
		m.deletedRows.WithLabelValues(table)
	}
	return m
}

// Describe implements prometheus.Collector for the connections.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) { to <- m.connections }

// Collect implements prometheus.Collector for the connections.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	for _, p := range m.pools {
		stats := p.db.Stats()
		for state, n := range map[string]int{"in_use": stats.InUse, "idle": stats.Idle, "unopened": stats.MaxOpenConnections - stats.OpenConnections} {
			to <- prometheus.MustNewConstMetric(m.connections, prometheus.GaugeValue, float64(n), p.name, state)
		}
	}
}

// query is what the times of one kind of query are given to; nil: nobody.
func (m *Metrics) query(kind string) prometheus.Observer {
	if m == nil {
		return nil
	}
	return m.queries.WithLabelValues(kind)
}

// since gives the time since began to what a query function returned.
func since(to prometheus.Observer, began time.Time) {
	if to != nil {
		to.Observe(time.Since(began).Seconds())
	}
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

// watch has the connections of the ledger counted, once it is open.
func (m *Metrics) watch(l *Ledger) {
	if m == nil {
		return
	}
	m.pools = []namedPool{{poolDelivery, l.write.DB}, {queryBackground, l.read.DB}, {queryPages, l.pools.pages.read.DB},
		{queryDoor, l.pools.door.read.DB}, {queryPartners, l.pools.partners.read.DB}}
	if l.pools.lease.DB != l.write.DB { // on SQLite they are the same
		m.pools = append(m.pools, namedPool{queryLease, l.pools.lease.DB})
	}
}
