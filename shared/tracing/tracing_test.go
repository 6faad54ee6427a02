package tracing_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/tracing"
)

func lookup(endpoint string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		return endpoint, name == "OTEL_EXPORTER_OTLP_ENDPOINT"
	}
}

// ids are those of OTLP's JSON, which writes them in hexadecimal. protojson expects base64.
var ids = regexp.MustCompile(`"(traceId|spanId)":"([0-9a-f]+)"`)

func parsed(t *testing.T, body []byte) *otlp.TracesData {
	t.Helper()
	body = ids.ReplaceAllFunc(body, func(found []byte) []byte {
		m := ids.FindSubmatch(found)
		id, err := hex.DecodeString(string(m[2]))
		if err != nil {
			t.Error(err)
		}
		return fmt.Appendf(nil, `"%s":"%s"`, m[1], base64.StdEncoding.EncodeToString(id))
	})
	in := &otlp.TracesData{}
	if err := protojson.Unmarshal(body, in); err != nil {
		t.Errorf("%s is not OTLP: %v", body, err)
	}
	return in
}

// What is sent is OTLP, with a span of each handling, once.
func TestSpans(t *testing.T) {
	var lock sync.Mutex
	var sent []*otlp.ResourceSpans
	c := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s, %s", r.URL, r.Header)
		}
		lock.Lock()
		defer lock.Unlock()
		sent = append(sent, parsed(t, body).ResourceSpans...)
	}))
	defer c.Close()
	var log bytes.Buffer
	tracer := tracing.OfFunction(lookup(c.URL), "Shop/Engine", slog.New(slog.NewTextHandler(&log, nil)))
	tracer.Flush(t.Context()) // there are none yet
	began := time.Now()
	_, first := tracer.Begin(t.Context(), "scheduler")
	_, second := tracer.Begin(t.Context(), "payment.charge")
	parent := second.Traceparent()
	first.End(port.Span{OrderID: "o-1", Run: 2, State: "Error", Trace: core.Trace("o-1", 2)}, nil)
	second.End(port.Span{OrderID: "o-1", Run: 2, Step: "pay", Attempt: 3}, errors.New(
		strings.Repeat("é", 2000)))
	tracer.Flush(t.Context())
	tracer.Flush(t.Context())
	lock.Lock()
	defer lock.Unlock()
	require.Len(t, sent, 1)
	require.LessOrEqual(t, log.Len(), 0)
	all := sent[0].ScopeSpans[0].Spans
	require.Len(t, all, 2)
	require.Contains(t, fmt.Sprint(sent[0].Resource.Attributes), "Shop/Engine")
	a := all[0]
	b := all[1]
	link := strings.Split(core.Trace("o-1", 2), "-")
	require.Len(t, a.Links, 1)
	require.Equal(t, link[1], hex.EncodeToString(a.Links[0].TraceId))
	require.Equal(t, link[2], hex.EncodeToString(a.Links[0].SpanId))
	require.Empty(t, b.Links)
	require.Equal(t, otlp.Status_STATUS_CODE_ERROR, b.Status.GetCode())
	require.Len(t, b.Status.Message, 1024)
	require.Nil(t, a.Status)
	require.Equal(t, fmt.Sprintf("00-%x-%x-01", b.TraceId, b.SpanId), parent)
	require.Len(t, b.TraceId, 16)
	require.NotEqual(t, string(b.TraceId), string(a.TraceId))
	require.NotEqual(t, string(b.SpanId), string(a.SpanId))
	start, end := int64(a.StartTimeUnixNano), int64(a.EndTimeUnixNano)
	require.GreaterOrEqual(t, start, began.UnixNano())
	require.GreaterOrEqual(t, end, start)
	require.LessOrEqual(t, end, time.Now().UnixNano())
	for of, want := range map[*otlp.Span]string{
		a: "scheduler SPAN_KIND_CONSUMER order=o-1 run=2 state=Error",
		b: "payment.charge SPAN_KIND_CONSUMER order=o-1 run=2 step=pay attempt=3",
	} {
		got := of.Name + " " + of.Kind.String()
		for _, x := range of.Attributes {
			got += " " + strings.TrimPrefix(x.Key, "stepkeeper.") + "="
			if v := x.Value.GetStringValue(); v != "" {
				got += v
			} else {
				got += fmt.Sprint(x.Value.GetIntValue())
			}
		}
		require.Equal(t, want, got)
	}
}

