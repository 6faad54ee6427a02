package api

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/answerpage"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/schedule"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// Backend is the embedded runtime behind the edge. All methods may be called concurrently. Any error that is
// not named is an internal failure. Submit, Reject and Command finish their work even if ctx ends, because no
// queue would deliver the request again (P12a, who emits again).
type Backend interface {
	// Submit stores and starts orders. The orders have passed message.DecodeSubmit, and the results have
	// their sequence. It returns only after the commit (P27, the embedded runtime survives its queues).
	Submit(ctx context.Context, orders []message.SubmitOrder) []SubmitResult
	// Reject handles a message from the SQS edge that is not executed. The sender gets an acknowledgement, as
	// from SQS. The backend sends the status "refused" if the reply-to is known, or puts the message into
	// quarantine. An error means that it could do neither, and that the sender has to send again.
	Reject(ctx context.Context, r Rejected) error
	// Command executes a cancel, undo, resubmit, resolve, close or move. The verdict of a repeated ID is the
	// stored one (P5, commands have a number and an ID). It returns port.ErrNotFound for an unknown order,
	// and core.ErrStale if the command is ahead of the order.
	Command(ctx context.Context, c message.Control) (core.Verdict, error)
	// Task returns a task, port.ErrNotFound or port.ErrDamaged. The definition is nil for the tombstone of a
	// Cancel (P17, a cancel is kept).
	Task(ctx context.Context, id string) (*core.Task, *core.Definition, error)
	// Question returns the data that a token of an answer may show (P39, a token is an answer's permission).
	// The refusal of an invalid token is an error.
	Question(ctx context.Context, id, token string) (answerpage.Question, error)
	// Target returns the definition that a move names: by its hash, or message.Latest.
	Target(ctx context.Context, workflow, definition string) (core.Target, error)
	// Order reads the order of a task, as it was submitted. It may return port.ErrNotFound.
	Order(ctx context.Context, t *core.Task) (json.RawMessage, error)
	// Wait blocks until done returns true or ctx ends. It returns the last version of the task, even with the
	// error of ctx. It returns port.ErrNotFound for an unknown task.
	Wait(ctx context.Context, id string, done func(*core.Task) bool) (*core.Task, error)
	// Follow sends every committed version newer than after, the present one first. A slow reader misses some
	// but never the last. The channel is closed when ctx ends. It may return port.ErrNotFound.
	Follow(ctx context.Context, id string, after int64) (<-chan *core.Task, error)
	// List returns the selected tasks, newest first. next is "" at the end. Query.Limit is set. It marks a
	// task as damaged if the document cannot be read.
	List(ctx context.Context, q port.Query) (orders []view.Summary, next string, err error)
	// Queue returns a queue for the SQS edge, or port.ErrNotFound. It is never called for "intake" and
	// "control", because the edge passes their messages to Submit and Command.
	Queue(name string) (port.Queue, error)
	// QueueNames returns the names of the queues.
	QueueNames() []string
	Health(ctx context.Context) Health
	// Unattended returns the request queues without a consumer.
	Unattended(ctx context.Context) []view.Unattended
	Workflows(ctx context.Context) []view.WorkflowInfo
	// Statistics returns the figures of at most the last hour, and the present figures of the agents.
	Statistics(ctx context.Context) (view.Statistics, error)
	// Schedules returns the schedules of the workflows, with the results of their last times.
	Schedules(ctx context.Context) ([]schedule.Record, error)
}

// SubmitResult is the result of one submission.
type SubmitResult struct {
	OrderID string
	Known   bool       // the same order with the same content existed before
	State   core.State // state of the task after the commit
	Notes   []string   // texts that name the parts of the order without effect
	// Unattended lists the request queues of the order's workflow that have no consumer.
	Unattended []view.Unattended
	// Err is nil if the order is stored and started. Otherwise it is a refusal (*message.Refusal or
	// *core.Refusal), port.ErrUnavailable, or *BusyError.
	Err error
}

// Rejected is a message that is not executed.
type Rejected struct {
	Queue string               // intake or control
	Body  []byte               // body as it was sent
	Order *message.SubmitOrder // the order, as far as it could be parsed (use its Known); nil for a command
	Err   error                // refusal that states the reason
}

// BusyError refuses a new order because the largest number of orders is active.
type BusyError struct {
	RetryAfter time.Duration // time after which the sender should try again
	Active     int           // number of active orders
	Limit      int           // largest number of active orders, from --max-open
}

func (e *BusyError) Error() string {
	return fmt.Sprintf(
		"busy: %d orders are active and the limit is %d (--max-open); send the order again later",
		e.Active, e.Limit)
}

// Health is the state of the runtime.
type Health struct {
	Ready  bool              `json:"ready"`            // the server accepts orders
	Checks map[string]string `json:"checks,omitempty"` // results by part: "ok" or the problem
	Counts map[string]int64  `json:"counts,omitempty"` // counts by name: "running", "refused" …
	// Unattended lists the request queues without a consumer, mostly because their agents do not run.
	Unattended []view.Unattended `json:"unattended,omitempty" nullable:"false"`
	Release    view.Release      `json:"release"` // release of the server
}

// Throttled makes the SQS edge return an error that an AWS SDK retries by itself.
func (e *BusyError) Throttled() bool { return true }
