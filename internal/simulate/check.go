package simulate

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// History holds the data that the checks keep about an order.
type History struct {
	Received map[int]bool      // statuses that the application has received, or that expired in its queue
	Reported map[int]string    // bytes of the sent statuses, by status number
	Alerts   map[string]bool   // alerts that were raised, by AlertID
	Requests map[string]string // bytes of the sent requests, by step, attempt and key
	// agents, operation name, grade and input of the requests, by key and operation (P49, move pins another
	// definition)
	Meant    map[string]string
	StopBy   map[string]core.Time // latest stop-by of the sent requests, by key and operation
	Done     map[string]core.Time // times at which a Scheduler has deleted the reply done of a do, by key
	Failed   map[string]bool      // reported failures of dos since the last command, by key and attempt
	Moved    bool                 // true if the task has pinned another definition
	Holders  map[string]string    // holders of claims, by step and attempt
	Counted  map[string]int       // number of counted failures, by step
	Verdicts map[string]bool      // acceptance of commands, by their content
	Passed   map[string]string    // children that have taken a passed answer, by its value (P56)
	Carried  map[string]int       // number of passed answers that a child began with, by its ID
	Dirty    bool                 // true if the effects of the order may have changed since the last check
	Writes   int
	// undos that were claimed while the task went forward, by step and attempt (P42, orders can go on after
	// failures)
	Alone    map[string]bool
	Reminded map[string]core.Time // times at which reminders were decided, by key
}

func newHistory() History {
	return History{
		Received: map[int]bool{}, Reported: map[int]string{}, Alerts: map[string]bool{},
		Requests: map[string]string{}, Meant: map[string]string{}, Holders: map[string]string{},
		Counted: map[string]int{}, Verdicts: map[string]bool{},
		Alone: map[string]bool{}, StopBy: map[string]core.Time{}, Done: map[string]core.Time{},
		Failed: map[string]bool{}, Passed: map[string]string{}, Carried: map[string]int{},
		Reminded: map[string]core.Time{},
	}
}

// Dirty marks an order. The next check then compares the effects of the order with its task.
func (w *Simulation) Dirty(id string) {
	if o := w.ByID[id]; o != nil {
		o.Seen.Dirty = true
	}
}

// Order is an order as the application and the operator see it.
type Order struct {
	Id       string
	Submit   message.SubmitOrder
	Api      bool // true if the application calls the Scheduler instead of sending a message
	Acked    bool // true if a response has confirmed that the order is stored
	Refused  bool
	Commands int
	Seen     History
}

// NewOrder adds an order. The zero SubmitOrder belongs to a child order, which has no submission.
func (w *Simulation) NewOrder(id string, submit message.SubmitOrder) *Order {
	submit.OrderID = id
	o := &Order{Id: id, Submit: submit, Seen: newHistory()}
	w.AllOrders = append(w.AllOrders, o)
	w.ByID[id] = o
	return o
}

// check compares tasks with their effects in the services. It checks only the orders that have changed since
// the last call of Check.
func check(w *Simulation) {
	for _, o := range w.AllOrders {
		if o.Seen.Dirty {
			o.Seen.Dirty = false
			checkEffects(w, o)
		}
	}
}

// most is the largest number of commits that an order may need (invariant 20, work for an order has a bound).
const most = 3000

// move is one commit of an order, with the task before and after the commit.
type move struct {
	w             *Simulation
	o             *Order
	def           *core.Definition
	before, after *protocol.Task
	record        *port.Record
	supervisor    bool
	commanded     bool // true if the task accepted a command
}

// committed checks a commit against the invariants. The parameter before is nil for a new task.
func committed(w *Simulation, before, after *protocol.Task, record *port.Record) {
	o := w.ByID[after.OrderID]
	if o == nil && after.Parent != nil {
		o = w.NewOrder(after.OrderID, message.SubmitOrder{})
		o.Acked = true
	}
	if o == nil {
		w.Violate("2", "a task %s was stored that was not submitted", after.OrderID)
		return
	}
	m := &move{w: w, o: o, def: w.DefOf(after), before: before, after: after, record: record}
	if w.Cur != nil {
		m.supervisor = w.Cur.P.Role == ASupervisor
	}
	if w.Tracing {
		w.Trace(w.Cur.P.Name, "store", summary(after))
	}
	o.Seen.Dirty = true
	if !m.remindsOnly() {
		o.Seen.Writes++
	}
	m.verdicts()
	m.identity()
	if m.commanded {
		clear(o.Seen.Failed)
	}
	m.tokens()
	m.index()
	m.ends()
	m.silent()
	m.sequence()
	m.erased()
	m.settled()
	m.replies()
	for i := range after.Steps {
		m.step(i)
		m.passed(&after.Steps[i])
	}
	m.children()
	m.anys()
}

