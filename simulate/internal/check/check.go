// Package check holds what happens in a world to the invariants: every commit, every message, every call of a
// service, and what stands at the end. The model says what each event must have led to.
package check

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/simulate/internal/model"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// Check looks at the orders that have changed.
func Check(w *world.Simulation) {
	for _, o := range w.AllOrders {
		if o.Seen.Dirty {
			o.Seen.Dirty = false
			checkEffects(w, o)
		}
	}
}

// most is the bound of commits of one order (invariant 20).
const most = 3000

// move is one commit.
type move struct {
	w             *world.Simulation
	o             *world.Order
	def           *core.Definition
	before, after *core.Task
	record        *port.Record
	supervisor    bool
	commanded     bool // it accepted a command
	resumed       bool // it accepted a Resubmit of an order in Error (forward)
}

// Committed holds every commit to the invariants.
func Committed(w *world.Simulation, before, after *core.Task, record *port.Record) {
	w.Commits++
	o := w.ByID[after.OrderID]
	if o == nil && after.Parent != nil {
		o = w.Born(after)
	}
	if o == nil {
		w.Violate("2", "a task %s was stored that was not submitted", after.OrderID)
		return
	}
	m := &move{w: w, o: o, def: w.DefOf(after), before: before, after: after, record: record}
	if w.Cur != nil {
		m.supervisor = w.Cur.P.Role == world.ASupervisor
	}
	if w.Tracing {
		w.Trace(w.Cur.P.Name, "store", world.Summary(after))
	}
	o.Seen.Dirty = true
	if !m.reminds() {
		o.Seen.Writes++
	}
	if after.ProcessState == core.Processing && (before == nil || before.ProcessState != core.Processing) {
		o.Seen.ForwardAt = w.Now
	}
	m.verdicts()
	m.identity()
	m.tokens()
	m.index()
	m.ends()
	m.erased()
	m.why()
	m.settled()
	m.fits()
	m.replies()
	for i := range after.Steps {
		m.step(i)
	}
	m.decided()
}

func (m *move) fail(name, format string, args ...any) {
	m.w.Violate(name, "order %s, version %d: %s", m.after.OrderID, m.after.Version,
		fmt.Sprintf(format, args...))
}

func (m *move) did(names ...string) {
	for _, n := range names {
		m.w.Checks.Did(n)
	}
}

// keptAccepted reports whether the task surely had the command as accepted when it decided it once more: it
// had that verdict before this commit, and the verdicts that the commit stored cannot have pushed it out.
func (m *move) keptAccepted(id string) bool {
	if m.before == nil {
		return false
	}
	at := slices.IndexFunc(m.before.Verdicts, func(v core.Verdict) bool { return v.ID == id && v.Accepted })
	return at >= 0 && m.kept(at)
}

// kept reports whether no verdict of this commit has pushed out the one at that place of the list before.
func (m *move) kept(at int) bool {
	added := m.added()
	return added < 8 && len(m.before.Verdicts)-at+added-1 <= 8
}

// added is how many verdicts of this commit are kept. If it is 8, the commit may have stored more, one of an
// accepted command among them.
func (m *move) added() (n int) {
	for _, v := range m.after.Verdicts {
		if m.before == nil || !slices.Contains(m.before.Verdicts, v) {
			n++
		}
	}
	return n
}

// verdicts: one ID, one answer, unless eight later ones have replaced it: then a copy of an accepted command
// is refused for its number. What was refused once stays refused in its run. Numbers grow by accepted
// commands, and by one if the list of refused commands is full (P5); a Cancel that was refused stays refused
// for its run (P17).
func (m *move) verdicts() {
	m.did("P5", "P17")
	accepted := 0
	for _, v := range m.after.Verdicts {
		was, known := m.o.Seen.Verdicts[v.ID]
		if known && was != v.Accepted && (v.Accepted || m.keptAccepted(v.ID)) {
			m.fail("P5", "command %s was answered %v and now %v", v.ID, was, v.Accepted)
		}
		if known {
			continue
		}
		m.o.Seen.Verdicts[v.ID] = v.Accepted
		m.commanded = m.commanded || v.Accepted
		if v.Accepted {
			accepted++
			m.resumed = m.resumed || v.Command == "resubmit" && m.before != nil && stoppedForward(m.before)
		}
		if v.Command == "cancel" {
			if v.Accepted && m.o.Seen.Cancels[m.after.Run] && m.before != nil && m.before.Run == m.after.Run {
				m.fail("P17", "a Cancel of run %d was refused before and is accepted now", m.after.Run)
			}
			// Past a point of no return it may be proven later that this one had no effect (P22a).
			if !v.Accepted && m.before != nil && m.before.Run == m.after.Run && v.Reason != oldRun &&
				(m.after.ProcessState == core.Processed || !model.PastReturn(m.def, m.after)) {
				m.o.Seen.Cancels[m.after.Run] = true
			}
		}
	}
	was := 0
	if m.before != nil {
		was = m.before.Command
		// by a parent that was resubmitted (P41)
		m.commanded = m.commanded || m.after.Parent != nil && m.after.Run > m.before.Run
		// later verdicts of this commit have pushed out the accepted one
		if m.added() >= 8 && m.after.Command > was {
			m.commanded = true
			m.resumed = m.resumed || stoppedForward(m.before) && m.after.ProcessState == core.Processing
		}
	}
	if d := m.after.Command - was; d < 0 || m.added() < 8 && d > accepted+m.emptied() {
		m.fail("P5", "the command number went from %d to %d with %d accepted commands", was, m.after.Command,
			accepted)
	}
}

