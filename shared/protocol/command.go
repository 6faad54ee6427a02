package protocol

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// accept counts the command and stores its verdict. The sender reads the task until the verdict appears (P5,
// commands have a number and an ID).
func (r *decision) accept(reason string) {
	r.t.Commands.Number++
	r.storeVerdict(true, reason)
}

// reject stores a refusal, and raises the task's number above the command's, so that the task refuses each copy
// because of its number (P5). A cancel carries no number.
func (r *decision) reject(reason string) (string, error) {
	r.changed = true
	if ahead := r.Number - r.t.Commands.Number; r.Number >= 0 && ahead >= 0 && ahead <= furthestAhead {
		r.t.Commands.Number = r.Number + 1
	}
	r.storeVerdict(false, reason)
	return "refused: " + reason, nil
}

// furthestAhead limits how far a refused command raises the task's number. Without this limit, one forged
// command could use up all numbers.
const furthestAhead = 1_000_000

// storeVerdict stores the verdict on a command. An erased task stores no text of the command's sender (P52,
// erase removes content, not identity).
func (r *decision) storeVerdict(accepted bool, reason string) {
	v := Verdict{ID: r.ID, Command: r.Name, Accepted: accepted, Reason: reason, At: r.at.Now}
	if r.t.Erased == nil {
		v.By = r.Sender.By
		v.Note = core.TrimMessage(r.Sender.Reason)
	}
	r.addVerdict(&r.t.Commands.Verdicts, v)
}

// addVerdict adds a verdict to a list of the task. If the document has no space for the verdict's texts,
// addVerdict drops the texts.
func (r *decision) addVerdict(list *[]Verdict, v Verdict) {
	all := append(slices.Clip(*list), v)
	*list = all[max(0, len(all)-MaxVerdicts):]
	if v.Long() && !r.at.SizeLimit.Fits(r.def, r.t) {
		v.Drop()
		all[len(all)-1] = v
	}
	r.verdict = &v
}

// operators returns the rule for a numbered command. The function do executes the command, or returns the
// reason for a refusal. The number of the command must be the number of the task, so that a repeated old
// command is refused (P5). An erased task refuses every command (P52, erase removes content, not identity).
func operators(do func(r *decision, ev core.Event) (refused string)) taskRule {
	return func(r *decision, ev core.Event) (string, error) {
		reason := isErased
		switch {
		case r.t.Erased != nil:
		case r.Number == r.t.Commands.Number:
			reason = do(r, ev)
		default:
			reason = "the order has accepted or refused another command since you loaded it; load it " +
				"again and repeat the command if it still applies"
		}
		if reason != "" {
			return r.reject(reason)
		}
		return "", nil
	}
}

func (r *decision) submittedAgain(ev core.Event) (string, error) {
	switch {
	case r.t.IsTombstone():
		return "the order was cancelled before it came", nil
	case ev.(core.Submitted).ContentHash != ev.(core.Submitted).KnownHash:
		return "", core.Refuse("other-content", "an order with this ID and other content was submitted "+
			"before; nothing was changed: submit the new content under a new ID")
	}
	return "the order is there", nil
}

// cancelCommand stops and undoes the order for the caller (P17, a cancel is kept). All copies of a command
// get the same verdict, so that a refused cancel is never accepted later.
func (r *decision) cancelCommand(ev core.Event) (string, error) {
	e := ev.(core.Command)
	t := r.t
	switch {
	case e.Run > t.Run:
		return "", core.ErrStale
	case e.Run < t.Run:
		return r.reject("the order was resubmitted since; look at it and cancel the new run")
	}
	switch reason := t.CancelRefusal(r.def); {
	case reason == pastTheEnd:
		r.t.Commands.Remember(e.ID, "cancel")
		return r.reject(reason)
	case reason != "":
		return r.reject(reason)
	case t.ProcessState == core.Cancelled || t.Undo.CancelAsked:
		r.storeVerdict(true, "it was cancelled before") // nothing is left to do, and the number stays
		return "", nil
	}
	t.Undo.CancelAsked = true
	r.accept("")
	switch modeOf(t) {
	case going:
		r.t.compensate(WhyCancel)
	case errForward:
		r.startUndo(WhyCancel)
	case compensated: // the undo has ended, so the order becomes Cancelled and reports this new end
		r.t.leaveEnd()
		r.enterEnd(core.Cancelled, "")
	}
	return "", nil
}

