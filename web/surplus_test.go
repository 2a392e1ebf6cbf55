package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func TestSurplusRequestsAreOneEventASecondAndAllCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		reg := prometheus.NewRegistry()
		s := Surface{Log: j.log()}
		mux := http.NewServeMux()
		mux.Handle("POST /door/{id}", s.Handle(func(w http.ResponseWriter, r *http.Request) error {
			Surplus(r.Context())
			w.WriteHeader(http.StatusTooManyRequests)
			return nil
		}))
		h := Observe(j.log(), NewMetrics(reg), s.Mux(mux))
		for second := range 2 {
			for range 500 {
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/door/7", nil))
			}
			time.Sleep(surplusEvery)
			synctest.Wait()
			told := j.events(t, "too many requests: some were refused")
			if len(told) != second+1 {
				t.Fatalf("%d events after %d s", len(told), second+1)
			}
			if e := told[second]; e["requests"] != 500.0 || e["route"] != "/door/{id}" || e["method"] != "POST" || e["status"] != 429.0 || e["last_remote"] != "192.0.2.1" {
				t.Errorf("%v", e)
			}
		}
		if n := len(j.events(t, "request")); n != 0 {
			t.Errorf("%d events of single requests", n)
		}
		if n := samples(t, reg)["ledgerhook_http_requests_total{code=429,handler=/door/{id},method=POST}"]; n != 1000 {
			t.Errorf("%g requests are counted", n)
		}
	})
}
