package web

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// samples returns "name{a=b,…}" → value of counters, and the number of
// observations of histograms.
func samples(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			key := family.GetName() + "{" + strings.Join(labels, ",") + "}"
			got[key] = m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return got
}

func TestARequestIsOneEventAndOneCount(t *testing.T) {
	var j journal
	reg := prometheus.NewRegistry()
	s := Surface{Log: j.log()}
	mux := http.NewServeMux()
	mux.Handle("POST /things/{id}/parts", s.Handle(func(w http.ResponseWriter, r *http.Request) error {
		Note(r.Context(), slog.String("partner", "ACME"))
		w.WriteHeader(http.StatusCreated)
		_, err := io.WriteString(w, "made")
		return err
	}))
	nested := http.NewServeMux()
	nested.Handle("GET /inner/{x}", s.Handle(func(w http.ResponseWriter, _ *http.Request) error { return WriteJSON(w, 200, 1) }))
	mux.Handle("/inner/", s.Mux(nested))
	mux.Handle("/silent", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	mux.Handle("/dir/{x}/", http.NotFoundHandler())
	url, stop := serve(t, Observe(j.log(), NewMetrics(reg), s.Mux(mux)), j.log())

	resp, _ := do(t, "POST", url+"/things/7/parts?token=s3cr3t", strings.NewReader("payload"))
	get(t, url+"/inner/1")
	get(t, url+"/inner/none/at/all")
	get(t, url+"/silent")
	get(t, url+"/dir/a")
	get(t, url+"/no/such/path")
	do(t, "BREW", url+"/things/7/parts", nil)
	stop()

	got := samples(t, reg)
	for key, want := range map[string]float64{
		"ledgerhook_http_requests_total{code=201,handler=/things/{id}/parts,method=POST}": 1,
		"ledgerhook_http_requests_total{code=200,handler=/inner/{x},method=GET}":          1,
		"ledgerhook_http_requests_total{code=404,handler=/inner/,method=GET}":             1,
		"ledgerhook_http_requests_total{code=200,handler=/silent,method=GET}":             1,
		"ledgerhook_http_requests_total{code=404,handler=/dir/{x}/,method=GET}":           1,
		"ledgerhook_http_requests_total{code=404,handler=unmatched,method=GET}":           1,
		"ledgerhook_http_requests_total{code=405,handler=unmatched,method=other}":         1,
		"ledgerhook_http_request_duration_seconds{handler=/things/{id}/parts}":            1,
		"ledgerhook_http_request_duration_seconds{handler=unmatched}":                     2,
	} {
		if got[key] != want {
			t.Errorf("%s = %v, want %v", key, got[key], want)
		}
	}
	events := j.events(t, "request")
	if len(events) != 7 {
		t.Fatalf("%d events, want 7", len(events))
	}
	first := events[0]
	for key, want := range map[string]any{
		"method": "POST", "route": "/things/{id}/parts", "status": 201.0, "bytes": 4.0, "level": "INFO",
		"request_id": resp.Header.Get("X-Request-Id"), "remote": "127.0.0.1", "partner": "ACME",
	} {
		if first[key] != want {
			t.Errorf("%s = %v, want %v", key, first[key], want)
		}
	}
	if ms, ok := first["duration_ms"].(float64); !ok || ms < 0 {
		t.Errorf("duration_ms = %v", first["duration_ms"])
	}
	if strings.Contains(j.buf.String(), "s3cr3t") || strings.Contains(j.buf.String(), "payload") {
		t.Errorf("the log holds a query string or a payload: %s", j.buf.String())
	}
}

func TestDurationsAreClassicAndNativeHistograms(t *testing.T) {
	reg := prometheus.NewRegistry()
	NewMetrics(reg).served(t.Context(), "GET", 200, 3_000_000)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "ledgerhook_http_request_duration_seconds" {
			h := family.GetMetric()[0].GetHistogram()
			if len(h.GetBucket()) == 0 || len(h.GetPositiveSpan()) == 0 {
				t.Errorf("%d classic buckets, %d native spans", len(h.GetBucket()), len(h.GetPositiveSpan()))
			}
			return
		}
	}
	t.Error("no histogram")
}

func TestAPanicOutsideASurfaceIsStillCountedAndLogged(t *testing.T) {
	var j journal
	reg := prometheus.NewRegistry()
	url, stop := serve(t, Observe(j.log(), NewMetrics(reg), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })), j.log())
	if resp, err := http.Get(url); err == nil {
		resp.Body.Close()
		t.Error("got an answer")
	}
	stop()
	if got := samples(t, reg)["ledgerhook_http_requests_total{code=500,handler=unmatched,method=GET}"]; got < 1 {
		t.Errorf("counted %v", got)
	}
	if events := j.events(t, "request"); len(events) == 0 || events[0]["aborted"] != true {
		t.Errorf("logged %v", events)
	}
}

func TestQuietRequestsAreDebugUntilTheyFail(t *testing.T) {
	var j journal
	mux := http.NewServeMux()
	mux.Handle("/fine", Quiet(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	mux.Handle("/bad", Quiet(http.NotFoundHandler()))
	url, stop := serve(t, Observe(j.log(), nil, mux), j.log())
	get(t, url+"/fine")
	get(t, url+"/bad")
	stop()
	events := j.events(t, "request")
	if len(events) != 2 || events[0]["level"] != "DEBUG" || events[1]["level"] != "INFO" {
		t.Errorf("logged %v", events)
	}
}

func TestStreamsReachThroughTheRecorder(t *testing.T) {
	first := make(chan struct{})
	url, _ := serve(t, Observe(slog.New(slog.DiscardHandler), nil, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints) // not yet the answer
		_, _ = io.WriteString(w, "a")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		<-first
		_, _ = io.WriteString(w, "b")
	})), slog.New(slog.DiscardHandler))
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	one := make([]byte, 1)
	if _, err := io.ReadFull(resp.Body, one); err != nil || one[0] != 'a' {
		t.Fatalf("%q, %v", one, err)
	}
	close(first)
	if rest, err := io.ReadAll(resp.Body); err != nil || string(rest) != "b" {
		t.Errorf("%q, %v", rest, err)
	}
}
