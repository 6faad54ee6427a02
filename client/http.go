package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/redirect"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// WithHTTPClient sets the HTTP client. The HTTP client should have no timeout, because Wait and Follow take
// long. Use contexts to limit the time of calls. New copies the HTTP client, and the copy follows no
// redirects.
func WithHTTPClient(c *http.Client) Option {
	return func(o *options) { o.http = c }
}

const (
	dialTimeout   = 5 * time.Second
	answerTimeout = 45 * time.Second // limit for the response header, in addition to pollWait
	connections   = 64
	maxAnswer     = 16 << 20
	maxProblem    = 64 << 10
)

// overHTTP is the transport to a server. The command `stepkeeper dev` runs a server.
type overHTTP struct {
	base   string
	client *http.Client
}

func newHTTP(baseURL string, c *http.Client) (*overHTTP, error) {
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery+u.Fragment != "" {
		return nil, fmt.Errorf("server address %q: give a URL like http://127.0.0.1:8377", baseURL)
	}
	if c == nil {
		c = &http.Client{Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
			MaxIdleConnsPerHost: connections, IdleConnTimeout: time.Minute,
			ResponseHeaderTimeout: pollWait + answerTimeout,
		}}
	}
	return &overHTTP{base: strings.TrimRight(u.String(), "/"), client: redirect.Refused(*c)}, nil
}

func path(id, rest string) string { return "/v1/orders/" + url.PathEscape(id) + rest }

// send makes one request. It returns an *Error if the status is 300 or higher.
func (h *overHTTP) send(ctx context.Context, method, path string, header http.Header,
	body io.Reader,
) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, h.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	maps.Copy(req.Header, header)
	resp, err := h.client.Do(req)
	if err != nil {
		return nil, broken(ctx, err)
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	if resp.StatusCode < 400 {
		return nil, Errorf(resp.StatusCode, "", "the server answered with status %d, a redirect to %s, "+
			"which is not followed; is there a proxy or a login page before the server? Give the "+
			"address of Stepkeeper itself", resp.StatusCode, redirect.Target(resp))
	}
	return nil, errorOf(resp)
}

// broken returns an ErrConnection for a failed connection. If the caller's context has ended, it returns the
// error of the context instead.
func broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", ErrConnection, err)
}

type problem struct {
	Error
	RetryAfter int      `json:"retryAfter"` // seconds
	Verdict    *Verdict `json:"verdict"`

	// Members of an error in the protocol of SQS.
	Type    string `json:"__type"`
	Message string `json:"message"`
}

func retryAfter(seconds int) time.Duration {
	return time.Duration(min(max(seconds, 0), int(time.Hour/time.Second))) * time.Second
}

// queueStatus holds the statuses of errors for which SQS has the status 400.
var queueStatus = map[string]int{
	"QueueDoesNotExist": http.StatusNotFound, "RequestThrottled": http.StatusTooManyRequests,
}

func errorOf(resp *http.Response) error {
	var p problem
	data, _ := io.ReadAll(io.LimitReader(resp.Body, maxProblem)) // the status alone is sufficient
	if json.Unmarshal(data, &p) != nil || p.Code+p.Type == "" {
		p = problem{Error: Error{Title: http.StatusText(resp.StatusCode)}}
	}
	status := resp.StatusCode
	if p.Type != "" {
		p.Code = p.Type[strings.LastIndexByte(p.Type, '#')+1:]
		p.Title = http.StatusText(status)
		p.Detail = p.Message
		status = cmp.Or(queueStatus[p.Code], status)
	}
	e := &p.Error
	e.Status = status
	e.verdict = p.Verdict
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = retryAfter(s)
	}
	return e
}

func contentType(kind string) http.Header { return http.Header{"Content-Type": {kind}} }

const jsonType = "application/json"

func post[T any](ctx context.Context, h *overHTTP, path string, body []byte) (T, error) {
	return call[T](ctx, h, http.MethodPost, path, contentType(jsonType), bytes.NewReader(body))
}

func get[T any](ctx context.Context, h *overHTTP, path string) (T, error) {
	return call[T](ctx, h, http.MethodGet, path, nil, nil)
}

func call[T any](ctx context.Context, h *overHTTP, method, path string, header http.Header,
	body io.Reader,
) (answer T, err error) {
	resp, err := h.send(ctx, method, path, header, body)
	if err != nil {
		return answer, err
	}
	defer resp.Body.Close()
	return answerOf[T](ctx, resp)
}

// answerOf reads the body of a response, which is bounded.
func answerOf[T any](ctx context.Context, resp *http.Response) (answer T, err error) {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return answer, broken(ctx, err)
	case len(data) > maxAnswer:
		return answer, fmt.Errorf("%w: it has more than %d bytes", ErrAnswer, maxAnswer)
	}
	if err := rawjson.Unmarshal(data, &answer); err != nil {
		return answer, fmt.Errorf("%w of %s %s: %w", ErrAnswer, resp.Request.Method, resp.Request.URL.RequestURI(), err)
	}
	return answer, nil
}

// whole returns an ErrAnswer if a member that each answer of Stepkeeper has is missing, as in the "{}" of another
// server.
func whole(err error, member, value string) error {
	if err != nil || value != "" {
		return err
	}
	return fmt.Errorf("%w: it has no %s", ErrAnswer, member)
}

