package simulate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// budgets returns the largest number of failures that the definition permits for a step and for its undo. If
// the order was moved, it considers all definitions, because a moved order keeps its failure counts.
func (m *move) budgets(step string) (do, undo int) {
	all := []*core.Definition{m.def}
	if m.o.Seen.Moved {
		all = m.w.Known
	}
	for _, def := range all {
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

// meant checks that all requests with a key ask for the same work, even if the task pins another definition
// (P49, move pins another definition). Only the input of an undo may change.
func meant(w *Simulation, o *Order, r *message.Request) {
	// A request after its stop-by has no effect (P25, agents are silent after stopBy). Such a request comes
	// from a Scheduler that was paused.
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

// sent checks a message when a process sends it.
func sent(w *Simulation, p *Process, q *Queue, m port.Message) {
	switch v := m.Value.(type) {
	case *message.Request:
		sentRequest(w, p, v)
	case *message.Status:
		sentStatus(w, v)
	}
	if w.Tracing {
		w.Trace(p.Name, q.Name, "sends "+Describe(m))
	}
}

// taken checks a message that a Scheduler has deleted (invariant 19, no message is lost without a trace).
func taken(w *Simulation, m port.Message) {
	switch v := m.Value.(type) {
	case *message.Control:
		w.never(v.Kind() == message.Cancel && !w.Store.Known(v.OrderID),
			"P17", "a Cancel of %s was deleted, and nothing is stored of it", v.OrderID)
	case *message.Reply:
		o := w.ByID[v.OrderID]
		t := w.Store.Task(v.OrderID)
		if o != nil && t != nil && t.Step(v.Step) != nil {
			takenReply(w, o, t, v)
		}
	}
}

// takenReply records the result of a do that the Scheduler knows.
func takenReply(w *Simulation, o *Order, t *protocol.Task, r *message.Reply) {
	s := t.Step(r.Step)
	key := core.Key(r.OrderID, r.Run, r.Step)
	known := o.Seen.Done[key]
	switch {
	case r.Operation != core.Do || r.Attempt == 0:
	case r.Outcome == core.OutcomeDone && known == 0 && s.State != core.Failed && w.Room.Limit == 0:
		// A Failed step stays in doubt, and an output may be too large to store (P15, a late done counts).
		o.Seen.Done[key] = core.Time(w.Start + w.Now + w.Skew())
	case failure(r) && t.Run == r.Run && t.ProcessState == core.Processing && s.Error != nil &&
		s.Attempt == r.Attempt && s.Error.Attempt == r.Attempt && r.Error != nil && s.Error.Code == r.Error.Code:
		// A Resubmit may have claimed the step again before the handler has deleted the reply. Then the failure does
		// not count any more.
		o.Seen.Failed[fmt.Sprintf("%s/%d", key, r.Attempt)] = true
	}
}

// failure reports whether a reply counts as a failure (P45, "not now" is not a failure).
func failure(r *message.Reply) bool {
	return r.Outcome == core.OutcomeFailed ||
		r.Outcome == core.OutcomeRetryLater && (r.Error == nil || !core.Uncounted(r.Error.Code))
}

// times checks when a request is sent:
//   - A step is not asked again after as many failures as its retry permits (invariant 12), until a command.
//   - A step that was reported done is not asked again (P15, a late done counts).
//   - Without a fence, an undo begins only after the stop-by of every do (P21, an undo waits for quiet).
func times(w *Simulation, o *Order, t *protocol.Task, r *message.Request) {
	failures := 0
	for n := range r.Attempt {
		if o.Seen.Failed[fmt.Sprintf("%s/%d", r.Key, n)] {
			failures++
		}
	}
	_, d := w.StepOf(t, r.Step)
	w.never(r.Operation == core.Do && !o.Seen.Moved && failures >= d.Retry.Budget(), "12",
		"step %s of %s is asked again, in attempt %d, after %d failures", r.Step, r.OrderID, r.Attempt, failures)
	at, done := o.Seen.Done[r.Key]
	w.never(done && r.Operation == core.Do && r.ClaimedAt > at, "P15",
		"step %s of %s was reported done at %s, and attempt %d is claimed at %s", r.Step, r.OrderID, at, r.Attempt,
		r.ClaimedAt)
	if asked := o.Seen.StopBy[r.Key+string(core.Do)]; asked != 0 && r.Operation == core.UndoOp {
		quiet := asked.Add(r.ClockSkew)
		w.never(r.Grade != core.Fenced && r.ClaimedAt <= quiet, "P21",
			"the undo of step %s of %s is claimed at %s; a call may be under way until %s", r.Step, r.OrderID,
			r.ClaimedAt, quiet)
	}
	key := r.Key + string(r.Operation)
	o.Seen.StopBy[key] = max(o.Seen.StopBy[key], r.StopBy)
}

func sentRequest(w *Simulation, p *Process, r *message.Request) {
	o := w.ByID[r.OrderID]
	t := w.Store.Task(r.OrderID)
	w.never(p.Role == ASupervisor, "P16", "the Supervisor sent a request for step %s of %s", r.Step, r.OrderID)
	if o == nil || t == nil && !w.Store.Known(r.OrderID) {
		w.Violate("P12", "a request of %s was sent before its task was stored", r.OrderID)
		return
	}
	if reminds(r) {
		sentReminder(w, o, t, r)
		return
	}
	if t != nil {
		s := t.Step(r.Step)
		early := s == nil && t.Attempts.Removed[r.Step] < r.Attempt ||
			s != nil && s.Attempt < r.Attempt && t.Run <= r.Run
		w.never(early, "P12", "the request of attempt %d of step %s of %s was sent before the claim was stored",
			r.Attempt, r.Step, r.OrderID)
	}
	_, d := w.StepOf(t, r.Step)
	w.never(d.Agent == "", "P33", "step %s of %s waits, and %s is asked to do it", r.Step, r.OrderID, r.Agent)
	meant(w, o, r)
	times(w, o, t, r)
	same(w, "P12", o.Seen.Requests, fmt.Sprintf("%s/%d/%s", r.Step, r.Attempt, r.Key), r)
	if bound := 100 + 20*len(w.Def.Steps)*w.Def.HopBudget; len(o.Seen.Requests) > bound &&
		calls(&o.Seen) > bound {
		w.Violate("20", "order %s has made %d requests", o.Id, calls(&o.Seen))
	}
}

// calls returns the number of requests, without reminders. The number of reminders has no fixed bound, because a step
// can go on for a long time.
func calls(h *History) (n int) {
	for id := range h.Requests {
		// An ID consists of the step, the attempt and the key. The key of a reminder has one more part.
		if _, key, _ := strings.Cut(id, "/"); strings.Count(key, "/") == strings.Count("1/o1/0/a", "/") {
			n++
		}
	}
	return n
}

func same(w *Simulation, rule string, seen map[string]string, key string, v port.Value) {
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

func sentStatus(w *Simulation, s *message.Status) {
	o := w.ByID[s.OrderID]
	t := w.Store.Task(s.OrderID)
	if o == nil || s.Seq == 0 {
		return
	}
	b, err := s.Encode()
	w.never(err != nil, "bug", "a status cannot be encoded: %v", err)
	superseded := func(text string) bool { return strings.Contains(text, string(core.StatusSuperseded)) }
	if was, known := o.Seen.Reported[s.Seq]; known && was != string(b) && s.Code != core.CodeOutputTooLarge &&
		!strings.Contains(was, core.CodeOutputTooLarge) && !superseded(was) && s.Kind != core.StatusSuperseded {
		w.Violate("P12", "status %d of %s was sent again with other bytes:\n%s\n%s", s.Seq, s.OrderID, was, b)
	}
	if o.Seen.Reported[s.Seq] == "" || s.Code != core.CodeOutputTooLarge {
		o.Seen.Reported[s.Seq] = string(b)
	}
	if t != nil && s.Kind == core.StatusFailed && s.Seq == t.End.Seq && t.ProcessState == core.Error &&
		!o.Seen.Alerts[alertID(t.End.At, t.Run, t.End.Command)] {
		w.Violate("P11", "status %d of %s says that an operator is needed, and no alert was raised", s.Seq,
			s.OrderID)
	}
	if t == nil {
		return
	}
	want := map[core.StatusKind]core.State{
		core.StatusCompleted: core.Processed,
		core.StatusFailed:    core.Error, core.StatusUndone: core.Compensated,
		core.StatusCancelled: core.Cancelled, core.StatusClosed: core.Closed,
	}[s.Kind]
	w.never(s.Seq > t.StatusSeq || want != "" && s.Seq == t.End.Seq && t.ProcessState != want, "18",
		"status %d of %s says %s, and the task is %s, its last number %d", s.Seq, s.OrderID, s.Kind, t.ProcessState,
		t.StatusSeq)
}

// alerted records an alert that an actor raises.
func alerted(w *Simulation, p *Process, a core.RaiseAlert) {
	if o := w.ByID[a.OrderID]; o != nil {
		o.Seen.Alerts[alertID(a.At, a.Run, a.Command)] = true
		if w.Tracing {
			w.Trace(p.Name, "operator", "alert: "+a.OrderID+" "+a.Step+" "+a.Code)
		}
	}
}

// courtesy is how long after its reminder was decided a call of it may begin, also when the step has ended meanwhile.
const courtesy = core.Hour

// reminded checks a new reminder of a step (invariant 27). The step must go forward, the reminder must be due, and its
// number must be new.
func (m *move) reminded(was, s *protocol.Step, d *core.StepDefinition) {
	is := s.Reminded
	if is.N == 0 || is.At == was.Reminded.At {
		return
	}
	key := remindKey(m.after, s, is.N)
	at, used := m.o.Seen.Reminded[key]
	m.never(used && at != is.At, "27", "reminder %s was decided at %s and again at %s", key, at, is.At)
	first := was.Reminded.N + 1
	if m.before.Run != m.after.Run || was.FirstRound() != s.FirstRound() {
		first = 1
	}
	for n := first; n <= is.N; n++ { // those before the newest one were missed, or decided in the same commit
		m.o.Seen.Reminded[remindKey(m.after, s, n)] = is.At
	}
	m.never(m.supervisor, "27", "the Supervisor decided on reminder %s", key)
	m.never(passed(was) && m.before.Run == m.after.Run || was.Withdrawn != 0 && s.Withdrawn == was.Withdrawn, "27",
		"reminder %s was decided, and the step was %s and withdrawn at %s", key, was.State, was.Withdrawn)
	if m.before.Definition == m.after.Definition && !m.commanded && s.Claim.At == was.Claim.At {
		next := was.NextReminder(d)
		m.never(next == 0 || next > is.At, "27", "reminder %s was decided at %s, and is due at %s", key, is.At, next)
	}
}

func remindKey(t *protocol.Task, s *protocol.Step, n int) string {
	return fmt.Sprintf("%s/%d.%d", core.Key(t.OrderID, t.Run, s.Name), s.FirstRound(), n)
}

// remindsOnly reports whether the commit records a new reminder. The number of such commits has no fixed bound.
func (m *move) remindsOnly() bool {
	return m.before != nil && slices.ContainsFunc(m.after.Steps, func(s protocol.Step) bool {
		was := m.before.Step(s.Name)
		return was != nil && s.Reminded != was.Reminded
	})
}

// sentReminder checks a reminder when it is sent.
func sentReminder(w *Simulation, o *Order, t *protocol.Task, r *message.Request) {
	at, decided := o.Seen.Reminded[r.Key]
	w.never(!decided, "27", "reminder %s was sent before it was stored", r.Key)
	w.never(r.StopBy > at.Add(courtesy) || r.CompleteBy != r.StopBy || r.ClaimedAt > at, "27",
		"reminder %s was decided at %s, is claimed at %s and may begin until %s", r.Key, at, r.ClaimedAt, r.StopBy)
	w.never(r.Operation != core.Do || r.Grade == core.Plain || r.PointOfNoReturn,
		"27", "reminder %s is a %s of a service that is %s", r.Key, r.Operation, r.Grade)
	def, d := w.StepOf(t, r.Step)
	agents := def.Reminders(d)
	w.never(!o.Seen.Moved && !slices.Contains(agents, r.Agent),
		"27", "reminder %s asks agent %s, and its agents are %s", r.Key, r.Agent, agents)
	same(w, "P12", o.Seen.Requests, fmt.Sprintf("%s/%d/%s", r.Step, r.Attempt, r.Key), r)
}
