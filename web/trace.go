package web

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// traceHeader carries a span's context, by W3C Trace Context.
const traceHeader = "traceparent"

// Trace makes a server span of every request but those of probes, with the
// attributes of OpenTelemetry's stable HTTP conventions; it stands inside of
// Observe, which logs the trace's id. Only from inside does a request go on
// with its caller's trace: what strangers send is their own matter. A nil
// tracer traces nothing.
func Trace(tracer trace.Tracer, inside bool, next http.Handler) http.Handler {
	if tracer == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/healthz", "/readyz", "/metrics":
			next.ServeHTTP(w, r)
			return
		}
		ctx := r.Context()
		if inside {
			ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{traceHeader: r.Header.Get(traceHeader)})
		}
		ctx, span := tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
			attribute.String("http.request.method", r.Method), attribute.String("url.scheme", scheme(r)),
			attribute.String("client.address", ClientAddress(r)), attribute.String("ledgerhook.request_id", RequestID(ctx))))
		defer span.End()
		if span.SpanContext().IsValid() {
			Note(ctx, slog.String("trace", span.SpanContext().TraceID().String()))
		}
		if state := requestOf(ctx); state != nil && span.SpanContext().IsSampled() {
			state.trace = span.SpanContext().TraceID().String()
		}
		rec := record(w)
		defer func() { // after a panic too
			if matched := route(ctx); matched != unmatchedRoute {
				span.SetName(r.Method + " " + matched)
				span.SetAttributes(attribute.String("http.route", matched))
			}
			status := cmp.Or(rec.status, http.StatusOK)
			span.SetAttributes(attribute.Int("http.response.status_code", status))
			if status >= http.StatusInternalServerError {
				span.SetStatus(codes.Error, "")
			}
		}()
		next.ServeHTTP(rec, r.WithContext(ctx))
	})
}

func scheme(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// TraceParent is the span that ctx belongs to as the header traceparent says
// it; empty without one, or if nobody keeps it.
func TraceParent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	header := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, header)
	return header[traceHeader]
}
