package delivery

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/delivery/guard"
	"ledgerhook/webhook"
)

// Metrics are those of attempts, and of what is handed to the queue.
type Metrics struct {
	attempts     *prometheus.CounterVec
	duration     *prometheus.HistogramVec
	phases       *prometheus.HistogramVec
	firstDelay   prometheus.Histogram
	completion   prometheus.Histogram
	finished     *prometheus.CounterVec
	failures     *prometheus.CounterVec // by class
	responses    *prometheus.CounterVec
	signing      prometheus.Histogram
	first        *prometheus.CounterVec // by path
	enqueueFails prometheus.Counter
	blocked      *prometheus.CounterVec
	certificate  *prometheus.GaugeVec

	partners partnerLabels
}

// The paths of first attempts.
const (
	pathDirect = "direct"
	pathQueue  = "queue"
)

// NewMetrics registers the metrics with reg.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	histogram := func(name, help string, buckets []float64) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets, NativeHistogramBucketFactor: 1.1,
			NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour}
	}
	quick := prometheus.ExponentialBuckets(0.001, 2, 15) // 1 ms … 16 s
	// Up to four days, which the default schedule of retries fits into; 5 s is
	// what first attempts are held to.
	long := []float64{.005, .025, .1, .5, 1, 2.5, 5, 15, 60, 300, 1800, 7200, 28800, 86400, 345600}
	m := &Metrics{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ledgerhook_delivery_attempts_total",
			Help: "Attempts that were recorded."}, []string{"partner", "outcome", "trigger"}),
		duration: prometheus.NewHistogramVec(histogram("ledgerhook_delivery_attempt_duration_seconds",
			"How long attempts took.", quick), []string{"outcome"}),
		phases: prometheus.NewHistogramVec(histogram("ledgerhook_delivery_attempt_phase_seconds",
			"How long the phases of attempts took: dns, connect, tls, first_byte.", quick), []string{"phase"}),
		firstDelay: prometheus.NewHistogram(histogram("ledgerhook_delivery_first_attempt_delay_seconds",
			"From a delivery's creation to its first attempt.", long)),
		completion: prometheus.NewHistogram(histogram("ledgerhook_delivery_completion_seconds",
			"From a delivery's creation to its end.", long)),
		finished: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ledgerhook_deliveries_finished_total",
			Help: "Deliveries that ended with an attempt: delivered or exhausted."}, []string{"partner", "result"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ledgerhook_delivery_failures_total",
			Help: "Attempts that failed, by class of error; internal is a fault of ours."}, []string{"class"}),
		responses: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ledgerhook_delivery_responses_total",
			Help: "Attempts by the status code of their answer; 0: none."}, []string{"code"}),
		signing: prometheus.NewHistogram(histogram("ledgerhook_delivery_signing_seconds",
			"How long RSA signatures took.", prometheus.ExponentialBuckets(0.0005, 2, 12))),
		first: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ledgerhook_first_attempts_total",
			Help: "First attempts by where their tickets went: direct, to a free slot of the process that admitted them, or to the queue."}, []string{"path"}),
		enqueueFails: prometheus.NewCounter(prometheus.CounterOpts{Name: "ledgerhook_queue_enqueue_failures_total",
			Help: "Tickets that could not be handed to the queue; the reconciler does it later."}),
		blocked: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ledgerhook_ssrf_blocked_total",
			Help: "Attempts refused because their address may not be dialled: address, port or plain."}, []string{"reason"}),
		certificate: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ledgerhook_endpoint_tls_not_after_timestamp_seconds",
			Help: "When the certificate that the partner's receiver showed last ends, in seconds since 1970."}, []string{"partner"}),
		partners: partnerLabels{seen: map[string]bool{}},
	}
	reg.MustRegister(m.attempts, m.duration, m.phases, m.firstDelay, m.completion, m.finished, m.failures, m.responses, m.signing,
		m.first, m.enqueueFails, m.blocked, m.certificate)
	for _, outcome := range []webhook.Outcome{webhook.OutcomeDelivered, webhook.OutcomeFailed, webhook.OutcomeUnknown} {
		m.duration.WithLabelValues(string(outcome))
	}
	for _, class := range webhook.ErrorClasses {
		m.failures.WithLabelValues(string(class))
	}
	for _, phase := range []string{"dns", "connect", "tls", "first_byte"} {
		m.phases.WithLabelValues(phase)
	}
	for _, path := range []string{pathDirect, pathQueue} {
		m.first.WithLabelValues(path)
	}
	for _, reason := range guard.Reasons {
		m.blocked.WithLabelValues(string(reason))
	}
	return m
}

// attempted counts a recorded attempt and what followed from it.
func (m *Metrics) attempted(job Job, a webhook.Attempt, v Verdict) {
	partner := m.partners.label(job.Delivery.PartnerCode)
	m.attempts.WithLabelValues(partner, string(a.Outcome), string(a.Trigger)).Inc()
	if a.ErrorClass != "" {
		m.failures.WithLabelValues(string(a.ErrorClass)).Inc()
	}
	if !a.TLSNotAfter.IsZero() {
		m.certificate.WithLabelValues(partner).Set(float64(a.TLSNotAfter.Unix()))
	}
	if a.Outcome != webhook.OutcomeUnknown {
		m.responses.WithLabelValues(strconv.Itoa(a.StatusCode)).Inc()
		observe(m.duration.WithLabelValues(string(a.Outcome)), a.Phases.Total.Seconds(), a.Trace)
		for phase, took := range map[string]time.Duration{"dns": a.Phases.DNS, "connect": a.Phases.Connect, "tls": a.Phases.TLS, "first_byte": a.Phases.FirstByte} {
			if took > 0 {
				observe(m.phases.WithLabelValues(phase), took.Seconds(), a.Trace)
			}
		}
	}
	if a.Number == 1 && a.Trigger == webhook.TriggerFirst {
		observe(m.firstDelay, a.StartedAt.Sub(job.Delivery.CreatedAt).Seconds(), a.Trace)
	}
	if v.State.Final() {
		m.finished.WithLabelValues(partner, string(v.State)).Inc()
		observe(m.completion, time.Since(job.Delivery.CreatedAt).Seconds(), a.Trace)
	}
}

// observe gives a histogram a value, with the trace that is an example of it.
func observe(to prometheus.Observer, value float64, traceID string) {
	if with, ok := to.(prometheus.ExemplarObserver); ok && traceID != "" {
		with.ObserveWithExemplar(value, prometheus.Labels{"trace_id": traceID})
		return
	}
	to.Observe(value)
}

func (m *Metrics) signed(took time.Duration) {
	if m != nil {
		m.signing.Observe(took.Seconds())
	}
}

// ShowPartners lets only those partners have a label of their own that show
// names; before it is called all have, up to the bound. Call it before anything
// is counted.
func (m *Metrics) ShowPartners(show func(code string) bool) { m.partners.show = show }

// PartnerLabel is the label value of a partner: its code, or "_other" if it is
// not to be shown or beyond the bound.
func (m *Metrics) PartnerLabel(code string) string { return m.partners.label(code) }

// partnerLabels keeps the number of label values bounded.
type partnerLabels struct {
	show func(code string) bool // nil: everybody
	mu   sync.Mutex
	seen map[string]bool
}

const (
	maxPartnerLabels = 1000
	otherPartners    = "_other"
)

func (p *partnerLabels) label(code string) string {
	if p.show != nil && !p.show(code) {
		return otherPartners
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.seen[code] {
		if len(p.seen) >= maxPartnerLabels {
			return otherPartners
		}
		p.seen[code] = true
	}
	return code
}
