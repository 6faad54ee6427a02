package protocol

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// maxOutput is the largest output of a workflow in bytes, so that the output fits into the document and a
// message. The order drops a larger output, and its status reports this.
const maxOutput = 32 << 10

func (r *decision) started() {
	r.t.Start = Start{}
	if r.at.Now != r.t.Created {
		r.t.Start.At = r.at.Now
	}
	if r.t.notifies(r.def, core.StatusStarted) {
		r.t.Start.Seq = nextSeq(r.t)
		r.tell(r.t.StartedStatus())
	}
}

// enterProcessed ends a task whose steps are all done. The task ends even if its output cannot be computed.
// The status then states the reason.
func (r *decision) enterProcessed() {
	if r.def.Output != nil {
		if !r.orderKnown() {
			return
		}
		env := core.Environment{
			OrderID: r.t.OrderID, Run: r.t.Run, Order: r.order,
			Outputs: map[string]json.RawMessage{},
		}
		for i := range r.t.Steps {
			r.t.show(r.def, i, &env)
		}
		out, err := r.def.Expr.Output(env)
		switch {
		case err != nil:
			r.t.Reason = Reason{Code: "expression", Text: core.TrimMessage("output: " + err.Error())}
		case len(out) > maxOutput:
			r.t.Reason = Reason{
				Code: core.CodeOutputTooLarge,
				Text: "the workflow's output is over 32 KiB and was dropped",
			}
		default:
			r.keepOutput(out)
		}
	}
	r.enterEnd(core.Processed, "")
}

// keepOutput stores the workflow's output. It drops an output that does not fit into the document beside
// the outputs of the steps.
func (r *decision) keepOutput(out json.RawMessage) {
	r.t.Output = out
	if !r.at.SizeLimit.Fits(r.def, r.t) {
		r.t.Output = nil
		r.t.Reason = Reason{Code: core.CodeOutputTooLarge, Text: fmt.Sprintf(
			"the workflow's output of %d bytes does not fit into the order's document beside the outputs "+
				"of its steps and was dropped", len(out))}
	}
}

// enterError stops the task in Error because of the step's failure.
func (s step) enterError() {
	if s.t.ProcessState == core.Compensating { // Reason will state why the undo stopped
		s.t.Undo.Reason = s.t.Reason
	}
	s.t.Reason = s.FailureReason()
	s.stopForOperator()
}

// stopForOperator stops the task in Error. It clears the complete-by times of the steps that await a Wake,
// because a task in Error waits for the operator.
func (r *decision) stopForOperator() {
	phase := r.t.Direction()
	for i := range r.t.Steps {
		s := &r.t.Steps[i]
		// The clock of another instance may be ahead. A proof that came before the Error could therefore
		// have a later time.
		s.NoEffect = min(s.NoEffect, r.at.Now)
		if s.AwaitsWake() {
			s.CompleteBy = 0
			// A Waiting step keeps the end of its wait (P33, a waiting step asks no agent).
			if s.State != core.Waiting {
				s.Wait.At = 0
			}
		}
	}
	r.enterEnd(core.Error, phase)
}

// enterEnd moves the task to an end, or to Error with a phase. It emits the messages about the end (P11, an
// end is reported until settled).
func (r *decision) enterEnd(state core.State, phase core.Phase) {
	t := r.t
	t.ProcessState = state
	t.Phase = phase
	t.End = End{At: r.at.Now}
	r.ended = true
	status := r.def != nil && r.def.Notifies(EndKind(t)) && len(t.EndReceivers(r.def)) > 0
	if status {
		t.End.Seq = nextSeq(r.t)
	}
	alerts := RaisesAlert(r.def, t)
	if alerts {
		t.End.Command = t.Commands.Number
	}
	if status || t.Parent != nil || alerts || t.cancelsChildren() {
		t.End.ResendAt = t.resendTime(r.at.Now, resendAfter(r.def))
	}
	r.emitEnd()
}

// resendTime returns the next time to send an unsettled final status.
//
// Nearly every status is settled at once, so this time is rarely needed. Each change of the due time costs
// a write of the index. So resendTime keeps the present due time if this delays the resend by at most one
// interval (P9, tasks not at rest are due).
func (t *Task) resendTime(now core.Time, interval core.Duration) core.Time {
	resend := now.Add(interval)
	if due := t.Due; due > resend && due <= resend.Add(interval) {
		return due
	}
	return resend
}

