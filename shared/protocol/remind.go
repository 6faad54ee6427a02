package protocol

import (
	"encoding/json"
	"strconv"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// question sets the time of the next check of an open question, and emits a Wake for this time.
func (r *deciding) question(i int) {
	s := &r.t.Steps[i]
	next := s.NextLook(&r.def.Steps[i])
	s.CompleteBy = next
	if next.Sub(r.at.Now) <= maxDelay {
		s.CompleteBy = max(next, r.at.Now).Add(r.def.Grace)
	}
	r.emitLook(i)
}

// goOnAsking sets the time of the next check of an open question. It also sends the last reminder again,
// because the process may have ended before the reminder was sent (P12, effects are emitted again).
func (r *deciding) goOnAsking(i int) {
	r.t.Steps[i].Claim.Cause = r.cause
	r.emitReminder(i)
	r.question(i)
}

func (r *deciding) emitLook(i int) {
	r.wake(&r.t.Steps[i], r.t.Steps[i].NextLook(&r.def.Steps[i]))
}

// remind sends the newest reminder that is due, and skips older ones (P37, a question has a time). It
// reports whether a reminder was due.
func (r *deciding) remind(i int) bool {
	s := &r.t.Steps[i]
	d := &r.def.Steps[i]
	if d.Answer.Remind <= 0 || r.t.ProcessState != core.Processing {
		return false
	}
	n := int(r.at.Now.Sub(s.Claim.At) / d.Answer.Remind)
	if n <= s.Intervals(d) || s.ReminderDue(d, n) >= s.Wait.At {
		return false
	}
	a := *s.Answers
	// No reminder number is used twice, even if a Move changes the interval.
	a.Reminded = max(n, a.Reminded+1)
	a.RemindedAt = r.at.Now
	a.Moved = false
	s.Answers = &a
	s.Claim.Cause = r.cause
	r.emitReminder(i)
	return true
}

// emitReminder repeats the call that sent the question, with a key of its own. The reply to the repeated
// call changes nothing, because the step of the call is done. A reminder that is emitted again has the same
// bytes (P12).
//
// The reminder is not emitted after ReminderStopBy, or if the task was moved after the reminder. A moved task
// may have a different question.
func (r *deciding) emitReminder(i int) {
	s := &r.t.Steps[i]
	d := &r.def.Steps[i]
	ask := r.def.Index(d.Answer.Ask)
	if ask < 0 || s.Answers.RemindedAt == 0 || s.Answers.Moved || r.t.Steps[ask].State != core.Processed {
		return
	}
	stopBy := r.t.ReminderStopBy(r.def, i, ask)
	if r.at.Now >= stopBy {
		return
	}
	var input json.RawMessage
	input, err := r.input(ask, core.Do)
	if err != nil || r.err != nil { // the claim has computed the same input, so an error is not expected
		return
	}
	n := s.Answers.Reminded
	q := r.t.Request(r.def, ask, input)
	q.Operation = core.Do
	q.Name = r.def.Steps[ask].Operation
	q.Timeout = r.def.Steps[ask].Timeout
	q.MaxDuration = 0
	q.Key = core.Key(r.t.OrderID, r.t.Run, s.Name) + "/" + strconv.Itoa(s.Round()) + "." + strconv.Itoa(n)
	q.ClaimedAt = s.ReminderDue(d, s.Intervals(d))
	q.StopBy = stopBy
	q.CompleteBy = stopBy
	q.Trace = core.AttemptTrace(r.t.OrderID, r.t.Run, s.Name, n)
	r.emit(q)
}
