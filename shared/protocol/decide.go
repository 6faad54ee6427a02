package protocol

import (
	"encoding/json"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Decide applies one event to a task. It changes no argument.
//
// ev is nil for a process that has lost its in-memory queues (P27, the embedded runtime survives its queues). The
// task then emits again all messages that it still needs.
//
// task is nil if the order has no task. def is the definition that the task pins. If a Submitted or AskChild
// may create the task, def is the definition of the new task. def is nil for any other event without a task,
// and if an early Cancel has created the task. order is the order as submitted. If order is nil and an
// expression needs it, Decide returns ErrOrderNeeded.
//
// The other errors are ErrStale, ErrUnfit, and a *Refusal for the sender. If the event changes nothing,
// Ignored has the reason. The Decision then repeats the effects that the same event caused before (P12,
// effects are emitted again). Decide removes the tokens of answers from the event, so that the task stores
// none (P39, a token is an answer's permission).
func Decide(def *core.Definition, order []byte, task *Task, ev core.Event, at At) (Decision, error) {
	ev = redacted(ev)
	if task == nil {
		return decideUnknown(def, order, ev, at)
	}
	if task.Damaged != "" {
		return damaged(task, ev, at)
	}
	if err := Unfit(def, task); err != nil {
		return Decision{}, err
	}
	r := &decision{def: def, order: order, t: task.Clone(), at: at, about: aboutOf(ev, task)}
	var ignored string
	// All commands with the same ID get the verdict of the first command.
	r.verdict = task.Verdict(r.ID)
	if r.verdict != nil {
		ignored = "this command already has a verdict"
	} else {
		var err error
		ignored, err = r.apply(ev)
		if err != nil {
			return Decision{}, err
		}
	}
	if ignored == "" {
		ignored = r.moveOn(task)
	}
	if r.err != nil {
		return Decision{}, r.err
	}
	if ignored != "" && !r.changed {
		return r.unchanged(task, ignored)
	}
	if !r.ended {
		r.t.keepEndStates(task)
	}
	r.leftEnd(def, task)
	r.dropPassed()
	r.t.storeTold(task, r.at.Told)
	Reindex(r.t, r.bySupervisor())
	return Decision{Task: r.t, Changed: true, Effects: r.effects, Verdict: r.verdict}, nil
}

// apply executes the event's rule in the transition table. If the event changes nothing, apply returns the
// reason.
func (r *decision) apply(ev core.Event) (ignored string, err error) {
	if r.about.kind >= stepKinds {
		return taskTable[r.about.kind](r, ev)
	}
	i, ignored, err := r.about.find(r.t, ev)
	if ignored != "" || err != nil {
		return ignored, err
	}
	return stepTable[r.about.kind][r.t.Steps[i].State][modeOf(r.t)](r.step(i), ev)
}

// find returns the index of the event's step. It checks the step, run, operation and attempt of the event. It accepts a
// "done" of an earlier attempt (P15, a late "done" counts).
func (a about) find(t *Task, ev core.Event) (i int, ignored string, err error) {
	i = t.Index(a.step)
	if i < 0 {
		return i, "the order has no such step", nil
	}
	s := &t.Steps[i]
	switch {
	case a.run > t.Run || a.attempt > s.Attempt && a.run == t.Run:
		return i, "", core.ErrStale
	case a.run < t.Run:
		return i, earlierRun, nil
	case a.attempt < 1:
		return i, "no attempt has that number", nil
	case a.attempt < s.Attempt && a.kind != doDone:
		return i, "it belongs to an earlier attempt", nil
	}
	e, isReply := ev.(core.Reply)
	switch {
	case isReply && !e.Known():
		return i, "its operation or outcome is unknown", nil
	case isReply && a.attempt == s.Attempt && s.Attempted() && s.Claim.Undo != (e.Operation == core.UndoOp):
		return i, "that attempt was of the other operation", nil
	}
	return i, "", nil
}

// moveOn advances the task. It does not for an event without a cause, because a repeated event could not emit
// the effects again (P12). moveOn returns a reason if a Wake has changed nothing.
func (r *decision) moveOn(before *Task) (ignored string) {
	if r.err == nil && r.cause != "" {
		r.advance()
	}
	if r.about.kind == wakeStep && r.err == nil && sameStates(before, r.t) {
		return "the order waits for something else"
	}
	return ""
}

// unchanged returns the decision about an event that changes nothing. The decision emits the earlier
// effects of the event again (P12). It also repeats the report of an ended child to a parent that asks. An
// erased task repeats only this report and the removal of the content (P52, erase removes content, not
// identity).
func (r *decision) unchanged(task *Task, ignored string) (Decision, error) {
	r.t = task
	r.effects = nil
	switch {
	case r.about.kind == settle:
		r.emitUnsettled()
	case task.Erased == nil && (r.cause != "" || r.about.kind == restarted):
		r.emitAgain()
	case task.Erased != nil && r.about.kind == eraseCommand:
		r.emit(r.t.contentErased()...)
	}
	if r.asked && task.End.ResendAt == 0 {
		r.emit(r.t.reportToParent()...)
	}
	if r.err != nil {
		return Decision{}, r.err
	}
	return Decision{Task: task, Effects: r.effects, Ignored: ignored, Verdict: r.verdict}, nil
}

// decision is one decision in progress. It changes t, which is a copy of the task.
type decision struct {
	def   *core.Definition
	order []byte
	t     *Task
	at    At
	about
	ended   bool // true if the task entered an end, or Error
	changed bool // true if the task has stored the verdict of a refusal
	effects []core.Effect
	verdict *Verdict
	items   map[int]json.RawMessage // items of the list of step itemsOf, by index
	itemsOf int
	asked   bool // true if the parent sent a request; an ended child then reports its end again
	err     error
}

// step is one step of the order in a decision, with its definition and its index.
type step struct {
	*decision
	*Step
	d *core.StepDefinition
	i int
}

func (r *decision) step(i int) step {
	return step{decision: r, Step: &r.t.Steps[i], d: &r.def.Steps[i], i: i}
}

func (r *decision) emit(effects ...core.Effect) { r.effects = append(r.effects, effects...) }

func decideUnknown(def *core.Definition, order []byte, ev core.Event, at At) (Decision, error) {
	switch e := ev.(type) {
	case core.Submitted:
		return start(def, order, e, at)
	case core.Command:
		// A child that was cancelled before it came would never report an end. Only its parent decides about it (P41).
		if e.Name == core.Cancel && !strings.Contains(e.OrderID, core.ChildMark) {
			return tombstone(e, at), nil
		}
	case core.AskChild:
		return startChild(def, order, e, at)
	}
	if core.CommandOf(ev).Name != "" {
		return Decision{}, core.Refuse(core.CodeUnknownTask,
			"no order with this ID is known; check the ID, or look for it with list")
	}
	return Decision{Ignored: "no such task"}, nil
}

// start creates the task of a new order, with its first claims (P14, submit creates once).
func start(def *core.Definition, order []byte, e core.Submitted, at At) (Decision, error) {
	if e.Deadline.Passed(at.Now) {
		r := core.Refuse("deadline-passed",
			"the deadline %s has passed, it is %s here; nothing was done: submit the order with a later "+
				"deadline, or without one, and compare the clocks", e.Deadline, at.Now)
		r.Field = "deadline"
		return Decision{}, r
	}
	return create(def, order, e, nil, at)
}

func create(def *core.Definition, order []byte, e core.Submitted, parent *core.AskChild,
	at At,
) (Decision, error) {
	t := &Task{
		OrderID: e.OrderID, Workflow: def.Name, Definition: def.Hash,
		Priority: e.Priority, ReplyTo: e.ReplyTo,
		ProcessState: core.Processing, Created: at.Now, Steps: make([]Step, len(def.Steps)),
	}
	if len(order) <= InlineOrder {
		t.Order = order
	} else {
		t.ContentHash = e.ContentHash
	}
	for i := range t.Steps {
		t.Steps[i] = Step{Name: def.Steps[i].Name, State: core.Pending}
	}
	r := &decision{def: def, order: order, t: t, at: at, about: aboutOf(e, t)}
	if err := r.pinKey(); err != nil {
		return Decision{}, err
	}
	if parent != nil {
		t.Parent = &parent.Parent
		r.about = aboutOf(*parent, t)
	}
	switch {
	case e.Deadline != 0:
		r.t.setDeadline(e.Deadline)
	case def.Deadline != 0:
		r.t.setDeadline(at.Now.Add(def.Deadline))
	}
	r.started()
	if parent != nil && parent.Ask != core.AskStart {
		r.t.compensate(WhyParent)
	} else if parent != nil {
		r.takePassed(parent.Answers)
	}
	r.advance()
	if r.err != nil {
		return Decision{}, r.err
	}
	Reindex(t, false)
	return Decision{Task: t, Changed: true, Effects: r.effects}, nil
}

// setDeadline sets the deadline of a run, or removes it if at is zero (P23a, a deadline stops or undoes the order).
func (t *Task) setDeadline(at core.Time) {
	t.Deadline.At = at
	if at != 0 {
		t.Deadline.Seq++
	}
}

// tombstone returns a task that records a Cancel. The order has not arrived yet, and will not run when it
// arrives (P17, a cancel is kept).
func tombstone(e core.Command, at At) Decision {
	from := aboutOf(e, nil).Sender
	v := Verdict{
		ID: e.ID, Command: "cancel", Accepted: true, At: at.Now,
		Reason: "the order had not arrived; it will not run when it does", By: from.By,
		Note: core.TrimMessage(from.Reason),
	}
	t := &Task{
		OrderID: e.OrderID, ProcessState: core.Cancelled,
		Undo:     Reversal{Why: WhyCancel, CancelAsked: true},
		Commands: Commands{Number: 1, Verdicts: []Verdict{v}}, Created: at.Now,
		End: End{At: at.Now},
	}
	return Decision{Task: t, Changed: true, Verdict: &v}
}

// Decision is the result of Decide.
type Decision struct {
	Task    *Task // next task; the given task if nothing changed
	Changed bool  // true if Task must be committed
	// Effects lists the messages to send after the commit. It may have messages even if nothing changed
	// (P12).
	Effects []core.Effect
	Ignored string   // reason if the event changed nothing; otherwise ""
	Verdict *Verdict // verdict on a command, or nil
}

// At is the context of a decision: the time, the instance that decides, and the instance's measurements of
// queues.
type At struct {
	Now   core.Time
	By    string                   // name of the instance that decides
	Waits map[string]core.Duration // queue wait of each agent's requests (P32, queue time is not a failure)
	// Queues holds the estimated time that an agent needs for the requests now in its queue, by agent. Some
	// agents may be missing (P44, several agents can do one step).
	Queues map[string]core.Duration
	// QueuesSince is the time at which this process made its queues in memory, or 0 (P27). An earlier claim says
	// nothing about how long requests wait.
	QueuesSince core.Time
	// LongestWait shortens the waits of steps, so that one can try a workflow that waits for days. 0 shortens
	// none.
	LongestWait core.Duration
	// Told is the number up to which this process knows the statuses of the order to be sent (P27, the embedded
	// runtime survives its queues).
	Told      int
	SizeLimit SizeLimit
	Tokens    core.Tokens // maker of tokens (P39); nil if no signing key exists
}
