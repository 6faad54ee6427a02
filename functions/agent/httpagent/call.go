package httpagent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/redact"
	"github.com/stepkeeper/stepkeeper/shared/redirect"
)

var (
	placeholder  = regexp.MustCompile(`\{[^}]*\}?|\}`)
	placeholders = []string{"{key}", "{operation}", "{task}", "{run}", "{step}"}
)

func expand(path string, call worker.Call) string {
	fill := func(text string, escape func(string) string) string {
		return strings.NewReplacer("{key}", escape(call.Key), "{operation}", escape(call.Name),
			"{task}", escape(call.OrderID), "{run}", strconv.Itoa(call.Run),
			"{step}", escape(call.Step)).Replace(text)
	}
	way, query, asked := strings.Cut(path, "?")
	way = fill(way, url.PathEscape)
	if asked {
		way += "?" + fill(query, url.QueryEscape)
	}
	return way
}

// leavesFolder reports whether a segment of the path is . or .., even in escaped form. A server may
// unescape a path before it resolves these segments.
func leavesFolder(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	for {
		decoded, err := url.PathUnescape(path)
		if err != nil || decoded == path {
			break
		}
		path = decoded
	}
	return slices.ContainsFunc(strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' }),
		func(part string) bool { return part == "." || part == ".." })
}

// exchange is one call of the service, with its response.
type exchange struct {
	*Service
	method, path string
	input        []byte // body of the request; nil means no body
	call         worker.Call
	classify     Classify
	redact       redact.Redactor // removes the secrets that the call has carried so far

	status int
	header http.Header
	body   []byte // body of the response
	to     string // address of a redirect, see redirect.Target
}

func (s *Service) exchange(method, path string, call worker.Call) *exchange {
	return &exchange{Service: s, method: method, path: expand(path, call), call: call, redact: *s.agent.redact}
}

// what returns the method and the path, for error texts.
func (x *exchange) what() string { return x.method + " " + x.path }

func (s *Service) do(ctx context.Context, o Operation, call worker.Call) (json.RawMessage, error) {
	if !operationName.MatchString(call.Name) {
		return nil, permanent("operation-name", true,
			"%.90q is not the name of an operation; correct it in the workflow", call.Name)
	}
	x := s.exchange(o.Method, o.Path, call)
	x.classify = o.Classify
	if o.Method != http.MethodGet {
		x.input = call.Input
	}
	var out json.RawMessage
	err := x.ask(ctx)
	if err == nil {
		out, err = x.output(o.Output == "ignore")
	}
	return x.redact.Output(out), worker.Rewritten(err, x.redact.Text)
}

func (s *Service) check(ctx context.Context, c Check, call worker.Call) (bool, json.RawMessage, error) {
	x := s.exchange(c.Method, c.Path, call)
	err := x.ask(ctx)
	if err == nil && (x.status == http.StatusNotFound || x.status == http.StatusGone) {
		return false, nil, nil
	}
	var out json.RawMessage
	happened := err == nil && x.status/100 == 2
	if err == nil {
		out, err = x.output(false)
	}
	if happened { // also if its output cannot be used
		return true, x.redact.Output(out), nil
	}
	return false, nil, worker.Rewritten(err, x.redact.Text)
}

func (x *exchange) ask(ctx context.Context) error {
	if leavesFolder(x.path) {
		return permanent("request", true,
			"the call's path %.200q has a part that is . or .., which leads elsewhere; give the order "+
				"another ID, or the path no such place", x.redact.Text(x.path))
	}
	guardStandardLog()
	if x.agent.Timeout > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, x.agent.Timeout)
		defer cancel()
	}
	client := x.kept
	if x.call.Grade == core.Plain || x.call.PointOfNoReturn {
		client = x.fresh
	}
	res, reached, err := x.deliver(ctx, client)
	if f := (*worker.Failure)(nil); errors.As(err, &f) {
		return f
	}
	if err != nil {
		return x.networkFailure(err, reached == written)
	}
	defer func() { _ = res.Body.Close() }()
	x.status = res.StatusCode
	x.header = res.Header
	x.body, err = x.read(ctx, res)
	if x.status/100 == 3 && x.status != http.StatusNotModified {
		x.to = redirect.Target(res)
	}
	if err != nil && x.classify.done(x.status) { // the response is incomplete
		return x.networkFailure(err, true)
	}
	return nil
}

// deliver sends a request. It repeats the request in two cases:
//   - A kept connection broke before a byte of the request was written.
//   - The service refused the token.
func (x *exchange) deliver(ctx context.Context, client *http.Client) (*http.Response, reach, error) {
	token, err := x.token(ctx, nil)
	if err != nil {
		return nil, unconnected, err
	}
	res, reached, err := x.send(ctx, client, token)
	if reached == connected && client == x.kept && ctx.Err() == nil {
		res, reached, err = x.send(ctx, x.fresh, token)
	}
	if err != nil || token == nil || res.StatusCode != http.StatusUnauthorized {
		return res, reached, err
	}
	_ = res.Body.Close()
	token, err = x.token(ctx, token)
	if err != nil {
		return nil, unconnected, err
	}
	return x.send(ctx, x.fresh, token)
}