// startUndo starts or continues the undo of a task in Error. It also starts the undo of a Processed child.
// It ends every wait of a step (P9a, a waiting step has two times).
func (r *decision) startUndo(why Why) {
	if t := r.t; t.Phase == core.Undoing {
		t.Reason = t.Undo.Reason
		t.Undo.Reason = Reason{}
	}
	r.t.leaveEnd()
	r.t.ProcessState = core.Compensating
	r.t.Undo.Why = why
	for i := range r.t.Steps {
		s := &r.t.Steps[i]
		s.Failures = Failures{Do: s.Failures.Do}
		s.endHold()
		if s.AwaitsWake() {
			s.Wait.At = 0
			s.CompleteBy = 0
		}
	}
}

func (r *decision) undoCommand(core.Event) (refused string) {
	if reason := r.t.UndoRefusal(r.def); reason != "" {
		return reason
	}
	r.accept("")
	why := WhyOperator
	if r.t.Phase == core.Undoing { // the undo keeps its earlier reason
		why = r.t.Undo.Why
	}
	r.startUndo(why)
	return ""
}

// resubmitCommand continues a task in Error, or starts a Compensated task again (P18, resubmit uses a
// remembered key).
func (r *decision) resubmitCommand(ev core.Event) (refused string) {
	e := ev.(core.Command)
	if e.Deadline.Passed(r.at.Now) {
		return "the new deadline " + e.Deadline.String() + " has passed, it is " +
			r.at.Now.String() + " here; give a later one, or none"
	}
	if reason := r.t.ResubmitRefusal(); reason != "" {
		return reason
	}
	mode := modeOf(r.t)
	before := r.t
	def := r.def
	// The Resubmit may also move the task (P49, move pins another definition).
	if e.To != nil && !e.To.Is(r.t.Definition) {
		if reason := r.move(*e.To); reason != "" {
			return reason
		}
	}
	reason := ""
	if mode != compensated {
		reason = r.t.ExpiredKey(r.def, r.at.Now)
	}
	reason = cmp.Or(reason, r.correct(e))
	if reason != "" {
		r.t = before
		r.def = def
		return reason
	}
	r.accept(note("another input", e.Step))
	switch mode {
	case errForward:
		r.resume(e)
	case errUndo: // a stopped undo never goes forward
		r.startUndo(r.t.Undo.Why)
	case compensated:
		r.restart(e)
	}
	return ""
}

// note returns the text of a verdict, such as "with another input for pay". It returns "" if step is "".
func note(what, step string) string {
	if step == "" {
		return ""
	}
	return "with " + what + " for " + step
}

// resume continues the task forward in the same run. It keeps the keys, because a new key could repeat an
// effect whose reply was lost. It resets the counts of failures and hops.
func (r *decision) resume(e core.Command) {
	t := r.t
	r.t.leaveEnd()
	t.ProcessState = core.Processing
	t.Hops = 0
	t.Reason = Reason{}
	t.setDeadline(e.Deadline)
	r.started()
	for i := range t.Steps {
		s := r.step(i)
		done := s.State == core.Processed || s.State == core.Settling
		if done && s.Finish.Seq == 0 { // the step finished while the order was in Error
			s.emitStepFinished()
		}
		s.Failures = Failures{}
		s.endHold()
		if s.Attempted() && !s.Passed() && s.Withdrawn == 0 {
			s.setLate(s.d, r.at.Now)
		}
		_ = s.emitReminder() // its handling may have died before the order stopped
		s.scheduleReminder()
		if s.State == core.Failed {
			s.State = core.Pending
			if !s.Attempted() { // an expression or rule that failed the step is evaluated again
				s.Error = nil
			}
		}
	}
}

// restart starts a Compensated order again, in a new run with new keys. For an old key, a service would
// return its stored reply without a new effect.
func (r *decision) restart(e core.Command) {
	t := r.t
	r.t.leaveEnd()
	t.ProcessState = core.Processing
	t.Undo.Why = ""
	t.Reason = Reason{}
	t.Output = nil
	t.Hops = 0
	t.Deadline = Deadline{}
	t.Run++
	t.Commands.Refused = nil
	t.Took = nil
	for i := range t.Steps {
		s := &t.Steps[i]
		verdicts := s.Answers
		passing := s.Passing
		given := s.Corrected
		// Attempt numbers continue (P1, every claim has a new attempt).
		t.Steps[i] = Step{Name: s.Name, State: core.Pending, Attempt: s.Attempt, Unknown: s.Unknown}
		// An operator's input is valid for one run. The new run gets only the input of this command (P51, a
		// call can get another input).
		if given != nil && given.Command == t.Commands.Number {
			t.Steps[i].Corrected = given
		}
		if verdicts != nil {
			t.Steps[i].Answers = &Answers{Round: 1, Verdicts: verdicts.Verdicts}
		}
		if passing != nil {
			t.Steps[i].Passing = &Passing{Known: passing.Known}
		}
	}
	t.setDeadline(e.Deadline)
	r.started()
}

