package web

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts requests. A nil *Metrics counts nothing.
type Metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	refused  *prometheus.CounterVec
}

// NewMetrics registers the metrics of HTTP requests with r. Register them
// once per process.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ledgerhook_http_requests_total",
			Help: "HTTP requests served, by route, method and status code.",
		}, []string{"handler", "method", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:                            "ledgerhook_http_request_duration_seconds",
			Help:                            "Time to serve an HTTP request, by route.",
			Buckets:                         []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
			NativeHistogramBucketFactor:     1.1,
			NativeHistogramMaxBucketNumber:  100,
			NativeHistogramMinResetDuration: time.Hour,
		}, []string{"handler"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ledgerhook_auth_failures_total",
			Help: "Refused credentials, and sign-ins that were refused for another reason: disabled, locked, or crowd (too many at once).",
		}, []string{"surface", "reason"}),
	}
	r.MustRegister(m.requests, m.duration, m.refused)
	return m
}

func (m *Metrics) served(ctx context.Context, method string, status int, took time.Duration) {
	if m == nil {
		return
	}
	m.requests.WithLabelValues(route(ctx), boundedMethod(method), strconv.Itoa(status)).Inc()
	Took(ctx, m.duration.WithLabelValues(route(ctx)), took)
}

// Took tells a histogram of seconds how long the request that ctx belongs to
// took, with its trace as an example, if somebody keeps that.
func Took(ctx context.Context, histogram prometheus.Observer, took time.Duration) {
	r := requestOf(ctx)
	if with, ok := histogram.(prometheus.ExemplarObserver); ok && r != nil && r.trace != "" {
		with.ObserveWithExemplar(took.Seconds(), prometheus.Labels{"trace_id": r.trace})
		return
	}
	histogram.Observe(took.Seconds())
}

// AuthFailed counts a refused credential. Surface and reason are from small
// closed sets.
func (m *Metrics) AuthFailed(surface, reason string) {
	if m != nil {
		m.refused.WithLabelValues(surface, reason).Inc()
	}
}

// AuthReasons makes the surface's reasons appear with 0 failures.
func (m *Metrics) AuthReasons(surface string, reasons ...string) {
	if m == nil {
		return
	}
	for _, reason := range reasons {
		m.refused.WithLabelValues(surface, reason)
	}
}

// boundedMethod keeps a client's invented methods out of the labels.
func boundedMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}
