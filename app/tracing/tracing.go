// Package tracing hands the spans of a process to a collector of OpenTelemetry.
package tracing

import (
	"context"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"go.opentelemetry.io/otel/attribute"
)

// Open returns what makes spans, and what hands over the last of them and ends.
// Without OTEL_EXPORTER_OTLP_ENDPOINT in env, or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT,
// or with OTEL_SDK_DISABLED=true, there is none: the tracer is nil. The variables
// that OpenTelemetry has besides (OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES,
// OTEL_TRACES_SAMPLER, OTEL_EXPORTER_OTLP_HEADERS, OTEL_BSP_…) count, too. Spans
// go by OTLP over HTTP. A collector that is away costs spans and holds up nothing.
func Open(ctx context.Context, env func(string) string, version string) (trace.Tracer, func(context.Context) error, error) {
	if env("OTEL_EXPORTER_OTLP_ENDPOINT")+env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" || strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") {
		return nil, nil, nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("hand spans to OTEL_EXPORTER_OTLP_ENDPOINT: %w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "ledgerhook"), attribute.String("service.version", version)),
		resource.WithHost(), resource.WithFromEnv(), resource.WithTelemetrySDK())
	if err != nil {
		return nil, nil, fmt.Errorf("say whose spans they are: %w", err)
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about))
	return provider.Tracer("ledgerhook", trace.WithInstrumentationVersion(version)), provider.Shutdown, nil
}
