package core_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// chooser makes all choices of a world: rapid, so that a failure shrinks, or the bytes of a fuzzer.
type chooser interface {
	// choose answers a number from 0 to n-1.
	choose(what string, n int) int
}

// world is one order, its Scheduler, Supervisor, agents and remote services, and everything that
// was ever sent: each message may arrive any number of times, in any order, or never.
type world struct {
	chooser
	watch string // the one invariant that is meant; "" for all
	fail  func(format string, args ...any)
	log   []string

	grades   []core.Grade
	def      *core.Definition
	order    []byte
	submit   core.Submitted
	noEffect map[string]bool
	broken   bool           // an expression of the workflow fails
	budgets  map[string]int // the most that any definition of the workflow allows a step
	variants int
	skew     core.Duration
	well     bool // the agents are: they call, and succeed

	task     *core.Task
	real     core.Time // of the remote services; a Scheduler may be ahead by the skew
	soup     []letter
	requests []core.SendRequest
	calls    []*call
	services map[string]*service
	commands int

	memory
}

// letter is a message for the Scheduler; it is not there before its time.
type letter struct {
	ev core.Event
	at core.Time
}

// anyGrade is a world where each step has a grade of its own.
var anyGrade = []core.Grade{core.Fenced, core.Idempotent, core.Plain}

func newWorld(c chooser, watch string, grades []core.Grade, fail func(string, ...any)) *world {
	w := &world{
		chooser: c, watch: watch, grades: grades, fail: fail, real: noon, order: []byte(`{"n":1}`),
		services: map[string]*service{}, noEffect: map[string]bool{}, budgets: map[string]int{}, memory: newMemory(),
	}
	w.define()
	w.submit = core.Submitted{OrderID: orderID, Workflow: "test", ContentHash: "c0ffee"}
	if w.chance("has a reply-to", 2) {
		w.submit.ReplyTo = "shop"
	}
	w.soup = []letter{{ev: w.submit}}
	return w
}

// chance is true once in n.
func (w *world) chance(what string, n int) bool { return w.choose(what, n) == n-1 }

func (w *world) violate(invariant, format string, args ...any) {
	if w.watch == "" || w.watch == invariant {
		w.fail("invariant %s: %s\n%s", invariant, fmt.Sprintf(format, args...), strings.Join(w.log, "\n"))
	}
}

// define draws a workflow of 1 to 4 steps that validation would accept.
func (w *world) define() {
	n := 1 + w.choose("steps", 4)
	noReturnAt := -1
	if n > 1 && w.chance("point of no return", 3) {
		noReturnAt = w.choose("point of no return at", n)
	}
	steps := make([]core.StepDefinition, n)
	for i := range steps {
		steps[i] = step(string(rune('a'+i)), grade(w.grades[w.choose("grade", len(w.grades))]), failures(1+w.choose("failures", 2)))
		s := &steps[i]
		for j := range i {
			if w.chance("comes after "+steps[j].Name, 2) {
				s.After = append(s.After, steps[j].Name)
			}
		}
		s.MaxQueueTime = 90 * core.Second
		s.Retry.ExtendedRounds, s.Retry.ExtendedInterval = w.choose("extended rounds", 2), 20*core.Second
		s.Undo.Retry.MaxFailures = 1 + w.choose("undo failures", 2)
		if w.chance("stops", 3) {
			s.OnFailure = core.OnFailureStop
		}
		if w.chance("has a condition", 4) {
			s.When = "condition"
		}
	}
	w.placeNoReturn(steps, noReturnAt)
	w.def = workflow(steps...)
	w.def.Expr = w.expressions(steps)
	w.def.HopBudget = 2 + w.choose("hop budget", 12)
	if w.chance("has a deadline", 4) {
		w.def.Deadline, w.def.OnDeadline = 40*core.Second, core.OnFailureUndo
		if w.chance("stops at the deadline", 2) {
			w.def.OnDeadline = core.OnFailureStop
		}
	}
	if w.chance("tells everything", 2) {
		w.def.Notify = append(w.def.Notify, core.StatusStarted, core.StatusStepFinished, core.StatusUndoing)
	}
	if w.chance("has an output", 2) {
		w.def.Output = json.RawMessage(`"template"`)
	}
	w.allow(w.def)
	w.skew = w.def.Agents[steps[0].Agent].ClockSkew
}