func (h *overHTTP) Submit(ctx context.Context, order []byte, wait time.Duration) (Receipt, *Task, error) {
	resp, err := h.send(ctx, http.MethodPost, "/v1/orders"+waiting(wait), contentType(jsonType), bytes.NewReader(order))
	if err != nil {
		return Receipt{}, nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK && wait > 0 {
		t, err := taskOf(answerOf[Task](ctx, resp))
		return Receipt{}, t, err
	}
	r, err := answerOf[Receipt](ctx, resp)
	return r, nil, whole(err, "orderId", r.OrderID)
}

func waiting(wait time.Duration) string {
	if wait == 0 {
		return ""
	}
	return "?wait=" + wait.String()
}

func (h *overHTTP) Task(ctx context.Context, id string, wait time.Duration) (*Task, error) {
	return taskOf(get[Task](ctx, h, path(id, waiting(wait))))
}

func taskOf(t Task, err error) (*Task, error) {
	err = whole(err, "orderId", t.OrderID)
	if err != nil {
		return nil, err
	}
	return &t, nil
}

func (h *overHTTP) Order(ctx context.Context, id string) (json.RawMessage, error) {
	o, err := get[struct{ Order json.RawMessage }](ctx, h, path(id, "/order"))
	return o.Order, whole(err, "order", string(o.Order))
}

func (h *overHTTP) Document(ctx context.Context, id string) (json.RawMessage, error) {
	d, err := get[struct{ Document json.RawMessage }](ctx, h, path(id, "/document"))
	return d.Document, whole(err, "document", string(d.Document))
}

// withQuery adds the parameters that have a value to a path.
func withQuery(path string, parameters map[string]string) string {
	v := url.Values{}
	for name, value := range parameters {
		if value != "" {
			v.Set(name, value)
		}
	}
	return path + "?" + v.Encode()
}

// given returns the text of a parameter, or "" for the zero value.
func given[T comparable](value T) string {
	if value == *new(T) {
		return ""
	}
	return fmt.Sprint(value)
}

func (h *overHTTP) Page(ctx context.Context, q Query, cursor string) (*view.Page, error) {
	p, err := get[view.Page](ctx, h, withQuery("/v1/orders", map[string]string{
		"state": string(q.State), "workflow": q.Workflow, "olderThan": given(q.OlderThan), "damaged": given(q.Damaged),
		"oldest": given(q.Oldest), "limit": given(q.PageSize), "cursor": cursor,
	}))
	return &p, whole(err, "orders", given(p.Orders != nil))
}

func (h *overHTTP) Approvals(ctx context.Context, q Query, cursor string) (view.Approvals, error) {
	a, err := get[view.Approvals](ctx, h, withQuery("/v1/approvals", map[string]string{
		"workflow": q.Workflow, "step": q.Step, "id": q.IDPrefix, "limit": given(q.PageSize), "cursor": cursor,
	}))
	return a, whole(err, "approvals", given(a.Approvals != nil))
}

func (h *overHTTP) Workflows(ctx context.Context) ([]Workflow, error) {
	w, err := get[struct{ Workflows []Workflow }](ctx, h, "/v1/workflows")
	return w.Workflows, whole(err, "workflows", given(w.Workflows != nil))
}

func (h *overHTTP) Definition(ctx context.Context, workflow, definition string) (Definition, error) {
	d, err := get[Definition](ctx, h, "/v1/workflows/"+url.PathEscape(workflow)+"?definition="+
		url.QueryEscape(definition))
	return d, whole(err, "hash", d.Hash)
}

func (h *overHTTP) Schedules(ctx context.Context) ([]Schedule, error) {
	s, err := get[struct{ Schedules []Schedule }](ctx, h, "/v1/schedules")
	return s.Schedules, whole(err, "schedules", given(s.Schedules != nil))
}

// Unlisted returns "", because a server lists all orders.
func (h *overHTTP) Unlisted() string { return "" }

func (h *overHTTP) Statistics(ctx context.Context) (*Statistics, error) {
	s, err := get[Statistics](ctx, h, "/v1/statistics")
	return &s, whole(err, "intervalMs", given(s.Interval))
}

func (h *overHTTP) Plan(ctx context.Context, id, definition string, documents bool) (view.Plan, error) {
	p, err := get[view.Plan](ctx, h, path(id, "/move?definition="+url.QueryEscape(definition)+"&documents="+
		strconv.FormatBool(documents)))
	return p, whole(err, "orderId", p.OrderID)
}

// Unattended reads the queues without a consumer from the server's health. It ignores the workflow.
func (h *overHTTP) Unattended(ctx context.Context, _ string) ([]Unattended, error) {
	now, err := get[health](ctx, h, "/healthz")
	return now.Unattended, whole(err, "ready", given(now.Ready != nil))
}

// Command posts a command to the path of the command's kind. The body of the request is the command's JSON. An
// answer states its run even if that is 0, because a server takes an absent run for the present one.
func (h *overHTTP) Command(ctx context.Context, c message.Control) (Verdict, error) {
	var body any = c.Event
	place := "/" + string(c.Kind())
	if a, ok := c.Event.(core.Answered); ok {
		place = "/answers"
		answer := struct {
			core.Answered
			Run *int `json:"run,omitempty"`
		}{a, &a.Run}
		if a.Token != "" { // it states the run
			answer.Run = nil
			answer.Round = max(1, a.Round)
		}
		body = answer
	}
	data, err := rawjson.Marshal(body)
	if err != nil {
		return Verdict{}, err
	}
	v, err := post[Verdict](ctx, h, path(c.OrderID, place), data)
	var refused *Error
	if errors.As(err, &refused) && refused.verdict != nil {
		return *refused.verdict, nil
	}
	return v, whole(err, "id", v.ID)
}
