package protocol

import (
	"encoding/json"
	"strconv"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// remind sends the newest reminder that is due, and skips older ones (P37, a question has a time). It
// reports whether a reminder was due.
func (s step) remind() bool {
	if s.d.Answer.Remind <= 0 || s.t.ProcessState != core.Processing {
		return false
	}
	n := int(s.at.Now.Sub(s.Claim.At) / s.d.Answer.Remind)
	if n <= s.Intervals(s.d) || s.ReminderDue(s.d, n) >= s.Wait.At {
		return false
	}
	a := *s.Answers
	// No reminder number is used twice, even if a Move changes the interval.
	a.Reminded = max(n, a.Reminded+1)
	a.RemindedAt = s.at.Now
	a.Moved = false
	s.Answers = &a
	s.emitReminder()
	return true
}

// emitReminder repeats the call that sent the question, with a key of its own. The reply to the repeated
// call changes nothing, because the step of the call is done. A reminder that is emitted again has the same
// bytes (P12).
//
// The reminder is not emitted after ReminderStopBy, or if the task was moved after the reminder. A moved task
// may have a different question.
func (s step) emitReminder() {
	ask := s.def.Index(s.d.Answer.Ask)
	if ask < 0 || s.Answers.RemindedAt == 0 || s.Answers.Moved || s.t.Steps[ask].State != core.Processed {
		return
	}
	stopBy := s.t.ReminderStopBy(s.def, s.i, ask)
	if s.at.Now >= stopBy {
		return
	}
	var input json.RawMessage
	input, err := s.decision.step(ask).input(core.Do)
	if err != nil || s.err != nil { // the claim has computed the same input, so an error is not expected
		return
	}
	n := s.Answers.Reminded
	q := s.t.Request(s.def, ask, input)
	q.Operation = core.Do
	q.Name = s.def.Steps[ask].Operation
	q.Timeout = s.def.Steps[ask].Timeout
	q.MaxDuration = 0
	q.Key = core.Key(s.t.OrderID, s.t.Run, s.Name) + "/" + strconv.Itoa(s.Round()) + "." + strconv.Itoa(n)
	q.ClaimedAt = s.ReminderDue(s.d, s.Intervals(s.d))
	q.StopBy = stopBy
	q.CompleteBy = stopBy
	q.Trace = core.AttemptTrace(s.t.OrderID, s.t.Run, s.Name, n)
	s.emit(q)
}