// placeNoReturn makes the workflow one that P22 permits.
func (w *world) placeNoReturn(steps []core.StepDefinition, at int) {
	before, behind := map[string]bool{}, map[string]bool{}
	if at >= 0 {
		for i := at; i >= 0; i-- {
			if i == at || before[steps[i].Name] {
				for _, name := range steps[i].After {
					before[name] = true
				}
			}
		}
		behind[steps[at].Name] = true
		for i := at + 1; i < len(steps); i++ {
			behind[steps[i].Name] = slices.ContainsFunc(steps[i].After, func(n string) bool { return behind[n] })
		}
	}
	for i := range steps {
		s := &steps[i]
		if at >= 0 && !before[s.Name] {
			s.OnFailure = core.OnFailureStop
		}
		switch {
		case i == at:
			s.PointOfNoReturn, s.When, s.Undo = true, "", nil
			if w.chance("its refusal undoes", 2) { // P22a
				s.OnFailure = core.OnFailureUndo
			}
		case behind[s.Name]:
			s.Undo = nil
		case w.chance("has no effect", 6):
			s.Undo, w.noEffect[s.Name] = nil, true
		}
	}
}

func (w *world) expressions(steps []core.StepDefinition) *expressions {
	x := &expressions{when: map[int]func(core.Environment) (bool, error){}, input: map[int]func(core.Environment) (json.RawMessage, error){}}
	for i := range steps {
		if steps[i].When != "" {
			yes := w.chance("condition holds", 2)
			x.when[i] = func(core.Environment) (bool, error) { return yes, nil }
		}
		if w.chance("input fails", 25) {
			w.broken = true
			x.input[i] = func(core.Environment) (json.RawMessage, error) { return nil, errors.New("no such field") }
		}
	}
	return x
}

// act does one thing of all that may happen now.
func (w *world) act() {
	switch k := w.choose("act", 18); {
	case k < 6:
		w.deliverOne()
	case k < 9:
		if n := len(w.requests); n > 0 {
			w.take(w.requests[n-1-w.choose("request", min(n, 6))])
		}
	case k < 12:
		w.landOne()
	case k == 12:
		w.passTime()
	case k == 13:
		w.sweep()
	case k < 16:
		w.command()
	case k == 16:
		w.forge()
	default:
		w.restart()
	}
}

// forge is a reply that nobody may send: of the other operation, or the failure of an old attempt
// or run. It must change nothing (invariant 4).
func (w *world) forge() {
	if w.task == nil || len(w.task.Steps) == 0 {
		return
	}
	s := &w.task.Steps[w.choose("forged step", len(w.task.Steps))]
	if s.Attempt == 0 {
		return
	}
	what := []core.Outcome{core.OutcomeDone, core.OutcomeFailed, core.OutcomeRetryLater}[w.choose("forged outcome", 3)]
	op := map[bool]core.Operation{true: core.Do, false: core.UndoOp}[s.Undo]
	r := reply(s.Name, w.task.Run, s.Attempt, op, what)
	if old := w.choose("forged age", 3); old > 0 && s.Attempt > old {
		r = reply(s.Name, w.task.Run, s.Attempt-old, core.UndoOp, what)
	}
	switch {
	case w.task.Run > 0 && w.chance("of the run before", 2):
		r = reply(s.Name, w.task.Run-1, max(1, s.Attempt-1), core.Do, core.OutcomeDone)
	case s.First == 0:
		r.Run--
	}
	if r.Run >= 0 {
		w.soup = append(w.soup, letter{ev: r})
	}
}

// landOne ends a call, or two of one key: the undo first, and the do that it was to reverse after it.
func (w *world) landOne() {
	n := len(w.calls)
	if n == 0 {
		return
	}
	i := w.choose("call", n)
	if w.chance("the newest", 3) {
		i = n - 1
	}
	c := w.calls[i]
	w.calls = slices.Delete(w.calls, i, i+1)
	if c.request.Operation == core.UndoOp {
		for j, late := range w.calls {
			if late.service == c.service && late.request.Operation == core.Do {
				w.calls = slices.Delete(w.calls, j, j+1)
				w.land(c, succeeds)
				w.land(late, succeeds)
				return
			}
		}
	}
	w.land(c, outcome(w.choose("outcome", int(outcomes))))
}

