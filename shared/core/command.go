package core

// maxVerdicts is how many answers to commands a task keeps (P5).
const maxVerdicts = 8

// verdictOf finds the stored answer to a command that came before.
func (t *Task) verdictOf(ev Event) *Verdict {
	var id string
	switch e := ev.(type) {
	case Cancel:
		id = e.ID
	case UndoCommand:
		id = e.ID
	case Resubmit:
		id = e.ID
	case Resolve:
		id = e.ID
	case Close:
		id = e.ID
	case Move:
		id = e.ID
	}
	if id == "" {
		return nil
	}
	for i := range t.Verdicts {
		if t.Verdicts[i].ID == id {
			v := t.Verdicts[i]
			return &v
		}
	}
	return nil
}

// accept and reject store the verdict; a refusal is a commit too, since its sender reads the task
// until the verdict stands there (P5).
func (r *deciding) accept(id, command, reason string) {
	r.answer(Verdict{ID: id, Command: command, Accepted: true, Reason: reason, At: r.at.Now})
}

func (r *deciding) reject(id, command, reason string) (string, error) {
	r.changed = true
	r.answer(Verdict{ID: id, Command: command, Reason: reason, At: r.at.Now})
	return "refused: " + reason, nil
}

func (r *deciding) answer(v Verdict) {
	all := append(append([]Verdict(nil), r.t.Verdicts...), v)
	r.t.Verdicts = all[max(0, len(all)-maxVerdicts):]
	if last := &all[len(all)-1]; len(v.Reason) > len(noReason) && !r.at.Room.keepsReserve(r.def, r.t) {
		last.Reason, v.Reason = noReason, noReason
	}
	r.verdict = &v
}

// submittedAgain answers a submission of an order that is there (P14).
func (r *deciding) submittedAgain(_ int, ev Event) (string, error) {
	switch {
	case r.t.IsTombstone():
		return "the order was cancelled before it came", nil
	case ev.(Submitted).ContentHash != r.t.ContentHash:
		return "", refuse("other-content",
			"an order with this ID and other content was submitted before; nothing was changed: submit the new content under a new ID")
	}
	return "the order is there", nil
}

// cancelled answers the caller's wish to stop (P17). The answer never goes from refused to
// accepted for one command, and repeats get the same one (H30).
func (r *deciding) cancelled(_ int, ev Event) (string, error) {
	e, t := ev.(Cancel), r.t
	switch {
	case e.Run > t.Run:
		return "", ErrStale
	case e.Run < t.Run:
		return r.reject(e.ID, "cancel", "the order was started again since; look at it and cancel the new run")
	case t.ProcessState == Closed:
		return r.reject(e.ID, "cancel", "the order is Closed, which is final")
	case t.ProcessState == Cancelled || t.CancelAsked:
		r.accept(e.ID, "cancel", "it was cancelled before")
		return "", nil
	case t.ProcessState == Processed:
		return r.reject(e.ID, "cancel", "the order is Processed")
	case r.pastNoReturn():
		return r.reject(e.ID, "cancel", "the order is past its point of no return")
	}
	t.Command++
	t.CancelAsked = true
	r.accept(e.ID, "cancel", "")
	switch modeOf(t) {
	case going:
		r.compensate(WhyCancel, -1)
		r.advance()
	case errForward:
		r.turnAround(WhyCancel)
	case compensated: // the undo that was done becomes the cancel, told as a new end
		r.enterEnd(Cancelled)
	}
	return "", nil
}

// turnAround takes a task out of Error into its undo. Every wait ends there (P9a).
func (r *deciding) turnAround(why Why) {
	if t := r.t; t.Phase == Undoing {
		t.EndStep, t.EndCode, t.EndText, t.UndoneFor = t.UndoneFor.Step, t.UndoneFor.Code, t.UndoneFor.Text, Blame{}
	}
	r.left()
	r.t.ProcessState, r.t.Why = Compensating, why
	for i := range r.t.Steps {
		s := &r.t.Steps[i]
		s.UndoFailures, s.Queued = 0, 0
		s.endHold()
		if waiting(s) {
			s.WakeAt, s.CompleteBy = 0, 0
		}
	}
	r.advance()
}

// seen checks the command number that the sender saw (P5, H17).
func (r *deciding) seen(number int) string {
	if number == r.t.Command {
		return ""
	}
	return "the task has had another command since you looked; look at it again and repeat the command if it still applies"
}

// undoAsked is the operator's decision to undo a task in Error.
func (r *deciding) undoAsked(_ int, ev Event) (string, error) {
	e := ev.(UndoCommand)
	if reason := r.seen(e.Command); reason != "" {
		return r.reject(e.ID, "undo", reason)
	}
	if reason := r.unundoable(); reason != "" {
		return r.reject(e.ID, "undo", reason)
	}
	r.t.Command++
	r.accept(e.ID, "undo", "")
	why := WhyOperator
	if r.t.Phase == Undoing { // it goes on with the reason that it had
		why = r.t.Why
	}
	r.turnAround(why)
	return "", nil
}

