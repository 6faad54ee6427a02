// Package actorstest is an environment for tests of the actors. It provides adapters in memory, and a clock that
// the test moves. Its agents follow a script. It can make the actors' calls fail.
package actorstest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/functions/supervisor"
	"github.com/stepkeeper/stepkeeper/internal/inprocess"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

// Visibility is the visibility timeout of each batch that an actor receives.
const Visibility = 30 * time.Second

// Start is the initial time of every world.
var Start = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// World is one deployment with adapters in memory.
type World struct {
	t          testing.TB
	Clock      *memory.Clock
	Store      *memory.Store
	Queues     *memory.Queues
	Defs       *memory.Definitions
	Leases     *memory.Leases
	Def        *core.Definition
	State      *state.Store
	Scheduler  *scheduler.Scheduler
	Supervisor *supervisor.Supervisor
	Dead       bool // true makes every call of the store, a queue or the alerts fail
	// Script returns the agent's reply to a request; nil means no reply. If Script itself is nil, every
	// operation succeeds. If a do succeeds after the undo with the same key, the agent reports the failure
	// "fenced" instead.
	Script func(*message.Request) *message.Reply

	Alerts   []core.RaiseAlert
	Asked    map[string]string // encoded request by order, run, step and attempt
	Ledger   map[string]*Entry // effects on the services by idempotency key
	Statuses map[string]string // encoded statuses by order and sequence number
	Unnumber []core.Status     // statuses without a sequence number, such as "refused"
	Counts   map[string]int
	Config   func(*scheduler.Config) // function that changes the Scheduler's configuration in Boot
	// function that changes the configuration of each new Supervisor
	Sweeping func(*supervisor.Config)
	CacheFor int    // number of tasks in the Scheduler's cache
	Limit    int    // largest message body in bytes; 0 means no limit
	Refuse   string // name of the queue that refuses every message
	Gone     string // reply-to name that has no queue
	Outage   bool   // true makes the lookup of a reply-to fail
	// error of every read and write of a definition; nil means no error
	Unread error
	// function that returns the error of a message that the queue must refuse; nil accepts every message
	Fail     func(queue string, m port.Message) error
	instance int
}

// Entry is a fenced service's record for one idempotency key.
type Entry struct {
	Fenced bool
	Calls  int
}

// New returns a world with the definition. The world has the actors' queues, and the reply-to queues "shop",
// "desk" and "events".
func New(t testing.TB, def *core.Definition) *World {
	t.Helper()
	if err := workflow.Seal(def); err != nil {
		t.Fatal(err)
	}
	w := &World{
		t: t, Clock: memory.NewClock(Start), Store: memory.NewStore(4), Defs: memory.NewDefinitions(),
		Leases: memory.NewLeases(),
		Def:    def, Asked: map[string]string{}, Ledger: map[string]*Entry{},
		Statuses: map[string]string{}, Counts: map[string]int{},
	}
	return w.newQueues()
}

func (w *World) newQueues() *World {
	w.t.Helper()
	names := []string{port.Intake, port.Replies, port.Control, port.Tasks, port.Quarantine}
	for _, name := range slices.Sorted(maps.Keys(w.Def.Agents)) {
		names = append(names, port.Requests(name))
	}
	var err error
	w.Queues, err = inprocess.Queues(w.Clock, []string{"shop", "desk", core.Events},
		names...)
	if err != nil {
		w.t.Fatal(err)
	}
	return w
}

// Kill ends the process, with all queues in memory, and starts a new one. The application receives the
// statuses that were sent.
func (w *World) Kill() {
	w.t.Helper()
	w.Listen()
	w.newQueues().Boot()
	if _, err := w.Scheduler.Restart(Context); err != nil {
		w.t.Fatal(err)
	}
}

// Boot starts new actors with empty caches, like a new process.
func (w *World) Boot() *World {
	w.instance++
	w.State = w.NewState(&Faulty{Store: w.Store, world: w}, w.CacheFor)
	c := w.SchedulerConfig(w.State, fmt.Sprintf("scheduler-%d", w.instance))
	if w.Config != nil {
		w.Config(&c)
	}
	w.Scheduler = scheduler.New(c)
	w.Supervisor = w.supervisor(w.State, w.Leases, fmt.Sprintf("supervisor-%d", w.instance))
	return w
}

// SupervisorOn returns a further Supervisor of this world that uses the given store.
func (w *World) SupervisorOn(store port.Store, name string) *supervisor.Supervisor {
	return w.SupervisorWith(store, w.Leases, name)
}

// SupervisorWith returns a further Supervisor of this world that uses the given store and leases.
func (w *World) SupervisorWith(store port.Store, leases port.Leases, name string) *supervisor.Supervisor {
	return w.supervisor(w.NewState(store, 0), leases, name)
}

