package database

import (
	"database/sql"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are how long statements take and what connections do. A nil
// *DBMetrics counts nothing.
type Metrics struct {
	queries     *prometheus.HistogramVec
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
	QueryWriter     = "writer" // of events, attempts, orders and what people change; on SQLite of claims, too
	QueryClaims     = "claims" // the writer of claims on PostgreSQL
	queryBackground = "background"
	queryPages      = "pages"
	queryDoor       = "sign_in"
	queryPartners   = "partners"
	queryLease      = "lease"
	queryReplica    = "replica"

	poolDelivery = "delivery" // of the writers
)

// NewMetrics registers the metrics of one ledger with reg.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		queries: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "ledgerhook_ledger_query_duration_seconds",
			Help: "How long the database took, by who asked: writer or claims is a whole transaction of the delivery path " +
				"(on SQLite writer is both); background, pages, sign_in, partners and lease are single statements and small transactions, " +
				"with the wait for a connection; replica is what the replica was asked.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}, NativeHistogramBucketFactor: 1.1,
			NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour}, []string{"query"}),
		connections: prometheus.NewDesc("ledgerhook_ledger_pool_connections",
			"Connections to the database by what they are for: in_use, idle, or unopened, which may still be opened.", []string{"pool", "state"}, nil),
	}
	reg.MustRegister(m.queries, m)
	for _, query := range []string{QueryWriter, QueryClaims, queryBackground, queryPages, queryDoor, queryPartners, queryLease, queryReplica} {
		m.queries.WithLabelValues(query)
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

// Took is what the times of one kind of query are given to; nil: nobody.
func (db *DB) Took(kind string) prometheus.Observer { return db.metrics.query(kind) }

// Observe gives the time since began to what a query function returned.
func Observe(to prometheus.Observer, began time.Time) {
	if to != nil {
		to.Observe(time.Since(began).Seconds())
	}
}

// watch has the connections of the ledger counted, once it is open.
func (m *Metrics) watch(db *DB) {
	if m == nil {
		return
	}
	m.pools = []namedPool{{poolDelivery, db.Write.DB}, {queryBackground, db.Read.DB}, {queryPages, db.pools.pages.read.DB},
		{queryDoor, db.pools.door.read.DB}, {queryPartners, db.pools.partners.read.DB}}
	if db.replica != nil {
		m.pools = append(m.pools, namedPool{queryReplica, db.replica.DB})
	}
	if db.Lease.DB != db.Write.DB { // on SQLite they are the same
		m.pools = append(m.pools, namedPool{queryLease, db.Lease.DB})
	}
}
