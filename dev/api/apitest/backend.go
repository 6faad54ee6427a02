// Package apitest provides an api.Backend in memory, for tests of package api and of the client. A test sets
// the tasks of the backend. A test can also make the backend busy or unavailable, or make it refuse orders.
package apitest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/answerpage"
	"github.com/stepkeeper/stepkeeper/dev/api"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/schedule"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// Now is the time at which all tasks of the backend are created.
const Now = core.Time(1_800_000_000_000)

// Definition is the backend's only definition. Its workflow is "order".
var Definition = linked(&core.Definition{
	Schema: 1, Name: "order", Hash: "0123456789abcdef0123456789abcdef",
	Steps: []core.StepDefinition{
		{
			Name: "charge", Agent: "payment", Operation: "charge", Grade: core.Idempotent,
			Undo: &core.Undo{Operation: "refund"},
		},
		{
			Name: "mail", Agent: "notification", Operation: "send", Grade: core.Plain, After: []string{"charge"},
			PointOfNoReturn: true,
		},
	},
})

func linked(d *core.Definition) *core.Definition {
	d.Link()
	return d
}

// Backend implements api.Backend. A test may set the exported fields only while no call runs.
type Backend struct {
	// errors that Submit returns, by order ID
	Failing map[string]error
	Verdict func(message.Control) (protocol.Verdict, error) // verdict on each command; nil accepts known orders
	NotOK   bool                                            // true makes Health report a problem
	// number of calls of Wait whose context was cancelled before its deadline
	HungUp  atomic.Int64
	Damaged string // ID of an order whose document cannot be read
	// ID of an order for which Submit and Task panic
	Panic  string
	Pinned *core.Definition // definition of all tasks; nil means Definition
	// name of the method that returns an error: "Task", "Order", "Wait", "List", "Target", "Statistics" or
	// "Schedules"
	Broken string
	// BrokenBy is the error of the method that Broken names. nil means port.ErrUnavailable.
	BrokenBy error
	// NotTaken lists queues without a consumer.
	NotTaken []view.Unattended

	mu       sync.Mutex
	watchers map[chan struct{}]bool // channels of Changes
	tasks    map[string]*protocol.Task
	orders   map[string]json.RawMessage
	failures int // number of submissions that still fail
	failure  error
	down     error
	Commands []message.Control
	Rejected []api.Rejected
}

// New returns an empty backend.
func New() *Backend {
	return &Backend{
		watchers: map[chan struct{}]bool{}, tasks: map[string]*protocol.Task{},
		orders: map[string]json.RawMessage{},
	}
}

// Busy makes the next n submissions return "busy".
func (b *Backend) Busy(n int) { b.Fail(n, &api.BusyError{RetryAfter: time.Millisecond}) }

// Fail makes the next n submissions return err.
func (b *Backend) Fail(n int, err error) {
	b.locked(func() {
		b.failures = n
		b.failure = err
	})
}

// Down makes every submission and command return err. A nil err makes them succeed again.
func (b *Backend) Down(err error) { b.locked(func() { b.down = err }) }

func (b *Backend) locked(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

// Change applies f to a copy of the task, and stores the changed copy as the next version.
func (b *Backend) Change(id string, f func(*protocol.Task)) {
	b.locked(func() {
		t := *b.tasks[id]
		t.Steps = slices.Clone(t.Steps)
		f(&t)
		b.put(&t)
	})
}

// End makes the task Processed.
func (b *Backend) End(id string) {
	b.Change(id, func(t *protocol.Task) {
		t.ProcessState = core.Processed
		t.End.At = Now + 1000
	})
}

// Seen returns the content of a submitted order. It returns nil for an unknown order.
func (b *Backend) Seen(id string) json.RawMessage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.orders[id]
}

// Put stores t as the next version of its task.
func (b *Backend) Put(t *protocol.Task) { b.locked(func() { b.put(t) }) }

func (b *Backend) put(t *protocol.Task) {
	t.Version++
	b.tasks[t.OrderID] = t
	for signal := range b.watchers {
		select {
		case signal <- struct{}{}:
		default: // the watcher has a signal already
		}
	}
}

func (b *Backend) broken(method string) error {
	if b.Broken == method {
		return cmp.Or(b.BrokenBy, port.ErrUnavailable)
	}
	return nil
}

// Submit implements api.Backend.
func (b *Backend) Submit(_ context.Context, orders []message.SubmitOrder) []api.SubmitResult {
	b.mu.Lock()
	defer b.mu.Unlock()
	results := make([]api.SubmitResult, len(orders))
	for i, o := range orders {
		if o.OrderID == b.Panic && b.Panic != "" {
			panic("the test asked for it")
		}
		results[i] = b.submit(o)
	}
	return results
}

