// Package client provides a Client, which submits orders, waits for their end, follows them, and sends
// commands.
//
// A repeated call has no further effect: the server recognises a submission by its order ID, and a command by
// its command ID. The client therefore repeats a call if the connection breaks, or if the server is busy or
// unavailable. The pauses between attempts become longer. The client stops at the limits that WithRetry sets,
// or when the context ends.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/retrypolicy"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/schedule"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// Types of results. The packages view and core document the fields.
type (
	// Task is an order with its steps.
	Task = view.Task
	// Step is one step of a Task.
	Step = view.Step
	// Summary is an order in a listing.
	Summary = view.Summary
	// TaskError is the reason why an order stopped or was undone.
	TaskError = view.TaskError
	// Entry is an event in an order's history.
	Entry = view.Entry
	// Plan describes the effect of a Move to a different definition.
	Plan = view.Plan
	// Definition is a version of a workflow.
	Definition = view.Definition
	// Workflow describes a workflow that the server has loaded.
	Workflow = view.WorkflowInfo
	// Approval is an open approval.
	Approval = view.Approval
	// Unattended is a queue without a consumer.
	Unattended = view.Unattended
	// Statistics holds counts and time series of a deployment.
	Statistics = view.Statistics
	// Schedule describes a workflow that has a schedule. Starts and Skipped contain the last 20 starts and the
	// last 20 skipped times. Started and Missed are their total numbers. Next is zero if no sweep of a Supervisor
	// has read the schedule yet.
	Schedule = schedule.Record
	// ScheduledStart is an order that a schedule started.
	ScheduledStart = schedule.Start
	// State is the state of an order or a step.
	State = core.State
	// Verdict is the result of a command.
	Verdict = protocol.Verdict
	// Fact is an operator's statement about whether the call of a step had an effect.
	Fact = core.Fact
)

// Facts for Resolve.
const (
	Happened    = core.Happened
	NotHappened = core.NotHappened
	Undone      = core.Undone
)

// Order is an order to submit.
type Order struct {
	// ID is the caller's own ID: 1 to 128 of the characters A-Z a-z 0-9 . _ : -. It must not begin with "-"
	// and must not be "." or "..".
	ID       string
	Workflow string
	// Content is the order itself. The client encodes it as JSON. A json.RawMessage keeps its value, but not
	// its white space.
	Content  any
	Priority string    // "normal" (default) or "high"
	ReplyTo  string    // logical name of the queue or bus for statuses; "" means none
	Deadline time.Time // the zero time means the workflow's deadline
}

// MarshalJSON returns the order as a message.SubmitOrder in JSON.
func (o Order) MarshalJSON() ([]byte, error) {
	content, err := rawjson.Marshal(o.Content)
	if err != nil {
		return nil, fmt.Errorf("order %q: its content cannot be written as JSON: %w", o.ID, err)
	}
	return rawjson.Marshal(message.SubmitOrder{
		Schema: message.Schema, OrderID: o.ID, Workflow: o.Workflow, Order: content,
		Priority: o.Priority, ReplyTo: o.ReplyTo, Deadline: core.TimeOf(o.Deadline),
	})
}

// Receipt confirms that an order is durable. The order is either stored and started, or in the intake queue.
type Receipt struct {
	OrderID string `json:"orderId"`
	Known   bool   `json:"known"` // whether the same order existed before
	// Queued reports that the order is in the intake queue on AWS. Wait returns the result.
	Queued bool  `json:"queued,omitempty"`
	State  State `json:"state"` // "" if the order is queued
	// Notes contains texts for people about fields of the order that have no effect in this deployment.
	Notes []string `json:"notes,omitempty"`
	// Unattended lists the request queues of the order's workflow that have no consumer. For a stack, the
	// list is always empty, and Client.Unattended returns the queues.
	Unattended []Unattended `json:"unattended,omitempty"`
}

// Client is a client of one deployment. It is safe for concurrent use.
type Client struct {
	via   Transport
	retry failsafe.Executor[any]
}

type retryLimit struct {
	attempts int
	longest  time.Duration // time limit for all attempts of one call
}

type options struct {
	http  *http.Client // nil means a new client
	limit retryLimit
}

var defaultLimit = retryLimit{attempts: 12, longest: 30 * time.Second}

// Option changes a setting of a Client.
type Option func(*options)

// WithRetry limits the attempts of one call. The argument attempts is the maximum number of attempts, and 1
// means no repetition. After the time longest, no further attempt begins. The default is 12 attempts within
// 30 seconds.
func WithRetry(attempts int, longest time.Duration) Option {
	return func(o *options) { o.limit = retryLimit{max(attempts, 1), longest} }
}

// New returns a client for the server at a base URL, such as "http://127.0.0.1:8377". It makes no network
// call.
func New(baseURL string, opts ...Option) (*Client, error) {
	var o options
	for _, set := range opts {
		set(&o)
	}
	via, err := newHTTP(baseURL, o.http)
	if err != nil {
		return nil, err
	}
	return Over(via, opts...), nil
}

// Over returns a client that uses the given transport. The option WithHTTPClient has no effect.
func Over(via Transport, opts ...Option) *Client {
	o := options{limit: defaultLimit}
	for _, set := range opts {
		set(&o)
	}
	return &Client{via: via, retry: executor(o.limit)}
}

// Pauses between the attempts of one call. If the server sends Retry-After, the client waits at least for
// that time instead.
const (
	firstPause   = 50 * time.Millisecond
	longestPause = 5 * time.Second
	pauseJitter  = 0.3
)