// emptied returns how many full lists of refused commands became shorter, although the run is the same.
func (m *move) emptied() (n int) {
	if m.before == nil || m.before.Run != m.after.Run {
		return 0
	}
	// in any order: it is a count
	for kind, all := range m.before.Refused {
		// it only shrinks when it is emptied, which can happen in the middle of a commit
		if len(m.after.Refused[kind]) < len(all) {
			n++
		}
	}
	return n
}

const oldRun = "the order was resubmitted since; look at it and cancel the new run"

// tokens: the document of a task whose workflow makes tokens holds none (P39).
func (m *move) tokens() {
	if m.after.TokenKey == "" {
		return
	}
	m.did("P39")
	if bytes.Contains(m.record.Document, []byte(m.after.TokenKey+".")) {
		m.fail("P39", "the document holds a token")
	}
}

// identity: what never changes, and what only grows.
func (m *move) identity() {
	m.did("2", "15", "20", "P2", "P14")
	if m.o.Seen.Writes > most {
		m.fail("20", "it has been written %d times", m.o.Seen.Writes)
	}
	if m.before == nil {
		if m.after.Version != 1 {
			m.fail("15", "the first version is %d", m.after.Version)
		}
		return
	}
	m.did("mixed")
	// an erasure removes it (P52)
	if m.before.Unknown[LaterField] != nil && m.after.Unknown[LaterField] == nil && m.after.Erased == nil {
		m.fail("mixed", "an older version of the program has dropped a field that it does not know")
	}
	if m.after.Version != m.before.Version+1 {
		m.fail("15", "it follows version %d", m.before.Version)
	}
	if message.HashOf(m.after) != message.HashOf(m.before) {
		m.fail("P14", "its content changed")
	}
	m.moved()
	m.corrected()
	if d := m.after.Run - m.before.Run; d != 0 && (d != 1 || !m.commanded) {
		m.fail("P2", "the run went from %d to %d", m.before.Run, m.after.Run)
	}
}

// corrected: another input is given by a command only, to a step whose key has had no effect and has no open
// call (P51).
func (m *move) corrected() {
	t, b := m.after, m.before
	for i := range t.Steps {
		s, was := &t.Steps[i], b.Step(t.Steps[i].Name)
		if s.Corrected == nil || t.Run == b.Run && was != nil && was.Corrected != nil &&
			was.Corrected.Command == s.Corrected.Command {
			continue
		}
		m.did("P51")
		key := core.Key(t.OrderID, t.Run, s.Name)
		svc := m.w.Services[key]
		switch {
		case !m.commanded:
			m.fail("P51", "step %s has another input, and no command gave it", s.Name)
		case svc != nil && (svc.Net > 0 || svc.Applied > 0 && svc.Grade != core.Plain || svc.Pending > 0):
			m.fail("P51", "step %s gets another input, and its key has had %d effects, and %d calls may land",
				s.Name, svc.Applied, svc.Pending)
		}
		delete(m.o.Seen.Meant, key+string(core.Do))
	}
}

// given: the requests of a step that has got another input have that one (P51).
func given(w *world.Simulation, t *core.Task, r *message.Request) {
	if t == nil || t.Run != r.Run || r.Operation != core.Do && string(r.Input) == "" {
		return
	}
	s := t.Step(r.Step)
	if _, d := w.StepOf(t, r.Step); s == nil || s.Corrected == nil || r.Attempt != s.Attempt ||
		r.Operation == core.UndoOp && d.Undo.Input != nil {
		return
	}
	w.Checks.Did("P51")
	if string(r.Input) != string(s.Corrected.Input) {
		w.Violate("P51", "step %s of %s is asked with %s, and was given %s", r.Step, r.OrderID, r.Input,
			s.Corrected.Input)
	}
}

// moved: a definition is pinned by a command, while nothing is in flight and no end is unreported; what was
// attempted or skipped stays as it is, but for a task that was undone (P49).
func (m *move) moved() {
	t, b := m.after, m.before
	if t.Definition == b.Definition {
		return
	}
	m.did("P49")
	if !m.commanded {
		m.fail("P49", "it pins another definition, and no command asked for that")
	}
	for i := range b.Steps {
		s, is := &b.Steps[i], t.Step(b.Steps[i].Name)
		if s.InFlight() && len(EventsOf(m.w.Cur.Sight(t.OrderID), m.w.Cur)) < 2 {
			m.fail("P49", "it is moved while step %s is in flight", s.Name)
		}
		if model.WithoutEffect(s) {
			delete(m.o.Seen.Meant, core.Key(t.OrderID, t.Run, s.Name)+string(core.Do))
		}
		bound := b.ProcessState != core.Compensated && (s.Attempted() || s.State == core.Skipped ||
			s.FailureCode != "")
		switch {
		case bound && is == nil:
			m.fail("P49", "step %s, which is %s, is removed", s.Name, s.State)
		case bound && (is.First != s.First || is.Attempt < s.Attempt || s.State == core.Skipped &&
			is.State != core.Skipped):
			m.fail("P49", "step %s does not stand as it was", s.Name)
		case is == nil && s.Attempt > 0 && t.Removed[s.Name] != s.Attempt:
			m.fail("P49", "the attempts of step %s, which is removed, are forgotten", s.Name)
		}
	}
}

// was is a step as it was before; a name that returns goes on with its attempts (P1).
func (m *move) was(name string) *core.Step {
	if s := m.before.Step(name); s != nil {
		return s
	}
	return &core.Step{Name: name, State: core.Pending, Attempt: m.before.Removed[name]}
}