// closeCommand ends a task in its present state for the operator (P48, close ends an order as it stands). The
// steps keep their states. Children that have reported no end are cancelled, because the requests to start
// them may still arrive.
func (r *decision) closeCommand(ev core.Event) (refused string) {
	if reason := r.t.CloseRefusal(r.def, ev.(core.Command).Absent, r.at.Now); reason != "" {
		return reason
	}
	r.accept("")
	r.t.leaveEnd()
	for i := range r.t.Steps {
		if s := &r.t.Steps[i]; s.Children.Running() {
			s.OwnChildren().Stopped = true
		}
	}
	r.t.Closing = &Closing{By: r.Sender.By, Reason: core.TrimMessage(r.Sender.Reason)}
	r.enterEnd(core.Closed, "")
	return ""
}

// tooManyCancels is the refusal of a cancel if the list of refused cancels is full. Without a place in the
// list, a copy of a refused cancel would look like a new cancel.
const tooManyCancels = "this run of the order has refused 16 cancels, which is the most that it " +
	"remembers, and so it accepts no other one; " +
	"fix: if the order has stopped, undo it as an operator"

// correct gives a step the input of a Resubmit (P51, a call can get another input). If the input is refused,
// correct returns the reason and changes nothing.
func (r *decision) correct(e core.Command) (refused string) {
	if e.Step == "" {
		return ""
	}
	i := r.t.Index(e.Step)
	if reason := r.t.CorrectRefusal(r.def, i, e); reason != "" {
		return reason
	}
	t := r.t.Clone()
	t.Steps[i].Corrected = &Corrected{
		Input: e.Input, Command: t.Commands.Number + 1, By: r.Sender.By,
		Reason: core.TrimMessage(r.Sender.Reason), At: r.at.Now,
	}
	if !r.at.SizeLimit.Fits(r.def, t) {
		return fmt.Sprintf("the new input of step %s (%d bytes) does not fit into the order's document of "+
			"at most %d bytes beside what it holds and a reserve; give a shorter one", e.Step,
			len(e.Input), r.at.SizeLimit)
	}
	r.t = t
	return ""
}

// resolveCommand stores the operator's fact about a step in doubt. The task stays in Error until a Resubmit,
// Undo or Close. The fact that a wait happened ends the wait, and a task that goes forward continues.
func (r *decision) resolveCommand(ev core.Event) (refused string) {
	e := ev.(core.Command)
	i := r.t.Index(e.Step)
	reason := r.t.ResolveRefusal(r.def, i, e.Fact, r.at.Now)
	given := ""
	if reason == "" && len(e.Output) > 0 {
		reason = r.step(i).statedOutputRefusal(e)
		given = e.Step
	}
	if reason != "" {
		return reason
	}
	s := r.step(i)
	r.accept(note("an output", given))
	// The fact is about the children in doubt. The other open children stay open, and a Resubmit asks them again (P41,
	// parent and child talk by messages).
	if s.Children != nil {
		s.OwnChildren().Close(OpenChild.inDoubt)
		return ""
	}
	s.Resolved = &core.Resolved{Fact: e.Fact, Command: r.t.Commands.Number, At: r.at.Now}
	undo := resolvesUndo(r.t, i)
	switch {
	case undo && e.Fact == core.Happened:
		s.State = core.UndoWait
	case undo:
		s.undone()
	case e.Fact == core.Happened:
		s.finish(e.Output)
	default: // the fact also holds for the earlier attempts (P22a, a proven refusal permits undo)
		s.setNoEffect()
	}
	return ""
}

// resolvesUndo reports whether a fact about the step is about its undo. This is also the case for a step
// that is undone alone (P42, orders can go on after failures).
func resolvesUndo(t *Task, i int) bool {
	return t.Phase == core.Undoing || t.Steps[i].State == core.UndoWait || t.Steps[i].Withdrawn != 0
}

func (s step) statedOutputRefusal(e core.Command) string {
	switch {
	case s.d.Wait != nil:
		return "the step is a wait, which has no output; fix: leave the output out"
	case e.Fact != core.Happened:
		return "only a step that happened has an output; fix: leave the output out"
	case resolvesUndo(s.t, s.i):
		return "the step is being undone, and its undo uses no output; fix: leave the output out"
	case len(e.Output) > core.MaxOutput:
		return fmt.Sprintf("the output has %d bytes, the limit is %d; store large data elsewhere and give a "+
			"reference", len(e.Output), core.MaxOutput)
	case !s.outputFits(e.Output):
		return fmt.Sprintf("the output of step %s (%d bytes) does not fit into the order's document of at "+
			"most %d bytes beside what it holds and a reserve; give a shorter one", e.Step, len(e.Output),
			s.at.SizeLimit)
	}
	return ""
}
