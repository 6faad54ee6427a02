package core_test

import (
	"fmt"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// move is one decision with the document before and after it.
type move struct {
	ev            core.Event
	before, after *core.Task
	dec           core.Decision
	from          *core.Definition // that the task pinned before
}

// was is a step as it was before; a name that returns goes on with its attempts (P1).
func (m move) was(name string) *core.Step {
	if s := m.before.Step(name); s != nil {
		return s
	}
	return &core.Step{Name: name, State: core.Pending, Attempt: m.before.Removed[name]}
}

func (m move) supervisor() bool { return supervises(m.ev) }

// command reports an event that its sender, a person, decides.
func (m move) command() bool {
	switch m.ev.(type) {
	case core.Cancel, core.UndoCommand, core.Resubmit, core.Resolve, core.Close, core.Move:
		return true
	}
	return false
}

// memory is what a world remembers of earlier decisions.
type memory struct {
	requested map[string]string // request by step and attempt
	shown     map[string]string // status and alert, by what makes them one
	heard     map[string]bool   // which of them were sent
	highest   map[string]int    // attempt by step
	counted   map[string]bool   // failures by step, attempt and operation
	claims    map[string]int    // by step, operation, run and command
	excused   map[string]int    // claims that a backlog handed back uncounted
	refused   map[int]bool      // runs whose Cancel was refused
	accepted  map[int]bool
	means     map[string]string // what was asked for, by key and operation (P49)
	why       map[int]string    // why it is undone, by run
}

func newMemory() memory {
	return memory{
		requested: map[string]string{}, shown: map[string]string{}, heard: map[string]bool{}, highest: map[string]int{},
		counted: map[string]bool{}, claims: map[string]int{}, excused: map[string]int{}, refused: map[int]bool{}, accepted: map[int]bool{}, why: map[int]string{}, means: map[string]string{},
	}
}

// invariants are those of simulation.md and of section 8 of protocol.md that the core alone can
// hold, by the name that violate gives them. 3, 7, 8, 9 and 11 are checked by the remote services.
var invariants = []string{"3", "4", "6", "7", "8", "9", "10", "11", "12", "13", "14", "16", "17", "18", "20", "21",
	"pure", "P5", "P11", "P12", "P16", "P17", "P19", "P20", "P22a", "P27", "P49"}

func (w *world) check(m move) {
	if err := faultOf(w.def, m.before, m.dec, m.ev); err != nil {
		for _, n := range []string{"21", "16", "10", "7", "20", "P11", "P16"} { // faultOf holds them all
			w.violate(n, "%v", err)
		}
		w.violate("pure", "%v", err)
	}
	w.checkStatuses(m)
	w.checkAlert(m)
	if !m.dec.Changed {
		w.checkReemitted(m.dec.Effects, name(m.ev))
		return
	}
	w.checkMove(m)
	w.checkReply(m)
	w.checkEnds(m)
	w.checkCounts(m)
	w.checkClaims(m)
	w.checkVerdict(m)
	w.checkWhy(m.after)
}

// checkWhy: why a task is undone is set when that begins, and stays, whatever becomes of its undo (P19).
func (w *world) checkWhy(t *core.Task) {
	why := core.Blame{Step: t.EndStep, Code: t.EndCode, Text: t.EndText}
	switch {
	case t.Why == "" || t.IsTombstone():
		return
	case t.ProcessState == core.Error || t.ProcessState == core.Closed:
		why = t.UndoneFor
	}
	got := fmt.Sprint(t.Why, why)
	if was, known := w.why[t.Run]; known && was != got {
		w.violate("P19", "it was undone because of %s, and now because of %s", was, got)
	}
	w.why[t.Run] = got
}

// checkMove: nothing is in flight, no end is untold, and what was attempted or skipped in the present run stands
// as it was (P49).
func (w *world) checkMove(m move) {
	if m.before == nil || m.before.Definition == m.after.Definition {
		return
	}
	if m.before.InFlight() || m.before.Tell != 0 || !m.command() {
		w.violate("P49", "%s moves a task in flight %v, untold %v", name(m.ev), m.before.InFlight(), m.before.Tell != 0)
	}
	for i := range m.before.Steps {
		s := &m.before.Steps[i]
		is := m.after.Step(s.Name)
		if s.NoEffect != 0 || s.State == core.Compensated {
			delete(w.means, core.Key(orderID, m.before.Run, s.Name)+string(core.Do))
		}
		if is == nil && s.Attempt > 0 && m.after.Removed[s.Name] != s.Attempt {
			w.violate("14", "the attempts of step %s, which is removed, are forgotten", s.Name)
		}
		if m.before.ProcessState == core.Compensated || !s.Attempted() && s.State != core.Skipped {
			continue
		}
		if is == nil || is.First != s.First || is.Attempt < s.Attempt || s.State == core.Skipped && is.State != core.Skipped {
			w.violate("P49", "step %s does not stand as it was", s.Name)
			continue
		}
		for _, before := range w.def.Steps[w.def.Index(s.Name)].After {
			if p := m.before.Step(before); p == nil || !p.Attempted() && p.State != core.Skipped {
				w.violate("P49", "step %s was begun, and comes after %s, which was not", s.Name, before)
			}
		}
	}
}

// checkMeaning: one key means one thing, whatever definition the task pins (P49). An undo's input may differ.
func (w *world) checkMeaning(r core.SendRequest) {
	what := fmt.Sprintf("%s %s %s %v", r.Agent, r.Name, r.Grade, r.PointOfNoReturn)
	if r.Operation == core.Do {
		what += " " + string(r.Input)
	}
	key := r.Key + string(r.Operation)
	if was, known := w.means[key]; known && was != what {
		w.violate("P49", "key %s asked for %s, and now for %s", r.Key, was, what)
	}
	w.means[key] = what
}

// checkReply: a reply of another run or operation, or of a stale attempt other than done, changes nothing (4).
func (w *world) checkReply(m move) {
	r, ok := m.ev.(core.Reply)
	if !ok {
		return
	}
	s := m.before.Step(r.Step)
	stale := r.Attempt < s.Attempt && !(r.Outcome == core.OutcomeDone && r.Operation == core.Do)
	if r.Run != m.before.Run || stale || r.Attempt == s.Attempt && s.Undo != (r.Operation == core.UndoOp) {
		w.violate("4", "%s changed the task", name(m.ev))
	}
}

// checkEnds: an end is left by a command only (6), and the Supervisor lets finished steps be (17).
func (w *world) checkEnds(m move) {
	if m.before == nil {
		return
	}
	if m.before.Terminal() && !m.command() && (m.after.ProcessState != m.before.ProcessState || m.after.Ended != m.before.Ended) {
		w.violate("6", "%s left %s", name(m.ev), m.before.ProcessState)
	}
	if m.before.Terminal() && m.after.ProcessState != m.before.ProcessState && m.before.ProcessState != core.Compensated {
		w.violate("6", "%s left %s, which is final", name(m.ev), m.before.ProcessState)
	}
	for i := range m.after.Steps {
		was, is := m.was(m.after.Steps[i].Name).State, m.after.Steps[i].State
		final := was == core.Processed || was == core.Skipped || was == core.Compensated
		if m.supervisor() && final && is != was {
			w.violate("17", "the Supervisor took step %s from %s to %s", m.after.Steps[i].Name, was, is)
		}
		if was == core.Compensated && is != was && m.after.Run == m.before.Run {
			w.violate("17", "step %s was undone and is %s in the same run", m.after.Steps[i].Name, is)
		}
	}
}

// checkCounts: failures only grow between commands, within the budget (12), one for each attempt (13).
func (w *world) checkCounts(m move) {
	if m.before == nil {
		return
	}
	same := m.before.Run == m.after.Run && m.before.Command == m.after.Command
	for i := range m.after.Steps {
		is := &m.after.Steps[i]
		was := m.was(is.Name)
		if is.FailureCount > w.budgets[is.Name] || is.UndoFailures > w.budgets[is.Name+" undo"] {
			w.violate("12", "step %s has %d failures and %d of its undo", is.Name, is.FailureCount, is.UndoFailures)
		}
		if same && (is.FailureCount < was.FailureCount || is.UndoFailures < was.UndoFailures) {
			w.violate("12", "step %s forgot failures by %s", is.Name, name(m.ev))
		}
		w.count(was.FailureCount, is.FailureCount, fmt.Sprintf("%s/%d/do", is.Name, was.Attempt))
		w.count(was.UndoFailures, is.UndoFailures, fmt.Sprintf("%s/%d/undo", is.Name, was.Attempt))
		if o, ok := m.ev.(core.Overdue); ok && o.Backlog && o.Step == is.Name && was.InFlight() && !is.InFlight() &&
			was.FailureCount == is.FailureCount && was.UndoFailures == is.UndoFailures {
			w.excused[claimKey(m.after, is, was.Undo)]++
		}
	}
}

func (w *world) count(was, is int, attempt string) {
	switch {
	case is <= was:
	case is > was+1 || w.counted[attempt]:
		w.violate("13", "attempt %s was counted more than once", attempt)
	default:
		w.counted[attempt] = true
	}
}

func claimKey(t *core.Task, s *core.Step, undo bool) string {
	return fmt.Sprintf("%s undo %v run %d command %d", s.Name, undo, t.Run, t.Command)
}

// checkClaims holds every new request to the rules of claims.
func (w *world) checkClaims(m move) {
	for _, r := range requests(m.dec.Effects) {
		s := m.after.Step(r.Step)
		if r.Attempt != s.Attempt || r.Attempt <= w.highest[r.Step] { // also where the message was a redelivery
			w.violate("14", "step %s is claimed as attempt %d after %d", r.Step, r.Attempt, w.highest[r.Step])
		}
		w.highest[r.Step] = r.Attempt
		w.requested[fmt.Sprintf("%s/%d", r.Step, r.Attempt)] = snapshot(r)
		if want := core.Key(orderID, m.after.Run, r.Step); r.Key != want || s.ClaimedAt != r.ClaimedAt || s.StopBy != r.StopBy {
			w.violate("P12", "the request is not the claim: %s", snapshot(r))
		}
		stopped := m.after.ProcessState == core.Error && m.after.EndCode == "hops"
		if r.Operation == core.Do && m.after.ProcessState != core.Processing && !stopped {
			w.violate("P20", "a forward claim in %s", m.after.ProcessState)
		}
		w.checkMeaning(r)
		budget := w.budgets[r.Step]
		if r.Operation == core.UndoOp {
			budget = w.budgets[r.Step+" undo"]
			w.checkReverse(m.after, s)
		}
		key := claimKey(m.after, s, r.Operation == core.UndoOp)
		if w.claims[key]++; w.claims[key] > budget+w.excused[key] {
			w.violate("20", "%s: %d claims, budget %d, %d excused", key, w.claims[key], budget, w.excused[key])
		}
	}
}

func (w *world) checkReverse(t *core.Task, s *core.Step) {
	for _, o := range t.Steps {
		if o.First > s.First && o.State != core.Compensated {
			w.violate("9", "step %s is undone while %s is %s", s.Name, o.Name, o.State)
		}
	}
}

// checkVerdict: commands are answered and counted (P5); a Cancel's answer for a run never changes (P17).
func (w *world) checkVerdict(m move) {
	if !m.command() {
		return
	}
	v := m.dec.Verdict
	if v == nil || !v.Accepted && v.Reason == "" {
		w.violate("P5", "%s has no answer", name(m.ev))
		return
	}
	before := 0
	if m.before != nil {
		before = m.before.Command
	}
	if seen, ok := numberOf(m.ev); ok && v.Accepted && seen != before {
		w.violate("P5", "%s is accepted at command number %d", name(m.ev), before)
	}
	_, resubmits := m.ev.(core.Resubmit)
	_, moves := m.ev.(core.Move)
	if _, cancels := m.ev.(core.Cancel); v.Accepted && !cancels && m.before.ProcessState != core.Error &&
		!((resubmits || moves) && m.before.ProcessState == core.Compensated) && !(moves && m.before.ProcessState == core.Processing) {
		w.violate("P5", "%s is accepted in %s", name(m.ev), m.before.ProcessState)
	}
	c, isCancel := m.ev.(core.Cancel)
	repeated := isCancel && m.before != nil && m.before.CancelAsked
	if want := before; (v.Accepted && !repeated) != (m.after.Command == want+1) {
		w.violate("P5", "%s: accepted %v, command number from %d to %d", name(m.ev), v.Accepted, before, m.after.Command)
	}
	if !isCancel {
		return
	}
	if !v.Accepted && m.after.ProcessState != core.Processed && w.turned(m.after) {
		return // the refusal of the point of no return may be proven later (P22a)
	}
	closed := m.before != nil && m.before.ProcessState == core.Closed // it refuses each Cancel, an accepted one too (P48)
	if v.Accepted && w.refused[c.Run] || !v.Accepted && w.accepted[c.Run] && !closed {
		w.violate("P17", "%s: accepted %v, which was answered otherwise before", name(m.ev), v.Accepted)
	}
	w.refused[c.Run], w.accepted[c.Run] = w.refused[c.Run] || !v.Accepted, w.accepted[c.Run] || v.Accepted
}

// turned reports that a point of no return was claimed.
func (w *world) turned(t *core.Task) bool {
	for i := range t.Steps {
		if t.Steps[i].Attempted() && w.def.Steps[i].PointOfNoReturn {
			return true
		}
	}
	return false
}

// numberOf is the command number that the sender saw.
func numberOf(ev core.Event) (int, bool) {
	switch e := ev.(type) {
	case core.UndoCommand:
		return e.Command, true
	case core.Resubmit:
		return e.Command, true
	case core.Resolve:
		return e.Command, true
	case core.Close:
		return e.Command, true
	case core.Move:
		return e.Command, true
	}
	return 0, false
}

// visible is the identity of a status or an alert.
func visible(e core.Effect) string {
	switch e := e.(type) {
	case core.SendStatus:
		if e.Status.Kind == core.StatusUndoing { // sent once; nothing depends on it
			return ""
		}
		return fmt.Sprintf("status %d", e.Status.Seq)
	case core.RaiseAlert:
		return fmt.Sprintf("alert %s run %d command %d", e.At, e.Run, e.Command)
	}
	return ""
}

// checkStatuses: numbers without gap or repetition, in the order of commits, true of the document
// that was committed (18).
func (w *world) checkStatuses(m move) {
	if m.after == nil {
		return
	}
	last := 0
	if m.before != nil {
		last = m.before.StatusSeq
	}
	if !m.dec.Changed {
		return
	}
	for _, e := range m.dec.Effects {
		if id := visible(e); id != "" {
			w.shown[id] = snapshot(e)
		}
		st, ok := e.(core.SendStatus)
		if !ok {
			continue
		}
		if st.Status.Kind != core.StatusUndoing {
			last++
		}
		if st.Status.Kind != core.StatusUndoing && st.Status.Seq != last || st.Status.Run != m.after.Run || !truthful(st.Status, m.after) {
			w.violate("18", "status %s, expected number %d, of a task that is %s", snapshot(st.Status), last, states(m.after))
		}
	}
	if m.supervisor() && m.after.EndSeq == last+1 && m.after.ProcessState == core.Error {
		last++ // the Scheduler will send it
	}
	if m.after.EndSeq > 0 && m.after.EndSeq != m.after.StatusSeq {
		w.violate("18", "the end is told as number %d, and a later status has number %d", m.after.EndSeq, m.after.StatusSeq)
	}
	if m.after.StatusSeq != last {
		w.violate("18", "the last number is %d and the document says %d", last, m.after.StatusSeq)
	}
}

func truthful(s core.Status, t *core.Task) bool {
	want := map[core.StatusKind]core.State{
		core.StatusCompleted: core.Processed, core.StatusFailed: core.Error,
		core.StatusUndone: core.Compensated, core.StatusCancelled: core.Cancelled, core.StatusClosed: core.Closed,
	}
	switch s.Kind {
	case core.StatusStarted:
		return s.Seq == t.StartSeq
	case core.StatusUndoing:
		waits := t.Step(s.Step)
		return waits.State == core.UndoWait && !waits.Undo && waits.WakeAt == s.Until && s.Seq == 0
	case core.StatusStepFinished:
		return t.Step(s.Step).State != core.Pending && t.Step(s.Step).FinishSeq == s.Seq
	}
	return t.ProcessState == want[s.Kind] && s.Seq == t.EndSeq && len(s.Steps) == len(t.Steps)
}

// checkReemitted: what is emitted again is the same, byte for byte (P12).
func (w *world) checkReemitted(effects []core.Effect, by string) {
	for _, e := range effects {
		switch e := e.(type) {
		case core.SendRequest:
			if was := w.requested[fmt.Sprintf("%s/%d", e.Step, e.Attempt)]; was != snapshot(e) {
				w.violate("P12", "%s emits another request\n got %s\nwant %s", by, snapshot(e), was)
			}
			if s := w.task.Step(e.Step); e.Operation == core.Do && w.task.ProcessState != core.Processing || !s.InFlight() {
				w.violate("P12", "%s emits a request that no longer stands: %s", by, snapshot(e))
			}
		case core.SendStatus, core.RaiseAlert:
			was, known := w.shown[visible(e)]
			left := strings.HasPrefix(w.task.EndCause, "overdue") || strings.HasPrefix(w.task.EndCause, "deadline")
			if known && was != snapshot(e) || !known && !left {
				w.violate("P12", "%s tells otherwise\n got %s\nwant %s", by, snapshot(e), was)
			}
			w.shown[visible(e)] = snapshot(e) // the Supervisor's Error is first told here
		}
	}
}

// redeliver plays the same message once more, later and on another instance: nothing changes, and
// what still stands of its effects is emitted again (P12). Nothing of this is kept.
func (w *world) redeliver(ev core.Event, first core.Decision) {
	if !first.Changed || w.task == nil {
		return
	}
	at := core.At{Now: w.real.Add(w.skew + core.Hour), By: "scheduler-9", Waits: map[string]core.Duration{"b-agent": core.Minute}}
	if _, ok := ev.(core.Wake); ok { // after an hour it may find more to do
		at.Now = w.real.Add(w.skew)
		if first.Task.ProcessState == core.Compensating || w.real < first.Task.Created {
			return
		}
	}
	def := w.def
	if w.task.IsTombstone() {
		def = nil
	}
	dec, err := core.Decide(def, w.order, w.task, ev, at)
	if err != nil || dec.Changed {
		w.violate("P12", "%s again: %v, changed %v, to %s", name(ev), err, dec.Changed, stateOf(dec.Task))
		return
	}
	again := map[string]bool{}
	for _, e := range dec.Effects {
		again[snapshot(e)] = true
	}
	for _, e := range first.Effects {
		if r, ok := e.(core.SendRequest); ok && r.Operation == core.Do && w.task.ProcessState != core.Processing {
			continue // the hop budget stopped the task in the same decision
		}
		if (isRequest(e) || visible(e) != "") && !again[snapshot(e)] {
			w.violate("P12", "%s again emits %s; missing is %s", name(ev), brief(dec.Effects), snapshot(e))
		}
	}
	w.checkReemitted(dec.Effects, name(ev)+" again")
}

// checkSettled: an end that counts as told was told (P11).
func (w *world) checkSettled() {
	t := w.task
	if t.Tell != 0 || !(t.Terminal() || t.ProcessState == core.Error) {
		return
	}
	if id := fmt.Sprintf("status %d", t.EndSeq); t.EndSeq > 0 && !w.heard[id] {
		w.violate("P11", "%s is settled and its status %d was never sent", t.ProcessState, t.EndSeq)
	}
	alert := visible(core.RaiseAlert{At: t.Ended, Run: t.Run, Command: t.EndCommand})
	if t.ProcessState == core.Error && !w.heard[alert] {
		w.violate("P11", "the Error is settled and its alert was never raised")
	}
}