// budgets are the most failures that a definition allows a step and its undo: an order that is moved keeps
// what it has counted.
func budgets(w *world.Simulation, step string) (do, undo int) {
	for _, def := range w.Known() {
		if i := def.Index(step); i >= 0 {
			d := &def.Steps[i]
			do = max(do, d.Retry.Budget())
			if d.Undo != nil {
				undo = max(undo, d.Undo.Retry.MaxFailures)
			}
		}
	}
	return do, undo
}

// meant: one key means one thing, whatever definition the task pins (P49). An undo's input may differ.
func meant(w *world.Simulation, o *world.Order, r *message.Request) {
	// it comes too late to have an effect (P25): its Scheduler was frozen
	if core.Time(w.Start+w.Now) >= r.StopBy {
		return
	}
	_, d := w.StepOf(w.Store.Task(o.Id), r.Step)
	what := fmt.Sprintf("%s %s %s", d.AllAgents(), r.Name, r.Grade)
	if r.Operation == core.Do {
		what += " " + string(r.Input)
	}
	key := r.Key + string(r.Operation)
	if was, known := o.Seen.Meant[key]; known && was != what {
		w.Violate("P49", "key %s asked for %s, and now for %s", r.Key, was, what)
	}
	o.Seen.Meant[key] = what
}

// index: due is never late, and never missing (21, P9).
func (m *move) index() {
	m.did("21", "P9")
	live := model.Live(m.after)
	if rests := live == 0 &&
		m.after.ProcessState == core.Error; rests != (m.record.Bucket == port.AttentionBucket) {
		m.fail("P9", "it is %s, its earliest live time is %s, and it stands in the index as %q",
			m.after.ProcessState, live, m.record.Bucket)
	}
	switch {
	case live != 0 && m.record.Bucket != port.DueBucket:
		m.fail("P9", "it has a live time, %s, and stands in the index as %q", live, m.record.Bucket)
	case live != 0 && core.TimeOf(m.record.IndexAt) > live:
		m.fail("21", "it is due at %s, and its earliest live time is %s", m.record.IndexAt, live)
	case live == 0 && !m.after.AtRest():
		m.fail("P9", "it is not at rest and has no live time: %s", world.Summary(m.after))
	}
}

// ends: an end is left by a command only (6).
func (m *move) ends() {
	m.did("6", "P22", "P23", "P20")
	t, b := m.after, m.before
	if t.Hops > m.def.HopBudget && t.Definition != "" {
		m.fail("P23", "it has used %d hops of %d", t.Hops, m.def.HopBudget)
	}
	if b == nil {
		return
	}
	m.did("18")
	if t.EndSeq > 0 && t.StatusSeq != t.EndSeq {
		m.fail("18", "its end is reported as number %d, and a later status has number %d", t.EndSeq,
			t.StatusSeq)
	}
	// its parent has it undone (P41)
	asked := t.Parent != nil && b.ProcessState == core.Processed && t.ProcessState != core.Error
	if b.Terminal() && !m.commanded && !asked && (t.ProcessState != b.ProcessState || t.Ended != b.Ended) {
		m.fail("6", "%s became %s without a command", b.ProcessState, t.ProcessState)
	}
	if !asked && (b.ProcessState == core.Processed || b.ProcessState == core.Cancelled ||
		b.ProcessState == core.Closed) && t.ProcessState != b.ProcessState {
		m.fail("6", "%s is final and became %s", b.ProcessState, t.ProcessState)
	}
	if model.PastReturn(m.def, t) &&
		(t.ProcessState == core.Compensating || t.ProcessState == core.Compensated ||
			t.ProcessState == core.Cancelled) {
		m.fail("P22", "it is %s past its point of no return", t.ProcessState)
	}
	if t.ProcessState == core.Compensated || t.ProcessState == core.Cancelled {
		m.did("10")
		for i := range t.Steps {
			if s := &t.Steps[i]; s.Attempted() && s.State != core.Compensated {
				m.fail("10", "it is %s, and step %s, which was attempted, is %s", t.ProcessState, s.Name,
					s.State)
			}
		}
	}
}

// erased: an order is erased at an end that was reported, stays so, and nothing of what was sent stands in
// its document (P52).
func (m *move) erased() {
	t, b := m.after, m.before
	if t.Erased == nil {
		if b != nil && b.Erased != nil {
			m.fail("P52", "it was erased, and its document says so no more")
		}
		return
	}
	m.did("P52")
	switch {
	case b != nil && b.Erased != nil && *b.Erased != *t.Erased:
		m.fail("P52", "it was erased by %+v, and its document says %+v", *b.Erased, *t.Erased)
	case b != nil && b.Erased == nil && !m.commanded:
		m.fail("P52", "it was erased without a command")
	case b == nil || !b.Terminal() || b.ResendAt != 0:
		m.fail("P52", "it was erased, and its end was not reported")
	case t.ProcessState != b.ProcessState:
		m.fail("P52", "it was erased while %s, and is %s", b.ProcessState, t.ProcessState)
	}
	held := len(t.Order) > 0 || len(t.Output) > 0
	for i := range t.Steps {
		s := &t.Steps[i]
		held = held || len(s.Output) > 0 || s.Corrected != nil && len(s.Corrected.Input) > 0 ||
			s.Answers != nil && len(s.Answers.Votes) > 0
	}
	if held {
		m.fail("P52", "it was erased, and its document still holds what was sent")
	}
}

