package client

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// Transport is how the calls reach the product. There is one over HTTP here, and one over AWS in
// package aws. It sends once and answers what it got: an *Error, the end of the context, or an
// error that wraps ErrConnection or ErrAnswer. Repeating is the Client's business.
type Transport interface {
	// Submit takes one submission in the form of message.SubmitOrder.
	Submit(ctx context.Context, order []byte) (Receipt, error)
	// Stream submits what next gives, until it says that there is no more, and answers each in its
	// turn, without a Line. next may be asked a last time after Stream returned; the end of ctx releases it.
	Stream(ctx context.Context, next func() ([]byte, bool), answer func(Result) error) error
	// Task returns a task, at its end if that comes within wait. nil without an error: it is on its
	// way and not to be seen yet; only with a wait.
	Task(ctx context.Context, id string, wait time.Duration) (*Task, error)
	// Order returns the content of an order as it was submitted.
	Order(ctx context.Context, id string) (json.RawMessage, error)
	// Page answers one page of a listing.
	Page(ctx context.Context, q Query, cursor string) (*view.Page, error)
	// Follow returns the versions of a task after the given one. An error is the last element.
	Follow(ctx context.Context, id string, after int64) iter.Seq2[*Task, error]
	// Command carries a command out and answers its verdict, which may be a refusal; *Undecided where
	// it is sure to have been sent and the verdict did not come.
	Command(ctx context.Context, c message.Control) (Verdict, error)
	// Plan says what a move to a definition would mean; with the documents where they are asked for.
	Plan(ctx context.Context, id, definition string, documents bool) (view.Plan, error)
	// Workflows lists what orders can name.
	Workflows(ctx context.Context) ([]Workflow, error)
	// Definition returns a version of a workflow: by its hash, or the Latest.
	Definition(ctx context.Context, workflow, definition string) (Definition, error)
	// Schedules lists the workflows that start by the clock.
	Schedules(ctx context.Context) ([]Schedule, error)
	// Unlisted says what listings leave out; "" for nothing.
	Unlisted() string

	// DeadQueues lists the queues that wait for the operator, by the names of DeadLetterQueue.Queue.
	DeadQueues(ctx context.Context) ([]string, error)
	// DeadQueue is one of them. port.ErrNotFound.
	DeadQueue(name string) (port.Queue, error)
	// Redrivable says why a message would not be taken back by a queue; nil where nothing speaks against it.
	Redrivable(ctx context.Context, queue string, body []byte) error
	// Resend sends a message to a queue again.
	Resend(ctx context.Context, queue string, m port.Message) error
	// QueueError gives an error of DeadQueue's methods the client's meaning; action is that of SQS.
	QueueError(ctx context.Context, action, queue string, err error) error
}
