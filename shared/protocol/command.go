package protocol

import (
	"cmp"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// noNumber stands for the number of an event that carries none.
const noNumber = -1

// commandOf returns the ID and the sender of a command, and the command number that it carries. Of an answer
// it returns the ID.
func commandOf(ev core.Event) (id string, from core.Sender, number int) {
	switch e := ev.(type) {
	case core.Cancel:
		return e.ID, e.Sender, noNumber
	case core.UndoCommand:
		return e.ID, e.Sender, e.Command
	case core.Resubmit:
		return e.ID, e.Sender, e.Command
	case core.Resolve:
		return e.ID, e.Sender, e.Command
	case core.Close:
		return e.ID, e.Sender, e.Command
	case core.Move:
		return e.ID, e.Sender, e.Command
	case core.Erase:
		return e.ID, e.Sender, e.Command
	case core.Answered:
		return e.ID, core.Sender{}, noNumber
	}
	return "", core.Sender{}, noNumber
}

// accept counts a command and stores its verdict. reject stores one too, because the sender reads the task
// until the verdict is in it (P5).
func (r *deciding) accept(id, command, reason string) {
	r.t.Commands.Number++
	r.acceptAgain(id, command, reason)
}

// acceptAgain stores the verdict of a command that asks for what was done before. It is not counted.
func (r *deciding) acceptAgain(id, command, reason string) {
	r.storeVerdict(core.Verdict{ID: id, Command: command, Accepted: true, Reason: reason, At: r.at.Now})
}

func (r *deciding) reject(id, command, reason string) (string, error) {
	r.changed = true
	switch { // an older number is refused for good
	case r.number == r.t.Commands.Number:
		r.remember(id, command)
	case r.number > r.t.Commands.Number:
		r.remember(id, core.AheadCommand)
	}
	r.storeVerdict(core.Verdict{ID: id, Command: command, Reason: reason, At: r.at.Now})
	return "refused: " + reason, nil
}

func (r *deciding) storeVerdict(v core.Verdict) {
	v.By, v.Note = r.from.By, core.TrimMessage(r.from.Reason)
	all := append(append([]core.Verdict(nil), r.t.Commands.Verdicts...), v)
	r.t.Commands.Verdicts = all[max(0, len(all)-core.MaxVerdicts):]
	if v.Long() && !r.at.SizeLimit.KeepsReserve(r.def, r.t) {
		v.Drop()
		all[len(all)-1] = v
	}
	r.verdict = &v
}

// submittedAgain decides a submission of an order that exists already (P14).
func (r *deciding) submittedAgain(_ int, ev core.Event) (string, error) {
	switch {
	case r.t.IsTombstone():
		return "the order was cancelled before it came", nil
	case ev.(core.Submitted).ContentHash != ev.(core.Submitted).KnownHash:
		return "", core.Refuse("other-content",
			"an order with this ID and other content was submitted before; nothing was changed: submit "+
				"the new content under a new ID")
	}
	return "the order is there", nil
}

// cancelCommand stops and undoes the order for the caller (P17). The verdict of one command never changes
// from refused to accepted, and repeats get the same one (H30).
func (r *deciding) cancelCommand(_ int, ev core.Event) (string, error) {
	e, t := ev.(core.Cancel), r.t
	switch {
	case e.Run > t.Run:
		return "", core.ErrStale
	case e.Run < t.Run:
		return r.reject(e.ID, "cancel", "the order was resubmitted since; look at it and cancel the new run")
	case t.Parent != nil:
		return r.reject(e.ID, "cancel", t.Parent.Refusal())
	case t.ProcessState == core.Closed:
		return r.reject(e.ID, "cancel", "the order is Closed, which is final")
	case t.ProcessState == core.Cancelled || t.Undo.CancelAsked:
		r.acceptAgain(e.ID, "cancel", "it was cancelled before")
		return "", nil
	case t.Erased != nil:
		return r.reject(e.ID, "cancel", isErased)
	case t.ProcessState == core.Processed:
		return r.reject(e.ID, "cancel", "the order is Processed")
	case r.t.PastPointOfNoReturn(r.def):
		r.remember(e.ID, "cancel")
		return r.reject(e.ID, "cancel", "the order is past its point of no return")
	case len(t.Commands.Refused["cancel"]) == core.MaxRefused:
		return r.reject(e.ID, "cancel", tooManyCancels)
	}
	t.Undo.CancelAsked = true
	r.accept(e.ID, "cancel", "")
	switch modeOf(t) {
	case going:
		r.compensate(core.WhyCancel, -1)
		r.advance()
	case errForward:
		r.startUndo(core.WhyCancel)
	case compensated: // the undo that was done becomes the cancel, with a final status of its own
		r.enterEnd(core.Cancelled, "")
	}
	return "", nil
}

// startUndo takes a task out of Error into its undo. Every wait ends there (P9a).
func (r *deciding) startUndo(why core.Why) {
	if t := r.t; t.Phase == core.Undoing {
		t.Reason, t.Undo.Reason = t.Undo.Reason, core.Reason{}
	}
	leaveEnd(r.t)
	r.t.ProcessState, r.t.Undo.Why = core.Compensating, why
	for i := range r.t.Steps {
		s := &r.t.Steps[i]
		s.Failures = core.Failures{Do: s.Failures.Do}
		endHold(s)
		if s.AwaitsWake() {
			s.Wait.At, s.CompleteBy = 0, 0
		}
	}
	r.advance()
}

// checkCommand checks the command number that the sender saw (P5, H17). An erased task takes no further
// command (P52).
func (r *deciding) checkCommand(number int) string {
	switch {
	case r.t.Erased != nil:
		return isErased
	case number == r.t.Commands.Number:
		return ""
	}
	return "the task has accepted another command, or refused many, since you loaded it; load it again " +
		"and repeat the command if it still applies"
}

// undoCommand is the operator's decision to undo a task in Error.
func (r *deciding) undoCommand(_ int, ev core.Event) (string, error) {
	e := ev.(core.UndoCommand)
	if reason := r.checkCommand(e.Command); reason != "" {
		return r.reject(e.ID, "undo", reason)
	}
	if reason := r.undoRefusal(); reason != "" {
		return r.reject(e.ID, "undo", reason)
	}
	r.accept(e.ID, "undo", "")
	why := core.WhyOperator
	if r.t.Phase == core.Undoing { // it goes on with the reason that it had
		why = r.t.Undo.Why
	}
	r.startUndo(why)
	return "", nil
}

// undoRefusal returns why the operator cannot undo the task, or "" if it can be undone.
func (r *deciding) undoRefusal() string {
	switch {
	case r.t.Parent != nil:
		return r.t.Parent.Refusal()
	case r.t.ProcessState != core.Error:
		return "only a task in Error can be undone by the operator; this one is " + string(r.t.ProcessState)
	case r.t.PastPointOfNoReturn(r.def):
		return "the order is past its point of no return; fix: if that step has had no effect, resolve it " +
			"as not-happened first"
	}
	return ""
}

// resubmitCommand is the operator's decision to go on (P18).
func (r *deciding) resubmitCommand(_ int, ev core.Event) (string, error) {
	e := ev.(core.Resubmit)
	if reason := r.checkCommand(e.Command); reason != "" {
		return r.reject(e.ID, "resubmit", reason)
	}
	if e.Deadline.Passed(r.at.Now) {
		return r.reject(e.ID, "resubmit", "the new deadline "+e.Deadline.String()+" has passed, it is "+
			r.at.Now.String()+" here; give a later one, or none")
	}
	mode := modeOf(r.t)
	switch mode {
	case errForward, errUndo, compensated:
		if r.t.Parent != nil && mode == compensated {
			return r.reject(e.ID, "resubmit", r.t.Parent.Refusal())
		}
	case cancelled, processed, closed:
		return r.reject(e.ID, "resubmit", "the order is "+string(r.t.ProcessState)+", which is final")
	default:
		return r.reject(e.ID, "resubmit", "the order is "+string(r.t.ProcessState)+
			"; only one in Error, or Compensated, can be resubmitted")
	}
	before, def := r.t, r.def
	if e.To != nil && !e.To.Is(r.t.Definition) { // both are one command (P49)
		if reason := r.move(*e.To); reason != "" {
			return r.reject(e.ID, "resubmit", reason)
		}
	}
	reason := ""
	if mode != compensated {
		reason = r.expiredKey()
	}
	if reason = cmp.Or(reason, r.correct(e, mode)); reason != "" {
		r.t, r.def = before, def
		return r.reject(e.ID, "resubmit", reason)
	}
	r.accept(e.ID, "resubmit", note("another input", e.Step))
	switch mode {
	case errForward:
		r.resume(e)
	case errUndo: // never forward (H5)
		r.startUndo(r.t.Undo.Why)
	case compensated:
		r.restart(e)
	}
	return "", nil
}

// note returns the part of the history entry that names what a command has given to a step, "" if to none.
func note(what, step string) string {
	if step == "" {
		return ""
	}
	return "with " + what + " for " + step
}

// expiredKey finds a step in doubt whose key its service may no longer hold: another call could take
// effect twice (H12).
func (r *deciding) expiredKey() string {
	for i := range r.t.Steps {
		if s := &r.t.Steps[i]; r.keyMayExpire(i) {
			return "step " + s.Name +
				" is in doubt and its service may have forgotten the key by the time a call lands " +
				"(keyRetention); find out at the service whether it happened, and resolve it first"
		}
	}
	return ""
}

// resume goes on forward in the same run, with the same keys (H4), counters and hops renewed.
func (r *deciding) resume(e core.Resubmit) {
	t := r.t
	leaveEnd(r.t)
	t.ProcessState, t.Hops, t.Reason = core.Processing, 0, core.Reason{}
	r.renewDeadline(e.Deadline)
	r.started()
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.State == core.Processed && s.Finish.Seq == 0 { // while the order was in Error
			r.emitStepFinished(s)
		}
		s.Failures = core.Failures{}
		endHold(s)
		if s.State == core.Failed && !s.Attempted() { // its expression failed; advance tries it again
			s.State, s.Error = core.Pending, nil
		}
	}
	var again []int
	for i := range t.Steps { // every one of them, or it would wait for ever (H31)
		if t.Steps[i].Attempted() && r.kind(i).resume(r, i) {
			again = append(again, i)
		}
		// an answer was a refusal, or its time was over
		if r.err != nil || t.ProcessState != core.Processing {
			return
		}
	}
	r.advanceForward(again...)
}

