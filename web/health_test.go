package web

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestHealthTellsWhatIsNotReady(t *testing.T) {
	var h Health
	broken := errors.New("connection refused")
	h.Add("ledger", func(context.Context) error { return nil })
	h.Add("queue", func(context.Context) error { return broken })
	mux := http.NewServeMux()
	mux.Handle("/healthz", h.Live())
	mux.Handle("/readyz", h.Ready())
	url, _ := serve(t, mux, slog.New(slog.DiscardHandler))

	if resp, body := get(t, url+"/healthz"); resp.StatusCode != 200 || body != "{\"status\":\"ok\"}\n" {
		t.Errorf("healthz: %d %s", resp.StatusCode, body)
	}
	want := `{"status":"unavailable","checks":[{"name":"ledger","ok":true},{"name":"queue","ok":false,"error":"connection refused"}]}` + "\n"
	if resp, body := get(t, url+"/readyz"); resp.StatusCode != 503 || body != want {
		t.Errorf("readyz: %d %s", resp.StatusCode, body)
	}
	broken = nil
	want = `{"status":"ok","checks":[{"name":"ledger","ok":true},{"name":"queue","ok":true}]}` + "\n"
	if resp, body := get(t, url+"/readyz"); resp.StatusCode != 200 || body != want {
		t.Errorf("readyz: %d %s", resp.StatusCode, body)
	}
}

func TestAHangingCheckHoldsReadinessForTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h Health
		release := make(chan struct{})
		defer close(release)
		h.Add("deaf", func(context.Context) error { <-release; return nil })
		h.Add("obedient", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		h.Add("slow", func(context.Context) error { time.Sleep(1900 * time.Millisecond); return nil })
		h.Add("panicking", func(context.Context) error { panic("boom") })
		start := time.Now()
		w := httptest.NewRecorder()
		h.Ready().ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("took %v", took)
		}
		var got healthAnswer
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		want := healthAnswer{"unavailable", []checkAnswer{
			{"deaf", false, "no answer within 2s"}, {"obedient", false, "no answer within 2s"}, {"slow", true, ""}, {"panicking", false, "panic: boom"},
		}}
		if diff := cmp.Diff(want, got); w.Code != 503 || diff != "" {
			t.Errorf("%d %s", w.Code, diff)
		}
	})
}

func TestTheServerBoundsWhatAClientMayTake(t *testing.T) {
	url, _ := serve(t, http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	if resp, _ := do(t, "GET", url, nil, "X-Large", strings.Repeat("x", 60<<10)); resp.StatusCode != 404 {
		t.Errorf("60 KiB of headers: %d", resp.StatusCode)
	}
	if resp, _ := do(t, "GET", url, nil, "X-Large", strings.Repeat("x", 72<<10)); resp.StatusCode != 431 {
		t.Errorf("72 KiB of headers: %d", resp.StatusCode)
	}
	s := NewServer(nil, slog.New(slog.DiscardHandler))
	if s.ReadHeaderTimeout != 10*time.Second || s.ReadTimeout <= 0 || s.WriteTimeout <= s.ReadTimeout || s.IdleTimeout <= 0 {
		t.Errorf("a client may stay for ever: %+v", s)
	}
}
