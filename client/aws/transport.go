package aws

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/schedule"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/view"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

// Tasks is the part of port.Store that the client reads.
type Tasks interface {
	Load(ctx context.Context, ids []string) ([]*port.Record, []error)
	Content(ctx context.Context, id, hash string) ([]byte, error)
	Ended(ctx context.Context, id string) (bool, error)
	List(ctx context.Context, q port.Query) (port.Page, error)
}

// Definitions is the part of port.Definitions that the client reads.
type Definitions interface {
	Definition(ctx context.Context, hash string) ([]byte, error)
}

// Queues returns the queues of a deployment by name. The queue for the dead letters of a queue NAME has the
// name port.Dead(NAME).
type Queues interface {
	Queue(name string) (port.Queue, error)
}

// Parts holds the dependencies of a client for a stack.
type Parts struct {
	Outputs     Outputs
	Tasks       Tasks
	Definitions Definitions
	Schedules   schedule.Reader
	Queues      Queues
	// Poll is the first pause between two reads of a task. Later pauses are longer, up to 5 s. The zero value
	// means 100 ms.
	Poll time.Duration
	// Patience is the time that the client waits for the task of a queued order, and for the verdict of a
	// command. After this time, the client returns an error. 0 means the constant Patience.
	Patience time.Duration
}

// Patience is the default value of Parts.Patience.
const Patience = 5 * time.Minute

// Over returns a client with the given dependencies.
func Over(p Parts, opts ...client.Option) *client.Client {
	return client.Over(NewTransport(p), opts...)
}

// NewTransport returns a transport with the given dependencies. Package operate extends this transport.
func NewTransport(p Parts) *Transport {
	p.Poll = cmp.Or(p.Poll, firstPause)
	p.Patience = cmp.Or(p.Patience, Patience)
	queued, _ := lru.New[string, sent](remembered) // New fails only if the size is below 1
	return &Transport{Parts: p, queued: queued}
}

// Transport implements client.Transport for a stack on AWS.
type Transport struct {
	Parts
	queued      *lru.Cache[string, sent] // orders that this client sent, by ID
	definitions sync.Map                 // each *core.Definition by its hash; a definition never changes
}

// ReadUse returns the Use that describes a read of a task.
func (t *Transport) ReadUse() Use {
	return Use{"dynamodb:GetItem", "table " + t.Outputs.Orders, t.Outputs.Application}
}

// IndexUse returns the Use that describes a query of the index.
func (t *Transport) IndexUse() Use {
	return Use{
		"dynamodb:Query", "the index " + dynamo.IndexName + " of table " + t.Outputs.Orders,
		t.Outputs.Operator,
	}
}

// load reads a task with a strongly consistent read. It returns nil if the task does not exist.
func (t *Transport) load(ctx context.Context, id string) (*protocol.Task, error) {
	records, errs := t.Tasks.Load(ctx, []string{id})
	if errs[0] != nil {
		return nil, Failed(ctx, t.ReadUse(), errs[0])
	}
	if records[0] == nil {
		return nil, nil
	}
	task, err := state.TaskOf(records[0])
	if err != nil {
		return nil, refusal(http.StatusInternalServerError, codeDamaged, "order %q: %v", id, err)
	}
	return task, nil
}

// show returns the client's form of a task, with values from the definition of the task. The detailed form
// also has the inputs of steps, such as the question of an approval. If the order's content cannot be read,
// it lacks these inputs.
func (t *Transport) show(ctx context.Context, task *protocol.Task, detailed bool) (*client.Task, error) {
	def, err := t.pinned(ctx, &task)
	if err != nil {
		return nil, err
	}
	shown := view.Of(task, def)
	shown.History = view.History(task, def)
	if detailed {
		order, _ := t.order(ctx, task)
		shown = view.Detailed(task, def, order, time.Now())
		shown.Pinned(task, def, t.deployed(ctx, task, def), time.Now())
	}
	return &shown, nil
}

// pinned returns the definition of a task. It returns nil if the task, or the definition, cannot be read. If the
// task does not fit, it makes task a damaged copy (P60, a damaged order is set aside).
func (t *Transport) pinned(ctx context.Context, task **protocol.Task) (*core.Definition, error) {
	if (*task).Damaged != "" {
		return nil, nil
	}
	def, err := t.Stored(ctx, (*task).Definition)
	if err == nil || errors.Is(err, port.ErrNotFound) {
		*task = view.Fitted(*task, def, err)
		return def, nil
	}
	return nil, err
}

// deployed returns the definition that new orders of the task's workflow get. It returns nil if the workflow
// is not deployed, or if def is nil. If no order has used the deployed definition yet, it cannot be read.
// deployed then returns a copy of def with the hash of the deployed definition.
func (t *Transport) deployed(ctx context.Context, task *protocol.Task, def *core.Definition) *core.Definition {
	hash := t.Outputs.Hash(task.Workflow)
	if hash == "" || def == nil {
		return nil
	}
	if to, err := t.Stored(ctx, hash); err == nil && to != nil {
		return to
	}
	c := *def
	c.Hash = hash
	return &c
}

