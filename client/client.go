// Package client submits orders, waits for their end, follows them, and sends commands.
//
// Every call may be repeated: the server recognises a submission by its order ID, and a command by its own
// ID. So the client repeats a call after a broken connection, or if the server is busy or unavailable. The
// pauses grow. The client stops at the limit set by WithRetry, or when the context ends.
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
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// Results of the calls. Packages view and core document their fields.
type (
	// Task is an order with its steps.
	Task = view.Task
	// Step is one step of a Task.
	Step = view.Step
	// Summary is an order in a listing.
	Summary = view.Summary
	// TaskError is the reason why an order ended as it did.
	TaskError = view.TaskError
	// Moment is one line of an order's timeline.
	Moment = view.Moment
	// Plan describes the effect of a move to another definition.
	Plan = view.Plan
	// Definition is a version of a workflow.
	Definition = view.Definition
	// Workflow is a workflow that orders can name.
	Workflow = view.WorkflowInfo
	// Unattended is a queue without a consumer.
	Unattended = view.Unattended
	// Statistics holds the figures of a deployment.
	Statistics = view.Statistics
	// State is the state of an order or a step.
	State = core.State
	// Verdict is the result of a command.
	Verdict = core.Verdict
	// Fact is what an operator states about a step in doubt.
	Fact = core.Fact
)

// Facts that Resolve can state.
const (
	Happened    = core.Happened
	NotHappened = core.NotHappened
	Undone      = core.Undone
)

// Order is an order to submit.
type Order struct {
	ID       string // your own ID: 1 to 128 of A-Z a-z 0-9 . _ : -, not - first, not "." or ".."
	Workflow string // name of the workflow
	// the order itself; marshalled to JSON, except a json.RawMessage, which is sent unchanged
	Content  any
	Priority string    // "normal" (default) or "high"
	ReplyTo  string    // logical name of the queue or bus that gets the status messages; "" means none
	Deadline time.Time // zero means the workflow's deadline
}

// MarshalJSON writes the submission's envelope.
func (o Order) MarshalJSON() ([]byte, error) {
	content, err := json.Marshal(o.Content)
	if err != nil {
		return nil, fmt.Errorf("order %q: its content cannot be written as JSON: %w", o.ID, err)
	}
	return json.Marshal(message.SubmitOrder{
		Schema: message.Schema, OrderID: o.ID, Workflow: o.Workflow, Order: content,
		Priority: o.Priority, ReplyTo: o.ReplyTo, Deadline: core.TimeOf(o.Deadline),
	})
}

// Receipt confirms that an order is durable: stored and started, or in the intake queue.
type Receipt struct {
	OrderID string `json:"orderId"`
	Known   bool   `json:"known"` // the same order existed before
	// the order is durable in the intake queue (on AWS); its task shows the result
	Queued bool  `json:"queued,omitempty"`
	State  State `json:"state"` // "" while it is queued
	// Notes names, for people, the parts of the order that have no effect in this deployment.
	Notes []string `json:"notes,omitempty"`
	// Unattended lists the request queues of the order's workflow that have no consumer. For a stack it is
	// empty: use Client.Unattended.
	Unattended []Unattended `json:"unattended,omitempty"`
}

// Client sends the calls. It is safe for use by many goroutines.
type Client struct {
	via   Transport
	retry failsafe.Executor[any]
}

type retryLimit struct {
	attempts int
	longest  time.Duration // total time for all attempts of one call
}

type options struct {
	http  *http.Client // nil means a new client
	limit retryLimit
}

var defaultLimit = retryLimit{attempts: 12, longest: 30 * time.Second}

// Option changes a setting of New.
type Option func(*options)

// WithRetry bounds the repetitions of one call: the number of attempts (1 means no repetition), and the time
// after which no further attempt begins. The default is 12 attempts within 30 seconds.
func WithRetry(attempts int, longest time.Duration) Option {
	return func(o *options) { o.limit = retryLimit{max(attempts, 1), longest} }
}

// New returns a client of a server's base URL, such as "http://127.0.0.1:7070". It does not connect yet.
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

// Over returns a client with another transport than HTTP. WithHTTPClient has no effect on it.
func Over(via Transport, opts ...Option) *Client {
	o := options{limit: defaultLimit}
	for _, set := range opts {
		set(&o)
	}
	return &Client{via: via, retry: executor(o.limit)}
}

// Pauses between the attempts of one call. A server's Retry-After takes precedence.
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