// A collector that hangs or refuses delays one invocation by half a second, and no other for a minute. The
// log counts the spans.
func TestDroppedSpans(t *testing.T) {
	release := make(chan struct{})
	for name, handler := range map[string]http.HandlerFunc{
		"hangs":   func(http.ResponseWriter, *http.Request) { <-release },
		"refuses": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"redirects": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/other", http.StatusFound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			c := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				calls.Add(1)
				_, _ = io.Copy(io.Discard, r.Body)
				handler(w, r)
			}))
			defer c.CloseClientConnections()
			var log bytes.Buffer
			tracer := tracing.OfFunction(lookup(c.URL), "shop", slog.New(slog.NewTextHandler(&log, nil)))
			began := time.Now()
			for range 3 {
				for range 1500 {
					_, h := tracer.Begin(t.Context(), "scheduler")
					h.End(port.Span{OrderID: "o-1"}, nil)
				}
				tracer.Flush(context.Background())
			}
			require.LessOrEqual(t, time.Since(began), 5*time.Second)
			text := log.String()
			require.EqualValues(t, 1, calls.Load())
			require.Equal(t, 1, strings.Count(text, "spans were dropped"))
			require.Contains(t, text, "spans=1500")
		})
	}
	close(release)
}

// Without an address there is no Tracer. An address that cannot be used is in the log.
func TestNoCollector(t *testing.T) {
	for endpoint, want := range map[string]string{
		"": "", "127.0.0.1:4318": "http://127.0.0.1:4318",
		"ftp://x": "no spans are sent", "http://u:secret@127.0.0.1": "no spans are sent",
	} {
		var log bytes.Buffer
		tracer := tracing.OfFunction(lookup(endpoint), "shop", slog.New(slog.NewTextHandler(&log, nil)))
		if tracer != nil || !strings.Contains(log.String(), want) || want == "" && log.Len() > 0 ||
			strings.Contains(log.String(), "secret") {
			t.Errorf("%q: %v, the log is %s", endpoint, tracer, &log)
		}
		tracer.Flush(t.Context())
	}
}

// A function answers Lambda before the end of its time, although the collector does not answer.
func TestFlushEndsBeforeTheInvocation(t *testing.T) {
	end := make(chan struct{})
	c := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-end }))
	defer c.Close()
	defer close(end)
	inTime := func() bool {
		tracer := tracing.OfFunction(lookup(c.URL), "shop", slog.New(slog.DiscardHandler))
		_, span := tracer.Begin(t.Context(), "scheduler")
		span.End(port.Span{OrderID: "o-1"}, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		tracer.Flush(ctx)
		return ctx.Err() == nil
	}
	require.Eventually(t, inTime, time.Minute, time.Millisecond, "a busy machine may be late more than once")
}

// A connection that ended between two invocations, as while Lambda froze the process, loses no spans.
func TestDeadConnection(t *testing.T) {
	var calls atomic.Int64
	c := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if calls.Add(1) == 2 { // the second request on the first connection
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_ = conn.Close()
		}
	}))
	defer c.Close()
	var log bytes.Buffer
	tracer := tracing.OfFunction(lookup(c.URL), "shop", slog.New(slog.NewTextHandler(&log, nil)))
	for range 2 {
		_, h := tracer.Begin(t.Context(), "scheduler")
		h.End(port.Span{OrderID: "o-1"}, nil)
		tracer.Flush(t.Context())
	}
	require.EqualValues(t, 3, calls.Load())
	require.LessOrEqual(t, log.Len(), 0)
}