func (w *world) deliverOne() {
	n := len(w.soup)
	if n == 0 {
		return
	}
	i := n - 1 - w.choose("message", min(n, 8))
	if w.chance("an old one", 5) {
		i = w.choose("old message", n)
	}
	if w.soup[i].at <= w.real.Add(w.skew) { // by the clock of whoever sent it
		w.deliver(w.soup[i].ev, false)
	}
}

// passTime moves to a time that matters, or a little on.
func (w *world) passTime() {
	times := []core.Time{w.real.Add(core.Second), w.real.Add(10 * core.Second)}
	if w.task != nil {
		t := w.task
		times = append(times, t.Tell, t.Deadline, core.Live(t))
		for i := range t.Steps {
			s := &t.Steps[i]
			times = append(times, s.CompleteBy, s.WakeAt, s.StopBy, s.WakeAt.Add(-w.skew), s.QuietBy-1, s.QuietBy.Add(w.skew)+1, s.LastStopBy.Add(w.skew)+1)
		}
	}
	times = slices.DeleteFunc(times, func(t core.Time) bool { return t <= w.real })
	w.real = times[w.choose("time", len(times))]
}

// at is an instance of Scheduler or Supervisor, whose clock may be ahead by the skew.
func (w *world) at() core.At {
	at := core.At{Now: w.real, By: "scheduler-1"}
	if w.chance("clock ahead", 3) {
		at.Now = at.Now.Add(w.skew)
	}
	if w.chance("has seen waits", 6) {
		at.By, at.Waits = "scheduler-2", map[string]core.Duration{"a-agent": 12 * core.Second}
	}
	return at
}

// deliver lets a Scheduler handle a message. It may die before it has sent anything, or some of it.
func (w *world) deliver(ev core.Event, calm bool) {
	dec, ok := w.decide(ev, w.at())
	if !ok {
		return
	}
	if !calm {
		w.redeliver(ev, dec)
	}
	n := len(dec.Effects)
	if !calm && w.chance("dies", 4) {
		n = w.choose("after", n+1)
	}
	w.send(dec.Effects[:n])
	if n == len(dec.Effects) && dec.Settles && (calm || !w.chance("dies before it settles", 4)) {
		w.commit(core.Settled(w.task))
	}
}

// decide decides and commits, holding the decision to the invariants.
func (w *world) decide(ev core.Event, at core.At) (core.Decision, bool) {
	before, order := w.task, w.order
	def := w.def
	if before != nil && before.IsTombstone() {
		def = nil
	}
	shot := snapshot(before)
	dec, err := core.Decide(def, order, before, ev, at)
	if snapshot(before) != shot {
		w.violate("pure", "%s changed its argument", name(ev))
	}
	var refusal *core.Refusal
	if errors.As(err, &refusal) {
		return dec, false
	}
	if err != nil {
		w.violate("4", "%s: %v", name(ev), err)
		return dec, false
	}
	w.log = append(w.log, fmt.Sprintf("%s %s\n    -> %s | %s%s", at.Now, name(ev), stateOf(dec.Task), brief(dec.Effects), ignoredText(dec)))
	w.checkOrderless(def, before, ev, at, dec)
	from := w.def
	w.follow(ev, dec.Task)
	w.check(move{ev: ev, before: before, after: dec.Task, dec: dec, from: from})
	if dec.Changed {
		w.commit(dec.Task)
		w.checkEffects()
	}
	return dec, true
}

func stateOf(t *core.Task) string {
	if t == nil {
		return "no task"
	}
	return states(t)
}

func ignoredText(dec core.Decision) string {
	if dec.Ignored == "" {
		return ""
	}
	return " (" + dec.Ignored + ")"
}

// checkOrderless: without the order the decision is the same, or asks for it.
func (w *world) checkOrderless(def *core.Definition, before *core.Task, ev core.Event, at core.At, dec core.Decision) {
	without, err := core.Decide(def, nil, before, ev, at)
	if errors.Is(err, core.ErrOrderNeeded) {
		return
	}
	if err != nil || snapshot(without) != snapshot(dec) {
		w.violate("pure", "%s decides otherwise without the order: %v", name(ev), err)
	}
}