// why: an order is undone for the reason for which that began, whatever becomes of its undo (P19).
func (m *move) why() {
	if m.before == nil || m.before.Why == "" || m.before.IsTombstone() || m.before.Run != m.after.Run ||
		m.before.ProcessState == core.Closed {
		return
	}
	m.did("P19")
	// An order that is closed while it is being undone, because its children are not there (P48), has not
	// stopped in Error before.
	closed := m.after.ProcessState == core.Closed && m.before.ProcessState != core.Compensating
	if was, is := model.UndoneFor(m.before, false), model.UndoneFor(m.after, closed); was != is {
		m.fail("P19", "it is undone because of %s, and that began because of %s", is, was)
	}
}

// settled: an end counts as reported only when it was (P11).
func (m *move) settled() {
	t, b := m.after, m.before
	if b == nil || b.ResendAt == 0 || t.ResendAt != 0 || t.Ended != b.Ended ||
		t.ProcessState != b.ProcessState {
		return
	}
	m.did("P11")
	seen := &m.o.Seen
	reported := seen.Reported[t.EndSeq] != ""
	if t.EndSeq > 0 && !reported {
		m.fail("P11", "%s is settled, and its status %d was never sent", t.ProcessState, t.EndSeq)
	}
	if model.Alerts(m.def, t) && !seen.Alerts[AlertID(t.Ended, t.Run, t.EndCommand)] {
		m.fail("P11", "%s is settled, and its alert was never raised", t.ProcessState)
	}
}

func AlertID(at core.Time, run, command int) string { return fmt.Sprintf("%s/%d/%d", at, run, command) }

// step holds one step to its invariants.
func (m *move) step(i int) {
	s, d := &m.after.Steps[i], &m.def.Steps[i]
	m.did("12", "13", "14", "16", "17")
	if s.InFlight() != (s.LockedBy != "") {
		m.fail("16", "step %s is %s and locked by %q", s.Name, s.State, s.LockedBy)
	}
	if s.InFlight() {
		key := fmt.Sprintf("%s/%d", s.Name, s.Attempt)
		if was, known := m.o.Seen.Holders[key]; known && was != s.LockedBy {
			m.fail("16", "attempt %d of step %s was locked by %s and is by %s", s.Attempt, s.Name, was,
				s.LockedBy)
		}
		m.o.Seen.Holders[key] = s.LockedBy
	}
	if budget, undoBudget := budgets(m.w, s.Name); s.FailureCount > budget || s.UndoFailures > undoBudget {
		m.fail("12", "step %s has %d failures and %d of its undo", s.Name, s.FailureCount, s.UndoFailures)
	}
	if m.before == nil {
		return
	}
	was := m.was(s.Name)
	if !m.commanded && (s.FailureCount < was.FailureCount || s.UndoFailures < was.UndoFailures) {
		m.fail("12", "step %s forgot failures", s.Name)
	}
	m.o.Seen.Counted[s.Name] += max(0, s.FailureCount-was.FailureCount) +
		max(0, s.UndoFailures-was.UndoFailures)
	if n := m.o.Seen.Counted[s.Name]; n > s.Attempt {
		m.fail("13", "step %s has counted %d failures in %d attempts", s.Name, n, s.Attempt)
	}
	m.did("P32")
	if s.Queued > was.Queued && s.Queued >= d.MaxQueueTime && m.after.ProcessState != core.Error {
		m.fail("P32", "step %s has waited for %s in queues, %s is the most, and the operator was not alerted",
			s.Name, s.Queued, d.MaxQueueTime)
	}
	m.held(was, s, d)
	if d.Wait != nil && m.before.Definition == m.after.Definition {
		m.wait(was, s)
	}
	if d.Answer != nil {
		m.answers(was, s)
	}
	if d.Fail != nil {
		m.did("P50")
		if s.Attempt > 0 && was.Attempt == 0 || s.State == core.Failed && !m.failedByRule(i) {
			m.fail("P50", "step %s fails by the rule %s, and is %s in attempt %d with %v", s.Name,
				d.Fail.Code, s.State, s.Attempt, s.Error)
		}
	}
	if d.OnFailure == core.OnFailureContinue {
		m.goesOn(was, s)
	}
	m.progressed(was, s)
	if s.Attempt < was.Attempt {
		m.fail("14", "the attempt of step %s went from %d to %d", s.Name, was.Attempt, s.Attempt)
	}
	if m.supervisor {
		m.bySupervisor(was, s)
	}
	if s.Attempt > was.Attempt {
		m.claimed(was, s, d)
		m.needed(s.Name)
	}
}

// failedByRule reports whether a step with a rule has failed as it may: with the code of the rule, or because
// its condition cannot be evaluated (P20, P50).
func (m *move) failedByRule(i int) bool {
	s, d := &m.after.Steps[i], &m.def.Steps[i]
	switch {
	case s.Error == nil:
		return false
	case s.Error.Code != "expression" || d.When == "":
		return s.Error.Code == d.Fail.Code
	}
	model := &model.Model{Def: m.def, T: m.after}
	model.Content = m.w.Store.Rows[m.after.OrderID].Order()
	_, err := m.def.Expr.When(i, model.Environment(i))
	return err != nil
}

// needed: what is answered is not asked for (P38).
func (m *move) needed(call string) {
	for i := range m.def.Steps {
		d := &m.def.Steps[i]
		if d.Answer == nil || d.Answer.Ask != call || m.before.Run != m.after.Run ||
			m.before.Definition != m.after.Definition {
			continue
		}
		m.did("P38")
		if s := m.before.Step(d.Name); model.Passed(s) || s.Output != nil {
			m.fail("P38", "%s is claimed, and step %s was %s", call, d.Name, s.State)
		}
	}
}

