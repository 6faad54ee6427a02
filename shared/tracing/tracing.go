// Package tracing implements port.Tracer with OpenTelemetry. It sends spans to a collector by OTLP over HTTP.
// The handling of each message is a separate trace, which has a link to the trace ID of the order's run. The
// spans of a call to a service belong to the trace of the handling that made the call.
package tracing

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

const (
	exportTime = 5 * time.Second
	queued     = 8192 // largest number of spans that wait for the collector; the Tracer drops further spans
)

// Tracer records spans and sends them. It is safe for concurrent use.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// New returns a Tracer. The parameter endpoint is the collector's address, such as http://127.0.0.1:4318. The
// parameter service is the service name in the spans. OpenTelemetry's environment variables for headers,
// sampling and certificates also apply. The Tracer connects when the first spans exist. If the collector does
// not respond, the Tracer loses spans, but delays no caller.
func New(ctx context.Context, endpoint, service, version string) (*Tracer, error) {
	u, err := deployment.Collector(endpoint)
	if err != nil {
		return nil, err
	}
	exporter, err := otlptracehttp.New(ctx,
		otlptracehttp.WithEndpointURL(u.String()),
		otlptracehttp.WithTimeout(exportTime),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}))
	if err != nil {
		return nil, fmt.Errorf("the exporter of spans: %w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", service),
		attribute.String("service.version", version)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("the attributes of spans: %w", err)
	}
	p := sdk.NewTracerProvider(sdk.WithBatcher(exporter, sdk.WithMaxQueueSize(queued),
		sdk.WithExportTimeout(exportTime)), sdk.WithResource(about))
	return &Tracer{p, p.Tracer("github.com/stepkeeper/stepkeeper")}, nil
}

// Begin implements port.Tracer.
func (t *Tracer) Begin(ctx context.Context, name string) (context.Context, port.Handling) {
	ctx, span := t.tracer.Start(ctx, name, trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindConsumer))
	return ctx, handling{span}
}

// Close sends the remaining spans and shuts the Tracer down.
func (t *Tracer) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

type handling struct{ trace.Span }

func (h handling) Traceparent() string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpan(context.Background(), h.Span), carrier)
	return carrier["traceparent"]
}

// End implements port.Handling. It records IDs and the error's text, but no message bodies.
func (h handling) End(s port.Span, err error) {
	attributes := []attribute.KeyValue{attribute.String("stepkeeper.order", s.OrderID),
		attribute.Int("stepkeeper.run", s.Run)}
	if s.Step != "" {
		attributes = append(attributes, attribute.String("stepkeeper.step", s.Step),
			attribute.Int("stepkeeper.attempt", s.Attempt))
	}
	if s.State != "" {
		attributes = append(attributes, attribute.String("stepkeeper.state", s.State))
	}
	h.SetAttributes(attributes...)
	if s.Trace != "" {
		ctx := propagation.TraceContext{}.Extract(context.Background(),
			propagation.MapCarrier{"traceparent": s.Trace})
		h.AddLink(trace.LinkFromContext(ctx))
	}
	if err != nil {
		h.SetStatus(codes.Error, err.Error())
	}
	h.Span.End()
}