func (b *Backend) submit(o message.SubmitOrder) api.SubmitResult {
	r := api.SubmitResult{OrderID: o.OrderID, State: core.Processing}
	hash := message.ContentHash(o)
	known := b.orders[o.OrderID]
	switch {
	case b.down != nil:
		r.Err = b.down
	case b.Failing[o.OrderID] != nil:
		r.Err = b.Failing[o.OrderID]
	case b.failures > 0:
		b.failures--
		r.Err = b.failure
	case known != nil && b.tasks[o.OrderID].ContentHash != hash:
		r.Err = &core.Refusal{
			Code: "other-content",
			Text: fmt.Sprintf("order %q exists with other content; give the new one an ID of its own",
				o.OrderID),
		}
	case known != nil:
		r.Known = true
		r.State = b.tasks[o.OrderID].ProcessState
	case o.Workflow != Definition.Name:
		r.Err = &core.Refusal{
			Code: "unknown-workflow", Field: "workflow",
			Text: fmt.Sprintf("workflow %q is not known", o.Workflow),
		}
	default:
		b.orders[o.OrderID] = o.Order
		t := newTask(o.OrderID)
		t.ContentHash = hash
		b.put(t)
	}
	if r.Err == nil {
		r.Notes = message.Notes(o.Priority)
	}
	return r
}

// newTask returns a task of Definition whose first step is claimed.
func newTask(id string) *protocol.Task {
	return &protocol.Task{
		OrderID: id, Workflow: Definition.Name, Definition: Definition.Hash,
		ProcessState: core.Processing, Created: Now,
		Steps: []protocol.Step{
			{
				Name: "charge", State: core.Processing, Claim: protocol.Claim{
					By: "s1", At: Now,
					StopBy: Now + 30000,
				}, Attempt: 1, First: protocol.First{Nth: 1, At: Now},
				CompleteBy: Now + 30000, Stops: protocol.Stops{Do: Now + 30000},
			},
			{Name: "mail", State: core.Pending},
		},
	}
}

// Reject implements api.Backend.
func (b *Backend) Reject(_ context.Context, r api.Rejected) error {
	b.locked(func() { b.Rejected = append(b.Rejected, r) })
	return nil
}

// Command records the command. If Down has set an error, Command returns the error. If Verdict is set, it
// returns the result of Verdict. Otherwise it accepts commands for known orders.
func (b *Backend) Command(_ context.Context, c message.Control) (protocol.Verdict, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Commands = append(b.Commands, c)
	switch {
	case b.down != nil:
		return protocol.Verdict{}, b.down
	case b.Verdict != nil:
		return b.Verdict(c)
	case b.tasks[c.OrderID] == nil:
		return protocol.Verdict{}, fmt.Errorf("order %q: %w", c.OrderID, port.ErrNotFound)
	}
	return protocol.Verdict{ID: c.ID(), Command: string(c.Kind()), Accepted: true, At: Now}, nil
}

// Task implements api.Backend.
func (b *Backend) Task(_ context.Context, id string) (*protocol.Task, *core.Definition, error) {
	if id == b.Panic && id != "" {
		panic("the test asked for it")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tasks[id]
	switch {
	case b.broken("Task") != nil:
		return nil, nil, b.broken("Task")
	case t == nil:
		return nil, nil, fmt.Errorf("task %q: %w", id, port.ErrNotFound)
	case id == b.Damaged:
		return damaged(t), nil, nil
	}
	if b.Pinned != nil {
		return t, b.Pinned, nil
	}
	return t, Definition, nil
}

func damaged(t *protocol.Task) *protocol.Task {
	return &protocol.Task{
		OrderID: t.OrderID, Version: t.Version, Workflow: t.Workflow, Created: t.Created,
		ProcessState: t.ProcessState, Due: t.Due, Damaged: "the document is not JSON; restore it from a backup",
	}
}

// Order implements api.Backend.
func (b *Backend) Order(_ context.Context, t *protocol.Task) (json.RawMessage, error) {
	if o := b.Seen(t.OrderID); o != nil {
		return o, b.broken("Order")
	}
	return nil, fmt.Errorf("order %q: %w", t.OrderID, port.ErrNotFound)
}

// Document implements api.Backend.
func (b *Backend) Document(ctx context.Context, id string) (json.RawMessage, error) {
	t, _, err := b.Task(ctx, id)
	if err != nil {
		return nil, err
	}
	return state.EncodeTask(t)
}

// Wait implements api.Backend.
func (b *Backend) Wait(ctx context.Context, id string, done func(*protocol.Task) bool) (*protocol.Task, error) {
	changes := b.Changes(ctx, id)
	for {
		t, _, err := b.Task(ctx, id)
		err = cmp.Or(b.broken("Wait"), err)
		if err != nil || done(t) {
			return t, err
		}
		select {
		case <-changes:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				b.HungUp.Add(1)
			}
			return t, ctx.Err()
		}
	}
}

// Arrived blocks until the order is stored.
func (b *Backend) Arrived(id string) {
	for b.Seen(id) == nil {
		time.Sleep(time.Millisecond)
	}
}