func (w *World) supervisor(s *state.Store, leases port.Leases, name string) *supervisor.Supervisor {
	c := supervisor.Config{Parts: w.Parts(s, leases, name)}
	if w.Sweeping != nil {
		w.Sweeping(&c)
	}
	return supervisor.New(c)
}

// SchedulerOn returns a further Scheduler of this world that uses the given store.
func (w *World) SchedulerOn(store port.Store, cached int, name string) *scheduler.Scheduler {
	return scheduler.New(w.SchedulerConfig(w.NewState(store, cached), name))
}

// Control returns the control queue.
func (w *World) Control() port.Queue { return w.queue(port.Control) }

// NewState returns a state.Store that uses the given store and caches the given number of tasks.
func (w *World) NewState(store port.Store, cached int) *state.Store {
	return state.New(state.Config{
		Store: store, Definitions: definitions{w.Defs, w}, CacheTasks: cached,
		Encode: workflow.Encode, Compile: workflow.Decode,
		Current: func(name string) *core.Definition {
			if name != w.Def.Name {
				return nil
			}
			return w.Def
		},
	})
}

// SchedulerConfig returns the configuration of a Scheduler of this world.
func (w *World) SchedulerConfig(s *state.Store, name string) scheduler.Config {
	p := w.Parts(s, nil, name)
	p.Count = func(what, why string) { w.Counts[what+": "+why]++ }
	return scheduler.Config{Parts: p}
}

// Parts returns the adapters for an actor of this world.
func (w *World) Parts(s *state.Store, shared port.Leases, name string) engine.Parts {
	return engine.Parts{
		State: s, Queues: cutQueues{w.Queues, w}, Alerts: w, Leases: leases{shared, w}, Clock: w.Clock,
		Name: name, WakeSlack: time.Second, Logger: quiet(),
	}
}

func quiet() *slog.Logger {
	out := io.Discard
	if os.Getenv("STEPKEEPER_TEST_LOG") != "" {
		out = os.Stderr
	}
	return slog.New(slog.NewTextHandler(out, nil))
}

// Raise records an alert of an actor.
func (w *World) Raise(ctx context.Context, a core.RaiseAlert) error {
	err := w.call(ctx, "Raise")
	if err == nil {
		w.Alerts = append(w.Alerts, a)
	}
	return err
}

// Send sends messages to a queue, like a sender outside the deployment.
func (w *World) Send(queue string, values ...port.Value) {
	w.t.Helper()
	q := w.queue(queue)
	for _, v := range values {
		if errs := q.Send(Context, []port.Message{{Value: v}}); errs[0] != nil {
			w.t.Fatal(errs[0])
		}
	}
}

