package web

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"ledgerhook/webhook"
)

// request is what is known of a request while it is served. Only the
// goroutine that serves it touches it.
type request struct {
	id      string
	route   string
	trace   string // its id, if somebody keeps it
	attrs   []slog.Attr
	quiet   bool
	surplus bool
}

type requestKey struct{}

func requestOf(ctx context.Context) *request {
	r, _ := ctx.Value(requestKey{}).(*request)
	return r
}

// RequestID is the id of the request that ctx belongs to, "" outside Observe.
func RequestID(ctx context.Context) string {
	if r := requestOf(ctx); r != nil {
		return r.id
	}
	return ""
}

// Note adds attributes to the request's one log event: the partner, an id.
// Never a payload, a query string or a secret. Call it from the goroutine
// that serves the request.
func Note(ctx context.Context, attrs ...slog.Attr) {
	if r := requestOf(ctx); r != nil {
		r.attrs = append(r.attrs, attrs...)
	}
}

// Quiet lets next's successful requests be logged at debug level only: those
// that machines repeat every few seconds.
func Quiet(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if state := requestOf(r.Context()); state != nil {
			state.quiet = true
		}
		next.ServeHTTP(w, r)
	})
}

// setRoute notes the pattern that matched, without its method and host.
func setRoute(ctx context.Context, pattern string) {
	if r := requestOf(ctx); r != nil && pattern != "" {
		r.route = patternPath(pattern)
	}
}

// patternPath is a pattern without its method and host: from its first slash.
func patternPath(pattern string) string {
	return pattern[strings.IndexByte(pattern, '/'):]
}

// unmatchedRoute is the route of requests that no pattern matched.
const unmatchedRoute = "unmatched"

func route(ctx context.Context) string {
	if r := requestOf(ctx); r != nil && r.route != "" {
		return r.route
	}
	return unmatchedRoute
}

// Observe gives every request an id (header X-Request-Id), and writes one log
// event and the metrics when it has been served. Of surplus ones the events are
// put together.
func Observe(log *slog.Logger, m *Metrics, next http.Handler) http.Handler {
	refused := newSurplus(log)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		state := &request{id: webhook.NewID("req_")}
		ctx := context.WithValue(r.Context(), requestKey{}, state)
		rec := record(w)
		rec.Header().Set("X-Request-Id", state.id)
		served := false
		defer func() { // after a panic too, which goes on to net/http
			took := time.Since(start)
			status := rec.status
			switch {
			case status == 0 && served:
				status = http.StatusOK
			case status == 0:
				status = http.StatusInternalServerError
			}
			m.served(ctx, r.Method, status, took)
			if state.surplus && served {
				refused.count(refusal{boundedMethod(r.Method), route(ctx), status}, ClientAddress(r))
				return
			}
			logRequest(ctx, log, r, state, status, rec.bytes, took, served)
		}()
		next.ServeHTTP(rec, r.WithContext(ctx))
		served = true
	})
}

func logRequest(ctx context.Context, log *slog.Logger, r *http.Request, state *request, status int, bytes int64, took time.Duration, served bool) {
	level := slog.LevelInfo
	if state.quiet && status < http.StatusBadRequest {
		level = slog.LevelDebug
	}
	remote := ClientAddress(r)
	attrs := []slog.Attr{
		slog.String("method", r.Method),
		slog.String("route", route(ctx)),
		slog.Int("status", status),
		slog.Int64("bytes", bytes),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000),
		slog.String("request_id", state.id),
		slog.String("remote", remote),
	}
	if !served {
		attrs = append(attrs, slog.Bool("aborted", true))
	}
	log.LogAttrs(ctx, level, "request", append(attrs, state.attrs...)...)
}

// recorder counts what is answered. http.ResponseController reaches through it.
type recorder struct {
	http.ResponseWriter
	status int // 0: not begun
	bytes  int64
}

// record returns w if it is a recorder already, else a new one around it.
func record(w http.ResponseWriter) *recorder {
	if rec, ok := w.(*recorder); ok {
		return rec
	}
	return &recorder{ResponseWriter: w}
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	r.status = cmp.Or(r.status, http.StatusOK)
	n, err := r.ResponseWriter.Write(b)
	r.bytes += int64(n)
	return n, err
}

func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
