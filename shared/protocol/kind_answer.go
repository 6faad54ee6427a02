package protocol

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// answerKind is the kind of a step that ends with an answer from outside: an approval by people, or an
// event (P35, an answer decides a round). The file answers.go handles the answers.
type answerKind struct{}

func (answerKind) prepare(s step) (prepared, error) {
	text, err := s.input(core.Do)
	if s.err != nil || err != nil {
		return prepared{}, err
	}
	a, timeout, err := ReadQuestion(text, s.d.Timeout, s.at.Now)
	if err != nil {
		return prepared{}, err
	}
	a.Round = s.Round()
	if s.Answers != nil {
		a.Verdicts = s.Answers.Verdicts
	}
	switch {
	case s.Decided(): // the question is asked again (P35)
		a.Round++
	case s.Answers != nil: // early answers count from now on (P36, answers may come early, late or twice)
		a.Votes = slices.DeleteFunc(slices.Clone(s.Answers.Votes), func(v Vote) bool {
			// A Move may have changed the allowed values (P49, move pins another definition).
			_, wrong := s.def.AnswerValue(s.i, v.Value)
			return wrong != "" || a.Excludes(v.By) != ""
		})
		if len(a.Votes) == 0 { // the document has no empty list
			a.Votes = nil
		}
	}
	_, complete := a.Complete()
	return prepared{answers: a, wakeAt: s.at.Now.Add(timeout), atOnce: complete || timeout == 0}, nil
}

func (answerKind) start(s step, p prepared) {
	s.take(core.Waiting, Claim{})
	var early []Vote
	if s.Answers != nil && !s.Decided() {
		early = s.Answers.Votes
	}
	s.Wait = StepWait{At: p.wakeAt, Until: p.wakeAt}
	s.Reminded = Reminded{}
	s.Answers = p.answers
	s.Output = nil
	s.refuseEarly(early)
}

func (answerKind) resend(s step) { s.wake(s.Wait.At) }

// goOn ends a decided step, or sets the time of the next check.
func (answerKind) goOn(s step) {
	s.look()
	if s.State == core.Waiting && s.err == nil && s.CompleteBy == 0 {
		s.lookAt(s.Wait.At)
	}
}

// look ends a step if enough people have answered. In a task that goes forward, it also ends a step if the
// time for an answer has passed. An answer takes precedence over the time (P36).
func (s step) look() {
	for more := true; more; {
		more = s.lookOnce()
	}
}

// lookOnce reports whether a refused answer has opened the next round, which answers may have come for already.
func (s step) lookOnce() (again bool) {
	decided, complete := s.Answers.Complete()
	if !complete {
		if s.t.ProcessState != core.Processing || s.at.Now < s.Wait.At {
			return false
		}
		decided = Decided{Value: s.d.Answer.TimeoutValue, By: ByTimeout}
		if decided.Value == nil {
			decided.Value = json.RawMessage("null")
			s.decide(decided, &StepError{
				Code:    core.CodeAnswerTimeout,
				Message: "no answer came in time",
			})
			return false
		}
	}
	switch failed := s.refusedAnswer(decided); {
	case s.err != nil:
	case failed != nil && s.t.ProcessState == core.Error: // the decision waits for the Resubmit (P36)
	case failed != nil && failed.Code == core.CodeAnswerRefused && complete && s.attemptsLeft() > 1:
		s.askAgain(failed)
		return true
	default:
		s.decide(decided, failed)
	}
	return false
}

// attemptsLeft returns how many answers may still decide the step: one, unless its definition has attempts.
func (s step) attemptsLeft() int {
	if s.Answers == nil {
		return max(1, s.d.Answer.Attempts)
	}
	return max(1, s.d.Answer.Attempts-s.Answers.Refused)
}

// askAgain opens the next round after an answer that the workflow refuses. The step's claim, and so its time, stay.
func (s step) askAgain(failed *StepError) {
	a := *s.Answers
	votes := a.Votes
	a.Round++
	a.Refused++
	a.Votes = nil
	if s.d.Answer.Event != "" {
		first := votes[0]
		s.t.tookPassed(first.Passed)
		if first.ID != "" { // of before a Move
			s.t.Commands.rememberHash(first.ID, "answer")
		}
		if len(votes) > 1 { // the parent has passed on more (P56)
			a.Votes = votes[1:]
		}
	}
	s.Answers = &a
	s.recordFailure(failed.Code, failed.Message, s.Attempt)
}

func (s step) refusedAnswer(decided Decided) *StepError {
	d := s.d.Answer
	if d.Refuse == "" || !s.orderKnown() {
		return nil
	}
	env := s.environment(false)
	env.Value = decided.Value
	refused, err := s.def.Expr.Holds(core.PartRefuse, s.i, env)
	switch {
	case err != nil:
		return &StepError{Code: "expression", Message: "refuse: " + err.Error()}
	case !refused:
		return nil
	}
	failed := &StepError{Code: core.CodeAnswerRefused}
	switch {
	case decided.By == ByTimeout:
		failed.Message = "no answer came in time, which counts as " + string(decided.Value)
		return failed
	case d.Event != "":
		failed.Message = "the event " + d.Event + " came with a value that the workflow refuses"
	default:
		failed.Message = decided.By + " answered " + string(decided.Value)
	}
	if d.Attempts > 1 {
		failed.Message += fmt.Sprintf(", attempt %d of %d", s.Answers.Refused+1, d.Attempts)
	}
	return failed
}

// decide ends the round. The decision becomes the step's output, even if the step fails.
func (s step) decide(decided Decided, failed *StepError) {
	decided.At = s.at.Now
	output, err := core.Marshal(decided)
	if err != nil { // not expected, because the value was checked when it arrived
		s.err = fmt.Errorf("step %s: %w", s.Name, err)
		return
	}
	if s.d.Answer.Event != "" { // the value may be large, and the output contains it
		if len(s.Answers.Votes) > 0 { // the first one decides
			s.t.tookPassed(s.Answers.Votes[0].Passed)
		}
		a := *s.Answers
		a.Votes = nil
		s.Answers = &a
	}
	if failed == nil {
		s.finish(output)
		return
	}
	s.Output = output
	s.fail(failed.Code, failed.Message, s.Attempt)
}

// answeredEarly reports whether answers that came before the claim already decide the step. The call that
// sends the question then need not finish (P36, answers may come early, late or twice).
func (s step) answeredEarly() bool {
	if a := s.Answers; a == nil || len(a.Votes) == 0 {
		return false
	}
	p, err := s.kind().prepare(s)
	return err == nil && p.atOnce
}

// group returns the Any that the step is a member of, or that the question is a member of that the step sends. It
// returns -1 for every other step.
func (s step) group() int {
	if n := s.def.Serves(s.i); n >= 0 && s.def.Steps[n].Answer != nil {
		return s.def.MemberOf(n)
	}
	return s.def.MemberOf(s.i)
}

// staysFailed reports whether a Failed step waits for its Any, which stops the task if none is left (P54, the first
// of several decides). A Resubmit then asks it again.
func (s step) staysFailed() bool {
	return s.group() >= 0 && s.d.OnFailure == core.OnFailureStop && s.Withdrawn == 0 && !s.t.unwanted(s.def, s.i)
}

// failQuestion fails a member whose question could not be sent.
func (s step) failQuestion() {
	n := s.def.Serves(s.i)
	if n < 0 || s.group() < 0 || s.def.Steps[n].Answer == nil {
		return
	}
	if q := s.decision.step(n); q.State == core.Pending && !q.Attempted() {
		q.Error = s.Error
		q.State = core.Failed
	}
}