// token returns the token for the request, or nil if OAuth2 is not configured, see authenticator.current.
func (x *exchange) token(ctx context.Context, stale *oauth2.Token) (*oauth2.Token, error) {
	token, redactor, err := x.auth.current(ctx, stale)
	x.redact = redactor.And(x.redact)
	return token, err
}

type reach int

const (
	unconnected reach = iota // the request got no connection
	connected                // the request got a connection, but no byte of the request was written
	written                  // bytes of the request were written
)

// send sends one request. After an error over HTTP/1.1, no more bytes of the request are written. Over HTTP/2
// other calls may use the connection, so after an error it counts as certain that bytes were written.
func (x *exchange) send(ctx context.Context, client *http.Client, token *oauth2.Token) (*http.Response, reach,
	error,
) {
	var used net.Conn
	req, err := x.request(ctx, token)
	if err != nil {
		return nil, unconnected, err
	}
	x.redact = x.redact.WithHeader(req.Header)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		used = i.Conn
		if c, ours := used.(*conn); ours {
			c.begin()
		}
	}})
	res, err := client.Do(req.WithContext(ctx))
	if err == nil {
		return res, written, nil
	}
	if used == nil {
		return nil, unconnected, err
	}
	if c, ours := used.(*conn); ours && !c.end() {
		return nil, connected, err
	}
	return nil, written, err
}

// wordsTime is the time limit for reading the body of a refusal. It is short, because the agent needs
// only the status of a refusal.
const wordsTime = 5 * time.Second

// read reads at most one byte more than maxResponse, so that the method output can refuse a longer
// body. At the end of the context, read closes the body. net/http does not do this for a connection
// that has switched protocols.
func (x *exchange) read(ctx context.Context, res *http.Response) ([]byte, error) {
	switch {
	case x.classify.done(res.StatusCode):
	case res.StatusCode/100 == 1:
		return nil, nil // the connection has switched protocols, so these bytes are no response
	default:
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, wordsTime)
		defer cancel()
	}
	stop := context.AfterFunc(ctx, func() { _ = res.Body.Close() })
	defer stop()
	data, err := io.ReadAll(io.LimitReader(res.Body, int64(x.agent.MaxResponse)+1))
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return data, err
}

// noInput is the body of a call without input. net/http would send an empty body of unknown length in
// chunks. A service that does not read chunks would read their bytes as the next request.
var noInput = []byte("{}")

// request builds the request without a GetBody. With a GetBody, the header Idempotency-Key would make
// net/http repeat the request. Only deliver and package worker may repeat the request.
func (x *exchange) request(ctx context.Context, token *oauth2.Token) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, x.method, strings.TrimRight(x.agent.URL.text, "/")+x.path,
		http.NoBody)
	if err != nil {
		return nil, permanent("request", true, "the request cannot be built: %s", bare(err))
	}
	body := x.input
	call := x.call
	if len(body) == 0 && x.method != http.MethodGet && x.method != http.MethodDelete {
		body = noInput
	}
	// Do not use http.NoBody, because net/http repeats requests with this body. If the reader is empty,
	// net/http sends no body for DELETE and GET.
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.GetBody = nil
	req.ContentLength = int64(len(body))
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "stepkeeper")
	for key, value := range x.agent.Headers {
		req.Header.Set(key, value.text)
	}
	for key, value := range map[string]string{
		"Idempotency-Key":        call.Key,
		"Traceparent":            call.Trace,
		"X-Stepkeeper-Operation": string(call.Operation),
		"X-Stepkeeper-Task":      call.OrderID,
		"X-Stepkeeper-Run":       strconv.Itoa(call.Run),
		"X-Stepkeeper-Step":      call.Step,
		"X-Stepkeeper-Attempt":   strconv.Itoa(call.Attempt),
		"X-Stepkeeper-Deadline":  call.Deadline.UTC().Format(time.RFC3339Nano),
	} {
		if !printable(value) {
			return nil, permanent("request", true,
				"%s of the request has characters that a header cannot have; remove them from the order", key)
		}
		if value != "" {
			req.Header.Set(key, value)
		}
	}
	return req, x.auth.apply(req, body, token, x.clock.Now())
}

// bare returns an error of net/http without the URL, because the URL may hold a secret.
func bare(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return u.Err
	}
	return err
}

func permanent(code string, noEffect bool, format string, args ...any) *worker.Failure {
	return &worker.Failure{Permanent: true, NoEffect: noEffect, Code: code, Err: fmt.Errorf(format, args...)}
}
