package protocol

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// ExpiredKey returns a text about a step whose service may have forgotten the key, or "" without such a step.
// The step may have taken effect, and a second call could repeat the effect.
func (t *Task) ExpiredKey(def *core.Definition, now core.Time) string {
	for i := range t.Steps {
		if s := &t.Steps[i]; t.KeyMayExpire(def, i, now) {
			return "step " + s.Name +
				" is in doubt and its service may have forgotten the key by the time a call lands " +
				"(keyRetention); find out at the service whether it happened, and resolve it first"
		}
	}
	return ""
}

// pastTheEnd refuses a cancel for good.
const pastTheEnd = "the order is past its point of no return"

// CancelRefusal returns why the present run of the task cannot be cancelled, or "" if it can be cancelled, or was.
func (t *Task) CancelRefusal(def *core.Definition) string {
	switch {
	case t.Parent != nil:
		return t.Parent.Refusal()
	case t.ProcessState == core.Closed:
		return "the order is Closed, which is final"
	case t.ProcessState == core.Cancelled || t.Undo.CancelAsked:
		return ""
	case t.Erased != nil:
		return isErased
	case t.ProcessState == core.Processed:
		return "the order is Processed"
	case t.PastPointOfNoReturn(def):
		return pastTheEnd
	case len(t.Commands.Refused["cancel"]) == MaxRefused:
		return tooManyCancels
	}
	return ""
}

// ResubmitRefusal returns why the task is in no state to be resubmitted, or "" if it is.
func (t *Task) ResubmitRefusal() string {
	switch modeOf(t) {
	case errForward, errUndo:
		return ""
	case compensated:
		if t.Parent != nil { // only the parent starts an undone child again
			return t.Parent.Refusal()
		}
		return ""
	case cancelled, processed, closed:
		return "the order is " + string(t.ProcessState) + ", which is final"
	}
	return "the order is " + string(t.ProcessState) + "; only one in Error, or Compensated, can be resubmitted"
}

// UndoRefusal returns why the operator cannot undo the task, or "" if it can be undone.
func (t *Task) UndoRefusal(def *core.Definition) string {
	switch {
	case t.Parent != nil:
		return t.Parent.Refusal()
	case t.ProcessState != core.Error:
		return "only an order in Error can be undone; this one is " + string(t.ProcessState)
	case t.PastPointOfNoReturn(def):
		return "the order is past its point of no return; fix: if that step has had no effect, resolve it " +
			"as not-happened first"
	}
	return ""
}

// CloseRefusal returns why the task cannot be closed, or "" if it can be closed. A close is refused while a
// call may still take effect, because no reply can change a closed task.
func (t *Task) CloseRefusal(def *core.Definition, absent []string, now core.Time) string {
	silent := false // true if the task waits for absent children
	for i := range t.Steps {
		for _, id := range t.OpenChildren(&t.Steps[i]) {
			if !slices.Contains(absent, id) {
				return "step " + t.Steps[i].Name +
					" has children that have not ended, for instance " + id + "; end those first"
			}
			silent = true
		}
	}
	if t.ProcessState != core.Error && !silent {
		return "only an order in Error can be closed; this one is " + string(t.ProcessState)
	}
	for i := range t.Steps {
		switch s := &t.Steps[i]; {
		case s.InFlight():
			return "step " + s.Name + " is in flight; wait for its reply, or until its time has passed (" +
				s.CompleteBy.String() + ") and the Supervisor has looked at it"
		case s.Attempted() && now <= t.LastActivity(def, i):
			return "a call of step " + s.Name + " may still take effect; wait until " +
				(t.LastActivity(def, i) + 1).String()
		}
	}
	return ""
}

