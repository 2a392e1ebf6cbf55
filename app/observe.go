package app

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"ledgerhook/app/tracing"
	"ledgerhook/delivery"
	"ledgerhook/delivery/maintenance"
	"ledgerhook/delivery/queue"
	"ledgerhook/ingest"
	"ledgerhook/ledger"
	"ledgerhook/ledger/database"
	"ledgerhook/web"
)

// startMetrics makes the process's own registry.
func (a *App) startMetrics(context.Context) error {
	a.registry = prometheus.NewRegistry()
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ledgerhook_build_info", Help: "1, with the version as a label."}, []string{"version"})
	build.WithLabelValues(a.version).Set(1)
	a.registry.MustRegister(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	a.deliveryMetrics = delivery.NewMetrics(a.registry)
	a.maintenanceMetrics = maintenance.NewMetrics(a.registry, a.deliveryMetrics)
	a.deliveryMetrics.ShowPartners(a.config.ShowsPartner)
	a.webMetrics = web.NewMetrics(a.registry)
	a.ingestMetrics = ingest.NewMetrics(a.registry)
	a.databaseMetrics, a.ledgerMetrics = database.NewMetrics(a.registry), ledger.NewMetrics(a.registry)
	a.orderMetrics, a.mail = newOrderMetrics(a.registry), newMailMetric(a.registry)
	return nil
}

// openTracing has spans handed to the collector that the environment names.
func (a *App) openTracing(ctx context.Context) (err error) {
	tracer, stop, err := tracing.Open(ctx, os.Getenv, a.version)
	if err == nil && tracer != nil {
		a.tracer = tracer
		a.cleanups.add("hand over the last spans", func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
			defer cancel()
			if err := stop(ctx); err != nil {
				a.log.Warn("the last spans were not handed over", "error", err)
			}
			return nil
		})
	}
	return err
}

// mountObservation mounts what every role answers on its internal listener.
func (a *App) mountObservation(mux *http.ServeMux) {
	mux.Handle("GET /metrics", web.Quiet(promhttp.HandlerFor(a.registry, promhttp.HandlerOpts{Registry: a.registry, EnableOpenMetrics: true})))
	mux.Handle("GET /healthz", web.Quiet(a.health.Live()))
	mux.Handle("GET /readyz", web.Quiet(a.health.Ready()))
}

// Alive asks the process for its own health over its internal listener, on a
// connection of its own: an error is that it no longer serves. A store that is
// away is none.
func (a *App) Alive(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.InternalURL()+"/healthz", nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{DisableKeepAlives: true} // which knows no proxy
	if c := a.certificates["internal"]; c != nil {
		transport.TLSClientConfig = c.ClientConfig()
	}
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return fmt.Errorf("ask the process for its health: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the process answers %s when asked for its health", res.Status)
	}
	return nil
}

// queueCollector reads the state of the queue and of the worker's slots when
// it is asked for.
type queueCollector struct {
	queue  *queue.Queue
	worker *delivery.Worker
	slots  int

	depth, inFlight, total, busy *prometheus.Desc
}

func newQueueCollector(q *queue.Queue, w *delivery.Worker, slots int) *queueCollector {
	return &queueCollector{queue: q, worker: w, slots: slots,
		depth:    prometheus.NewDesc("ledgerhook_queue_depth", "Tasks in Redis: pending, active, or scheduled (with those beyond their partner's share of the slots). Absent while Redis is away.", []string{"queue", "state"}, nil),
		inFlight: prometheus.NewDesc("ledgerhook_delivery_in_flight", "Deliveries that this process is sending.", []string{"queue"}, nil),
		total:    prometheus.NewDesc("ledgerhook_worker_slots", "Deliveries that this process can send at once.", []string{"queue"}, nil),
		busy:     prometheus.NewDesc("ledgerhook_worker_slots_busy", "Slots that are in use.", []string{"queue"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *queueCollector) Describe(to chan<- *prometheus.Desc) {
	to <- c.depth
	to <- c.inFlight
	to <- c.total
	to <- c.busy
}

// Collect implements prometheus.Collector. An unreachable queue has no depth,
// rather than one of 0.
func (c *queueCollector) Collect(to chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	busy := c.worker.InFlightBy(c.queue.ShardOf)
	for _, shard := range c.queue.Shards() {
		gauge(c.inFlight, float64(busy[shard]), shard)
		gauge(c.busy, float64(busy[shard]), shard)
		gauge(c.total, float64(c.queue.SlotsPerShard(c.slots)), shard)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	depths, err := c.queue.Depths(ctx)
	if err != nil {
		return
	}
	for _, d := range depths {
		gauge(c.depth, float64(d.Pending), d.Shard, "pending")
		gauge(c.depth, float64(d.Active), d.Shard, "active")
		gauge(c.depth, float64(d.Scheduled), d.Shard, "scheduled")
	}
}