// emitEnd emits the messages about the present end. If an application or a parent gets a message, the
// Supervisor leaves all messages to the Scheduler.
func (r *decision) emitEnd() {
	if r.bySupervisor() && (r.t.End.Seq > 0 || r.t.Parent != nil) {
		r.emit(core.SendSettle{OrderID: r.t.OrderID})
		return
	}
	t := r.t
	if t.End.Seq > 0 {
		for _, name := range t.EndReceivers(r.def) {
			status := t.FinalStatus()
			status.ReplyTo = name
			r.tell(status)
		}
	}
	r.emit(t.reportToParent()...)
	if RaisesAlert(r.def, t) {
		r.emit(AlertOf(r.def, t))
	}
	for i := range t.Steps {
		if t.cancels(&t.Steps[i]) {
			r.step(i).askOpen("")
		}
	}
}

// cancels reports whether the end of a Closed task cancels the open children of the step (P48, close ends an order as
// it stands).
func (t *Task) cancels(s *Step) bool {
	waits := s.State == core.Waiting || s.State == core.Settling
	return t.ProcessState == core.Closed && waits && s.Children.Running()
}

func (t *Task) cancelsChildren() bool {
	return slices.ContainsFunc(t.Steps, func(s Step) bool { return t.cancels(&s) })
}

func (t *Task) leaveEnd() {
	t.End = End{}
	t.EndSteps = nil
	t.Phase = ""
	t.Attention = false
	for i := range t.Steps {
		t.Steps[i].EndState = ""
	}
}

// keepEndStates stores the state that a step had at the start of an Error, if the step changes later. A late
// reply or an operator's fact may change a step. A repeated status of the Error must still have the same
// bytes (P12, effects are emitted again).
func (t *Task) keepEndStates(before *Task) {
	// A Move keeps the steps of a status that may be repeated in EndSteps (P49, move pins another definition).
	moved := before.Definition != t.Definition
	if moved || before.ProcessState != core.Error || t.ProcessState != core.Error {
		return
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		was := before.Steps[i].State
		if s.State != was && s.EndState == "" {
			s.EndState = was
		}
	}
}

// emitAgain emits the messages that the state of the task still needs: after a restart all of them (P27, the
// embedded runtime survives its queues), otherwise those that the repeated event has caused, and an unsettled end
// (P12, effects are emitted again).
func (r *decision) emitAgain() {
	t := r.t
	for n := 1; n <= t.StatusSeq && t.ReplyTo != "" && !r.bySupervisor(); n++ {
		if r.causedStatus(n) {
			r.tell(t.numbered(n))
		}
	}
	if t.End.ResendAt != 0 {
		r.emitEnd()
	}
	for i := range t.Steps {
		r.step(i).emitAgain()
	}
}

// causedStatus reports whether the event has caused the status with the number n. Told does not count here: another
// process may have committed the status and not sent it, and its message comes again. Nobody knows the cause of a
// superseded status, so that one follows from Told, as after a restart. The status of an end is emitted with the end.
func (r *decision) causedStatus(n int) bool {
	finished := slices.IndexFunc(r.t.Steps, func(s Step) bool { return s.Finish.Seq == n })
	switch {
	case n == r.t.End.Seq:
		return false
	case r.about.kind == restarted:
		return n > r.t.Told
	case n == r.t.Start.Seq:
		return r.about.kind == submitted || r.about.kind == resubmit
	case finished >= 0:
		return r.t.Steps[finished].Finish.Cause == r.cause
	}
	return n > r.t.Told
}

// emitAgain emits the messages of the step's claim if they are still needed. The Wake of a step without a claim
// is emitted only after a restart, because the Supervisor sends it again.
func (s step) emitAgain() {
	restart := s.about.kind == restarted
	if restart || s.about.kind == resubmit || s.about.kind == wakeStep && s.about.step == s.Name {
		s.remindAgain()
	}
	switch {
	case s.claimStands():
		if restart || s.Claim.Cause == s.cause || s.Children.Opened(s.cause) {
			s.kind().resend(s)
		}
	case !restart || s.CompleteBy == 0:
	case s.t.ProcessState == core.Compensating && (s.State == core.Pending || s.State == core.Waiting):
		// The undo does not wait for the step's time, so the Wake comes at once (P9a, a waiting step has two times).
		s.wake(0)
	case s.Uncalled():
		// The agents of the new process have closed circuit breakers, and a missing agent may be there.
		s.wakeEarly()
	case s.AwaitsWake():
		s.wake(s.Wait.At)
	}
}

// claimStands reports whether the messages of the step's claim are still needed. A forward claim stands
// only while the task goes forward. A claim of an undo always stands.
func (s step) claimStands() bool {
	forward := s.State == core.Processing || s.State == core.Waiting || s.State == core.Settling
	return s.State == core.Compensating || s.State == core.Waiting && s.Claim.Undo ||
		forward && s.t.ProcessState == core.Processing
}
