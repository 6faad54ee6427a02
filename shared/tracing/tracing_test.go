package tracing_test

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/tracing"
)

// collected keeps the spans that are sent to an OTLP collector.
type collected struct {
	*httptest.Server
	mu   sync.Mutex
	all  []*spans.Span
	from []*common.KeyValue
}

func newCollector(t *testing.T) *collected {
	t.Helper()
	c := &collected{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			if z, err := gzip.NewReader(body); err == nil {
				body = z
			}
		}
		data, err := io.ReadAll(body)
		var in collector.ExportTraceServiceRequest
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(data, &in) != nil {
			t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, r := range in.ResourceSpans {
			c.from = r.Resource.Attributes
			for _, s := range r.ScopeSpans {
				c.all = append(c.all, s.Spans...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func value(attributes []*common.KeyValue, key string) string {
	for _, a := range attributes {
		if a.Key == key {
			return strings.Trim(strings.TrimPrefix(strings.TrimPrefix(a.Value.String(), "string_value:"),
				"int_value:"), `"`)
		}
	}
	return ""
}

// Each handling is a trace of its own, is linked to the trace of its order, and has attributes that describe
// it.
func TestSpans(t *testing.T) {
	c := newCollector(t)
	tracer, err := tracing.New(t.Context(), c.URL, "shop", "1.2")
	if err != nil {
		t.Fatal(err)
	}
	_, first := tracer.Begin(t.Context(), "scheduler")
	first.End(port.Span{OrderID: "o-1", Run: 2, State: "Error", Trace: core.Trace("o-1", 2)}, nil)
	within, second := tracer.Begin(t.Context(), "payment.charge")
	_, inner := tracer.Begin(within, "other") // what is handled inside is a trace of its own too
	inner.End(port.Span{OrderID: "o-2"}, nil)
	parent := second.Traceparent()
	second.End(port.Span{OrderID: "o-1", Run: 2, Step: "pay", Attempt: 3, Trace: core.Trace("o-1", 2)},
		errors.New("declined"))
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(c.all) != 3 || value(c.from, "service.name") != "shop" ||
		value(c.from, "service.version") != "1.2" {
		t.Fatalf("%d spans of %v", len(c.all), c.from)
	}
	traces := map[string]bool{}
	for _, s := range c.all {
		traces[string(s.TraceId)] = true
		if len(s.ParentSpanId) > 0 {
			t.Errorf("%s has a parent", s.Name)
		}
	}
	a, b := c.all[0], c.all[2]
	order := strings.Split(core.Trace("o-1", 2), "-")[1]
	if len(traces) != 3 || len(a.Links) != 1 {
		t.Fatalf("%d traces, links %v", len(traces), a.Links)
	}
	for _, field := range []struct {
		name      string
		got, want any
	}{
		{"hex.EncodeToString(a.Links[0].TraceId)", hex.EncodeToString(a.Links[0].TraceId), order},
		{"hex.EncodeToString(b.Links[0].TraceId)", hex.EncodeToString(b.Links[0].TraceId), order},
		{"len(c.all[1].Links)", len(c.all[1].Links), 0},
	} {
		if field.got != field.want {
			t.Errorf("%s is %v, want %v: %d traces, links %v", field.name, field.got, field.want, len(traces),
				a.Links)
		}
	}
	for _, field := range []struct {
		name      string
		got, want any
	}{
		{"a.Name", a.Name, "scheduler"},
		{`value(a.Attributes, "stepkeeper.order")`, value(a.Attributes, "stepkeeper.order"), "o-1"},
		{`value(a.Attributes, "stepkeeper.run")`, value(a.Attributes, "stepkeeper.run"), "2"},
		{`value(a.Attributes, "stepkeeper.state")`, value(a.Attributes, "stepkeeper.state"), "Error"},
		{`value(a.Attributes, "stepkeeper.step")`, value(a.Attributes, "stepkeeper.step"), ""},
		{"a.Status.GetMessage()", a.Status.GetMessage(), ""},
	} {
		if field.got != field.want {
			t.Errorf("%s is %v, want %v: %v", field.name, field.got, field.want, a)
		}
	}
	if value(b.Attributes, "stepkeeper.step") != "pay" || value(b.Attributes, "stepkeeper.attempt") != "3" ||
		b.Status.GetMessage() != "declined" || b.Status.GetCode() != spans.Status_STATUS_CODE_ERROR {
		t.Errorf("%v", b)
	}
	if parts := strings.Split(parent, "-"); len(parts) != 4 || parts[1] != hex.EncodeToString(b.TraceId) ||
		parts[2] != hex.EncodeToString(b.SpanId) {
		t.Errorf("the service is handed %q", parent)
	}
}

// If the collector cannot be reached, spans are lost, but no time. A wrong address is reported at once.
func TestNoCollector(t *testing.T) {
	for _, endpoint := range []string{"127.0.0.1:4318", "", "ftp://x"} {
		if _, err := tracing.New(t.Context(), endpoint, "shop", ""); err == nil ||
			!strings.Contains(err.Error(), "http://127.0.0.1:4318") {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := tracing.New(ended, "http://127.0.0.1:1", "shop", ""); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
	tracer, err := tracing.New(t.Context(), "http://127.0.0.1:1", "shop", "")
	if err != nil {
		t.Fatal(err)
	}
	for range 10_000 {
		_, s := tracer.Begin(t.Context(), "scheduler")
		s.End(port.Span{OrderID: "o-1"}, nil)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_ = tracer.Close(ctx)
	if ctx.Err() != nil {
		t.Error("it waits for a collector that is not there")
	}
}