// held: a step is handed back uncounted, for at least 2 s, and not beyond maxQueueTime or pollFor (P45).
func (m *move) held(was, s *core.Step, d *core.StepDefinition) {
	if model.SinceOf(s) == 0 || !was.InFlight() || s.InFlight() {
		return
	}
	m.did("P45")
	switch {
	case s.FailureCount > was.FailureCount || s.UndoFailures > was.UndoFailures:
		m.fail("P45", "step %s was not called (%s), and that counts as a failure", s.Name, s.Error.Code)
	case m.after.ProcessState != core.Error && s.WakeAt.Sub(s.Error.At) < 2*core.Second:
		// a batch may stop the task after it, which clears the wait (P9)
		m.fail("P45", "step %s was not called (%s), and is asked again at %s, %s later", s.Name, s.Error.Code,
			s.WakeAt, s.WakeAt.Sub(s.Error.At))
	case s.Error.At.Sub(s.Error.Since) >= model.LongestHold(d, s.Error.Code):
		m.fail("P45", "step %s waits since %s (%s), %s is the most, and no operator was called", s.Name,
			s.Error.Since, s.Error.Code, model.LongestHold(d, s.Error.Code))
	}
}

// progressed: an attempt keeps its stopBy, and its complete-by never lies after that (P43).
func (m *move) progressed(was, s *core.Step) {
	if !was.InFlight() || !s.InFlight() || was.Attempt != s.Attempt || m.before.Run != m.after.Run {
		return
	}
	m.did("P43")
	if s.StopBy != was.StopBy || s.CompleteBy > s.StopBy || s.CompleteBy < was.CompleteBy {
		m.fail("P43", "step %s had stopBy %s and complete-by %s, and has %s and %s", s.Name, was.StopBy,
			was.CompleteBy, s.StopBy, s.CompleteBy)
	}
}

// goesOn: P42.
func (m *move) goesOn(was, s *core.Step) {
	m.did("P42")
	t := m.after
	if m.before.Run == t.Run && was.FailureCode != "" && s.FailureCode != was.FailureCode {
		m.fail("P42", "step %s failed with %s, and reads %q now", s.Name, was.FailureCode, s.FailureCode)
	}
	switch {
	case t.ProcessState == core.Processing && s.State == core.Failed:
		m.fail("P42", "step %s is Failed while the task goes forward", s.Name)
	case (t.ProcessState == core.Processing || t.ProcessState == core.Processed) &&
		(s.FailureCode == "") != (s.State != core.Compensated && s.State != core.Compensating &&
			s.State != core.UndoWait && (s.State != core.Waiting || !s.Undo)):
		m.fail("P42", "step %s is %s, and its failure is %q", s.Name, s.State, s.FailureCode)
	case t.ProcessState == core.Processed && s.State != core.Compensated && s.State != core.Processed &&
		s.State != core.Skipped:
		m.fail("P42", "the task is Processed with step %s %s", s.Name, s.State)
	}
}

// stoppedForward reports whether the task is in Error (forward).
func stoppedForward(t *core.Task) bool {
	return t.ProcessState == core.Error && t.Phase == core.Forward
}

// undoneAlone reports whether this claim of an undo began while the task went forward, so that the order of
// undos does not bind it (P42). If the commit turns the task, it is not known of a batch what came first,
// and a Resubmit may have resumed the undo before a step failed.
func (m *move) undoneAlone(s *core.Step) bool {
	t, b := m.after, m.before
	switch {
	case s.FailureCode == "":
		return false
	case t.ProcessState == core.Error: // it stopped after the claim
		return t.Phase == core.Forward
	case t.ProcessState == core.Compensating:
		batch := len(EventsOf(m.w.Cur.Sight(t.OrderID), m.w.Cur)) > 1
		return b.ProcessState != core.Compensating && (batch || m.resumed)
	}
	return true
}

// waitsFor: what a step comes after has ended when it is claimed for the first time; one that the task goes
// on without is undone then (P42).
func (m *move) waitsFor(s *core.Step, d *core.StepDefinition) {
	for _, name := range d.After {
		if o := m.after.Step(name); o.FailureCode != "" && o.State != core.Compensated {
			m.fail("P42", "step %s is claimed while %s, which failed, is %s", s.Name, o.Name, o.State)
		}
	}
}

func (m *move) bySupervisor(was, s *core.Step) {
	m.did("P16")
	if s.Attempt != was.Attempt {
		m.fail("P16", "the Supervisor claimed step %s", s.Name)
	}
	if final := was.State == core.Processed || was.State == core.Skipped ||
		was.State == core.Compensated; final && s.State != was.State {
		m.fail("17", "the Supervisor took step %s from %s to %s", s.Name, was.State, s.State)
	}
}

