// Package spans implements port.Tracer for functions on Lambda. It sends spans to a collector, by OTLP over
// HTTP in JSON. It does not use OpenTelemetry's exporter, which would enlarge each function by 5.6 to 7.6 MB.
package spans

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
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

const (
	sendTime = 500 * time.Millisecond // longest wait of an invocation for the collector
	pause    = time.Minute            // time after a failure during which Flush drops all spans
	idle     = 10 * time.Second       // time for which an unused connection is kept
	maxSpans = 1000                   // largest number of spans of an invocation; further spans are dropped
	maxText  = 1024                   // largest number of bytes of an error's text

	kindConsumer, statusError = 5, 2 // values of OTLP's enumerations
)

// Tracer keeps the spans of an invocation until Flush sends them. It is safe for concurrent use.
type Tracer struct {
	endpoint, service string
	client            http.Client
	log               *slog.Logger

	mu      sync.Mutex
	ended   []span
	dropped int       // number of dropped spans that are not logged yet
	silent  time.Time // end of the pause
}

// New returns a Tracer that sends spans to the address in deployment.VarTraces. It returns nil if the
// variable is empty. service is the service name in the spans. If the address cannot be used, New logs the
// error and returns nil, because orders do not need spans.
func New(lookup deployment.Lookup, service string, log *slog.Logger) *Tracer {
	endpoint, _ := lookup(deployment.VarTraces)
	if endpoint == "" {
		return nil
	}
	u, err := deployment.Collector(endpoint)
	if err != nil {
		log.Warn("no spans are sent", "variable", deployment.VarTraces, "error", err)
		return nil
	}
	return &Tracer{endpoint: u.String(), service: service, log: log,
		// The client uses no proxy. It closes idle connections soon, because a connection may be dead after
		// Lambda has frozen the process.
		client: http.Client{Transport: &http.Transport{IdleConnTimeout: idle},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
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
	return ctx, &handling{t, span{TraceID: hex.EncodeToString(id[:16]), SpanID: hex.EncodeToString(id[16:]),
		Name: name, Kind: kindConsumer, Start: nanoseconds()}}
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
		h.span.Status = map[string]any{"code": statusError,
			"message": strings.ToValidUTF8(message[:min(len(message), maxText)], "")}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.ended) < maxSpans {
		h.ended = append(h.ended, h.span)
	} else {
		h.dropped++
	}
}

// Flush sends the spans that ended since the last Flush, and waits for at most sendTime. After a
// failure it drops spans for a minute, so that a broken collector does not delay each invocation.
// Flush logs the number of dropped spans. A nil *Tracer sends nothing.
func (t *Tracer) Flush(ctx context.Context) {
	if t == nil {
		return
	}
	t.mu.Lock()
	all, silent := t.ended, time.Now().Before(t.silent)
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
		t.silent = time.Now().Add(pause)
	}
	if t.dropped > 0 && !silent {
		t.log.Warn("spans were dropped", "spans", t.dropped, "error", err)
		t.dropped = 0
	}
}

func (t *Tracer) send(ctx context.Context, all []span) error {
	body, err := json.Marshal(map[string]any{"resourceSpans": []any{map[string]any{
		"resource": map[string]any{"attributes": []attribute{text("service.name", t.service)}},
		"scopeSpans": []any{map[string]any{
			"scope": map[string]string{"name": "github.com/stepkeeper/stepkeeper"}, "spans": all}},
	}}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.endpoint, bytes.NewReader(body))
	if err != nil {
		return err
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