func executor(limit retryLimit) failsafe.Executor[any] {
	return failsafe.With[any](retrypolicy.NewBuilder[any]().
		HandleIf(func(_ any, err error) bool { return repeatable(err) }).
		WithMaxAttempts(limit.attempts).
		WithMaxDuration(limit.longest).
		WithBackoff(firstPause, longestPause).
		WithJitterFactor(pauseJitter).
		WithDelayFunc(func(exec failsafe.ExecutionAttempt[any]) time.Duration {
			return askedPause(exec.LastError())
		}).
		ReturnLastFailure().
		Build())
}

// again calls f repeatedly. It stops when f succeeds or returns an error that is not repeatable, when the
// attempts reach a limit, or when ctx ends.
func again[T any](ctx context.Context, c *Client, f func(context.Context) (T, error)) (T, error) {
	var got T
	var last error // of the last attempt that failed otherwise than by ctx; the library does not return it if ctx ends
	err := c.retry.WithContext(ctx).RunWithExecution(func(failsafe.Execution[any]) (err error) {
		got, err = f(ctx)
		if !errors.Is(ctx.Err(), err) {
			last = err
		}
		return err
	})
	end := ctx.Err()
	switch {
	case err == nil || end == nil || last == nil:
		return got, err
	case errors.Is(last, end): // as of a call within f
		return got, last
	}
	return got, fmt.Errorf("%w (last: %w)", end, last)
}

// Submit submits an order. It returns when the order is durable.
//
// If the same order exists, Submit returns a receipt with Known set. If a different order has the same ID,
// Submit returns ErrRefused.
//
// On AWS, Submit returns when the order is in the intake queue, and the receipt has Queued set. Wait then
// returns the errors that only the deployment can detect, such as an unknown workflow or a different order
// with the same ID.
func (c *Client) Submit(ctx context.Context, o Order) (Receipt, error) {
	body, err := rawjson.Marshal(o)
	if err != nil {
		return Receipt{}, err
	}
	return c.submit(ctx, body)
}

func (c *Client) submit(ctx context.Context, body []byte) (Receipt, error) {
	return again(ctx, c, func(ctx context.Context) (Receipt, error) {
		r, _, err := c.via.Submit(ctx, body, 0)
		return r, err
	})
}

// Run submits an order and waits for its end: it is Submit and then Wait, with the errors of both. Only ctx limits
// the time of the wait. For a server, an order that ends within 30 seconds takes one request.
func (c *Client) Run(ctx context.Context, o Order) (*Task, error) {
	body, err := rawjson.Marshal(o)
	if err != nil {
		return nil, err
	}
	for {
		var r Receipt
		var t *Task
		err := c.patiently(ctx, func(ctx context.Context) (_ bool, err error) {
			r, t, err = c.via.Submit(ctx, body, pollWait)
			return false, err
		})
		switch {
		case err != nil || t != nil:
			return t, err
		case r.OrderID != "":
			return c.Wait(ctx, o.ID)
		}
	}
}

// Get returns the task of an order, or ErrNotFound if the order is unknown.
func (c *Client) Get(ctx context.Context, id string) (*Task, error) {
	return again(ctx, c, func(ctx context.Context) (*Task, error) { return c.via.Task(ctx, id, 0) })
}

// Submitted returns the content of an order as it was submitted, or ErrNotFound if the order is unknown.
func (c *Client) Submitted(ctx context.Context, id string) (json.RawMessage, error) {
	return again(ctx, c, func(ctx context.Context) (json.RawMessage, error) { return c.via.Order(ctx, id) })
}

// Document returns the document of an order as it is stored, or ErrNotFound if the order is unknown. It is for
// people: its members may change in any version.
func (c *Client) Document(ctx context.Context, id string) (json.RawMessage, error) {
	return again(ctx, c, func(ctx context.Context) (json.RawMessage, error) { return c.via.Document(ctx, id) })
}

// Workflows returns the workflows that the server has loaded. If a newer file of a workflow is not valid, the
// result also contains the file's error. For a stack, Workflows returns an error.
func (c *Client) Workflows(ctx context.Context) ([]Workflow, error) {
	return again(ctx, c, c.via.Workflows)
}

// Definition returns a version of a workflow. The argument definition is a hash or Latest. Definition returns
// ErrNotFound if the version does not exist. A stack on AWS has only the versions that an order has used.
func (c *Client) Definition(ctx context.Context, workflow, definition string) (Definition, error) {
	return again(ctx, c, func(ctx context.Context) (Definition, error) {
		return c.via.Definition(ctx, workflow, definition)
	})
}

// Schedules returns the workflows that have a schedule.
func (c *Client) Schedules(ctx context.Context) ([]Schedule, error) {
	return again(ctx, c, c.via.Schedules)
}

// pollWait is the time for which the server waits for the end of an order in one call.
const pollWait = 30 * time.Second

// Wait blocks until an order is done, undone, cancelled or closed, or stops in Error. Only ctx limits the
// time. Wait returns ErrNotFound if the order is unknown and this client has not queued it.
func (c *Client) Wait(ctx context.Context, id string) (*Task, error) {
	for {
		var t *Task
		err := c.patiently(ctx, func(ctx context.Context) (_ bool, err error) {
			t, err = c.via.Task(ctx, id, pollWait)
			if errors.Is(err, ErrBusy) { // as many calls wait as the server permits
				now, failed := c.via.Task(ctx, id, 0)
				switch {
				case failed != nil: // a queued order may have no task yet
				case now.Ended:
					t = now
					err = nil
				default:
					err = port.Sleep(ctx, longestPause)
				}
			}
			return false, err
		})
		if err != nil || t != nil && t.Ended {
			return t, err
		}
	}
}