// A handling that ends while spans are sent waits for no collector. The next Flush sends its span.
func TestEndDuringFlush(t *testing.T) {
	arrived := make(chan string, 2)
	release := make(chan struct{})
	c := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		arrived <- string(body)
		<-release
	}))
	defer c.Close()
	tracer := tracing.OfFunction(lookup(c.URL), "shop", slog.New(slog.DiscardHandler))
	_, first := tracer.Begin(t.Context(), "scheduler")
	_, late := tracer.Begin(t.Context(), "scheduler")
	first.End(port.Span{OrderID: "o-1"}, nil)
	flushed := make(chan struct{})
	go func() {
		tracer.Flush(context.Background())
		close(flushed)
	}()
	<-arrived
	late.End(port.Span{OrderID: "o-2"}, nil)
	select {
	case <-flushed:
		t.Error("End waited for the collector")
	default:
	}
	close(release)
	<-flushed
	tracer.Flush(context.Background())
	select {
	case got := <-arrived:
		require.Contains(t, got, "o-2", "sent")
	default:
		t.Error("the late span was not sent")
	}
}

// collected is a collector that keeps the spans and the headers of what it gets.
type collected struct {
	*httptest.Server
	got chan *otlp.ResourceSpans

	mu     sync.Mutex
	header http.Header
}

func collecting(t *testing.T) *collected {
	t.Helper()
	c := &collected{got: make(chan *otlp.ResourceSpans, 100)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		c.header = r.Header
		c.mu.Unlock()
		for _, s := range parsed(t, body).ResourceSpans {
			c.got <- s
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func options(endpoint string) tracing.Options {
	return tracing.Options{
		Endpoint: endpoint, Service: "shop", Version: "1.2", MaxSpans: 8192,
		SendTime: 5 * time.Second, Log: slog.New(slog.DiscardHandler),
	}
}

func end(t *testing.T, tracer *tracing.Tracer, spans int) {
	for range spans {
		_, h := tracer.Begin(t.Context(), "scheduler")
		h.End(port.Span{OrderID: "o-1"}, nil)
	}
}

// A process that runs on sends many spans without waiting for five seconds, and the rest when it ends.
func TestRun(t *testing.T) {
	c := collecting(t)
	o := options(c.URL)
	o.Header = http.Header{"Api-Key": {"secret"}}
	tracer, err := tracing.New(o)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tracer.Run(ctx)
	}()
	began := time.Now()
	end(t, tracer, 600)
	sent := <-c.got
	require.Less(t, time.Since(began), 5*time.Second)
	require.GreaterOrEqual(t, len(sent.ScopeSpans[0].Spans), 512)
	require.Contains(t, fmt.Sprint(sent.Resource.Attributes), "service.version")
	c.mu.Lock()
	require.Equal(t, "secret", c.header.Get("Api-Key"))
	c.mu.Unlock()
	all := len(sent.ScopeSpans[0].Spans)
	end(t, tracer, 3)
	stop()
	<-ended
	for len(c.got) > 0 {
		all += len((<-c.got).ScopeSpans[0].Spans)
	}
	require.Equal(t, 603, all)
}

// Without a collector spans are lost, but no handling waits. The log counts them.
func TestRunWithoutACollector(t *testing.T) {
	var log bytes.Buffer
	o := options("http://127.0.0.1:1")
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	tracer, err := tracing.New(o)
	require.NoError(t, err)
	end(t, tracer, 10_000) // nothing takes from the Tracer yet
	ended, stop := context.WithCancel(t.Context())
	stop()
	tracer.Run(ended)
	require.Contains(t, log.String(), "spans=10000")
}

func TestHeaders(t *testing.T) {
	for list, want := range map[string]http.Header{
		"":                                    {},
		"api-key=s%20e=cret , tenant = shop,": {"Api-Key": {"s e=cret"}, "Tenant": {"shop"}},
	} {
		header, err := tracing.Headers(list)
		require.NoError(t, err)
		require.Equal(t, want, header)
	}
	for _, list := range []string{"secret", "=secret", "key=%zsecret"} {
		_, err := tracing.Headers(list)
		require.ErrorContains(t, err, "NAME=VALUE")
		require.NotContains(t, err.Error(), "secret")
	}
}
