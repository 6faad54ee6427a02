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

// Transport makes the calls to a deployment. This package has a Transport for a server, and package
// client/aws has a Transport for a stack on AWS. A Transport makes each call once, and the Client repeats
// calls. The error of a method is an *Error or the context's error, or wraps ErrConnection or ErrAnswer.
type Transport interface {
	// Submit submits one order in the form of message.SubmitOrder. A server then waits until the order has ended,
	// but at most for the duration wait, and Submit returns the ended task instead of a receipt.
	Submit(ctx context.Context, order []byte, wait time.Duration) (Receipt, *Task, error)
	// SubmitBatch submits orders together. It returns the results of the first orders, without a Line. If they are
	// fewer than the orders, it also returns an error.
	SubmitBatch(ctx context.Context, orders [][]byte) ([]Result, error)
	// Batches returns how many orders a batch has at most, and how many batches the Client submits at once.
	Batches() (orders, atOnce int)
	// Task returns a task. It waits until the task has ended, but at most for the duration wait. If wait is
	// above 0, Task may return nil without an error for a queued order that has no task yet.
	Task(ctx context.Context, id string, wait time.Duration) (*Task, error)
	// Order returns the content of an order as it was submitted.
	Order(ctx context.Context, id string) (json.RawMessage, error)
	// Document returns the document of an order as it is stored.
	Document(ctx context.Context, id string) (json.RawMessage, error)
	// Page returns one page of a listing.
	Page(ctx context.Context, q Query, cursor string) (*view.Page, error)
	// Follow yields each version of a task with a number above the argument after. After an error it yields
	// nothing more.
	Follow(ctx context.Context, id string, after int64) iter.Seq2[*Task, error]
	// Changes yields nil when what a reader shows of the order, or of all orders if id is "", may have
	// changed. The first nil comes at once. After an error it yields nothing more.
	Changes(ctx context.Context, id string) iter.Seq[error]
	// Approvals returns one page of the open approvals. It uses the fields Workflow, Step, IDPrefix and
	// PageSize of the query.
	Approvals(ctx context.Context, q Query, cursor string) (view.Approvals, error)
	// Command sends a command and returns its verdict, which may be a refusal. It returns *Undecided if the
	// command was sent and the verdict did not arrive.
	Command(ctx context.Context, c message.Control) (Verdict, error)
	// Plan returns the effects of a Move to the definition. If documents is true, the result contains the
	// documents for PlanMoveDocuments.
	Plan(ctx context.Context, id, definition string, documents bool) (view.Plan, error)
	// Workflows returns the loaded workflows.
	Workflows(ctx context.Context) ([]Workflow, error)
	// Definition returns a version of a workflow. The argument definition is a hash or Latest.
	Definition(ctx context.Context, workflow, definition string) (Definition, error)
	// Schedules returns the workflows that have a schedule.
	Schedules(ctx context.Context) ([]Schedule, error)
	// Statistics returns counts of at most the last hour, and the present state of each agent's queue.
	Statistics(ctx context.Context) (*Statistics, error)
	// Unattended returns the queues without a consumer that the workflow needs, or all if workflow is "".
	Unattended(ctx context.Context, workflow string) ([]Unattended, error)
	// Checks runs the health checks of the deployment, without those of dead letters.
	Checks(ctx context.Context) ([]Check, error)
	// Unlisted returns a text about the orders that listings omit, or "" if listings omit no orders.
	Unlisted() string

	// DeadQueues returns the names for DeadLetterQueue.Queue.
	DeadQueues(ctx context.Context) ([]string, error)
	// Queue returns a queue by its logical name. The errors of the queue's methods are those of this package.
	Queue(ctx context.Context, name string) (port.Queue, error)
	// Redrivable returns the reason why the deployment would refuse a message in the queue, or nil.
	Redrivable(ctx context.Context, queue string, body []byte) error
}