// claimed holds a new claim to its rules.
func (m *move) claimed(was, s *core.Step, d *core.StepDefinition) {
	t, b := m.after, m.before
	if !s.Undo && b.ProcessState == core.Compensating && t.ProcessState == core.Compensating &&
		t.Run == b.Run && !m.commanded {
		m.fail("P20", "step %s is claimed forward while the task compensates", s.Name)
	}
	if was.First == 0 && !s.Undo {
		m.waitsFor(s, d)
	}
	if !s.Undo || s.State != core.Compensating {
		return
	}
	alone := m.undoneAlone(s)
	if alone {
		m.o.Seen.Alone[fmt.Sprintf("%s/%d", s.Name, s.Attempt)] = true
	}
	m.did("9")
	for i := range t.Steps {
		if alone {
			break
		}
		if o := &t.Steps[i]; o.First > s.First && o.State != core.Compensated {
			m.fail("9", "step %s is undone while %s, claimed later, is %s", s.Name, o.Name, o.State)
		}
	}
	if d.Grade != core.Fenced {
		m.did("P21")
		if quiet := s.Quiet().Add(m.def.Agents[d.Agent].ClockSkew); s.ClaimedAt <= quiet {
			m.fail("P21", "the undo of step %s is claimed at %s; a call may be under way until %s", s.Name,
				s.ClaimedAt, quiet)
		}
	}
}

// checkEffects holds what stands in the remote services against what the task claims (2, 7, 8).
func checkEffects(w *world.Simulation, o *world.Order) {
	r := w.Store.Rows[o.Id]
	if r == nil || r.Task == nil {
		return
	}
	t := r.Task
	if t.Apart() && r.Content == nil {
		w.Violate("2", "the order of %s is kept apart, and it is not there", o.Id)
	}
	if !t.Terminal() || t.ProcessState == core.Closed { // whose effects stand as the operator found them
		return
	}
	w.Checks.Did(map[bool]string{true: "7", false: "8"}[t.ProcessState == core.Processed])
	checkChildren(w, t)
	for i := range t.Steps {
		s := &t.Steps[i]
		all, now := 0, 0
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
			w.DefOf(t).Steps[i].Agent != "" && !NoEffect(w, t, s.Name) {
			want = 1
		}
		switch {
		case all == want && (now == want):
		case t.ProcessState == core.Processed:
			w.Violate("7", "order %s is Processed, and step %s (%s) has %d effects, not %d", o.Id, s.Name,
				s.State, all, want)
		default:
			w.Violate("8", "order %s is %s, and %d effects of step %s stand", o.Id, t.ProcessState, all,
				s.Name)
		}
	}
}

// Undoing: what was claimed later has no effect any more (9).
func Undoing(w *world.Simulation, s *world.Remote, c worker.Call) {
	t := w.Store.Task(s.Order)
	if o := w.ByID[s.Order]; o != nil && o.Seen.Alone[fmt.Sprintf("%s/%d", s.Step, c.Attempt)] {
		return
	}
	if t == nil || t.Run != s.Run || t.ProcessState != core.Compensating || s.Net == 0 {
		return
	}
	w.Checks.Did("9")
	first := t.Step(s.Step).First
	for i := range t.Steps {
		other := w.Services[core.Key(s.Order, s.Run, t.Steps[i].Name)]
		if d := &w.DefOf(t).Steps[i]; d.PointOfNoReturn && other != nil && other.Net > 0 {
			w.Violate("P22a", "order %s: %s is undone while the effect of the point of no return %s stands",
				s.Order, s.Step, d.Name)
		}
		if t.Steps[i].First > first && other != nil && other.Net > 0 {
			w.Violate("9", "order %s: %s is undone while the effect of %s stands", s.Order, s.Step,
				t.Steps[i].Name)
		}
	}
}

// Sent holds every message to the rules of sending.
func Sent(w *world.Simulation, p *world.Process, q *world.Queue, m port.Message) {
	if iv := w.Cur; iv != nil && iv.P == p {
		if id, letter, ok := mailOf(m.Value); ok {
			sentBy(iv, id, letter)
		}
	}
	switch v := m.Value.(type) {
	case *message.Request:
		sentRequest(w, p, v)
	case *message.Status:
		sentStatus(w, v)
	case *message.Control:
		sentControl(w, p, v, m.Delay)
	}
	if w.Tracing {
		w.Trace(p.Name, q.Name, "sends "+world.Describe(m))
	}
}

func sentRequest(w *world.Simulation, p *world.Process, r *message.Request) {
	o, t := w.ByID[r.OrderID], w.Store.Task(r.OrderID)
	w.Checks.Did("P12")
	if p.Role == world.ASupervisor {
		w.Violate("P16", "the Supervisor sent a request for step %s of %s", r.Step, r.OrderID)
	}
	if o == nil || t == nil && w.Store.Rows[r.OrderID] == nil {
		w.Violate("P12", "a request of %s was sent before its task was stored", r.OrderID)
		return
	}
	if t != nil {
		if s := t.Step(r.Step); s == nil && t.Removed[r.Step] < r.Attempt || s != nil &&
			s.Attempt < r.Attempt && t.Run <= r.Run {
			w.Violate("P12",
				"the request of attempt %d of step %s of %s was sent before the claim was stored", r.Attempt,
				r.Step, r.OrderID)
		}
	}
	if iv := w.Cur; iv != nil && iv.P == p && r.Operation == core.Do && !mayDo(iv, r) {
		w.Violate("P12", "the do of step %s of %s, attempt %d, was sent while the task is %s", r.Step,
			r.OrderID, r.Attempt, iv.Sight(r.OrderID).Now().ProcessState)
	}
	if _, d := w.StepOf(t, r.Step); d.Agent == "" {
		w.Violate("P33", "step %s of %s waits, and %s is asked to do it", r.Step, r.OrderID, r.Agent)
	}
	routed(w, t, r)
	meant(w, o, r)
	given(w, t, r)
	because(w, t, r)
	same(w, "P12", o.Seen.Requests, fmt.Sprintf("%s/%d/%s", r.Step, r.Attempt, r.Key), r)
	if bound := 100 + 20*len(w.Def.Steps)*w.Def.HopBudget; len(o.Seen.Requests) > bound &&
		calls(&o.Seen) > bound {
		w.Violate("20", "order %s has made %d requests", o.Id, calls(&o.Seen))
	}
}

