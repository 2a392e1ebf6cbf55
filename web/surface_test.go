package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ledgerhook/webhook"
)

// journal collects log events.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(b)
}

func (j *journal) log() *slog.Logger {
	return slog.New(slog.NewJSONHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// events returns the events with message msg.
func (j *journal) events(t *testing.T, msg string) (list []map[string]any) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := bufio.NewScanner(bytes.NewReader(j.buf.Bytes()))
	for lines.Scan() {
		var event map[string]any
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatal(err)
		}
		if event["msg"] == msg {
			list = append(list, event)
		}
	}
	return list
}

// serve runs h as the gateway would until the test ends. stop ends it early,
// after which all its requests are logged.
func serve(t *testing.T, h http.Handler, log *slog.Logger) (url string, stop func()) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.Config = NewServer(h, log)
	server.Start()
	t.Cleanup(server.Close)
	return server.URL, server.Close
}

func get(t *testing.T, url string) (*http.Response, string) {
	t.Helper()
	return do(t, "GET", url, nil)
}

func do(t *testing.T, method, url string, body io.Reader, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

func TestEveryKindOfErrorIsOneProblem(t *testing.T) {
	for _, tt := range []struct {
		err        error
		status     int
		retryAfter string
		want       string
	}{
		{webhook.Invalid("/data/amount", "must be a number"), 400, "",
			`{"type":"about:blank","title":"Bad Request","status":400,"detail":"/data/amount must be a number","errors":[{"pointer":"/data/amount","detail":"must be a number"}]}`},
		{fmt.Errorf("list: %w", webhook.Invalid("limit", "must be 1 to 500")), 400, "",
			`{"type":"about:blank","title":"Bad Request","status":400,"detail":"limit must be 1 to 500","errors":[{"parameter":"limit","detail":"must be 1 to 500"}]}`},
		{&webhook.Error{Kind: webhook.KindUnauthenticated, Message: "who are you"}, 401, "",
			`{"type":"about:blank","title":"Unauthorized","status":401,"detail":"who are you"}`},
		{&webhook.Error{Kind: webhook.KindForbidden, Message: "not you"}, 403, "",
			`{"type":"about:blank","title":"Forbidden","status":403,"detail":"not you"}`},
		{webhook.NotFound("delivery", "dlv_<1>"), 404, "",
			`{"type":"about:blank","title":"Not Found","status":404,"detail":"there is no delivery dlv_<1>"}`},
		{webhook.Conflict("it is paid"), 409, "",
			`{"type":"about:blank","title":"Conflict","status":409,"detail":"it is paid"}`},
		{&webhook.Error{Kind: webhook.KindTooLarge, Message: "large"}, 413, "",
			`{"type":"about:blank","title":"Request Entity Too Large","status":413,"detail":"large"}`},
		{&webhook.Error{Kind: webhook.KindMediaType, Message: "media"}, 415, "",
			`{"type":"about:blank","title":"Unsupported Media Type","status":415,"detail":"media"}`},
		{&webhook.Error{Kind: webhook.KindRateLimited, Message: "slower", RetryAfter: 1100 * time.Millisecond}, 429, "2",
			`{"type":"about:blank","title":"Too Many Requests","status":429,"detail":"slower"}`},
		{&webhook.Error{Kind: webhook.KindUnavailable, Message: "the store is away", Err: errors.New("dial secret-host")}, 503, "1",
			`{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"the store is away","requestId":"ID"}`},
		{errors.New("disk on fire"), 500, "",
			`{"type":"about:blank","title":"Internal Server Error","status":500,"requestId":"ID"}`},
		{&webhook.Error{Message: "says too much"}, 500, "",
			`{"type":"about:blank","title":"Internal Server Error","status":500,"requestId":"ID"}`},
	} {
		t.Run(fmt.Sprint(tt.status), func(t *testing.T) {
			var j journal
			s := Surface{Log: j.log()}
			url, stop := serve(t, Observe(j.log(), nil, s.Handle(func(http.ResponseWriter, *http.Request) error { return tt.err })), j.log())
			resp, body := get(t, url)
			stop()
			id := resp.Header.Get("X-Request-Id")
			if resp.StatusCode != tt.status || resp.Header.Get("Content-Type") != "application/problem+json" || resp.Header.Get("Retry-After") != tt.retryAfter {
				t.Errorf("status %d, headers %v", resp.StatusCode, resp.Header)
			}
			if diff := cmp.Diff(strings.ReplaceAll(tt.want, "ID", id)+"\n", body); diff != "" {
				t.Error(diff)
			}
			failures := j.events(t, "request failed")
			if tt.status < 500 && len(failures) != 0 {
				t.Errorf("logged %v", failures)
			}
			if tt.status >= 500 && (len(failures) != 1 || failures[0]["error"] != tt.err.Error() || failures[0]["request_id"] != id) {
				t.Errorf("logged %v, want the cause once", failures)
			}
		})
	}
}

func TestAPanicIsA500(t *testing.T) {
	var j journal
	s := Surface{Log: j.log()}
	mux := http.NewServeMux()
	mux.Handle("/handled", s.Handle(func(http.ResponseWriter, *http.Request) error { panic("boom") }))
	mux.HandleFunc("/plain", func(http.ResponseWriter, *http.Request) { panic("boom") })
	url, _ := serve(t, Observe(j.log(), nil, s.Mux(mux)), j.log())
	for _, path := range []string{"/handled", "/plain"} {
		if resp, body := get(t, url+path); resp.StatusCode != 500 || strings.Contains(body, "boom") {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
	failures := j.events(t, "request failed")
	if len(failures) != 2 || !strings.Contains(failures[0]["error"].(string), "surface_test.go") {
		t.Errorf("want two failures with stacks: %v", failures)
	}
}

func TestHalfAnAnswerIsCutOff(t *testing.T) {
	var j journal
	s := Surface{Log: j.log()}
	for name, h := range map[string]HandlerFunc{
		"error": func(w http.ResponseWriter, _ *http.Request) error {
			_, _ = io.WriteString(w, "half")
			return errors.New("then it broke")
		},
		"panic": func(w http.ResponseWriter, _ *http.Request) error {
			_, _ = io.WriteString(w, "half")
			panic("then it broke")
		},
	} {
		url, _ := serve(t, Observe(j.log(), nil, s.Handle(h)), j.log())
		resp, err := http.Get(url)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if err == nil {
			t.Errorf("%s: the answer passed for a whole one", name)
		}
	}
}

func TestALeftClientIsNoErrorOfOurs(t *testing.T) {
	var j journal
	s := Surface{Log: j.log()}
	begun := make(chan struct{})
	url, stop := serve(t, Observe(j.log(), nil, s.Handle(func(_ http.ResponseWriter, r *http.Request) error {
		close(begun)
		<-r.Context().Done()
		return fmt.Errorf("query: %w", r.Context().Err())
	})), j.log())
	ctx, cancel := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, "GET", url, nil)
	go func() { <-begun; cancel() }()
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
		t.Fatal("the request was not cancelled")
	}
	stop()
	if got := j.events(t, "request failed"); len(got) != 0 {
		t.Errorf("logged as failed: %v", got)
	}
	if got := j.events(t, "request"); len(got) != 1 || got[0]["status"] != float64(statusGone) {
		t.Errorf("logged %v", got)
	}
}

func TestASurfaceCanRenderErrorsInItsOwnShape(t *testing.T) {
	s := Surface{Log: slog.New(slog.DiscardHandler), Render: func(w http.ResponseWriter, _ *http.Request, status int, e *webhook.Error) {
		_ = WriteJSON(w, status, map[string]string{"error": e.Message})
	}}
	mux := http.NewServeMux()
	mux.Handle("GET /busy", s.Handle(func(http.ResponseWriter, *http.Request) error {
		return &webhook.Error{Kind: webhook.KindUnavailable, Message: "later"}
	}))
	url, _ := serve(t, s.Mux(mux), s.Log)
	if resp, body := get(t, url+"/busy"); resp.StatusCode != 503 || body != "{\"error\":\"later\"}\n" || resp.Header.Get("Retry-After") != "1" {
		t.Errorf("%d %v %s", resp.StatusCode, resp.Header, body)
	}
	if resp, body := do(t, "POST", url+"/busy", nil); resp.StatusCode != 405 || !strings.HasPrefix(body, `{"error":`) {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

func TestUnknownPathsAndMethodsAreProblems(t *testing.T) {
	s := Surface{Log: slog.New(slog.DiscardHandler)}
	mux := http.NewServeMux()
	ok := s.Handle(func(w http.ResponseWriter, r *http.Request) error {
		return WriteJSON(w, 200, r.PathValue("id"))
	})
	mux.Handle("GET /things/{id}", ok)
	mux.Handle("DELETE /things/{id}", ok)
	mux.Handle("/dir/", ok)
	url, _ := serve(t, s.Mux(mux), s.Log)
	for _, tt := range []struct {
		method, path string
		status       int
		allow, want  string
	}{
		{"GET", "/things/7", 200, "", `"7"`},
		{"GET", "/dir", 200, "", `""`}, // a subtree gets every path that leads into it
		{"GET", "/dir//x/../y", 200, "", `""`},
		{"GET", "/things//7", 404, "", `"status":404`}, // and nothing else gets one that is not clean
		{"GET", "/things/./7", 404, "", `"status":404`},
		{"POST", "/dir/../things/7", 404, "", `"status":404`},
		{"GET", "/nothing", 404, "", `"status":404`},
		{"GET", "//nothing", 404, "", `"status":404`},
		{"POST", "/things/7", 405, "DELETE, GET, HEAD", `"detail":"the method must be one of DELETE, GET, HEAD"`},
	} {
		resp, body := do(t, tt.method, url+tt.path, nil)
		if resp.StatusCode != tt.status || resp.Header.Get("Allow") != tt.allow || !strings.Contains(body, tt.want) {
			t.Errorf("%s %s: %d, Allow %q, %s", tt.method, tt.path, resp.StatusCode, resp.Header.Get("Allow"), body)
		}
		if got := resp.Request.URL.Path; got != tt.path {
			t.Errorf("%s %s: redirected to %s", tt.method, tt.path, got)
		}
		if tt.status >= 400 && resp.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: %s", tt.method, tt.path, resp.Header.Get("Content-Type"))
		}
	}
}