// fail records that an invariant is broken.
func (m *move) fail(name, format string, args ...any) {
	m.w.Violate(name, "order %s, version %d: %s", m.after.OrderID, m.after.Version, fmt.Sprintf(format, args...))
}

// never checks an invariant, which is broken if wrong is true.
func (m *move) never(wrong bool, name, format string, args ...any) {
	m.w.Checks[name]++
	if wrong {
		m.fail(name, format, args...)
	}
}

// checkEffects compares the effects in the remote services with the state of the task.
func checkEffects(w *Simulation, o *Order) {
	t := w.Store.Task(o.Id)
	if t == nil {
		return
	}
	w.never(t.Apart() && !w.Store.Holds(t), "2", "the order of %s is kept apart, and it is not there", o.Id)
	if !t.Terminal() || t.ProcessState == core.Closed { // a closed order keeps its effects
		return
	}
	checkChildren(w, t)
	checkAnys(w, t)
	for i := range t.Steps {
		s := &t.Steps[i]
		all := 0
		now := 0
		for run := 0; run <= t.Run; run++ {
			if svc := w.Services[core.Key(o.Id, run, s.Name)]; svc != nil {
				all += svc.Net
				if run == t.Run {
					now = svc.Net
				}
			}
		}
		want := 0
		if t.ProcessState == core.Processed && s.State != core.Skipped && s.State != core.Compensated &&
			w.DefOf(t).Steps[i].Agent != "" && !noEffect(w, t, s.Name) {
			want = 1
		}
		processed := t.ProcessState == core.Processed
		wrong := all != want || now != want
		w.never(processed && wrong,
			"7", "order %s is Processed, and step %s (%s) has %d effects, not %d", o.Id, s.Name, s.State, all, want)
		w.never(!processed && wrong,
			"8", "order %s is %s, and %d effects of step %s stand", o.Id, t.ProcessState, all, s.Name)
	}
}

// undoing checks an undo before it takes effect (P22a, a proven refusal permits undo). It does not check the
// undo of a step that is undone alone.
func undoing(w *Simulation, s *Remote, c worker.Call) {
	t := w.Store.Task(s.Order)
	if o := w.ByID[s.Order]; o != nil && o.Seen.Alone[fmt.Sprintf("%s/%d", s.Step, c.Attempt)] {
		return
	}
	if t == nil || t.Run != s.Run || t.ProcessState != core.Compensating || s.Net == 0 {
		return
	}
	first := t.Step(s.Step).First.Nth
	for i := range t.Steps {
		other := w.Services[core.Key(s.Order, s.Run, t.Steps[i].Name)]
		d := &w.DefOf(t).Steps[i]
		w.never(d.PointOfNoReturn && other != nil && other.Net > 0, "P22a",
			"order %s: %s is undone while the effect of the point of no return %s stands", s.Order, s.Step, d.Name)
		w.never(t.Steps[i].First.Nth > first && other != nil && other.Net > 0,
			"9", "order %s: %s is undone while the effect of %s stands", s.Order, s.Step, t.Steps[i].Name)
	}
}

// audit checks all orders and all dead letters at the end of a run.
func audit(w *Simulation) {
	for _, o := range w.AllOrders {
		w.Checks["5"]++
		w.Checks["19"]++
		w.never(o.Acked && !w.Store.Known(o.Id), "P26", "order %s was acknowledged, and its ID is gone", o.Id)
		o.Seen.Dirty = true
		if t := w.Store.Task(o.Id); t != nil {
			if t.Parent == nil {
				w.Ends[t.ProcessState]++
			}
			told(w, o, t)
		}
	}
	check(w)
	letters(w)
}

