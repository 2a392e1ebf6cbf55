package app

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	collected "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"ledgerhook/config"
	"ledgerhook/signer"
)

// collector takes spans by OTLP over HTTP, as OpenTelemetry's own does.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*spans.Span
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			unpacked, err := gzip.NewReader(body)
			if err != nil {
				t.Error(err)
				return
			}
			body = unpacked
		}
		text, err := io.ReadAll(body)
		var request collected.ExportTraceServiceRequest
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(text, &request) != nil {
			t.Errorf("%s %s is no export of spans: %v", r.Method, r.URL, err)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, resource := range request.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				c.spans = append(c.spans, scope.GetSpans()...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// of waits for the first span whose name and kind fit.
func (c *collector) of(t *testing.T, name string, kind spans.Span_SpanKind) *spans.Span {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
		c.mu.Lock()
		for _, s := range c.spans {
			if s.GetName() == name && s.GetKind() == kind {
				c.mu.Unlock()
				return s
			}
		}
		c.mu.Unlock()
	}
	t.Fatalf("there is no span %s", name)
	return nil
}

// attributes are a span's, as text.
func attributes(s *spans.Span) map[string]string {
	all := map[string]string{}
	for _, a := range s.GetAttributes() {
		all[a.GetKey()] = strings.Trim(strings.SplitN(a.GetValue().String(), ":", 2)[1], `"`)
	}
	return all
}

func TestAnEventAndItsAttemptAreTracesThatLink(t *testing.T) {
	to := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", to.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
	received := make(chan http.Header, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { received <- r.Header.Clone() }))
	t.Cleanup(receiver.Close)
	cfg, err := config.Load("", []string{"LEDGERHOOK_DATA_DIR=" + t.TempDir(), "LEDGERHOOK_LISTEN=127.0.0.1:0", "LEDGERHOOK_INTERNAL_LISTEN=127.0.0.1:0",
		"LEDGERHOOK_DELIVERY_ALLOW_CIDRS=127.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	a, err := Start(t.Context(), cfg, Options{Log: slog.New(slog.NewJSONHandler(&log, nil)), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop := func() {
		if err := a.Stop(context.WithoutCancel(t.Context())); err != nil && !stopped {
			t.Error(err)
		}
		stopped = true
	}
	defer stop()

	const caller = "4bf92f3577b34da6a3ce929d0e0e4736"
	call := func(path string, body any) {
		t.Helper()
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.InternalURL()+"/internal/v1"+path, bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Authorization": {"Bearer " + a.Token()}, "Content-Type": {"application/json"},
			"Traceparent": {"00-" + caller + "-00f067aa0ba902b7-01"}, "Tracestate": {"vendor=secret"}, "Baggage": {"user=eve"}}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		if answer, _ := io.ReadAll(res.Body); res.StatusCode >= 300 {
			t.Fatalf("%s: %d %s", path, res.StatusCode, answer)
		}
	}
	key, err := signer.GenerateKey(2048)
	if err != nil {
		t.Fatal(err)
	}
	call("/partners", map[string]any{"partnerCode": "acme", "name": "Acme", "publicKey": string(key.PublicPEM())})
	call("/partners/acme/endpoints", map[string]any{"url": receiver.URL + "/hook?token=secret"})
	call("/events", map[string]any{"partnerCode": "acme", "webhookType": "TopupCard", "idempotencyKey": "once",
		"data": map[string]any{"id": "tp_1", "cardId": "c_1", "amount": 1, "fee": 0, "status": "Completed", "createdAt": 1767225600}})

	event := to.of(t, "POST /internal/v1/events", spans.Span_SPAN_KIND_SERVER)
	attempt := to.of(t, "POST", spans.Span_SPAN_KIND_CLIENT)
	if got := hex.EncodeToString(event.GetTraceId()); got != caller || len(event.GetParentSpanId()) == 0 {
		t.Errorf("the event's span is of the trace %s, its caller's is %s", got, caller)
	}
	if about := attributes(event); about["http.response.status_code"] != "202" || about["http.route"] != "/internal/v1/events" {
		t.Errorf("the event's span has %v", about)
	}
	own := hex.EncodeToString(attempt.GetTraceId())
	if own == caller || len(attempt.GetParentSpanId()) > 0 {
		t.Errorf("the attempt's span is no root: its trace is %s, its parent %x", own, attempt.GetParentSpanId())
	}
	if links := attempt.GetLinks(); len(links) != 1 || !bytes.Equal(links[0].GetTraceId(), event.GetTraceId()) || !bytes.Equal(links[0].GetSpanId(), event.GetSpanId()) {
		t.Errorf("the attempt's span links to %v", links)
	}
	if about := attributes(attempt); about["ledgerhook.partner"] != "acme" || about["http.response.status_code"] != "200" || about["server.address"] != "127.0.0.1" {
		t.Errorf("the attempt's span has %v", about)
	}
	if strings.Contains(fmt.Sprint(attempt), "secret") {
		t.Errorf("the attempt's span tells the URL's secret: %v", attempt)
	}
	header := <-received
	if got := header.Get("traceparent"); got != fmt.Sprintf("00-%s-%x-01", own, attempt.GetSpanId()) {
		t.Errorf("the receiver is told of the span %q", got)
	}
	for _, name := range []string{"tracestate", "baggage"} {
		if got := header.Values(name); len(got) > 0 {
			t.Errorf("the receiver is told %s: %q", name, got)
		}
	}
	// A partner's request begins a trace of its own.
	res, err := http.Post(a.PublicURL()+"/api/v2/auth/access-token", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	stranger := hex.EncodeToString(to.of(t, "POST /api/v2/auth/access-token", spans.Span_SPAN_KIND_SERVER).GetTraceId())
	for series, id := range map[string]string{
		`ledgerhook_ingest_request_duration_seconds_bucket{source="TopupCard"`:          caller,
		`ledgerhook_http_request_duration_seconds_bucket{handler="/internal/v1/events"`: caller,
		`ledgerhook_partner_request_duration_seconds_bucket{operation="access-token"`:   stranger,
		`ledgerhook_delivery_attempt_duration_seconds_bucket{outcome="delivered"`:       own,
		`ledgerhook_delivery_first_attempt_delay_seconds_bucket{`:                       own,
		`ledgerhook_delivery_completion_seconds_bucket{`:                                own,
		`ledgerhook_delivery_attempt_phase_seconds_bucket{phase="first_byte"`:           own,
	} {
		wantExemplar(t, a.InternalURL(), series, id)
	}
	stop()
	for _, line := range []string{`"trace":"` + caller, `"trace":"` + own} {
		if !strings.Contains(log.String(), line) {
			t.Errorf("the log does not say %s", line)
		}
	}
}

// wantExemplar waits until a bucket of the series has the trace as its example,
// for a Prometheus that asks for OpenMetrics.
func wantExemplar(t *testing.T, internal, series, trace string) {
	t.Helper()
	var text []byte
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, internal+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err = io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, series) && strings.Contains(line, `# {trace_id="`+trace+`"}`) {
				return
			}
		}
	}
	t.Errorf("no bucket of %s has the example %s", series, trace)
}

func TestWithoutACollectorNothingIsTraced(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	if a := startAll(t); a.tracer != nil {
		t.Error("spans are made for nobody")
	}
}