func (w *World) queue(name string) port.Queue {
	q, err := w.Queues.Queue(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return q
}

// Take receives and deletes all visible messages of a queue.
func (w *World) Take(queue string) (all []port.Delivery) {
	w.t.Helper()
	for {
		batch := w.step(queue, func(context.Context, string, []port.Delivery) []string { return nil })
		if len(batch) == 0 {
			return all
		}
		all = append(all, batch...)
	}
}

// Handle lets the Scheduler handle one batch of a queue. It returns the number of messages in the batch.
func (w *World) Handle(queue string) int {
	w.t.Helper()
	return len(w.step(queue, w.Scheduler.Handle))
}

func (w *World) step(queue string,
	handle func(context.Context, string, []port.Delivery) []string,
) []port.Delivery {
	w.t.Helper()
	m := inprocess.Mapping{
		Queue: w.queue(queue), Batch: port.MaxBatch, Visibility: Visibility,
		Handle: handle,
	}
	batch, err := m.Step(Context, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	return batch
}

// Round handles one batch of each of the Scheduler's queues, and all requests of the agents. Then it runs one
// sweep, receives the application's statuses, and advances the clock by a second.
func (w *World) Round() {
	w.t.Helper()
	for _, name := range []string{port.Intake, port.Replies, port.Control, port.Tasks} {
		w.Handle(name)
	}
	w.Agents()
	if _, err := w.Supervisor.Sweep(Context); err != nil {
		w.t.Fatal(err)
	}
	w.Listen()
	w.Clock.Advance(time.Second)
}

// Agents lets every agent reply to its requests. A repeated request must have the same bytes as the first
// request (P12, effects are emitted again).
func (w *World) Agents() {
	w.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(w.Def.Agents)) {
		for _, d := range w.Take(port.Requests(name)) {
			r, err := message.Of[message.Request](d)
			if err != nil {
				w.t.Fatal(err)
			}
			w.same(w.Asked, fmt.Sprintf("%s/%d/%s/%d", r.OrderID, r.Run, r.Step, r.Attempt), r)
			if reply := w.answer(r); reply != nil {
				w.Send(port.Replies, reply)
			}
		}
	}
}

func (w *World) same(seen map[string]string, key string, v port.Value) {
	w.t.Helper()
	b, err := v.Encode()
	if err != nil {
		w.t.Fatal(err)
	}
	if was, ok := seen[key]; ok && was != string(b) {
		w.t.Errorf("%s was emitted again with other bytes:\n%s\n%s", key, was, b)
	}
	seen[key] = string(b)
}

func (w *World) answer(r *message.Request) *message.Reply {
	reply := Done(r)
	if w.Script != nil {
		reply = w.Script(r)
	}
	if reply == nil || reply.Outcome != core.OutcomeDone {
		return reply
	}
	e := w.Ledger[r.Key]
	if e == nil {
		e = &Entry{}
		w.Ledger[r.Key] = e
	}
	e.Calls++
	if e.Fenced && r.Operation != core.UndoOp { // the do arrives after the undo with the same key
		return Failed(r, "fenced")
	}
	e.Fenced = r.Operation == core.UndoOp
	return reply
}

// Done returns a reply with the outcome done.
func Done(r *message.Request) *message.Reply {
	return &message.Reply{
		Schema: 1, OrderID: r.OrderID, Run: r.Run, Step: r.Step, Agent: r.Agent,
		Attempt:   r.Attempt,
		Operation: r.Operation, Outcome: core.OutcomeDone, Output: json.RawMessage(`{"key":"` + r.Key + `"}`),
	}
}

// Failed returns a reply with a permanent failure.
func Failed(r *message.Request, code string) *message.Reply {
	reply := Done(r)
	reply.Outcome = core.OutcomeFailed
	reply.Output = nil
	reply.Error = &message.ReplyError{Code: code, Message: "it will not work"}
	return reply
}

// Later returns a reply with a transient failure.
func Later(r *message.Request) *message.Reply {
	reply := Failed(r, "http-503")
	reply.Outcome = core.OutcomeRetryLater
	return reply
}

// Listen receives the application's statuses. Repeated statuses with the same sequence number must have the
// same bytes.
func (w *World) Listen() {
	w.t.Helper()
	for _, d := range w.Take("shop") {
		s, err := message.Of[message.Status](d)
		if err != nil {
			w.t.Fatal(err)
		}
		if s.Seq == 0 {
			w.Unnumber = append(w.Unnumber, s.Status)
			continue
		}
		w.same(w.Statuses, fmt.Sprintf("%s/%d", s.OrderID, s.Seq), s)
	}
}

// FinalStatus returns the encoded final status of the order, or "" if the application has not received it.
func (w *World) FinalStatus(id string) string {
	w.t.Helper()
	return w.Statuses[fmt.Sprintf("%s/%d", id, w.Task(id).End.Seq)]
}

// Task reads a task from the store. It uses no cache.
func (w *World) Task(id string) *protocol.Task {
	w.t.Helper()
	records, errs := w.Store.Load(Context, []string{id})
	if errs[0] != nil {
		w.t.Fatal(errs[0])
	}
	if records[0] == nil {
		return nil
	}
	task, err := state.DecodeTask(records[0].Document)
	if err != nil {
		w.t.Fatal(err)
	}
	return task
}

// Order returns the submission of an order for the workflow of Definition.
func Order(id string) *message.SubmitOrder {
	return &message.SubmitOrder{
		Schema: 1, OrderID: id, Workflow: "order",
		Order: json.RawMessage(`{ "total": 12.50 }`), ReplyTo: "shop",
	}
}

// Definition returns a workflow in which the steps a and b run in parallel and c runs after both. Each step
// has its own agent and an undo.
func Definition() *core.Definition {
	retry := core.Retry{MaxFailures: 3, Backoff: core.Backoff{
		Initial: 2 * core.Second, Max: 10 * core.Second,
		Multiplier: 2, Jitter: 0.5,
	}}
	def := &core.Definition{
		Schema: 1, Name: "order", Agents: map[string]core.AgentDefinition{},
		Output: json.RawMessage(`{}`), Grace: 5 * core.Second, ResendAfter: 30 * core.Second, HopBudget: 100,
		Notify: []core.StatusKind{
			core.StatusReceived, core.StatusStarted, core.StatusStepFinished,
			core.StatusCompleted,
			core.StatusFailed, core.StatusUndone, core.StatusCancelled,
		},
	}
	for _, name := range []string{"a", "b", "c"} {
		def.Steps = append(def.Steps, core.StepDefinition{
			Name: name, Agent: "agent-" + name, Operation: "do-" + name, Input: json.RawMessage(`{"order":"${ order }"}`),
			Timeout: 10 * core.Second, MaxQueueTime: core.Day, Retry: retry,
			OnFailure: core.OnFailureUndo, Grade: core.Fenced,
			Undo: &core.Undo{Operation: "undo-" + name, Timeout: 10 * core.Second, Retry: retry},
		})
		def.Agents["agent-"+name] = core.AgentDefinition{
			QueueAllowance: 20 * core.Second,
			ClockSkew:      core.Second,
		}
	}
	def.Steps[2].After = []string{"a", "b"}
	return def
}
