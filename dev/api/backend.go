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
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/schedule"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// Backend is the embedded runtime, as package api uses it. All methods may be called concurrently. problemOf
// translates the known errors of a Backend. Any other error is an internal failure.
//
// Submit, Reject and Command finish their work even if ctx ends, because no queue would deliver the request
// again (P12a, who emits again).
type Backend interface {
	view.Orders

	// Submit stores and starts orders that message.DecodeSubmit has accepted. The results have the sequence
	// of the orders. Submit returns only after the commit (P27, the embedded runtime survives its queues).
	Submit(ctx context.Context, orders []message.SubmitOrder) []SubmitResult
	// Reject handles a refused message that a client has sent in the protocol of SQS. The client gets no
	// error, because SQS acknowledges every message. If the reply-to is known, the backend sends the status
	// "refused". Otherwise it puts the message into quarantine. Reject returns an error if the status or the
	// message could not be stored. The client must then send the message again.
	Reject(ctx context.Context, r Rejected) error
	// Command executes a command. If a command with the same ID was executed before, Command returns the
	// stored verdict (P5, commands have a number and an ID). It returns port.ErrNotFound for an unknown
	// order. It returns core.ErrStale if the command names a run that the order has not begun.
	Command(ctx context.Context, c message.Control) (protocol.Verdict, error)
	// Question returns the data that the answer page may show for a token (P39, a token is an answer's
	// permission). It returns an error for an invalid token.
	Question(ctx context.Context, id, token string) (answerpage.Question, error)
	// Document returns the document of an order as it is stored. It returns port.ErrNotFound for an unknown
	// order, state.ErrSchema for a document of another version, and core.ErrUnfit for one that is not JSON.
	Document(ctx context.Context, id string) (json.RawMessage, error)
	// Wait blocks until done returns true for a version of the task, or ctx ends. Even if ctx ends, Wait
	// returns the last version of the task. It returns port.ErrNotFound for an unknown task.
	Wait(ctx context.Context, id string, done func(*protocol.Task) bool) (*protocol.Task, error)
	// Changes signals each commit of the order, or of all orders if id is "", until ctx ends. Commits that
	// follow each other quickly give one signal. After a signal, Task returns the version of that commit, or a later
	// one. Changes never closes the channel.
	Changes(ctx context.Context, id string) <-chan struct{}
	// Queue returns a queue for clients with the protocol of SQS, or port.ErrNotFound. Package api passes
	// messages for "intake" and "control" to Submit and Command instead, so it never asks for these two
	// queues.
	Queue(name string) (port.Queue, error)
	// QueueNames returns the names of the queues.
	QueueNames() []string
	Health(ctx context.Context) Health
	// Unattended returns the request queues without a consumer.
	Unattended(ctx context.Context) []view.Unattended
	Workflows(ctx context.Context) []view.WorkflowInfo
	// Statistics returns the numbers of orders and requests over at most the last hour, and the present
	// figures of the agents.
	Statistics(ctx context.Context) (view.Statistics, error)
	// Schedules returns the schedules of the workflows, with their last starts and skipped times.
	Schedules(ctx context.Context) ([]schedule.Record, error)
}

// SubmitResult is the result of one submission.
type SubmitResult struct {
	OrderID string
	Known   bool       // true if the same order with the same content was stored before
	State   core.State // state of the task after the commit
	Notes   []string   // texts for people, about parts of the order that have no effect
	// Unattended lists the request queues of the order's workflow that have no consumer.
	Unattended []view.Unattended
	// Err is nil if the order is stored and started. Otherwise it is a *core.Refusal, port.ErrUnavailable, or a
	// *BusyError.
	Err error
}

// Rejected is a refused message that a client has sent in the protocol of SQS.
type Rejected struct {
	Queue string // port.Intake or port.Control
	Body  []byte // body as it was sent
	Err   error  // refusal that states the reason
}

// BusyError refuses a new order because too many orders are active.
type BusyError struct {
	RetryAfter time.Duration // positive time after which the sender should try again
	Active     int           // number of active orders
	Limit      int           // largest allowed number of active orders, from --max-open
}

func (e *BusyError) Error() string {
	return fmt.Sprintf(
		"busy: %d orders are active and the limit is %d (--max-open); send the order again later",
		e.Active, e.Limit)
}

// Health is the state of the runtime.
type Health struct {
	Ready  bool              `json:"ready"`            // true if the server accepts orders
	Checks map[string]string `json:"checks,omitempty"` // results by part: "ok" or the problem
	Counts map[string]int64  `json:"counts,omitempty"` // counts by name: "running", "refused" …
	// Unattended lists the request queues without a consumer. Usually their agents do not run.
	Unattended []view.Unattended `json:"unattended,omitempty" nullable:"false"`
	Release    view.Release      `json:"release"` // release of the server
}

// Throttled reports true. A client with the protocol of SQS then gets an error that AWS SDKs retry.
func (e *BusyError) Throttled() bool { return true }