// told checks that the operator has got the alert of an order's end, and the application its status (P11, an
// end is reported until settled). If no handler has died, the application has received all other statuses too
// (P12, effects are emitted again). A status may be given up after two weeks, or by the erasure of its order (P52).
func told(w *Simulation, o *Order, t *protocol.Task) {
	w.never(alerts(w.DefOf(t), t) && t.Parent == nil && !o.Seen.Alerts[alertID(t.End.At, t.Run, t.End.Command)],
		"P11", "order %s is %s, and its alert was never raised", o.Id, t.ProcessState)
	if t.ReplyTo != Shop || t.Erased != nil || slices.ContainsFunc(t.Undelivered,
		func(u core.Undelivered) bool { return u.ReplyTo == Shop }) {
		return
	}
	died := w.Faults[CrashBefore] + w.Faults[CrashAfter] + w.Faults[TimeoutAfter]
	for n := 1; n <= t.StatusSeq; n++ {
		w.never(!o.Seen.Received[n] && (n == t.End.Seq || died == 0), "18",
			"order %s is %s, and the application never received its status %d of %d", o.Id, t.ProcessState, n, t.StatusSeq)
	}
}

// letters checks the dead letters. If a dead letter names an order that was never stored, the order must have
// been refused (invariant 19, no message is lost without a trace).
func letters(w *Simulation) {
	for _, name := range w.Names {
		for _, l := range w.Queues[name].Dead {
			if id := aboutOrder(l.Message); id != "" && !w.Store.Known(id) {
				if o := w.ByID[id]; o != nil && !o.Refused {
					w.Violate("19",
						"a message of %s stands in the dead letters of %s, and nothing else is known of it",
						id, name)
				}
			}
		}
	}
}

// noEffect reports whether a step has no effect although it was done. Such a step has no undo, and one of
// these conditions holds:
//   - The step sends a question.
//   - The step can be undone alone, so it declares an undo, which is none.
//   - The step is not a point of no return, and does not come after one.
func noEffect(w *Simulation, t *protocol.Task, step string) bool {
	def, d := w.StepOf(t, step)
	ask := slices.ContainsFunc(def.Steps, func(o core.StepDefinition) bool {
		return o.Answer != nil && o.Answer.Ask == step
	})
	alone := d.OnFailure == core.OnFailureContinue || d.OnDeadline == core.OnFailureContinue ||
		def.MemberOf(def.Index(step)) >= 0
	return d.Undo == nil && (ask || alone || !behind(def, step))
}

// behind reports whether the step is a point of no return, or comes after one.
func behind(def *core.Definition, step string) bool {
	d := &def.Steps[def.Index(step)]
	return d.PointOfNoReturn ||
		slices.ContainsFunc(d.After, func(name string) bool { return behind(def, name) })
}

// LaterField is the name of a field that a simulated newer version of the program adds to documents.
const LaterField = "laterField"

// passed reports whether a step has ended. Later steps need not wait for such a step.
func passed(s *protocol.Step) bool {
	return s.State == core.Processed || s.State == core.Skipped || s.State == core.Compensated ||
		s.State == core.Settling
}

// pastReturn reports whether a point of no return was claimed (P22, a point of no return forbids undo). A
// claim does not count if a proof shows that the claim had no effect (P22a, a proven refusal permits undo).
func pastReturn(def *core.Definition, t *protocol.Task) bool {
	for i := range t.Steps {
		if s := &t.Steps[i]; def.Steps[i].PointOfNoReturn && s.Attempted() && s.NoEffect == 0 {
			return true
		}
	}
	return false
}

// alerts reports whether the end of the task alerts the operator (P11, an end is reported until settled).
// Every Error alerts the operator. An undo after a failure alerts the operator only if the workflow requests
// an alert.
func alerts(def *core.Definition, t *protocol.Task) bool {
	undone := t.ProcessState == core.Compensated && t.Undo.Why == protocol.WhyFailure
	return t.ProcessState == core.Error || undone && def != nil && def.AlertUndone
}

// live returns the earliest time at which an actor must process the task, or 0 if there is no such time (P9,
// tasks not at rest are due).
func live(t *protocol.Task) core.Time {
	first := t.ResendTime()
	add := func(at core.Time) {
		if at != 0 && (first == 0 || at < first) {
			first = at
		}
	}
	going := t.ProcessState == core.Processing || t.ProcessState == core.Compensating
	if t.ProcessState == core.Processing {
		add(t.Deadline.At)
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		waits := s.State == core.Pending && s.Attempted() || s.State == core.Failed ||
			s.State == core.UndoWait || s.State == core.Waiting || s.State == core.Settling
		if s.InFlight() || going && waits {
			add(s.CompleteBy)
		}
	}
	return first
}

// decidedOf returns the decision that the output of an answered step contains. The result ok is false if the
// step has no decision.
func decidedOf(s *protocol.Step) (d protocol.Decided, ok bool) {
	ok = s.Answers != nil && s.Output != nil && json.Unmarshal(s.Output, &d) == nil
	return d, ok
}
