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

// Transport carries the calls to a deployment. This package has one over HTTP, and package aws one over AWS.
// A Transport sends once. It returns an *Error, the end of the context, or an error that wraps ErrConnection
// or ErrAnswer. The Client repeats calls.
type Transport interface {
	// Submit submits one order in the form of message.SubmitOrder.
	Submit(ctx context.Context, order []byte) (Receipt, error)
	// Stream submits the orders that next returns, until it returns false. It calls answer once for each
	// order, in the same sequence, with a Result without Line. next may be called a last time after Stream
	// has returned, and returns when ctx ends.
	Stream(ctx context.Context, next func() ([]byte, bool), answer func(Result) error) error
	// Task returns a task. It waits for the task's end, at most for the duration wait. With a wait it may
	// return nil without an error: the order was queued and has no task yet.
	Task(ctx context.Context, id string, wait time.Duration) (*Task, error)
	// Order returns the content of an order as it was submitted.
	Order(ctx context.Context, id string) (json.RawMessage, error)
	// Page returns one page of a listing.
	Page(ctx context.Context, q Query, cursor string) (*view.Page, error)
	// Follow returns the versions of a task after the given one. An error is the last element.
	Follow(ctx context.Context, id string, after int64) iter.Seq2[*Task, error]
	// Command executes a command and returns its verdict, which may be a refusal. It returns *Undecided if
	// the command was certainly sent and the verdict did not arrive.
	Command(ctx context.Context, c message.Control) (Verdict, error)
	// Plan returns the effects of a move to a definition, with the documents on request.
	Plan(ctx context.Context, id, definition string, documents bool) (view.Plan, error)
	// Workflows returns the workflows that orders can name.
	Workflows(ctx context.Context) ([]Workflow, error)
	// Definition returns a version of a workflow, by its hash or as Latest.
	Definition(ctx context.Context, workflow, definition string) (Definition, error)
	// Schedules lists the workflows that start by the clock.
	Schedules(ctx context.Context) ([]Schedule, error)
	// Unlisted describes the orders that listings omit, or returns "" if they omit none.
	Unlisted() string

	// DeadQueues returns the names of the queues that wait for the operator, as in DeadLetterQueue.Queue.
	DeadQueues(ctx context.Context) ([]string, error)
	// DeadQueue returns the queue with that name, or port.ErrNotFound.
	DeadQueue(name string) (port.Queue, error)
	// Redrivable returns the reason why a queue would not take a message back, or nil if it would.
	Redrivable(ctx context.Context, queue string, body []byte) error
	// Resend sends a message to a queue again.
	Resend(ctx context.Context, queue string, m port.Message) error
	// QueueError translates an error of a queue's methods into one of this package. action is the action of
	// SQS.
	QueueError(ctx context.Context, action, queue string, err error) error
}