// Stored returns a stored definition. If hash is empty, as in a task without an order, Stored returns nil.
func (t *Transport) Stored(ctx context.Context, hash string) (*core.Definition, error) {
	if hash == "" {
		return nil, nil
	}
	if known, ok := t.definitions.Load(hash); ok {
		return known.(*core.Definition), nil
	}
	data, err := t.Definitions.Definition(ctx, hash)
	if errors.Is(err, port.ErrNotFound) {
		return nil, fmt.Errorf("%w: definition %s is not stored: %w", client.ErrAnswer, hash,
			port.ErrNotFound)
	}
	if err != nil {
		return nil, Failed(ctx, Use{"dynamodb:GetItem", "table " + t.Outputs.Definitions, t.Outputs.Application}, err)
	}
	def, err := workflow.Decode(hash, data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", client.ErrAnswer, err)
	}
	t.definitions.Store(hash, def)
	return def, nil
}

func notFound(id string) error {
	return refusal(http.StatusNotFound, "not-found",
		"no order %q is known; check the ID; one that was queued just now is known in a moment", id)
}

// present reads a task. It returns nil if this client sent the order and the task does not exist yet. It
// returns an error in three cases:
//
//   - This client did not send the order, and there is no task.
//   - This client sent the order, and there is no task after Patience.
//   - The task belongs to a different order with this ID.
func (t *Transport) present(ctx context.Context, id string) (*protocol.Task, error) {
	task, err := t.load(ctx, id)
	if err != nil {
		return nil, err
	}
	sent, known := t.queued.Get(id)
	switch {
	case task == nil && !known:
		return nil, notFound(id)
	case task == nil && time.Since(sent.at) > t.Patience:
		return nil, refusal(http.StatusConflict, codeNotStarted, "order %q was queued %s ago and has not "+
			"started: it was refused, for instance because its workflow is not deployed (the message and "+
			"the reason are in the quarantine queue %s, or went to its reply-to), or the intake queue "+
			"is far behind", id, time.Since(sent.at).Round(time.Second), t.Outputs.Quarantine)
	case task == nil || !known || task.IsTombstone() || task.Damaged != "":
		return task, nil
	case state.HashOf(task) != sent.hash:
		return nil, refusal(http.StatusConflict, "other-content",
			"an order with the ID %q and other content was submitted before; nothing was changed: submit "+
				"the new content under a new ID", id)
	}
	return task, nil
}

// Task reads the task repeatedly until the task has ended or the duration wait has passed.
func (t *Transport) Task(ctx context.Context, id string, wait time.Duration) (*client.Task, error) {
	until := time.Now().Add(wait)
	for p := t.pauses(); ; {
		task, err := t.present(ctx, id)
		if err != nil {
			return nil, err
		}
		left := time.Until(until)
		switch {
		case task == nil && wait <= 0:
			return nil, notFound(id)
		case task == nil && left <= 0:
			return nil, nil
		case task != nil && (left <= 0 || view.Ended(task)):
			return t.show(ctx, task, wait <= 0)
		}
		if err := p.wait(ctx, left); err != nil {
			return nil, err
		}
	}
}

// Order returns the content of an order.
func (t *Transport) Order(ctx context.Context, id string) (json.RawMessage, error) {
	task, err := t.load(ctx, id)
	if err != nil {
		return nil, err
	}
	if task == nil {
		return nil, notFound(id)
	}
	if task.Erased != nil {
		return nil, refusal(http.StatusNotFound, "not-found", "the content of order %q was erased at %s; "+
			"its states and times are still shown", id, task.Erased.At)
	}
	return t.order(ctx, task)
}

// Document returns the document of an order as it is stored.
func (t *Transport) Document(ctx context.Context, id string) (json.RawMessage, error) {
	records, errs := t.Tasks.Load(ctx, []string{id})
	if errs[0] != nil {
		return nil, Failed(ctx, t.ReadUse(), errs[0])
	}
	document, err := state.DocumentOf(records[0])
	switch {
	case errors.Is(err, port.ErrNotFound):
		return nil, notFound(id)
	case err != nil:
		return nil, refusal(http.StatusInternalServerError, codeDamaged, "order %q: %v", id, err)
	}
	return document, nil
}

func (t *Transport) order(ctx context.Context, task *protocol.Task) (json.RawMessage, error) {
	order, err := state.OrderOf(ctx, t.Tasks, task)
	if errors.Is(err, port.ErrNotFound) {
		return nil, notFound(task.OrderID)
	}
	return order, Failed(ctx, t.ReadUse(), err)
}

// Definition returns a stored definition. The Scheduler stores a definition with its first order. Until then,
// the definition exists only in the code of the functions.
func (t *Transport) Definition(ctx context.Context, workflow, definition string) (client.Definition, error) {
	if definition == client.Latest {
		definition = t.Outputs.Hash(workflow)
		if definition == "" {
			return client.Definition{}, refusal(http.StatusNotFound, message.CodeUnknownWorkflow,
				"the workflow %q is not deployed in this stack", workflow)
		}
	}
	def, err := t.Stored(ctx, definition)
	if errors.Is(err, port.ErrNotFound) {
		err = nil
	}
	if err == nil && (def == nil || def.Name != workflow) {
		err = refusal(http.StatusNotFound, "not-found", "no order of workflow %q has run the definition %q; "+
			"it is stored with its first order", workflow, definition)
	}
	if err != nil {
		return client.Definition{}, err
	}
	return view.DefinitionOf(def), nil
}

