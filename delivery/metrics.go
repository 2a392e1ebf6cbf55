package delivery

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/delivery/guard"
	"ledgerhook/webhook"
)

// Metrics are the delivery and queue groups.
type Metrics struct {
	attempts     *prometheus.CounterVec
	duration     *prometheus.HistogramVec
	phases       *prometheus.HistogramVec
	firstDelay   prometheus.Histogram
	completion   prometheus.Histogram
	finished     *prometheus.CounterVec
	responses    *prometheus.CounterVec
	signing      prometheus.Histogram
	first        *prometheus.CounterVec // by path
	enqueueFails prometheus.Counter
	repaired     *prometheus.CounterVec
	oldest       *prometheus.GaugeVec
	blocked      *prometheus.CounterVec
	replayed     *prometheus.CounterVec
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
		return prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets, NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160}
	}
	quick := prometheus.ExponentialBuckets(0.001, 2, 15) // 1 ms … 16 s
	long := prometheus.ExponentialBuckets(0.005, 4, 13)  // 5 ms … 23 h
	m := &Metrics{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ledgerhook_delivery_attempts_total",
			Help: "Attempts recorded."}, []string{"partner", "outcome", "trigger"}),
		duration: prometheus.NewHistogramVec(histogram("ledgerhook_delivery_attempt_duration_seconds",
			"How long attempts took.", quick), []string{"outcome"}),
		phases: prometheus.NewHistogramVec(histogram("ledgerhook_delivery_attempt_phase_seconds",
			"How long the phases of attempts took.", quick), []string{"phase"}),
		firstDelay: prometheus.NewHistogram(histogram("ledgerhook_delivery_first_attempt_delay_seconds",
			"From a delivery's creation to its first attempt.", long)),
		completion: prometheus.NewHistogram(histogram("ledgerhook_delivery_completion_seconds",
			"From a delivery's creation to its end.", long)),
		finished: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ledgerhook_deliveries_finished_total",
			Help: "Deliveries that ended with an attempt."}, []string{"partner", "result"}),
		responses: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ledgerhook_delivery_responses_total",
			Help: "Answers by status code; 0: none."}, []string{"code"}),
		signing: prometheus.NewHistogram(histogram("ledgerhook_delivery_signing_seconds",
			"How long RSA signatures took.", prometheus.ExponentialBuckets(0.0005, 2, 12))),
		first: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ledgerhook_first_attempts_total",
			Help: "First attempts by where their tickets went: direct, to a free slot of this process, or queue."}, []string{"path"}),
		enqueueFails: prometheus.NewCounter(prometheus.CounterOpts{Name: "ledgerhook_queue_enqueue_failures_total",
			Help: "Tickets that could not be handed to the queue; the reconciler does it."}),
		repaired: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ledgerhook_reconciler_repaired_total",
			Help: "Deliveries that the reconciler put back on their way."}, []string{"reason"}),
		oldest: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ledgerhook_queue_oldest_due_age_seconds",
			Help: "For how long the longest queued delivery has waited for a worker."}, []string{"queue"}),
		blocked: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ledgerhook_ssrf_blocked_total",
			Help: "Attempts whose address may not be dialled."}, []string{"reason"}),
		certificate: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ledgerhook_endpoint_tls_not_after_timestamp_seconds",
			Help: "When the certificate that the partner's endpoint showed last expires."}, []string{"partner"}),
		replayed: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ledgerhook_replay_deliveries_total",
			Help: "Items of bulk replays that became deliveries or were skipped."}, []string{"result"}),
		partners: partnerLabels{seen: map[string]bool{}},
	}
	reg.MustRegister(m.attempts, m.duration, m.phases, m.firstDelay, m.completion, m.finished, m.responses, m.signing,
		m.first, m.enqueueFails, m.repaired, m.oldest, m.blocked, m.replayed, m.certificate)
	for _, reason := range []string{"worker_dead", "queue_emptied", "ticket_lost"} {
		m.repaired.WithLabelValues(reason)
	}
	for _, outcome := range []webhook.Outcome{webhook.OutcomeDelivered, webhook.OutcomeFailed, webhook.OutcomeUnknown} {
		m.duration.WithLabelValues(string(outcome))
	}
	for _, phase := range []string{"dns", "connect", "tls", "first_byte"} {
		m.phases.WithLabelValues(phase)
	}
	for _, result := range []string{"admitted", "skipped"} {
		m.replayed.WithLabelValues(result)
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
	if !a.TLSNotAfter.IsZero() {
		m.certificate.WithLabelValues(partner).Set(float64(a.TLSNotAfter.Unix()))
	}
	if a.Outcome != webhook.OutcomeUnknown {
		m.responses.WithLabelValues(strconv.Itoa(a.StatusCode)).Inc()
		m.duration.WithLabelValues(string(a.Outcome)).Observe(a.Phases.Total.Seconds())
		for phase, took := range map[string]time.Duration{"dns": a.Phases.DNS, "connect": a.Phases.Connect, "tls": a.Phases.TLS, "first_byte": a.Phases.FirstByte} {
			if took > 0 {
				m.phases.WithLabelValues(phase).Observe(took.Seconds())
			}
		}
	}
	if a.Number == 1 && a.Trigger == webhook.TriggerFirst {
		m.firstDelay.Observe(a.StartedAt.Sub(job.Delivery.CreatedAt).Seconds())
	}
	if v.State.Final() {
		m.finished.WithLabelValues(partner, string(v.State)).Inc()
		m.completion.Observe(time.Since(job.Delivery.CreatedAt).Seconds())
	}
}

func (m *Metrics) signed(took time.Duration) {
	if m != nil {
		m.signing.Observe(took.Seconds())
	}
}

func (m *Metrics) enqueueFailed() { m.enqueueFails.Inc() }

// oldestQueued sets the age of each shard's longest queued delivery. queued are
// the longest of all shards, at most reconcileRows: what one holds beyond them
// has not waited longer than the last.
func (m *Metrics) oldestQueued(queued []Queued, q Holder) {
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

// PartnerLabel is the label value of a partner: its code, or "_other" beyond
// the bound.
func (m *Metrics) PartnerLabel(code string) string { return m.partners.label(code) }

// partnerLabels keeps the number of label values bounded.
type partnerLabels struct {
	mu   sync.Mutex
	seen map[string]bool
}

const maxPartnerLabels = 1000

func (p *partnerLabels) label(code string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.seen[code] {
		if len(p.seen) >= maxPartnerLabels {
			return "_other"
		}
		p.seen[code] = true
	}
	return code
}
