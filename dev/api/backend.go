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

// Backend is what the edge stands in front of: the embedded runtime. All methods may be called
// at once from many goroutines. An error that is none of those named is an internal failure. Submit,
// Reject and Command finish what they began whatever becomes of ctx: no queue stands behind them (P12a).
type Backend interface {
	// Submit stores and starts orders; the answers stand at the places of the submissions. It is
	// called with what message.DecodeSubmit accepted, and answers only after the commit (P27).
	Submit(ctx context.Context, orders []message.SubmitOrder) []SubmitResult
	// Reject takes a message from the SQS edge that is not carried out: it is acknowledged to
	// its sender, as SQS would. The backend sends the status "refused" where the reply-to is
	// known, or puts the message into quarantine. An error: it could not be sent or stored, the sender shall
	// send again.
	Reject(ctx context.Context, r Rejected) error
	// Command carries out a cancel, undo, resubmit, resolve, close or move; the verdict of a repeated ID is
	// the stored one (P5). port.ErrNotFound for an unknown order, core.ErrStale where it is ahead of it.
	Command(ctx context.Context, c message.Control) (core.Verdict, error)
	// Task: port.ErrNotFound, port.ErrDamaged. The definition is nil for the tombstone of a Cancel (P17).
	Task(ctx context.Context, id string) (*core.Task, *core.Definition, error)
	// Question is what a token of an answer may show (P39); the refusal of a bad one is an error.
	Question(ctx context.Context, id, token string) (answerpage.Question, error)
	// Target is the definition that a move names: its hash, or message.Latest.
	Target(ctx context.Context, workflow, definition string) (core.Target, error)
	// Order reads the order of a task, as it was submitted. port.ErrNotFound.
	Order(ctx context.Context, t *core.Task) (json.RawMessage, error)
	// Wait until done says so or ctx ends; it answers the task last seen, also together with the
	// error of ctx. port.ErrNotFound for an unknown task.
	Wait(ctx context.Context, id string, done func(*core.Task) bool) (*core.Task, error)
	// Follow sends every committed version newer than after, the present one first; a slow reader
	// misses some but never the last. The channel is closed when ctx ends. port.ErrNotFound.
	Follow(ctx context.Context, id string, after int64) (<-chan *core.Task, error)
	// List selects tasks, newest first; next is "" at the end. Query.Limit is set. A task whose
	// document cannot be read is listed as damaged.
	List(ctx context.Context, q port.Query) (orders []view.Summary, next string, err error)
	// Queue finds a queue for the SQS edge: port.ErrNotFound. "intake" and "control" are never
	// asked for: the edge hands their messages to Submit and Command.
	Queue(name string) (port.Queue, error)
	// QueueNames lists the names that Queue knows.
	QueueNames() []string
	Health(ctx context.Context) Health
	// Unattended are the queues of requests that nothing takes from.
	Unattended(ctx context.Context) []view.Unattended
	Workflows(ctx context.Context) []view.WorkflowInfo
	// Statistics are the figures of the last hour at most, and of the agents now.
	Statistics(ctx context.Context) (view.Statistics, error)
	// Schedules lists the workflows that start by the clock, and what became of their last times.
	Schedules(ctx context.Context) ([]schedule.Record, error)
}

// SubmitResult answers one submission.
type SubmitResult struct {
	OrderID string
	Known   bool       // the same order with the same content existed before
	State   core.State // state of the task after the commit
	Notes   []string   // texts that name the parts of the order without effect
	// Unattended are the queues of requests that the order's workflow needs and nothing takes from.
	Unattended []view.Unattended
	// Err is nil where the order is stored and started. A refusal, *message.Refusal or
	// *core.Refusal; port.ErrUnavailable; or *BusyError.
	Err error
}

// Rejected is a message that is not carried out.
type Rejected struct {
	Queue string               // intake or control
	Body  []byte               // body as it was sent
	Order *message.SubmitOrder // order, as much of it as could be parsed (use its Known); nil for a command
	Err   error                // refusal that states the reason
}

// BusyError refuses a new order because as many orders are active as the server takes.
type BusyError struct {
	RetryAfter time.Duration // time after which the sender should try again
	Active     int           // number of active orders
	Limit      int           // most active orders, from --max-open
}

func (e *BusyError) Error() string {
	return fmt.Sprintf(
		"busy: %d orders are active and the limit is %d (--max-open); send the order again later",
		e.Active, e.Limit)
}

// Health is what the runtime says of itself.
type Health struct {
	Ready  bool              `json:"ready"`            // the server accepts orders
	Checks map[string]string `json:"checks,omitempty"` // results by part: "ok" or the problem
	Counts map[string]int64  `json:"counts,omitempty"` // counts by name: "running", "refused" …
	// Unattended are queues of requests that nothing takes from: agents that do not run.
	Unattended []view.Unattended `json:"unattended,omitempty" nullable:"false"`
	Release    view.Release      `json:"release"` // release of the server
}

// Throttled lets the SQS edge answer what an AWS SDK retries by itself.
func (e *BusyError) Throttled() bool { return true }
