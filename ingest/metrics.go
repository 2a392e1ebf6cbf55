package ingest

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/delivery"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// Metrics are the ingest group. The source of an event is its webhook type:
// each comes from another of the company's systems.
type Metrics struct {
	requests      *prometheus.CounterVec
	duration      *prometheus.HistogramVec
	lastAccepted  *prometheus.GaugeVec
	deliveries    *prometheus.CounterVec
	auditFailures prometheus.Counter

	refusalsDropped prometheus.Counter
}

// unknownSource labels what names no type we know.
const unknownSource = "unknown"

// NewMetrics registers the metrics with reg.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ledgerhook_ingest_requests_total",
			Help: "Events posted, by type and result: accepted, duplicate, refused or failed."}, []string{"source", "result"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "ledgerhook_ingest_request_duration_seconds",
			Help: "From a posted event to its answer.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 13),
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour}, []string{"source"}),
		lastAccepted: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ledgerhook_ingest_last_accepted_timestamp_seconds",
			Help: "When the last event of a type was accepted, in seconds since 1970."}, []string{"source"}),
		deliveries: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ledgerhook_deliveries_created_total",
			Help: "Deliveries that this process made: first, test, manual (a finished one is sent again) or replay."}, []string{"webhook_type", "trigger"}),
		auditFailures: prometheus.NewCounter(prometheus.CounterOpts{Name: "ledgerhook_audit_write_failures_total",
			Help: "Entries about an export, the mailbox or a sign-in that could not be written to the audit log; the act itself was refused."}),
		refusalsDropped: prometheus.NewCounter(prometheus.CounterOpts{Name: "ledgerhook_ingest_refusals_dropped_total",
			Help: "Refused and repeated events that pages do not list: too many at once, or no ledger to keep them."}),
	}
	reg.MustRegister(m.requests, m.duration, m.lastAccepted, m.deliveries, m.auditFailures, m.refusalsDropped)
	for _, t := range webhook.Catalog {
		if t.FromInside {
			m.duration.WithLabelValues(string(t.Type))
			for _, result := range []string{"accepted", "duplicate", "refused", "failed"} {
				m.requests.WithLabelValues(string(t.Type), result)
			}
		}
		for _, trigger := range []webhook.Trigger{webhook.TriggerFirst, webhook.TriggerManual, webhook.TriggerReplay, webhook.TriggerTest} {
			m.deliveries.WithLabelValues(string(t.Type), string(trigger))
		}
	}
	for _, result := range []string{"refused", "failed"} {
		m.requests.WithLabelValues(unknownSource, result)
	}
	return m
}

func source(webhookType string) string {
	if webhook.Type(webhookType).Known() {
		return webhookType
	}
	return unknownSource
}

func (m *Metrics) accepted(ctx context.Context, e delivery.NewEvent, a delivery.Appended, began time.Time) {
	from := source(string(e.Event.Type))
	web.Took(ctx, m.duration.WithLabelValues(from), time.Since(began))
	if a.Duplicate {
		m.requests.WithLabelValues(from, "duplicate").Inc()
		return
	}
	m.requests.WithLabelValues(from, "accepted").Inc()
	m.lastAccepted.WithLabelValues(from).SetToCurrentTime()
}

// DeliveriesMade counts n deliveries that this process made; it is meant for
// the ledger, which knows of all.
func (m *Metrics) DeliveriesMade(t webhook.Type, trigger webhook.Trigger, n int) {
	m.deliveries.WithLabelValues(string(t), string(trigger)).Add(float64(n))
}

// refused counts an event that was not accepted and returns err.
func (m *Metrics) refused(ctx context.Context, webhookType string, began time.Time, err error) error {
	result := "refused"
	if kind := webhook.KindOf(err); kind == webhook.KindInternal || kind == webhook.KindUnavailable {
		result = "failed"
	}
	from := source(webhookType)
	m.requests.WithLabelValues(from, result).Inc()
	web.Took(ctx, m.duration.WithLabelValues(from), time.Since(began))
	return err
}

// AuditFailed counts an entry that could not be written into the audit log, so
// that what it tells of was refused.
func (m *Metrics) AuditFailed() { m.auditFailures.Inc() }
