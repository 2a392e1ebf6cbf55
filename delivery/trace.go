package delivery

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"ledgerhook/webhook"
)

// traceHeader is what a receiver may go on from, by W3C Trace Context.
const traceHeader = "traceparent"

// startSpan begins the span of an attempt: the first of a trace of its own,
// which links to the one that its event came in. So a receiver, which is told
// of the attempt's trace, learns nothing of ours, and what happens days later
// makes no trace endless. Without a tracer there is no span and nothing is
// told.
func (w *Worker) startSpan(ctx context.Context, job Job, a *webhook.Attempt) (_ context.Context, end func()) {
	if w.tracer == nil {
		return ctx, func() {}
	}
	var links []trace.Link
	if job.Event.Trace != "" {
		came := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{traceHeader: job.Event.Trace})
		if from := trace.SpanContextFromContext(came); from.IsValid() {
			links = append(links, trace.Link{SpanContext: from})
		}
	}
	attributes := []attribute.KeyValue{
		attribute.String("http.request.method", http.MethodPost),
		attribute.String("ledgerhook.event", job.Event.ID), attribute.String("ledgerhook.delivery", a.DeliveryID),
		attribute.String("ledgerhook.endpoint", job.Delivery.EndpointID), attribute.String("ledgerhook.partner", job.Event.PartnerCode),
		attribute.String("ledgerhook.webhook_type", string(job.Event.Type)), attribute.String("ledgerhook.trigger", string(a.Trigger)),
		attribute.Int("ledgerhook.attempt", a.Number),
	}
	if to, err := url.Parse(job.URL); err == nil { // its path and query may be secret
		attributes = append(attributes, attribute.String("url.scheme", to.Scheme), attribute.String("server.address", to.Hostname()))
		if port, err := strconv.Atoi(to.Port()); err == nil {
			attributes = append(attributes, attribute.Int("server.port", port))
		}
	}
	if a.Number > 1 {
		attributes = append(attributes, attribute.Int("http.request.resend_count", a.Number-1))
	}
	ctx, span := w.tracer.Start(ctx, http.MethodPost, trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithTimestamp(a.StartedAt), trace.WithLinks(links...), trace.WithAttributes(attributes...))
	if span.SpanContext().IsSampled() {
		a.Trace = span.SpanContext().TraceID().String()
	}
	return ctx, func() {
		if a.StatusCode != 0 {
			span.SetAttributes(attribute.Int("http.response.status_code", a.StatusCode))
		}
		if a.ErrorClass != "" {
			span.SetAttributes(attribute.String("error.type", string(a.ErrorClass)))
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// tellTrace adds the attempt's span to what is sent, and nothing else of it.
func (w *Worker) tellTrace(ctx context.Context, header http.Header) {
	if w.tracer == nil {
		return
	}
	told := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, told)
	if span := told[traceHeader]; span != "" {
		header.Set(traceHeader, span)
	}
}