// restart begins a Compensated order from the beginning: a new run, and so new keys (H3).
func (r *deciding) restart(e core.Resubmit) {
	t := r.t
	leaveEnd(r.t)
	t.ProcessState, t.Undo.Why, t.Reason = core.Processing, "", core.Reason{}
	t.Output, t.Hops, t.Deadline = nil, 0, core.Deadline{}
	t.Run++
	forgetRefused(t)
	for i := range t.Steps {
		s := &t.Steps[i]
		verdicts, given := s.Answers, s.Corrected
		// P1: attempt goes on.
		t.Steps[i] = core.Step{Name: s.Name, State: core.Pending, Attempt: s.Attempt, Unknown: s.Unknown}
		// An input of an earlier command ends with its run (P51).
		if given != nil && given.Command == t.Commands.Number {
			t.Steps[i].Corrected = given
		}
		if verdicts != nil {
			t.Steps[i].Answers = &core.Answers{Round: 1, Verdicts: verdicts.Verdicts}
		}
	}
	r.renewDeadline(e.Deadline)
	r.started()
	r.advance()
}

// renewDeadline sets the deadline that a Resubmit carries, or removes it (P23a).
func (r *deciding) renewDeadline(at core.Time) {
	r.t.Deadline.At = 0
	if at != 0 {
		r.setDeadline(at)
	}
}