func (w *world) commit(t *core.Task) {
	next := *t
	next.Version++
	b, err := state.EncodeTask(&next)
	if err == nil {
		w.task, err = state.DecodeTask(b)
	}
	if err != nil {
		w.fail("%v", err)
	}
	w.checkSettled()
}

// send puts effects on their way; each may arrive any number of times.
func (w *world) send(effects []core.Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case core.SendRequest:
			w.requests = append(w.requests, e)
		case core.SendWake:
			w.soup = append(w.soup, letter{core.Wake{Step: e.Step, Run: e.Run, Attempt: e.Attempt}, e.WakeAt})
		case core.SendSettle:
			w.soup = append(w.soup, letter{ev: core.Settle{}})
		default:
			w.heard[visible(e)] = true
		}
	}
}

// sweep is the Supervisor; it may be missed, and it may die after its commit.
func (w *world) sweep() {
	if w.task == nil {
		return
	}
	at := w.at()
	events := core.SweepEvents(w.def, w.task, at.Now)
	if len(events) == 0 {
		if pushed, moved := core.Push(w.task); moved {
			w.commit(pushed)
		}
		return
	}
	for _, ev := range events {
		if o, ok := ev.(core.Overdue); ok {
			o.Backlog = w.chance("backlog", 6)
			ev = o
		}
		dec, ok := w.decide(ev, at)
		if !ok {
			return
		}
		if !w.chance("supervisor dies", 5) {
			w.send(dec.Effects)
			if dec.Settles {
				w.commit(core.Settled(w.task))
			}
		}
	}
}

// restart is a process that comes back with empty queues, or with a second copy of everything (P27).
func (w *world) restart() {
	if w.task == nil {
		return
	}
	if w.chance("queues die", 2) {
		w.soup, w.requests = w.soup[:min(1, len(w.soup))], nil // the application keeps its submission
	}
	def := w.def
	if w.task.IsTombstone() {
		def = nil
	}
	dec, err := core.Restart(def, w.order, w.task, w.real)
	if err != nil {
		w.violate("P27", "restart: %v", err)
		return
	}
	w.log = append(w.log, "restart | "+brief(dec.Effects))
	w.checkReemitted(dec.Effects, "a restart")
	w.send(dec.Effects)
	if dec.Settles {
		w.commit(core.Settled(w.task))
	}
}

// command lets the application or the operator write a command; it arrives when it arrives.
func (w *world) command() {
	w.commands++
	id := fmt.Sprintf("c%d", w.commands)
	run, number := 0, 0
	if w.task != nil {
		run, number = w.task.Run, w.task.Command
	}
	var ev core.Event
	switch k := w.choose("command", 11); {
	case k == 0:
		ev = core.Cancel{OrderID: orderID, ID: id, Run: run}
	case k < 5:
		ev = core.Resubmit{ID: id, Command: number}
	case k == 5:
		ev = core.UndoCommand{ID: id, Command: number}
	case k == 6:
		ev = core.Close{ID: id, Command: number, By: "ann", Reason: "settled by hand"}
	case k == 9:
		ev = core.Move{ID: id, Command: number, To: core.Target{Definition: w.variant()}}
	case k == 10:
		ev = core.Resubmit{ID: id, Command: number, To: &core.Target{Definition: w.variant()}}
	default:
		facts := w.facts(id, number)
		if len(facts) == 0 {
			return
		}
		ev = facts[w.choose("fact", len(facts))]
	}
	w.soup = append(w.soup, letter{ev: ev})
}

// facts are the operator's, who looks at the service before he speaks: one for each step in doubt.
func (w *world) facts(id string, number int) (all []core.Event) {
	if w.task == nil || w.task.ProcessState != core.Error {
		return nil
	}
	for i := range w.task.Steps {
		s := &w.task.Steps[i]
		key := core.Key(orderID, w.task.Run, s.Name)
		acting := slices.ContainsFunc(w.calls, func(c *call) bool { return c.service.key == key })
		if s.State != core.Failed && s.State != core.UndoWait || !s.Attempted() || acting || w.real <= s.LastStopBy.Add(w.skew) {
			continue
		}
		fact := core.NotHappened
		switch svc := w.services[key]; {
		case svc != nil && (svc.net > 0 || svc.noEffect && svc.applied > 0):
			fact = core.Happened
		case w.task.Phase == core.Undoing:
			fact = core.Undone
		}
		all = append(all, core.Resolve{ID: id, Command: number, Step: s.Name, Fact: fact})
	}
	return all
}