// reminds reports a commit with a reminder, of which there are as many as the question is open for (P37).
func (m *move) reminds() bool {
	if m.before == nil {
		return false
	}
	for i := range m.after.Steps {
		s := &m.after.Steps[i]
		was := m.before.Step(s.Name)
		if s.Answers != nil && was != nil && was.Answers != nil && s.Answers.Reminded > was.Answers.Reminded {
			return true
		}
	}
	return false
}

// calls counts the requests without reminders, of which there are as many as the question is open for (P37).
func calls(h *world.History) (n int) {
	for id := range h.Requests {
		// attempt and key; a reminder has a number too
		if _, key, _ := strings.Cut(id, "/"); strings.Count(key, "/") == strings.Count("1/o1/0/a", "/") {
			n++
		}
	}
	return n
}

// because: drawn steps give as the reason the code with which a step before them has failed (P42).
func because(w *world.Simulation, t *core.Task, r *message.Request) {
	if t == nil || t.Run != r.Run || r.Operation == core.UndoOp {
		return
	}
	_, d := w.StepOf(t, r.Step)
	var in struct{ Because *string }
	if !strings.Contains(string(d.Input), "because") || t.Step(r.Step).Corrected != nil ||
		json.Unmarshal(r.Input, &in) != nil {
		return
	}
	w.Checks.Did("P42")
	if code := t.Step(d.After[0]).FailureCode; in.Because == nil && code != "" || in.Because != nil &&
		*in.Because != code {
		w.Violate("P42", "step %s of %s gets %s as the failure of %s, which is %q", r.Step, r.OrderID,
			r.Input, d.After[0], code)
	}
}

// routed: a request goes to one of its step's agents, and not to the one at which the attempt before was not
// done (P44).
func routed(w *world.Simulation, t *core.Task, r *message.Request) {
	_, d := w.StepOf(t, r.Step)
	if !slices.Contains(d.AllAgents(), r.Agent) {
		w.Violate("P44", "step %s of %s asks agent %s, and its agents are %s", r.Step, r.OrderID, r.Agent,
			d.AllAgents())
	}
	if t == nil || len(d.Others) == 0 {
		return
	}
	w.Checks.Did("P44")
	for _, a := range t.Attempts {
		if a.Step == r.Step && a.Number == r.Attempt-1 && a.Outcome != core.OutcomeSuperseded &&
			cmp.Or(a.Agent, d.Agent) == r.Agent && t.Run == r.Run {
			w.Violate("P44",
				"attempt %d of step %s of %s asks agent %s again, at which the one before was not done",
				r.Attempt, r.Step, r.OrderID, r.Agent)
		}
	}
}

// Short is the code of a status that is sent without its output, which was too large (P28).
const Short = "output-too-large"

// sentControl: the Supervisor sends what it has committed, and a Wake does not come before its time
// by its sender's clock (P9a, P16).
func sentControl(w *world.Simulation, p *world.Process, c *message.Control, delay time.Duration) {
	iv := w.Cur
	if iv == nil || iv.P != p || p.Role == world.AClient {
		return
	}
	s := iv.Sight(c.OrderID)
	if p.Role == world.ASupervisor && s.After == nil {
		w.Violate("P16", "the Supervisor sent a %s of %s and has committed nothing", c.Kind, c.OrderID)
	}
	t := s.Now()
	if t == nil || c.Kind != message.Wake || c.Step == "" {
		return
	}
	w.Checks.Did("P9a")
	step := t.Step(c.Step)
	waits := (step.State == core.Pending || step.State == core.Waiting) &&
		t.ProcessState == core.Processing || step.State == core.UndoWait
	def := w.DefOf(t)
	now := core.TimeOf(p.Now())
	for _, r := range iv.Clock { // it may have jumped back since the time was computed
		now = max(now, r.Now)
	}
	left := model.NextLook(def, t, def.Index(c.Step)).Sub(now)
	// else an earlier decision of this commit may have begun a shorter wait, which ended with it
	alone := len(EventsOf(s, iv)) < 2
	if waits && alone && step.Attempt == c.Attempt && left > 0 && core.DurationOf(delay) < left+core.Second {
		w.Violate("P9a", "the Wake of step %s of %s comes after %s, and its wait has %s to go", c.Step,
			c.OrderID, delay, left)
	}
}

func same(w *world.Simulation, rule string, seen map[string]string, key string, v port.Value) {
	b, err := v.Encode()
	if err != nil {
		w.Violate("bug", "a message cannot be encoded: %v", err)
		return
	}
	if was, known := seen[key]; known && was != string(b) {
		w.Violate(rule, "%s was emitted again with other bytes:\n%s\n%s", key, was, b)
	}
	seen[key] = string(b)
}