// unundoable says why the operator cannot undo the task; "" where that is possible.
func (r *deciding) unundoable() string {
	switch {
	case r.t.ProcessState != Error:
		return "only a task in Error can be undone by the operator; this one is " + string(r.t.ProcessState)
	case r.pastNoReturn():
		return "the order is past its point of no return; fix: if that step has had no effect, resolve it as not-happened first"
	}
	return ""
}

// resubmitted is the operator's decision to go on (P18).
func (r *deciding) resubmitted(_ int, ev Event) (string, error) {
	e := ev.(Resubmit)
	if reason := r.seen(e.Command); reason != "" {
		return r.reject(e.ID, "resubmit", reason)
	}
	if passed(e.Deadline, r.at.Now) {
		return r.reject(e.ID, "resubmit", "the new deadline "+e.Deadline.String()+" has passed, it is "+r.at.Now.String()+" here; give a later one, or none")
	}
	mode := modeOf(r.t)
	switch mode {
	case errForward, errUndo, compensated:
	case cancelled, processed, closed:
		return r.reject(e.ID, "resubmit", "the order is "+string(r.t.ProcessState)+", which is final")
	default:
		return r.reject(e.ID, "resubmit", "the order is "+string(r.t.ProcessState)+"; only one in Error, or Compensated, can be resubmitted")
	}
	before, def := r.t, r.def
	if e.To != nil && !e.To.is(r.t.Definition) { // both are one command (P49)
		if reason := r.move(*e.To); reason != "" {
			return r.reject(e.ID, "resubmit", reason)
		}
	}
	if mode != compensated {
		if reason := r.forgotten(); reason != "" {
			r.t, r.def = before, def
			return r.reject(e.ID, "resubmit", reason)
		}
	}
	r.t.Command++
	r.accept(e.ID, "resubmit", "")
	switch mode {
	case errForward:
		r.resume(e)
	case errUndo: // never forward (H5)
		r.turnAround(r.t.Why)
	case compensated:
		r.restart(e)
	}
	return "", nil
}

// forgotten finds a step in doubt whose key its service may have forgotten: asking again could do
// it twice (H12).
func (r *deciding) forgotten() string {
	for i := range r.t.Steps {
		if s := &r.t.Steps[i]; r.mayForget(i) {
			return "step " + s.Name + " is in doubt and its service may have forgotten the key by the time a call lands (keyRetention); find out at the service whether it happened, and resolve it first"
		}
	}
	return ""
}

// mayForget: the step is in doubt, and a call that is asked for now could land when its service does
// not know the key any more (P18).
func (r *deciding) mayForget(i int) bool {
	s, until := &r.t.Steps[i], r.knownUntil(i)
	return waiting(s) && s.Attempted() && until != 0 && r.at.Now.Add(r.timeout(i)) > until
}

// knownUntil is until when the service surely knows what it has done of a step: that was done since
// the first claim or, where the operator has stated a fact, since then. 0: for ever.
func (r *deciding) knownUntil(i int) Time {
	s, agent := &r.t.Steps[i], r.def.Agents[r.def.Steps[i].Agent]
	if agent.KeyRetention == 0 {
		return 0
	}
	since := s.FirstAt
	switch {
	case s.Resolved == nil:
	case s.Resolved.At > s.ClaimedAt: // since then nobody was asked again
		since = r.at.Now
	default:
		since = latest(since, s.Resolved.At)
	}
	return since.Add(agent.KeyRetention - agent.ClockSkew)
}

// resume goes on forward in the same run, with the same keys (H4), counters and hops renewed.
func (r *deciding) resume(e Resubmit) {
	t := r.t
	r.left()
	t.ProcessState, t.Hops = Processing, 0
	t.EndStep, t.EndCode, t.EndText = "", "", ""
	r.renewDeadline(e.Deadline)
	r.started()
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.State == Processed && s.FinishSeq == 0 { // while the order was in Error
			r.tellFinished(s)
		}
		s.FailureCount, s.UndoFailures, s.Queued = 0, 0, 0
		s.endHold()
		if s.State == Failed && !s.Attempted() { // its expression failed; advance tries it again
			s.State, s.Error = Pending, nil
		}
	}
	var again []int
	for i := range t.Steps { // every one of them, or it would wait for ever (H31)
		if s := &t.Steps[i]; s.Attempted() && (s.State == Failed || s.State == Pending) {
			again = append(again, i)
		}
	}
	r.advanceForward(again...)
}

