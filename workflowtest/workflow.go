package workflowtest

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
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
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/token"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// Start is the initial time of every Workflow's clock.
var Start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// replyTo is the logical name of the application's queue. The queue receives the statuses of every order.
const replyTo = "test"

// Workflow is a workflow under test. It has its own agents, store and clock.
type Workflow struct {
	t          testing.TB
	def        *core.Definition            // definition for new orders
	defs       map[string]*core.Definition // definitions of all orders, by hash
	clock      *memory.Clock
	store      *memory.Store
	kept       *memory.Definitions
	leases     *memory.Leases
	queues     *memory.Queues
	scheduler  *scheduler.Scheduler
	supervisor *supervisor.Supervisor
	agents     map[string]*Agent
	names      []string // sorted names of the agents; agents work in this order
	runs       map[string]*Run
	order      []*Run
	unscripted bool   // true if operations without a script return "done"
	held       []held // replies that were not delivered yet, sorted by time
	callers    []*Run // order of each call, in the sequence of the calls
	next       int    // counter for the IDs of orders and commands
}

// New reads a workflow file. The path is relative to the folder of the test. If the file has errors, New
// reports all errors and ends the test.
func New(t testing.TB, path string) *Workflow {
	t.Helper()
	def, problems := source.LoadFile(path, source.Options{})
	return made(t, path, def, problems)
}

// NewFromYAML reads a workflow from the text of a workflow file.
func NewFromYAML(t testing.TB, text string) *Workflow {
	t.Helper()
	def, problems := source.Parse("workflow.yaml", []byte(text), source.Options{})
	return made(t, "workflow.yaml", def, problems)
}

func made(t testing.TB, name string, def *core.Definition, problems source.Problems) *Workflow {
	t.Helper()
	usable(t, name, def, problems)
	w := &Workflow{
		t: t, def: def, defs: map[string]*core.Definition{}, clock: memory.NewClock(Start),
		store: memory.NewStore(1), kept: memory.NewDefinitions(), leases: memory.NewLeases(),
		agents: map[string]*Agent{}, runs: map[string]*Run{},
	}
	w.wire()
	return w
}

func usable(t testing.TB, name string, def *core.Definition, problems source.Problems) {
	t.Helper()
	if def == nil {
		t.Fatalf("the workflow %s cannot be used:\n%v", name, problems)
	}
}

// Deploy reads a new version of the workflow file. Orders that are submitted later run the new version. An
// earlier order runs its own version until Move. The new version names no further agents.
func (w *Workflow) Deploy(path string) {
	w.t.Helper()
	def, problems := source.LoadFile(path, source.Options{})
	w.deploy(path, def, problems)
}

// DeployYAML is like Deploy, but reads the text of a workflow file.
func (w *Workflow) DeployYAML(text string) {
	w.t.Helper()
	def, problems := source.Parse("workflow.yaml", []byte(text), source.Options{})
	w.deploy("workflow.yaml", def, problems)
}

func (w *Workflow) deploy(name string, def *core.Definition, problems source.Problems) {
	w.t.Helper()
	usable(w.t, name, def, problems)
	if def.Name != w.def.Name {
		w.t.Fatalf("%s is the workflow %s, and this one is %s", name, def.Name, w.def.Name)
	}
	for _, d := range def.WithChildren() {
		for _, agent := range slices.Sorted(maps.Keys(d.Agents)) {
			w.Agent(agent) // an agent that the first version does not name ends the test
		}
		w.defs[d.Hash] = d
	}
	w.def = def
}

// run returns the Run of an order. The first call for an order creates the Run.
func (w *Workflow) run(id string) *Run {
	r := w.runs[id]
	if r == nil {
		r = &Run{w: w, id: id}
		w.runs[id] = r
		w.order = append(w.order, r)
	}
	return r
}