// Changes signals each change of any task.
func (b *Backend) Changes(ctx context.Context, _ string) <-chan struct{} {
	signal := make(chan struct{}, 1)
	b.locked(func() { b.watchers[signal] = true })
	context.AfterFunc(ctx, func() { b.locked(func() { delete(b.watchers, signal) }) })
	return signal
}

// List returns the selected tasks, sorted by order ID.
func (b *Backend) List(_ context.Context, q port.Query) ([]view.Summary, string, error) {
	if q.Cursor == "strange" {
		return nil, "", fmt.Errorf("%w: %q", port.ErrCursor, q.Cursor)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var found []*protocol.Task
	for id, t := range b.tasks {
		if (q.State == "" || q.State == string(t.ProcessState)) &&
			(q.Workflow == "" || q.Workflow == t.Workflow) &&
			(q.Before.IsZero() || t.Created.Std().Before(q.Before)) && id > q.Cursor &&
			(!q.Damaged || b.Damaged == id) {
			found = append(found, t)
		}
	}
	slices.SortFunc(found, func(a, b *protocol.Task) int { return strings.Compare(a.OrderID, b.OrderID) })
	next := ""
	if len(found) > q.Limit {
		found = found[:q.Limit]
		next = found[q.Limit-1].OrderID
	}
	orders := make([]view.Summary, len(found))
	for i, t := range found {
		if b.Damaged == t.OrderID {
			t = damaged(t)
		}
		orders[i] = view.SummaryOf(t)
	}
	return orders, next, b.broken("List")
}

// Queue returns port.ErrNotFound, because the backend has no queues.
func (b *Backend) Queue(name string) (port.Queue, error) {
	return nil, fmt.Errorf("queue %q: %w", name, port.ErrNotFound)
}

// QueueNames returns no names.
func (b *Backend) QueueNames() []string { return nil }

// Unattended returns the field NotTaken.
func (b *Backend) Unattended(context.Context) []view.Unattended { return b.NotTaken }

// Statistics returns figures for one interval.
func (b *Backend) Statistics(context.Context) (view.Statistics, error) {
	ended := 3
	return view.Statistics{
		From: Now, Interval: 10 * core.Second,
		Series: []view.Series{{
			Kind: view.SeriesEnded, Of: string(core.Processed),
			Values: []*int{&ended, nil},
		}},
		Agents: []view.AgentStatistics{{
			Agent: "shop", Waiting: 2,
			NotCalled: []view.NotCalled{{Operation: "charge", Code: "breaker-open", Since: Now}},
		}},
		Overdue: &view.Overdue{},
	}, b.broken("Statistics")
}

// Health reports that the backend is ready, unless NotOK is true.
func (b *Backend) Health(context.Context) api.Health {
	if b.NotOK {
		return api.Health{Checks: map[string]string{"store": "the disk is full"}}
	}
	return api.Health{
		Ready: true, Checks: map[string]string{"store": "ok"},
		Counts: map[string]int64{"running": 1}, Unattended: b.NotTaken,
	}
}

// Question returns port.ErrNotFound, because the backend has no tokens.
func (b *Backend) Question(_ context.Context, id, _ string) (answerpage.Question, error) {
	return answerpage.Question{}, fmt.Errorf("order %q: %w", id, port.ErrNotFound)
}

// Target returns Definition for its hash, and for message.Latest of the workflow "order".
func (b *Backend) Target(_ context.Context, workflow, definition string) (core.Target, error) {
	if workflow == "order" && definition == message.Latest || definition == Definition.Hash {
		return core.Target{Definition: Definition}, b.broken("Target")
	}
	return core.Target{Absent: "no such definition"}, b.broken("Target")
}

// Workflows returns two workflows: one without problems, and one whose file has a problem.
func (b *Backend) Workflows(context.Context) []view.WorkflowInfo {
	return []view.WorkflowInfo{
		{Name: "order", Hash: Definition.Hash},
		{Name: "provision", Problems: []string{"provision.yaml:3:1: steps is empty; fix: define at least one"}},
	}
}

// Schedules returns two schedules. The first one has a started and a skipped time.
func (b *Backend) Schedules(context.Context) ([]schedule.Record, error) {
	return []schedule.Record{
		{
			Workflow: "nightly", Cron: "30 2 * * *", Zone: "Europe/Berlin", Overlap: core.OverlapSkip,
			Next: 1_800_000_000_000, Started: 3,
			Starts: []schedule.Start{{
				At: 1_799_900_000_000, OrderID: "nightly-20270114T204640Z",
				Decided: 1_799_900_030_000, Sent: true,
			}},
			Missed: 1, Skipped: []schedule.Skip{{
				At: 1_799_800_000_000, Why: "the order before, nightly-x, has not ended",
			}},
		},
		{Workflow: "weekly", Cron: "@weekly"},
	}, b.broken("Schedules")
}

var _ api.Backend = (*Backend)(nil)