// restart begins a Compensated order from the beginning: a new run, and so new keys (H3).
func (r *deciding) restart(e Resubmit) {
	t := r.t
	r.left()
	t.ProcessState, t.Why = Processing, ""
	t.EndStep, t.EndCode, t.EndText, t.Output = "", "", "", nil
	t.Run++
	t.Hops, t.Claims, t.DeadlineSeq = 0, 0, 0
	for i := range t.Steps {
		s := &t.Steps[i]
		t.Steps[i] = Step{Name: s.Name, State: Pending, Attempt: s.Attempt, Unknown: s.Unknown} // P1: attempt goes on
	}
	r.renewDeadline(e.Deadline)
	r.started()
	r.advance()
}

// renewDeadline: a Resubmit carries a new deadline or removes it (P23a).
func (r *deciding) renewDeadline(at Time) {
	r.t.Deadline = 0
	if at != 0 {
		r.setDeadline(at)
	}
}

// resolved takes the operator's word for what happened to a step in doubt. The task stays in
// Error; Resubmit or Undo goes on.
func (r *deciding) resolved(_ int, ev Event) (string, error) {
	e := ev.(Resolve)
	if reason := r.seen(e.Command); reason != "" {
		return r.reject(e.ID, "resolve", reason)
	}
	i := r.t.index(e.Step)
	if reason := r.unresolvable(i, e.Fact); reason != "" {
		return r.reject(e.ID, "resolve", reason)
	}
	s := &r.t.Steps[i]
	r.t.Command++
	r.accept(e.ID, "resolve", "")
	s.Resolved = &Resolved{Fact: e.Fact, Command: r.t.Command, At: r.at.Now}
	switch {
	case r.t.Phase == Forward && e.Fact == Happened:
		r.finish(i, nil)
	case r.t.Phase == Forward: // it proves the attempts before it (P22a)
		r.proven(i)
	case r.t.Phase == Undoing && e.Fact == Happened:
		s.State = UndoWait
	case r.t.Phase == Undoing:
		r.undone(i)
	}
	return "", nil
}

func (r *deciding) unresolvable(i int, fact Fact) string {
	if r.t.ProcessState != Error {
		return "only a task in Error takes a fact; this one is " + string(r.t.ProcessState)
	}
	if i < 0 {
		return "the task has no such step"
	}
	s := &r.t.Steps[i]
	switch {
	case fact != Happened && fact != NotHappened && fact != Undone:
		return "the fact must be happened, not-happened or undone"
	case s.State != Pending && !waiting(s): // one that was handed back too: its key may be forgotten (P18), and then nothing else would help
		return "the step is " + string(s.State) + "; only one that is Failed, UndoWait, or handed back is in doubt"
	case !s.Attempted():
		return "the step was never asked for, so there is nothing in doubt; mend the workflow or the order"
	case r.t.Phase == Undoing && fact == Happened && r.def.Steps[i].PointOfNoReturn: // P22a
		return "the step is the point of no return, and the order is being undone because the step was proven to have had no effect; fix: reverse its effect at the service, then state undone"
	case r.at.Now <= r.silentBy(i):
		return "an agent may still be at work on the step; wait until " + r.silentBy(i).String()
	}
	return ""
}

// silentBy is the last moment at which an agent may be at work on a step of this run.
func (r *deciding) silentBy(i int) Time {
	skew := Duration(0)
	if r.def != nil {
		skew = r.def.Agents[r.def.Steps[i].Agent].ClockSkew
	}
	return r.t.Steps[i].LastStopBy.Add(skew)
}

// closeAsked is the operator's decision to end a task in Error as it stands (P48). Its steps keep their
// states: what they did stays as the operator found it.
func (r *deciding) closeAsked(_ int, ev Event) (string, error) {
	e := ev.(Close)
	if reason := r.seen(e.Command); reason != "" {
		return r.reject(e.ID, "close", reason)
	}
	if reason := r.unclosable(); reason != "" {
		return r.reject(e.ID, "close", reason)
	}
	r.t.Command++
	r.accept(e.ID, "close", "")
	r.left()
	r.t.Closing = &Closing{By: e.By, Reason: TrimMessage(e.Reason)}
	r.enterEnd(Closed)
	return "", nil
}

// unclosable says why the task cannot be closed; "" where that is possible. Nothing may be able to take
// effect afterwards, since what the operator found is what stays.
func (r *deciding) unclosable() string {
	if r.t.ProcessState != Error {
		return "only a task in Error can be closed; this one is " + string(r.t.ProcessState)
	}
	for i := range r.t.Steps {
		switch s := &r.t.Steps[i]; {
		case s.InFlight():
			return "step " + s.Name + " is in flight; wait for its reply, or until its time has passed (" + s.CompleteBy.String() + ") and the Supervisor has looked at it"
		case s.Attempted() && r.at.Now <= r.silentBy(i):
			return "an agent may still be at work on step " + s.Name + "; wait until " + r.silentBy(i).String()
		}
	}
	return ""
}