func (w *Workflow) wire() {
	for _, d := range w.def.WithChildren() {
		w.defs[d.Hash] = d
		// Map iteration in any order is safe, because the names are sorted below.
		for name := range d.Agents {
			if w.agents[name] == nil {
				w.agents[name] = &Agent{
					w: w, name: name, scripts: map[string]*Operation{}, ledger: memory.NewLedger(),
				}
				w.names = append(w.names, name)
			}
		}
	}
	slices.Sort(w.names)
	names := []string{port.Replies, port.Control, port.Tasks, port.Quarantine}
	for _, name := range w.names {
		names = append(names, port.Requests(name))
	}
	var err error
	w.queues, err = inprocess.Queues(w.clock, []string{replyTo}, names...)
	w.must(err)
	w.start()
}

// start creates the engine and the agents on the stored data.
func (w *Workflow) start() {
	quiet := slog.New(slog.DiscardHandler)
	st := state.New(state.Config{
		Store: w.store, Definitions: w.kept, Compile: workflow.Decode,
		Encode: workflow.Encode,
		Current: func(name string) *core.Definition {
			if name != w.def.Name {
				return nil
			}
			return w.def
		},
		OnCommit: w.committed,
	})
	parts := engine.Parts{
		State: st, Queues: w.queues, Alerts: alerts{w}, Leases: w.leases, Clock: w.clock,
		Name: "scheduler", Logger: quiet,
		Tokens: func(context.Context, bool) (core.Tokens, error) { return token.Fixed(false), nil },
	}
	w.scheduler = scheduler.New(scheduler.Config{Parts: parts})
	parts.Name = "supervisor"
	w.supervisor = supervisor.New(supervisor.Config{Parts: parts})
	for _, name := range w.names {
		w.agents[name].start()
	}
}

// Restart ends the engine and all agents as a crash does, and starts them again on the same store and queues.
// The calls in progress have had their effects, but their replies are lost, as after Silent.
func (w *Workflow) Restart() {
	w.t.Helper()
	w.held = nil
	w.start()
	for _, r := range w.order {
		r.note("restart")
	}
}

// AllowUnscripted makes operations without a script return "done" with the output null. Otherwise the first
// call of such an operation ends the test.
func (w *Workflow) AllowUnscripted() *Workflow {
	w.unscripted = true
	return w
}

// Now returns the present time of the test's clock.
func (w *Workflow) Now() time.Time { return w.clock.Now() }

// Option changes an order before Submit stores it.
type Option func(*message.SubmitOrder)

// WithID sets the ID of the order. The default is order-1, order-2 and so on. Commands use numbers too.
func WithID(id string) Option { return func(o *message.SubmitOrder) { o.OrderID = id } }

// WithDeadline sets the deadline of the order.
func WithDeadline(at time.Time) Option {
	return func(o *message.SubmitOrder) { o.Deadline = core.TimeOf(at) }
}

// Submit stores an order, as the intake does. The content may be any value that encodes to JSON. A
// json.RawMessage is used unchanged. If the order is refused, the test ends. A second Submit with the same ID
// and content returns the same Run.
func (w *Workflow) Submit(content any, opts ...Option) *Run {
	w.t.Helper()
	body, err := rawjson.Marshal(content)
	if err != nil {
		w.t.Fatalf("the order cannot be written as JSON: %v", err)
	}
	o := message.SubmitOrder{Schema: message.Schema, Workflow: w.def.Name, Order: body, ReplyTo: replyTo}
	for _, set := range opts {
		set(&o)
	}
	if o.OrderID == "" {
		w.next++
		o.OrderID = fmt.Sprintf("order-%d", w.next)
	}
	r := w.run(o.OrderID)
	answer := w.scheduler.Submit(w.t.Context(), []message.SubmitOrder{o})[0]
	switch {
	case answer.Err != nil:
		w.t.Fatalf("order %s was not taken: %v", o.OrderID, answer.Err)
	case answer.Refusal != nil:
		w.t.Fatalf("order %s was refused: %v", o.OrderID, answer.Refusal)
	}
	return r
}
