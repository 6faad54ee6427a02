// Package tracing implements port.Tracer. It sends spans to a collector of OpenTelemetry, by OTLP over HTTP in
// JSON. The handling of each message is a separate trace, which has a link to the trace ID of the order's run.
//
// The package does not use OpenTelemetry's SDK, which would enlarge each function by 5.6 to 7.6 MB.
package tracing

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// VarHeaders is the environment variable that has headers for the collector. OpenTelemetry defines the name.
const VarHeaders = "OTEL_EXPORTER_OTLP_HEADERS"

const (
	idle    = 10 * time.Second // time for which an unused connection is kept
	maxText = 1024             // largest number of bytes of an error's text
	period  = 5 * time.Second  // longest wait of a span in Run
	many    = 512              // number of spans that Run sends at once

	kindConsumer, statusError = 5, 2 // values of OTLP's enumerations
)

// Options configures New.
type Options struct {
	Endpoint string // address of the collector, such as http://127.0.0.1:4318
	Service  string // service name in the spans
	Version  string // version of the service; "" means none
	Header   http.Header
	Proxy    func(*http.Request) (*url.URL, error) // nil means no proxy
	MaxSpans int                                   // largest number of spans that wait; further spans are dropped
	SendTime time.Duration                         // longest time of one request to the collector
	Pause    time.Duration                         // time after a failure during which all spans are dropped
	Log      *slog.Logger
}

// Tracer keeps spans until Flush sends them. It is safe for concurrent use.
type Tracer struct {
	Options
	client http.Client
	wake   chan struct{} // has a value if many spans wait

	mu      sync.Mutex
	ended   []span
	dropped int       // number of dropped spans that are not logged yet
	silent  time.Time // end of the pause
}

// New returns a Tracer. It makes no network calls. An error means that the address of the collector cannot be
// used.
func New(o Options) (*Tracer, error) {
	u, err := deployment.Collector(o.Endpoint)
	if err != nil {
		return nil, err
	}
	o.Endpoint = u.String()
	return &Tracer{
		Options: o, wake: make(chan struct{}, 1),
		// The client closes idle connections soon, because a connection may be dead after Lambda has frozen the
		// process.
		client: http.Client{
			Transport:     &http.Transport{IdleConnTimeout: idle, Proxy: o.Proxy},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// OfFunction returns the Tracer of a Lambda function, which calls Flush at the end of each invocation. An
// invocation waits for the collector for half a second, and has at most 1000 spans. After a failure, spans are
// dropped for a minute, so that a broken collector does not delay each invocation.
//
// deployment.VarTraces has the address of the collector. OfFunction returns nil if the variable is empty. If the
// address cannot be used, OfFunction logs the error and returns nil, because orders do not need spans.
func OfFunction(lookup deployment.Lookup, service string, log *slog.Logger) *Tracer {
	endpoint, _ := lookup(deployment.VarTraces)
	if endpoint == "" {
		return nil
	}
	t, err := New(Options{
		Endpoint: endpoint, Service: service, MaxSpans: 1000, SendTime: 500 * time.Millisecond,
		Pause: time.Minute, Log: log,
	})
	if err != nil {
		log.Warn("no spans are sent", "variable", deployment.VarTraces, "error", err)
		return nil
	}
	return t
}

// Headers reads the value of VarHeaders, such as "api-key=secret,tenant=shop". The values are
// escaped as in URLs.
func Headers(list string) (http.Header, error) {
	header := http.Header{}
	for part := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		name, value, found := strings.Cut(part, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		name = strings.TrimSpace(name)
		if !found || name == "" || err != nil {
			return nil, fmt.Errorf("a header of the collector is not NAME=VALUE") // the value may be secret
		}
		header.Set(name, value)
	}
	return header, nil
}

type span struct {
	TraceID    string              `json:"traceId"`
	SpanID     string              `json:"spanId"`
	Name       string              `json:"name"`
	Kind       int                 `json:"kind"`
	Start      string              `json:"startTimeUnixNano"`
	End        string              `json:"endTimeUnixNano"`
	Attributes []attribute         `json:"attributes"`
	Links      []map[string]string `json:"links,omitempty"`
	Status     map[string]any      `json:"status,omitempty"`
}

type attribute struct {
	Key   string            `json:"key"`
	Value map[string]string `json:"value"`
}

func text(key, value string) attribute {
	return attribute{key, map[string]string{"stringValue": value}}
}

func number(key string, value int) attribute {
	return attribute{key, map[string]string{"intValue": strconv.Itoa(value)}}
}

func nanoseconds() string { return strconv.FormatInt(time.Now().UnixNano(), 10) }

type handling struct {
	*Tracer
	span span
}

// Begin implements port.Tracer.
func (t *Tracer) Begin(ctx context.Context, name string) (context.Context, port.Handling) {
	var id [24]byte
	_, _ = rand.Read(id[:]) // Read of crypto/rand never fails
	return ctx, &handling{t, span{
		TraceID: hex.EncodeToString(id[:16]), SpanID: hex.EncodeToString(id[16:]),
		Name: name, Kind: kindConsumer, Start: nanoseconds(),
	}}
}

// Traceparent implements port.Handling.
func (h *handling) Traceparent() string { return "00-" + h.span.TraceID + "-" + h.span.SpanID + "-01" }

// End implements port.Handling. It records IDs and the start of an error's text, never bodies.
func (h *handling) End(s port.Span, err error) {
	h.span.End = nanoseconds()
	h.span.Attributes = []attribute{text("stepkeeper.order", s.OrderID), number("stepkeeper.run", s.Run)}
	if s.Step != "" {
		h.span.Attributes = append(h.span.Attributes, text("stepkeeper.step", s.Step),
			number("stepkeeper.attempt", s.Attempt))
	}
	if s.State != "" {
		h.span.Attributes = append(h.span.Attributes, text("stepkeeper.state", s.State))
	}
	if parts := strings.Split(s.Trace, "-"); len(parts) == 4 {
		h.span.Links = []map[string]string{{"traceId": parts[1], "spanId": parts[2]}}
	}
	if err != nil {
		message := err.Error()
		h.span.Status = map[string]any{
			"code":    statusError,
			"message": strings.ToValidUTF8(message[:min(len(message), maxText)], ""),
		}
	}
	h.add(h.span)
}

func (t *Tracer) add(s span) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.ended) >= t.MaxSpans {
		t.dropped++
		return
	}
	t.ended = append(t.ended, s)
	if len(t.ended) < many {
		return
	}
	select {
	case t.wake <- struct{}{}:
	default: // Run has not begun to send
	}
}

// Run sends spans in the background: after five seconds, or earlier if many wait. It delays no handling. When
// ctx ends, Run sends the remaining spans and returns.
func (t *Tracer) Run(ctx context.Context) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-t.wake:
		}
		last := ctx.Err() != nil // read before the Flush: spans may end meanwhile
		t.Flush(context.WithoutCancel(ctx))
		if last {
			return
		}
	}
}

