package protocol

import (
	"encoding/json"
	"errors"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// waitKind is the kind of a step that ends at a time and calls no agent (P34, a wait ends at a fixed time).
// The claim fixes the time.
type waitKind struct{}

// maxDelay is the longest delay of a message in an SQS queue. If a Wake is due later, the Supervisor sends
// it.
const maxDelay = 15 * core.Minute

func (waitKind) prepare(s step) (prepared, error) {
	w := s.d.Wait
	until := s.at.Now.Add(w.For)
	if s.d.Input != nil {
		text, err := s.input(core.Do)
		if s.err != nil || err != nil {
			return prepared{}, err
		}
		until, err = readEnd("the end of the wait", text, s.at.Now)
		if err != nil {
			return prepared{}, err
		}
	}
	until = endOfWait(s.t, s.Step, s.Attempt, until, w.Spread)
	if s.at.LongestWait > 0 {
		until = min(until, s.at.Now.Add(s.at.LongestWait))
	}
	return prepared{wakeAt: until, atOnce: until <= s.at.Now}, nil
}

// endOfWait returns the time at which the wait of a step ends: until, plus a part of spread. The part
// depends on the order's ID, and on the number of attempts before the claim.
func endOfWait(t *Task, s *Step, attempts int, until core.Time, spread core.Duration) core.Time {
	if spread <= 0 {
		return until
	}
	return until.Add(core.Duration(float64(spread) * jitter(t.OrderID, t.Run, s.Name, attempts)))
}

// readEnd returns the end of a wait that is claimed at the given time, or a deadline. The text is what the step's
// expression evaluates to: a length, such as "48h", or a time in RFC 3339. The errors name what it is, and contain no
// data of the order.
func readEnd(what string, text json.RawMessage, claimed core.Time) (core.Time, error) {
	errNoEnd := errors.New(what + ` is neither a length, like "48h", nor a time in RFC 3339, like ` +
		`"2026-11-21T10:00:00Z"`)
	latest := claimed.Add(core.MaxWait)
	var value string
	if err := json.Unmarshal(text, &value); err != nil {
		return 0, errNoEnd
	}
	end := core.Time(0)
	length, isLength := core.ParseDuration(value)
	if isLength {
		end = claimed.Add(min(length, 2*core.MaxWait))
	} else if err := end.UnmarshalJSON(text); err != nil || value == "" {
		return 0, errNoEnd
	}
	if end > latest {
		return 0, errors.New(what + " lies more than 366 days ahead")
	}
	return max(end, 1), nil // 0 would mean no time, and 1 is in the past too
}

func (waitKind) start(s step, p prepared) {
	s.take(core.Waiting, Claim{})
	s.Wait = StepWait{At: p.wakeAt, Until: p.wakeAt}
}

// goOn ends a wait whose time has come, also one whose time came while the task was in Error (P33, a waiting step
// asks no agent).
func (waitKind) goOn(s step) {
	switch {
	case s.Wait.At <= s.at.Now:
		s.finish(nil)
	case s.CompleteBy == 0:
		s.wait(s.Wait.At)
	}
}

// wait makes the step wait until wakeAt.
func (s step) wait(wakeAt core.Time) {
	s.Wait.At = wakeAt
	s.lookAt(wakeAt)
}

// lookAt sets the time of the next look at a Waiting step, and emits a Wake for this time. If the Wake is lost, or the
// time is too far ahead for a message, the Supervisor sends the Wake (P33, a waiting step asks no agent; P34).
func (s step) lookAt(at core.Time) {
	s.Claim.Cause = s.cause
	s.CompleteBy = at
	if at.Sub(s.at.Now) <= maxDelay {
		s.CompleteBy = max(at, s.at.Now).Add(s.def.Grace)
	}
	s.wake(at)
}

func (waitKind) resend(s step) {
	s.wake(s.Wait.At)
}