// Plan compares the order's definition with a different stored definition. A definition that no order has
// used is not stored, so Plan returns an error for it.
func (t *Transport) Plan(ctx context.Context, id, definition string, documents bool) (view.Plan, error) {
	p, err := view.ReadPlan(ctx, orders{t}, id, definition, documents, time.Now())
	if errors.Is(err, port.ErrNotFound) {
		err = notFound(id)
	}
	return p, err
}

// Workflows returns an error, because the workflows of a stack are part of its functions' code.
func (t *Transport) Workflows(context.Context) ([]client.Workflow, error) {
	return nil, refusal(http.StatusBadRequest, codeNotOnStack,
		"a stack cannot list its workflows, which are inside its functions; look at what was deployed")
}

// Schedules returns the records of the workflows that have a schedule.
func (t *Transport) Schedules(ctx context.Context) ([]client.Schedule, error) {
	all := make([]client.Schedule, len(t.Outputs.Scheduled))
	for i, name := range t.Outputs.Scheduled {
		record, _, err := schedule.Load(ctx, t.Parts.Schedules, name)
		if err != nil {
			return nil, Failed(ctx, t.ReadUse(), err)
		}
		record.Workflow = name // a schedule that no sweep has read has no record
		all[i] = record
	}
	return all, nil
}

// Command sends a command to its queue. It then reads the task repeatedly until the task contains the verdict
// (P5, commands have a number and an ID).
func (t *Transport) Command(ctx context.Context, c message.Control) (client.Verdict, error) {
	task, err := t.load(ctx, c.OrderID)
	if err == nil && task == nil {
		task, err = t.absent(ctx, c)
	}
	if err != nil {
		return client.Verdict{}, err
	}
	if v, ok := verdictOf(task, c.ID()); ok { // an earlier call has sent the command
		return v, nil
	}
	if task != nil && task.Damaged != "" && c.Kind() != message.Close {
		return client.Verdict{}, refusal(http.StatusConflict, codeDamaged, "the stored order %q cannot be read "+
			"(%s), so it accepts only close; restore it from a backup, or close it", c.OrderID, task.Damaged)
	}
	if err := t.send(ctx, t.queueOf(&c), []port.Message{{Value: &c, High: true}})[0]; err != nil {
		return client.Verdict{}, err
	}
	return t.verdict(ctx, c)
}

// queueOf returns the queue for a command. If the stack accepts commands in the intake queue, commands that
// applications may send go to the intake queue. All other commands go to the control queue.
func (t *Transport) queueOf(c *message.Control) string {
	if t.Outputs.IntakeCommands && c.ForApplications() {
		return port.Intake
	}
	return port.Control
}

// absent decides whether a command for an order without a task may be sent. Only a Cancel may come before its
// order (P17, a cancel is kept). A Cancel of an expired order is an error.
func (t *Transport) absent(ctx context.Context, c message.Control) (*protocol.Task, error) {
	if c.Kind() != message.Cancel {
		return nil, notFound(c.OrderID)
	}
	ended, err := t.Tasks.Ended(ctx, c.OrderID)
	if err != nil || !ended {
		return nil, Failed(ctx, t.ReadUse(), err)
	}
	task, err := t.load(ctx, c.OrderID) // the task may have been created since the last read
	if err == nil && task == nil {
		err = refusal(http.StatusConflict, "expired", "order %q ended long ago and its record has expired",
			c.OrderID)
	}
	return task, err
}

// verdict waits until the task contains the verdict. The command is already in its queue, so every error is a
// *client.Undecided.
func (t *Transport) verdict(ctx context.Context, c message.Control) (client.Verdict, error) {
	undecided := func(err error) (client.Verdict, error) {
		return client.Verdict{}, &client.Undecided{OrderID: c.OrderID, ID: c.ID(), Queued: true, Err: err}
	}
	until := time.Now().Add(t.Patience)
	for p := t.pauses(); ; {
		if err := p.wait(ctx, time.Until(until)); err != nil {
			return undecided(err)
		}
		task, err := t.load(ctx, c.OrderID)
		if err != nil {
			return undecided(err)
		}
		if v, ok := verdictOf(task, c.ID()); ok {
			return v, nil
		}
		if time.Now().After(until) {
			return undecided(refusal(http.StatusGatewayTimeout, codeNoVerdict,
				"the command has no verdict after %s; look at the order, and at the queue %s", t.Patience,
				t.queueOf(&c)))
		}
	}
}

func verdictOf(task *protocol.Task, id string) (client.Verdict, bool) {
	if task == nil {
		return client.Verdict{}, false
	}
	if v := task.Verdict(id); v != nil {
		return *v, true
	}
	return client.Verdict{}, false
}
