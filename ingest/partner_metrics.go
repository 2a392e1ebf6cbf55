package ingest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/orders"
	"ledgerhook/signer"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// PartnerMetrics count what partners ask for.
type PartnerMetrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	quotes   *prometheus.CounterVec

	mu     sync.Mutex
	failed FailedQuotes
}

// FailedQuotes are quotes that failed for a reason on our side, in this process
// and since the last one that was given: no rate, one that is too old, or a
// fault.
type FailedQuotes struct {
	Count int
	Key   orders.Key // of the last
	At    time.Time  // of the last
}

// quoteFailures are the keys of quotes that no partner can mend.
var quoteFailures = []orders.Key{orders.KeyPriceUnavailable, orders.KeyCryptoNotSupported, orders.KeyMaintenance, orders.KeyInternalError}

// FailedQuotes are the quotes that fail now.
func (m *PartnerMetrics) FailedQuotes() FailedQuotes {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failed
}

// resultOK labels what was answered with 200; errors are labelled by their key.
const resultOK = "ok"

// NewPartnerMetrics registers the metrics with reg.
func NewPartnerMetrics(reg prometheus.Registerer) *PartnerMetrics {
	m := &PartnerMetrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ledgerhook_partner_requests_total",
			Help: "Requests of partners, by what was answered: ok or the error's key."}, []string{"operation", "result"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "ledgerhook_partner_request_duration_seconds",
			Help: "From a partner's request to its answer.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 13),
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour}, []string{"operation"}),
		quotes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ledgerhook_quotes_total",
			Help: "Quotes requested, by answer: ok or the error's key."}, []string{"result"}),
	}
	reg.MustRegister(m.requests, m.duration, m.quotes)
	for _, op := range signer.Operations {
		m.requests.WithLabelValues(string(op), resultOK)
		m.duration.WithLabelValues(string(op))
	}
	m.quotes.WithLabelValues(resultOK)
	for _, key := range quoteFailures {
		m.quotes.WithLabelValues(string(key))
	}
	return m
}

// served counts one request.
func (m *PartnerMetrics) served(ctx context.Context, op signer.Operation, began time.Time, err error) {
	m.requests.WithLabelValues(string(op), resultOf(err)).Inc()
	web.Took(ctx, m.duration.WithLabelValues(string(op)), time.Since(began))
	if op == signer.OpReviewCashout {
		m.quoted(resultOf(err))
	}
}

func (m *PartnerMetrics) quoted(result string) {
	m.quotes.WithLabelValues(result).Inc()
	m.mu.Lock()
	defer m.mu.Unlock()
	switch key := orders.Key(result); {
	case result == resultOK:
		m.failed = FailedQuotes{}
	case slices.Contains(quoteFailures, key):
		m.failed = FailedQuotes{m.failed.Count + 1, key, time.Now()}
	}
}

// resultOf is the key of an error, a closed set.
func resultOf(err error) string {
	var known *orders.Error
	var other *webhook.Error
	switch {
	case err == nil:
		return resultOK
	case errors.As(err, &known):
		return string(known.Key)
	case errors.As(err, &other):
		return string(keyOf(web.Status(other.Kind)))
	}
	return string(orders.KeyInternalError)
}