// ResolveRefusal returns why the operator cannot state a fact about a step now, or "" if a fact is possible.
func (t *Task) ResolveRefusal(def *core.Definition, i int, fact core.Fact, now core.Time) string {
	if i >= 0 && def.Steps[i].Wait != nil && t.Steps[i].State == core.Waiting {
		return t.endWaitRefusal(i, fact)
	}
	if t.ProcessState != core.Error {
		return "only an order in Error takes a fact; this one is " + string(t.ProcessState)
	}
	if i < 0 {
		return "the order has no such step"
	}
	s := &t.Steps[i]
	switch {
	case !slices.Contains(core.Facts, fact):
		return "the fact must be happened, not-happened or undone"
	case def.Steps[i].Each != nil:
		return s.Children.ResolveRefusal(fact)
	case def.Steps[i].Any != nil:
		return "the step calls no agent, so there is nothing in doubt; fix: resolve those of its members that are"
	case def.Steps[i].Answer != nil:
		return "the step is answered from outside, so there is nothing in doubt; fix: resubmit the order, " +
			"and it asks again if its round was decided"
	case s.State != core.Pending && !s.AwaitsWake():
		// A handed-back step is Pending, and the operator can resolve it. If its service may have forgotten
		// the key, a Resubmit needs such a Resolve first (P18, resubmit uses a remembered key).
		return "the step is " + string(s.State) +
			"; only one that is Failed, UndoWait, or handed back is in doubt"
	case !s.Attempted():
		return "no request of the step was ever sent, so there is nothing in doubt; fix: correct the " +
			"workflow or the order"
	case t.Phase == core.Undoing && fact == core.Happened && def.Steps[i].PointOfNoReturn:
		// The order is being undone, because a proof showed that the step had no effect (P22a, a proven
		// refusal permits undo). The fact Happened would contradict this proof.
		return "the step is the point of no return, and the order is being undone because the step was " +
			"proven to have had no effect; fix: reverse its effect at the service, then state undone"
	case now <= t.LastActivity(def, i):
		return "a call of the step may still take effect; wait until " + (t.LastActivity(def, i) + 1).String()
	}
	return ""
}

// endWaitRefusal returns why a fact cannot end a wait now, or "" if it can (P34, a wait ends at a fixed time).
func (t *Task) endWaitRefusal(i int, fact core.Fact) string {
	switch {
	case t.Steps[i].Withdrawn != 0:
		return "the step is no longer wanted, and its wait ends with the resubmit"
	case t.ProcessState != core.Processing && t.ProcessState != core.Error:
		return "the order is " + string(t.ProcessState) + ", and no wait of it goes on"
	case t.Phase == core.Undoing:
		return "the order is being undone, and its waits end with it"
	case fact != core.Happened:
		return "the step is a wait, so nothing of it is in doubt; fix: state happened, which ends the wait now"
	}
	return ""
}

// MoveRefusal returns why the task cannot be moved, or "" if it can be moved.
func (t *Task) MoveRefusal(def *core.Definition, to core.Target) string {
	switch {
	case t.Parent != nil && t.ProcessState == core.Compensated:
		// Only the parent's step starts a child's next run (P41, parent and child talk by messages).
		return t.Parent.Refusal()
	case t.ProcessState != core.Error && t.ProcessState != core.Compensated &&
		t.ProcessState != core.Processing:
		return "only an order in Error, a Compensated one, or one that goes forward with nothing in flight " +
			"can be moved; this one is " + string(t.ProcessState)
	case to.Definition == nil:
		return to.Absent
	case to.Definition.Name != t.Workflow:
		return fmt.Sprintf("that definition is of the workflow %s; the order's is %s", to.Definition.Name,
			t.Workflow)
	case t.InFlight():
		return "a step is in flight; repeat the command when it has ended"
	case t.End.ResendAt != 0:
		return "its end has not been reported yet; repeat the command in a moment"
	}
	var refused []string
	for _, d := range Differences(def, to.Definition, t) {
		if d.Refused {
			refused = append(refused, "step "+d.Step+": "+d.What)
		}
	}
	if len(refused) > 0 {
		return core.TrimMessage("the order cannot go on with the new definition: " + strings.Join(refused, "; "))
	}
	return ""
}

// EraseRefusal returns why the task cannot be erased, or "" if it can be erased. An attempt, an undo or a
// repeated status must not need the content any more.
func (t *Task) EraseRefusal(ancestor string) string {
	switch {
	case t.ProcessState == core.Error:
		return "the order is in Error and may still need its content; end it first: resubmit, undo or " +
			"close it"
	case !t.Terminal():
		return "the order is " + string(t.ProcessState) + "; only one that has ended can be erased"
	case t.End.ResendAt != 0:
		return "the end of the order has not been reported yet; repeat the command in a minute"
	case ancestor != "":
		return "the order is a child of " + ancestor +
			", which has not come to rest and may still need it; end that one first"
	}
	return ""
}

