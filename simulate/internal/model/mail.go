package model

import (
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Mail is the model's description of a message or an alert that an actor must send.
type Mail struct {
	// Kind is one letter:
	//   - r: request
	//   - w: Wake
	//   - s: Settle
	//   - t: status
	//   - b: status on the event bus
	//   - u: status of a waiting undo
	//   - p: status of progress
	//   - a: alert
	//   - c: status "received"
	//   - f: status "refused"
	//   - v: status "command refused"
	//   - q: message in quarantine
	//   - e: answer that goes back to its queue
	Kind    byte
	Step    string
	Attempt int // attempt, number of the status, or percent of progress
	WakeAt  core.Time
}

// again adds the effects that a redelivered message emits again (P12, effects are emitted again).
func (m *Model) again() {
	t := m.T
	if t == nil || m.Def == nil || m.cause == "" || m.Ahead || t.IsTombstone() || t.Erased != nil || m.Fresh {
		return
	}
	if t.Start.Seq > 0 && t.Start.Cause == m.cause {
		m.post('t', "", t.Start.Seq, 0)
	}
	for i := range t.Steps {
		if s := &t.Steps[i]; s.Finish.Seq > 0 && s.Finish.Cause == m.cause {
			m.post('t', "", s.Finish.Seq, 0)
		}
	}
	if t.End.Cause == m.cause && (t.Terminal() || t.ProcessState == core.Error) {
		m.announce()
	}
	for i := range t.Steps {
		if s := &t.Steps[i]; s.Claim.Cause == m.cause && Stands(t, s) {
			m.Mails = append(m.Mails, OfClaim(m.Def, t, i, m.Now)...)
		}
	}
}

// Stands reports whether the request or the Wake of a claim may be emitted again (P12).
func Stands(t *core.Task, s *core.Step) bool {
	return s.State == core.Compensating || (s.State == core.Processing || s.State == core.Waiting) &&
		t.ProcessState == core.Processing
}

// OfClaim returns the messages of a claim. For a waiting step it includes the last reminder.
func OfClaim(def *core.Definition, t *core.Task, i int, now core.Time) []Mail {
	s := &t.Steps[i]
	if s.State != core.Waiting {
		return []Mail{{Kind: 'r', Step: s.Name, Attempt: s.Attempt}}
	}
	return append(reminder(def, t, i, now),
		Mail{Kind: 'w', Step: s.Name, Attempt: s.Attempt, WakeAt: NextLook(def, t, i)})
}

// String returns the description of the message for the text of a violation.
func (m Mail) String() string {
	switch m.Kind {
	case 'r':
		return fmt.Sprintf("the request of attempt %d of step %s", m.Attempt, m.Step)
	case 'w':
		return fmt.Sprintf("a Wake of step %q, attempt %d", m.Step, m.Attempt)
	case 's':
		return "a Settle"
	case 't':
		return fmt.Sprintf("status %d", m.Attempt)
	case 'b':
		return fmt.Sprintf("status %d to the event bus", m.Attempt)
	case 'u':
		return fmt.Sprintf("that the undo of step %s waits until %s", m.Step, m.WakeAt)
	case 'c':
		return "that the order is there"
	case 'f':
		return "that it is refused"
	case 'v':
		return "that the command is refused"
	case 'q':
		return "it to the quarantine"
	}
	return "the alert"
}