// allow remembers the budgets of a definition: a task that is moved keeps what it has counted.
func (w *world) allow(def *core.Definition) {
	for i := range def.Steps {
		d := &def.Steps[i]
		w.budgets[d.Name] = max(w.budgets[d.Name], d.Retry.Budget())
		if d.Undo != nil {
			w.budgets[d.Name+" undo"] = max(w.budgets[d.Name+" undo"], d.Undo.Retry.MaxFailures)
		}
	}
}

// follow takes the definition that the task pins after a command.
func (w *world) follow(ev core.Event, t *core.Task) {
	to := core.Target{}
	switch e := ev.(type) {
	case core.Move:
		to = e.To
	case core.Resubmit:
		if e.To != nil {
			to = *e.To
		}
	}
	if to.Definition != nil && t.Definition == to.Definition.Hash {
		w.def = to.Definition
	}
}

// variant is another definition of the workflow, one that the task fits or one that it does not.
func (w *world) variant() *core.Definition {
	w.variants++
	d, old := *w.def, w.def
	d.Hash, d.Steps, d.Agents = fmt.Sprintf("variant-%d", w.variants), slices.Clone(old.Steps), maps.Clone(old.Agents)
	s := &d.Steps[w.choose("changed step", len(d.Steps))]
	last, x := len(d.Steps)-1, *old.Expr.(*expressions)
	switch w.choose("change", 9) {
	case 0:
		slices.Reverse(d.Steps)
	case 1:
		s.Timeout, s.Retry.MaxFailures = s.Timeout+core.Second, s.Retry.MaxFailures+1
	case 2:
		s.Operation += "-again"
	case 3:
		s.Input = json.RawMessage(fmt.Sprintf(`"template %d"`, w.variants))
	case 4:
		removed := s.Name
		if !slices.ContainsFunc(d.Steps, func(s core.StepDefinition) bool { return slices.Contains(s.After, removed) }) && last > 0 {
			d.Steps = slices.DeleteFunc(d.Steps, func(s core.StepDefinition) bool { return s.Name == removed })
		}
	case 5:
		if old.Index("z") < 0 {
			d.Steps = append(d.Steps, w.addition(old, "z", true))
		}
	case 6:
		first := w.addition(old, "p", false)
		if old.Index("p") < 0 {
			s.After = append(slices.Clone(s.After), "p")
			d.Steps = append(d.Steps, first)
		}
	case 7: // the expression that fails is fixed
		x.input = nil
	case 8:
		s.OnFailure = core.OnFailureStop
	}
	x.when, x.input = placed(x.when, old, &d), placed(x.input, old, &d)
	for i := range d.Steps {
		template := d.Steps[i].Input
		if was := old.Index(d.Steps[i].Name); was < 0 || string(old.Steps[was].Input) != string(template) {
			x.input[i] = func(core.Environment) (json.RawMessage, error) { return template, nil }
		}
	}
	d.Expr = &x
	d.Link()
	w.allow(&d)
	return &d
}

// addition is a step that the workflow did not have: it comes before all, or after all.
func (w *world) addition(d *core.Definition, name string, last bool) core.StepDefinition {
	s := step(name)
	s.Agent = d.Steps[0].Agent
	s.MaxQueueTime = d.Steps[0].MaxQueueTime
	for i := range d.Steps {
		if last {
			s.After = append(s.After, d.Steps[i].Name)
		}
		if d.Steps[i].PointOfNoReturn {
			s.OnFailure = core.OnFailureStop
			if last {
				s.Undo = nil
			}
		}
	}
	return s
}

// placed are functions of steps, which stand elsewhere in another definition.
func placed[F any](of map[int]F, from, to *core.Definition) map[int]F {
	all := map[int]F{}
	for i := range to.Steps {
		for j := range from.Steps {
			if f, ok := of[j]; ok && from.Steps[j].Name == to.Steps[i].Name {
				all[i] = f
			}
		}
	}
	return all
}