// CorrectRefusal returns why a resubmit cannot replace the input of a step, or "" if the input can be
// replaced.
func (t *Task) CorrectRefusal(def *core.Definition, i int, e core.Command) string {
	switch {
	case i < 0:
		return "the order has no such step"
	case t.ProcessState == core.Error && t.Phase == core.Undoing:
		return "the order is being undone, so that nothing is asked for forward any more; fix: resubmit " +
			"it without an input, and give the input when it is undone"
	case def.Steps[i].Kind() != core.KindCall:
		return "step " + e.Step + " calls no agent; only a call can get another input"
	case len(e.Input) > core.MaxInput:
		return fmt.Sprintf("the new input has %d bytes, the limit is %d; store large data elsewhere and "+
			"give a reference", len(e.Input), core.MaxInput)
	case core.HoldsToken(e.Input):
		return "the new input holds a token of an answer, or stands where one was hidden; tokens are not " +
			"stored, so only the definition can send one; fix: leave it out"
	case t.ProcessState == core.Compensated: // the next run has its own keys
		return ""
	}
	s := &t.Steps[i]
	switch {
	case s.State != core.Failed && s.State != core.Pending:
		return "step " + e.Step + " is " + string(s.State) +
			"; only one that is still to be asked can get another input"
	case s.Attempted() && !s.WithoutEffect():
		return "step " + e.Step +
			" was asked, and is not proven to have had no effect: its service must not get another input " +
			"under the same key; " +
			"fix: find out at the service, and if it did not happen resolve the step as not-happened " +
			"first; or undo the order, and resubmit it with the input"
	case def.Steps[i].Grade != core.Plain && s.Resolved != nil && s.Resolved.Fact == core.Undone &&
		s.Resolved.At > s.Claim.At:
		return "step " + e.Step + " happened and was undone, so that its service may answer its key from " +
			"memory, whatever the input; fix: undo the order, and resubmit it with the input"
	}
	return ""
}

// Offer is a command that a task accepts, with the task's present command number. Moves are not among the
// offers, because they depend on another definition.
type Offer struct {
	Command string
	Step    string    // step of a Resolve, or of a Resubmit with another input; "" for other commands
	Fact    core.Fact // fact of a Resolve
	// From is the time from which the task accepts the command, if it does not now: until then a call may still
	// take effect. The zero value means now.
	From core.Time
}

// Offers returns the commands that the task accepts now, or later without a change of the task.
func (t *Task) Offers(def *core.Definition, now core.Time) (all []Offer) {
	offer := func(o Offer, refusal string) {
		if refusal == "" {
			all = append(all, o)
		}
	}
	// later offers a command that is refused while a call of the steps may still take effect
	later := func(o Offer, refusal func(at core.Time) string) {
		if refusal(now) == "" {
			all = append(all, o)
			return
		}
		for i := range t.Steps {
			if t.ProcessState == core.Error && t.Steps[i].Attempted() && (o.Step == "" || o.Step == t.Steps[i].Name) {
				o.From = max(o.From, t.LastActivity(def, i)+1)
			}
		}
		if o.From > now {
			offer(o, refusal(o.From))
		}
	}
	if t.Damaged != "" {
		return []Offer{{Command: "close"}}
	}
	// A second Cancel would be accepted, but would change nothing.
	if !t.Undo.CancelAsked && t.ProcessState != core.Cancelled {
		offer(Offer{Command: "cancel"}, t.CancelRefusal(def))
	}
	if t.Erased != nil {
		return all
	}
	offer(Offer{Command: "undo"}, t.UndoRefusal(def))
	resubmit := t.ResubmitRefusal()
	if resubmit == "" && t.ProcessState == core.Error {
		resubmit = t.ExpiredKey(def, now)
	}
	offer(Offer{Command: "resubmit"}, resubmit)
	later(Offer{Command: "close"}, func(at core.Time) string { return t.CloseRefusal(def, nil, at) })
	for i := range t.Steps {
		s := &t.Steps[i]
		if resubmit == "" {
			other := core.Command{Name: core.Resubmit, Step: s.Name, Input: json.RawMessage("{}")}
			offer(Offer{Command: "resubmit", Step: s.Name}, t.CorrectRefusal(def, i, other))
		}
		if !s.Attempted() {
			continue
		}
		for _, fact := range core.Facts {
			later(Offer{Command: "resolve", Step: s.Name, Fact: fact},
				func(at core.Time) string { return t.ResolveRefusal(def, i, fact, at) })
		}
	}
	return all
}