func sentStatus(w *world.Simulation, s *message.Status) {
	o, t := w.ByID[s.OrderID], w.Store.Task(s.OrderID)
	if o != nil && t != nil && s.Kind == core.StatusCommandRefused {
		w.Checks.Did("P5")
		if slices.ContainsFunc(t.Verdicts,
			func(v core.Verdict) bool { return v.ID == s.CommandID && v.Accepted }) {
			w.Violate("P5", "command %s of %s was accepted and is reported as refused", s.CommandID,
				s.OrderID)
		}
	}
	if o == nil || s.Seq == 0 {
		return
	}
	w.Checks.Did("18")
	b, err := s.Encode()
	if err != nil {
		w.Violate("bug", "a status cannot be encoded: %v", err)
	}
	if was, known := o.Seen.Reported[s.Seq]; known && was != string(b) && s.Code != Short &&
		!strings.Contains(was, Short) {
		w.Violate("P12", "status %d of %s was sent again with other bytes:\n%s\n%s", s.Seq, s.OrderID, was, b)
	}
	if o.Seen.Reported[s.Seq] == "" || s.Code != Short {
		o.Seen.Reported[s.Seq] = string(b)
	}
	if t != nil && s.Kind == core.StatusFailed && s.Seq == t.EndSeq && t.ProcessState == core.Error &&
		!o.Seen.Alerts[AlertID(t.Ended, t.Run, t.EndCommand)] {
		w.Violate("P11", "status %d of %s says that an operator is needed, and no alert was raised", s.Seq,
			s.OrderID)
	}
	if t == nil {
		return
	}
	want := map[core.StatusKind]core.State{core.StatusCompleted: core.Processed,
		core.StatusFailed: core.Error,
		core.StatusUndone: core.Compensated, core.StatusCancelled: core.Cancelled,
		core.StatusClosed: core.Closed}[s.Kind]
	if s.Seq > t.StatusSeq || want != "" && s.Seq == t.EndSeq && t.ProcessState != want {
		w.Violate("18", "status %d of %s says %s, and the task is %s, its last number %d", s.Seq, s.OrderID,
			s.Kind, t.ProcessState, t.StatusSeq)
	}
}

func Alerted(w *world.Simulation, p *world.Process, a core.RaiseAlert) {
	if o := w.ByID[a.OrderID]; o != nil {
		o.Seen.Alerts[AlertID(a.At, a.Run, a.Command)] = true
		if w.Cur != nil {
			sentBy(w.Cur, a.OrderID, model.Mail{Kind: 'a', WakeAt: a.At})
		}
		if w.Tracing {
			w.Trace(p.Name, "operator", "alert: "+a.OrderID+" "+a.Step+" "+a.Code)
		}
	}
}

// replies: one of another run or operation, or of a stale attempt other than done, changes nothing (4).
func (m *move) replies() {
	if m.w.Cur == nil || m.before == nil || len(m.w.Cur.Letters) == 0 || settling(m.o, m) ||
		len(m.w.Cur.Sight(m.after.OrderID).Extra) > 0 {
		return
	}
	for _, l := range m.w.Cur.Letters {
		if world.AboutOrder(l.Message) != m.after.OrderID {
			continue
		}
		r, ok := l.Message.Value.(*message.Reply)
		if !ok || !stale(r, m.before) {
			return
		}
	}
	m.did("4")
	m.fail("4", "it was changed by %s, of run %d", world.Describe(m.w.Cur.Letters[0].Message),
		m.w.Cur.Letters[0].Message.Value.(*message.Reply).Run)
}

// settling is a commit that only says that an end has been reported.
func settling(o *world.Order, m *move) bool {
	return m.before.ResendAt != 0 && m.after.ResendAt == 0 && m.before.ProcessState == m.after.ProcessState &&
		m.before.Ended == m.after.Ended
}

func stale(r *message.Reply, t *core.Task) bool {
	s := t.Step(r.Step)
	done := r.Outcome == core.OutcomeDone && r.Operation == core.Do
	return s == nil || r.Run != t.Run || r.Attempt < s.Attempt && !done || r.Attempt == s.Attempt &&
		s.Undo != (r.Operation == core.UndoOp)
}

// Audit is the last look at everything.
func Audit(w *world.Simulation) {
	for _, o := range w.AllOrders {
		w.Checks.Did("5")
		w.Checks.Did("19")
		w.Checks.Did("P26")
		if r := w.Store.Rows[o.Id]; o.Acked && !r.Known() {
			w.Violate("P26", "order %s was acknowledged, and its ID is gone", o.Id)
		}
		o.Seen.Dirty = true
		if t := w.Store.Task(o.Id); t != nil {
			w.Ends[t.ProcessState]++
		}
	}
	Check(w)
	Letters(w)
}

// Letters: a message that was given up belongs to a task that came to its end all the same, or it
// is unreadable (19).
func Letters(w *world.Simulation) {
	for _, name := range w.Names {
		for _, l := range w.Queues[name].Dead {
			if id := world.AboutOrder(l.Message); id != "" && w.Store.Rows[id] == nil {
				if o := w.ByID[id]; o != nil && !o.Refused {
					w.Violate("19",
						"a message of %s stands in the dead letters of %s, and nothing else is known of it",
						id, name)
				}
			}
		}
	}
}

// NoEffect is a step that says "undo: none", without being behind a point of no return: it has
// nothing that could stand.
func NoEffect(w *world.Simulation, t *core.Task, step string) bool {
	def, d := w.StepOf(t, step)
	ask := slices.ContainsFunc(def.Steps, func(o core.StepDefinition) bool {
		return o.Answer != nil &&
			o.Answer.Ask == step
	})
	return d.Undo == nil && (ask || !behind(def, step))
}

// behind reports a point of no return, or a step that comes after one.
func behind(def *core.Definition, step string) bool {
	d := &def.Steps[def.Index(step)]
	return d.PointOfNoReturn ||
		slices.ContainsFunc(d.After, func(name string) bool { return behind(def, name) })
}

const LaterField = "laterField"