// again calls f until it succeeds, fails for good, or the limits are reached.
func again[T any](ctx context.Context, c *Client, f func(context.Context) (T, error)) (T, error) {
	var got T
	var last error // error of the last attempt; the library returns ctx's error instead when ctx ends
	err := c.retry.WithContext(ctx).RunWithExecution(func(failsafe.Execution[any]) error {
		got, last = f(ctx)
		return last
	})
	if end := ctx.Err(); err != nil && end != nil && last != nil && !errors.Is(end, last) {
		err = fmt.Errorf("%w (last: %w)", end, last)
	}
	return got, err
}

// Submit stores and starts an order. It returns when the order is durable.
//
// If the same order exists, it returns the same receipt with Known set. If another order has that ID, the
// error is ErrRefused. On AWS, Submit returns when the order is in the intake queue (Queued). Errors that
// only the deployment can find, such as an unknown workflow or another order with that ID, appear in Wait.
func (c *Client) Submit(ctx context.Context, o Order) (Receipt, error) {
	body, err := json.Marshal(o)
	if err != nil {
		return Receipt{}, err
	}
	return c.submit(ctx, body)
}

func (c *Client) submit(ctx context.Context, body []byte) (Receipt, error) {
	return again(ctx, c, func(ctx context.Context) (Receipt, error) { return c.via.Submit(ctx, body) })
}

// Get returns the task of an order, or ErrNotFound if the order is unknown.
func (c *Client) Get(ctx context.Context, id string) (*Task, error) {
	return again(ctx, c, func(ctx context.Context) (*Task, error) { return c.via.Task(ctx, id, 0) })
}

// Submitted returns the content of an order as it was submitted, or ErrNotFound if the order is unknown.
func (c *Client) Submitted(ctx context.Context, id string) (json.RawMessage, error) {
	return again(ctx, c, func(ctx context.Context) (json.RawMessage, error) { return c.via.Order(ctx, id) })
}

// Workflows returns the workflows that orders can name, with the errors of newer files.
func (c *Client) Workflows(ctx context.Context) ([]Workflow, error) {
	return again(ctx, c, c.via.Workflows)
}

// Definition returns a version of a workflow, by its hash or as Latest. It returns ErrNotFound if there is
// none. A stack on AWS knows only the versions that orders have run.
func (c *Client) Definition(ctx context.Context, workflow, definition string) (Definition, error) {
	return again(ctx, c, func(ctx context.Context) (Definition, error) {
		return c.via.Definition(ctx, workflow, definition)
	})
}

// Schedule is a workflow that starts by the clock. It lists the last 20 starts and skipped times. The two
// counts include all of them.
type Schedule struct {
	Workflow string `json:"workflow"`
	Cron     string `json:"cron"`
	Zone     string `json:"zone"`    // "" means UTC
	Overlap  string `json:"overlap"` // "skip" or "allow"
	// The zero value means that no Supervisor has found the schedule yet.
	Next    time.Time        `json:"next"`
	Started int              `json:"started"`
	Starts  []ScheduledStart `json:"starts"`
	Missed  int              `json:"missed"` // scheduled times that started nothing
	Skipped []SkippedStart   `json:"skipped"`
}

// ScheduledStart is an order that a schedule started.
type ScheduledStart struct {
	At      time.Time `json:"at"` // the scheduled time
	OrderID string    `json:"orderId"`
	Decided time.Time `json:"decided"` // when the Supervisor found it due
	Sent    bool      `json:"sent"`    // the order was submitted; if false, the next sweep submits it
}

// SkippedStart is a scheduled time at which no order started, with the reason.
type SkippedStart struct {
	At  time.Time `json:"at"`
	Why string    `json:"why"`
}

// Schedules lists the workflows that start by the clock.
func (c *Client) Schedules(ctx context.Context) ([]Schedule, error) {
	return again(ctx, c, c.via.Schedules)
}

// pollWait is the time that the server may wait for an end in one call.
const pollWait = 30 * time.Second

// Wait waits until an order ends: every step is done, it is undone or cancelled, or it stops in Error. Only
// ctx bounds the time. It returns ErrNotFound if the order is unknown and this client did not queue it.
func (c *Client) Wait(ctx context.Context, id string) (*Task, error) {
	for {
		t, err := again(ctx, c, func(ctx context.Context) (*Task, error) {
			started := time.Now()
			t, err := c.via.Task(ctx, id, pollWait)
			if brokenUse(started, err) {
				return nil, nil // start again, with all attempts
			}
			return t, err
		})
		if err != nil || t != nil && t.Ended {
			return t, err
		}
	}
}