// answerTime is the time before the deadline of an invocation in which the function answers Lambda.
const answerTime = 100 * time.Millisecond

// Flush sends the spans that ended since the last Flush, and waits for at most SendTime. After a failure it
// drops spans for the time Pause. Flush logs the number of dropped spans. A nil *Tracer sends nothing.
func (t *Tracer) Flush(ctx context.Context) {
	if t == nil {
		return
	}
	t.mu.Lock()
	all := t.ended
	silent := time.Now().Before(t.silent)
	t.ended = nil
	t.mu.Unlock()
	if len(all) == 0 {
		return
	}
	var err error
	if !silent {
		err = t.send(ctx, all) // the lock is free during send, because a handling may end meanwhile
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if silent || err != nil {
		t.dropped += len(all)
	}
	if err != nil {
		t.silent = time.Now().Round(0).Add(t.Pause) // also while Lambda has frozen the process
	}
	if t.dropped > 0 && !silent {
		t.Log.Warn("spans were dropped", "spans", t.dropped, "error", err)
		t.dropped = 0
	}
}

func (t *Tracer) send(ctx context.Context, all []span) error {
	about := []attribute{text("service.name", t.Service)}
	if t.Version != "" {
		about = append(about, text("service.version", t.Version))
	}
	body, err := json.Marshal(map[string]any{"resourceSpans": []any{map[string]any{
		"resource": map[string]any{"attributes": about},
		"scopeSpans": []any{map[string]any{
			"scope": map[string]string{"name": "github.com/stepkeeper/stepkeeper"}, "spans": all,
		}},
	}}})
	if err != nil {
		return err
	}
	limit := t.SendTime
	if deadline, bounded := ctx.Deadline(); bounded {
		limit = min(limit, time.Until(deadline)-answerTime)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.Endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, values := range t.Header {
		request.Header[name] = values
	}
	request.Header.Set("Content-Type", "application/json")
	// With this nil value, net/http repeats the request if the connection was dead. net/http does not send
	// the header.
	request.Header["Idempotency-Key"] = nil
	response, err := t.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	// read the body, so that the connection can be used again
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10))
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the collector returned %s", response.Status)
	}
	return nil
}
