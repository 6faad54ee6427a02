package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/answerpage"
	"github.com/stepkeeper/stepkeeper/dev/api"
	"github.com/stepkeeper/stepkeeper/dev/api/apitest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// routed is a backend that records which class of route a request has reached: "answer", "api" or "sqs".
type routed struct {
	*apitest.Backend
	reached []string
}

func (b *routed) reach(class string) {
	if !slices.Contains(b.reached, class) {
		b.reached = append(b.reached, class)
	}
}

func (b *routed) Question(context.Context, string, string) (answerpage.Question, error) {
	b.reach("answer")
	return answerpage.Question{Text: "Pay?", Round: 1, Answers: []string{"yes"}}, nil
}

func (b *routed) Command(_ context.Context, c message.Control) (protocol.Verdict, error) {
	if a, ok := c.Event.(core.Answered); ok && a.Token != "" {
		b.reach("answer")
	} else {
		b.reach("api")
	}
	return protocol.Verdict{Accepted: true}, nil
}

func (b *routed) Submit(_ context.Context, orders []message.SubmitOrder) []api.SubmitResult {
	b.reach("api")
	return make([]api.SubmitResult, len(orders))
}

func (b *routed) Reject(context.Context, api.Rejected) error { b.reach("sqs"); return nil }

func (b *routed) Queue(name string) (port.Queue, error) {
	b.reach("sqs")
	return nil, fmt.Errorf("queue %q: %w", name, port.ErrNotFound)
}

func (b *routed) QueueNames() []string { b.reach("sqs"); return nil }

func (b *routed) Order(ctx context.Context, t *protocol.Task) (json.RawMessage, error) {
	b.reach("api")
	return b.Backend.Order(ctx, t)
}

func (b *routed) Task(ctx context.Context, id string) (*protocol.Task, *core.Definition, error) {
	b.reach("api")
	return b.Backend.Task(ctx, id)
}

func (b *routed) List(ctx context.Context, q port.Query) ([]view.Summary, string, error) {
	b.reach("api")
	return b.Backend.List(ctx, q)
}

// spellings are ways to write a path that some proxy, router or client takes for the path itself, and ways to
// hide it behind the answer page's path.
func spellings(path string) []string {
	all := []string{
		path, "/" + path, path + "/", strings.ToUpper(path), strings.ReplaceAll(path, "/", "//"),
		strings.Replace(path, "a", "%61", 1), strings.Replace(path, "a", "%2561", 1), path + "%00",
		"http://127.0.0.1" + path, "http://shop.example" + path, path + "?/answer/o/token",
		path + "/..;/answer/o/token", path + "/..%2f..%2fanswer/o/token", path + "/../answer/o/token",
	}
	for _, slash := range []string{"%2f", "/./", `\`, "%5c", "/;/"} {
		all = append(all, strings.ReplaceAll(path, "/", slash))
	}
	ups := []string{
		"", "/..", "/%2e%2e", "%2f..", "/..;", "/.%2e", "%2f%2e%2e%2f%2e%2e%2f..", "/../..", "/../../..",
		"/.", "//..", "/;", "%5c..",
	}
	if testing.Short() {
		ups = ups[:5]
	}
	for _, behind := range []string{
		"/answer", "/answer/", "/answer/o", "/answer/o/token", "/Answer/o/token",
		"/answer%2fo", "/%61nswer/o",
	} {
		for _, up := range ups {
			all = append(all, behind+up+path)
		}
	}
	return all
}

var routeHeaders = map[string][]string{
	"none":      nil,
	"send":      {"X-Amz-Target: AmazonSQS.SendMessage", "Content-Type: application/x-amz-json-1.0"},
	"receive":   {"X-Amz-Target: AmazonSQS.ReceiveMessage", "Content-Type: application/x-amz-json-1.0"},
	"list":      {"X-Amz-Target: AmazonSQS.ListQueues", "Content-Type: application/x-amz-json-1.0"},
	"json":      {"Content-Type: application/json"},
	"form":      {"Content-Type: application/x-www-form-urlencoded"},
	"override":  {"X-HTTP-Method-Override: POST", "X-Original-URL: /v1/orders", "X-Rewrite-URL: /v1/orders"},
	"forwarded": {"X-Forwarded-Host: 127.0.0.1", "Forwarded: host=127.0.0.1", "X-Forwarded-Prefix: /v1"},
}

var routeBodies = map[string]string{
	"form":   "round=1&value=yes",
	"submit": orderJSON("o"),
	"cancel": `{"id":"c-1","command":0}`,
	"queued": fmt.Sprintf(`{"QueueUrl":"http://127.0.0.1/000000000000/intake","MessageBody":%q}`,
		orderJSON("o")),
}

// listener is a handler with its backend, and the headers that each of its requests has.
type listener struct {
	handler http.Handler
	backend *routed
	headers []string
	only    string // class that it may reach; empty means each
	seen    map[string]bool
}

func newListener(only string, headers []string, handler func(*routed) http.Handler) *listener {
	b := &routed{Backend: apitest.New()}
	return &listener{handler(b), b, headers, only, map[string]bool{}}
}

// may lists the classes that a path may reach, by its first segment.
func (l *listener) may(path string) []string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	queues := []string{"sqs", "api"}
	all := map[string][]string{"answer": {"answer"}, "v1": {"api"}, "": queues, "000000000000": queues}[first]
	if l.only != "" && first != l.only {
		return nil
	}
	return all
}

// try sends a request as it is written, and checks what it has reached.
func (l *listener) try(t *testing.T, method, target string, headers []string, body string) {
	t.Helper()
	text := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n%s\r\n\r\n%s",
		method, target, len(body), strings.Join(append(slices.Clone(l.headers), headers...), "\r\n"), body)
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
	if err != nil {
		return // the server answers 400 itself
	}
	l.backend.reached = nil
	l.handler.ServeHTTP(httptest.NewRecorder(), r.WithContext(t.Context()))
	for _, class := range l.backend.reached {
		l.seen[class] = true
		require.Contains(t, l.may(r.URL.Path), class, method)
	}
}

// A request reaches only the class of routes that the first segment of its path names, however the path is
// spelled and whatever headers and body it has. The listener for answers reaches the answer page alone, and
// so does a page of another origin on the main listener.
func TestRoutesDoNotOverlap(t *testing.T) {
	whole := func(b *routed) http.Handler { return api.New(api.Config{Backend: b, Version: "test"}) }
	answers := func(b *routed) http.Handler { return api.Answers(b) }
	listeners := map[string]*listener{
		"main":         newListener("", []string{"X-Test: main"}, whole),
		"other origin": newListener("answer", []string{"Origin: https://evil.example"}, whole),
		"no origin":    newListener("answer", []string{"Origin: null", "Sec-Fetch-Site: cross-site"}, whole),
		"answers":      newListener("answer", []string{"X-Test: answers"}, answers),
	}
	for _, base := range []string{
		"/answer/o/token", "/answer/intake", "/v1/orders", "/v1/orders/o",
		"/v1/orders/o/cancel", "/v1/orders/o/answers", "/", "/000000000000/intake",
	} {
		for _, target := range spellings(base) {
			for _, headers := range routeHeaders {
				for _, l := range listeners {
					l.try(t, "GET", target, headers, "")
					for _, body := range routeBodies {
						l.try(t, "POST", target, headers, body)
					}
				}
			}
		}
	}
	for name, l := range listeners {
		require.Len(t, l.seen, map[bool]int{true: 3, false: 1}[l.only == ""], name)
	}
}