// closeCommand is the operator's decision to end a task as it stands (P48). Its steps keep their states: what
// they did stays as the operator found it. Children that never answered are cancelled, in case their requests
// still arrive.
func (r *deciding) closeCommand(_ int, ev core.Event) (string, error) {
	e := ev.(core.Close)
	if reason := r.checkCommand(e.Command); reason != "" {
		return r.reject(e.ID, "close", reason)
	}
	if reason := r.closeRefusal(e.Absent); reason != "" {
		return r.reject(e.ID, "close", reason)
	}
	r.accept(e.ID, "close", "")
	leaveEnd(r.t)
	for i := range r.t.Steps {
		if s := &r.t.Steps[i]; s.Children.Running() {
			s.OwnChildren().Stopped = true
		}
	}
	r.t.Closing = &core.Closing{By: e.By, Reason: core.TrimMessage(e.Reason)}
	r.enterEnd(core.Closed, "")
	return "", nil
}

// closeRefusal returns why the task cannot be closed, or "" if it can. No call may take effect after the
// close, because the operator's findings become final.
func (r *deciding) closeRefusal(absent []string) string {
	silent := false // it waits for children that never answer
	for i := range r.t.Steps {
		for _, id := range r.t.OpenChildren(&r.t.Steps[i]) {
			if !slices.Contains(absent, id) {
				return "step " + r.t.Steps[i].Name +
					" has children that have not ended, for instance " + id + "; end those first"
			}
			silent = true
		}
	}
	if r.t.ProcessState != core.Error && !silent {
		return "only a task in Error can be closed; this one is " + string(r.t.ProcessState)
	}
	for i := range r.t.Steps {
		switch s := &r.t.Steps[i]; {
		case s.InFlight():
			return "step " + s.Name + " is in flight; wait for its reply, or until its time has passed (" +
				s.CompleteBy.String() + ") and the Supervisor has looked at it"
		case s.Attempted() && r.at.Now <= r.t.LastActivity(r.def, i):
			return "a call of step " + s.Name + " may still take effect; wait until " +
				r.t.LastActivity(r.def, i).String()
		}
	}
	return ""
}
