package protocol

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// answerKind is the kind of a step that ends with an answer from outside: an approval by people, or an
// event (P35, an answer decides a round). The file answer.go handles the answers.
type answerKind struct{}

func (answerKind) prepare(r *deciding, i int) (prepared, error) {
	s := &r.t.Steps[i]
	d := &r.def.Steps[i]
	text, err := r.input(i, core.Do)
	if r.err != nil || err != nil {
		return prepared{}, err
	}
	a, timeout, err := ReadQuestion(text, d.Timeout, r.at.Now)
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
			_, wrong := r.def.AnswerValue(i, v.Value)
			return wrong != "" || a.Excludes(v.By) != ""
		})
		if len(a.Votes) == 0 { // the document has no empty list
			a.Votes = nil
		}
	}
	_, complete := a.Complete()
	return prepared{answers: a, wakeAt: r.at.Now.Add(timeout), atOnce: complete || timeout == 0}, nil
}

func (answerKind) start(r *deciding, i int, p prepared) {
	r.take(i, core.Waiting, Claim{})
	s := &r.t.Steps[i]
	var early []Vote
	if r.err == nil && s.Answers != nil && !s.Decided() {
		early = s.Answers.Votes
	}
	s.Wait.Until = p.wakeAt
	s.Answers = p.answers
	s.Output = nil
	r.refuseEarly(i, early)
	if p.atOnce {
		r.look(i)
		return
	}
	s.Wait.At = p.wakeAt
	r.question(i)
}

// resend emits the last reminder and the next Wake again.
func (answerKind) resend(r *deciding, i int) {
	r.emitReminder(i)
	r.emitLook(i)
}

func (answerKind) woken(r *deciding, i int) {
	r.look(i)
	if r.t.Steps[i].State == core.Waiting && r.remind(i) {
		r.question(i)
	}
}

// resume checks whether an undecided step is decided now (P33, a waiting step asks no agent; P35).
func (answerKind) resume(r *deciding, i int) {
	r.look(i)
	if r.t.Steps[i].State == core.Waiting {
		r.goOnAsking(i)
	}
}

func (answerKind) validState(s *Step, _ *core.StepDefinition) bool {
	switch s.State {
	case core.Skipped:
		return !s.Attempted()
	case core.Pending, core.Failed:
		return !s.Attempted() || s.Attempt > 0
	case core.Waiting, core.Processed, core.Compensated:
		return s.Attempted() && s.Attempt > 0 && !s.Claim.Undo && s.Answers != nil
	}
	return false
}

// look ends a step if enough people have answered. In a task that goes forward, it also ends a step if the
// time for an answer has passed. An answer takes precedence over the time (P36).
func (r *deciding) look(i int) {
	s := &r.t.Steps[i]
	d := &r.def.Steps[i]
	decided, complete := s.Answers.Complete()
	if !complete {
		if r.t.ProcessState != core.Processing || r.at.Now < s.Wait.At {
			return
		}
		decided = Decided{Value: d.Answer.TimeoutValue, By: ByTimeout}
		if decided.Value == nil {
			decided.Value = json.RawMessage("null")
			r.decide(i, decided, &StepError{
				Code:    core.CodeAnswerTimeout,
				Message: "no answer came in time",
			})
			return
		}
	}
	switch failed := r.refusedAnswer(i, decided); {
	case r.err != nil:
	case failed != nil && r.t.ProcessState == core.Error: // the decision waits for the Resubmit (P36)
	default:
		r.decide(i, decided, failed)
	}
}

func (r *deciding) refusedAnswer(i int, decided Decided) *StepError {
	d := r.def.Steps[i].Answer
	if d.Refuse == "" || !r.orderKnown() {
		return nil
	}
	env := r.environment(i, false)
	env.Value = decided.Value
	refused, err := r.def.Expr.Refused(i, env)
	switch {
	case err != nil:
		return &StepError{Code: "expression", Message: "refuse: " + err.Error()}
	case !refused:
		return nil
	case decided.By == ByTimeout:
		return &StepError{
			Code: core.CodeAnswerRefused,
			Message: "no answer came in time, which counts as " +
				string(decided.Value),
		}
	case d.Event != "":
		return &StepError{
			Code:    core.CodeAnswerRefused,
			Message: "the event " + d.Event + " came with a value that the workflow refuses",
		}
	}
	return &StepError{Code: core.CodeAnswerRefused, Message: decided.By + " answered " +
		string(decided.Value)}
}

// decide ends the round. The decision becomes the step's output, even if the step fails.
func (r *deciding) decide(i int, decided Decided, failed *StepError) {
	s := &r.t.Steps[i]
	decided.At = r.at.Now
	output, err := core.Marshal(decided)
	if err != nil { // not expected, because the value was checked when it arrived
		r.err = fmt.Errorf("step %s: %w", s.Name, err)
		return
	}
	if r.def.Steps[i].Answer.Event != "" { // the value may be large, and the output contains it
		a := *s.Answers
		a.Votes = nil
		s.Answers = &a
	}
	if failed == nil {
		r.finish(i, output)
		return
	}
	s.Output = output
	r.recordFailure(i, failed.Code, failed.Message, s.Attempt)
	giveUp(&r.t.Steps[i])
}

// policyOf returns the policy for the failure of a step. OnTimeout applies if no answer came in time (P37,
// a question has a time). The order goes on after the failure of a call whose question is answered already
// (P38, an ask sends the question).
func (r *deciding) policyOf(i int) core.Policy {
	d := &r.def.Steps[i]
	s := &r.t.Steps[i]
	if r.t.Overtaken(r.def, i) {
		return core.OnFailureContinue
	}
	if d.Answer != nil && d.Answer.OnTimeout != "" && s.Error != nil &&
		s.Error.Code == core.CodeAnswerTimeout {
		return d.Answer.OnTimeout
	}
	return d.OnFailure
}
