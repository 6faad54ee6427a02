package core

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// answerKind ends with an answer from outside: an approval by people, or an event (P35 to P37). What comes of
// an answer is in answer.go.
type answerKind struct{}

// Codes of the failure of a step that is answered from outside.
const (
	CodeAnswerRefused = "answer-refused"
	CodeAnswerTimeout = "answer-timeout"
)

func (answerKind) prepare(r *deciding, i int) (prepared, error) {
	s, d := &r.t.Steps[i], &r.def.Steps[i]
	text, err := r.input(i, Do)
	if r.err != nil || err != nil {
		return prepared{}, err
	}
	a, timeout, err := readQuestion(text, d.Timeout)
	if err != nil {
		return prepared{}, err
	}
	a.Round = s.round()
	if s.Answers != nil {
		a.Verdicts = s.Answers.Verdicts
	}
	switch {
	case s.decided(): // P35: asked again
		a.Round++
	case s.Answers != nil: // P36: what came early counts from here on
		a.Votes = slices.DeleteFunc(slices.Clone(s.Answers.Votes), func(v Vote) bool {
			_, wrong := r.answerValue(i, v.Value) // The task may have moved to another definition (P49).
			return wrong != "" || a.excludes(v.By) != ""
		})
		if len(a.Votes) == 0 { // the document has no empty list
			a.Votes = nil
		}
	}
	_, complete := a.complete()
	return prepared{answers: a, wakeAt: r.at.Now.Add(timeout), atOnce: complete}, nil
}

// readQuestion reads what decides of a question. Its errors hold no data of the order.
func readQuestion(text json.RawMessage, timeout Duration) (*Answers, Duration, error) {
	var q Question
	if len(text) > 0 {
		if err := json.Unmarshal(text, &q); err != nil {
			return nil, 0,
				errors.New("need must be a whole number, who a list of names, notSelf and timeout texts")
		}
	}
	a := &Answers{Need: 1, Who: q.Who}
	if q.Need != nil {
		a.Need = *q.Need
	}
	if q.NotSelf != nil {
		a.NotSelf = *q.NotSelf
	}
	if q.Timeout != "" {
		var err error
		if timeout, err = readTimeout(q.Timeout); err != nil {
			return nil, 0, err
		}
	}
	names := slices.Clone(q.Who)
	if q.NotSelf != nil {
		names = append(names, a.NotSelf)
	}
	allowed := len(q.Who)
	if slices.Contains(q.Who, a.NotSelf) {
		allowed--
	}
	switch {
	case timeout <= 0 || timeout > MaxWait:
		return nil, 0, errors.New("timeout must be more than 0 and at most 366 days")
	case a.Need < 1 || a.Need > MaxVoters:
		return nil, 0, fmt.Errorf("need must be 1 to %d", MaxVoters)
	case len(q.Who) > MaxVoters:
		return nil, 0, fmt.Errorf("who lists more than %d names", MaxVoters)
	case len(q.Who) > 0 && allowed < a.Need:
		return nil, 0, errors.New("fewer people may answer than are needed")
	case slices.ContainsFunc(names, func(n string) bool { return !PersonName(n) }):
		return nil, 0,
			fmt.Errorf(
				`who and notSelf must hold names of 1 to %d bytes without control characters and < > & " \`,
				MaxAnswerBy)
	}
	slices.Sort(a.Who)
	a.Who = slices.Compact(a.Who)
	return a, timeout, nil
}

// readTimeout reads a duration of Go, or a number of days.
func readTimeout(text string) (Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n <= 1000 {
			return Duration(n) * Day, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New(`timeout is no duration, like "48h" or "7d"`)
	}
	return DurationOf(d), nil
}

func (answerKind) start(r *deciding, i int, p prepared) {
	r.take(i, Waiting, Claim{})
	s := &r.t.Steps[i]
	var early []Vote
	if r.err == nil && s.Answers != nil && !s.decided() {
		early = s.Answers.Votes
	}
	s.Wait.Until, s.Answers, s.Output = p.wakeAt, p.answers, nil
	r.refuseEarly(i, early)
	if p.atOnce {
		r.look(i)
		return
	}
	s.Wait.At = p.wakeAt
	r.question(i)
}

// resend emits what the claim, or the last reminder, has led to.
func (answerKind) resend(r *deciding, i int) {
	r.emitReminder(i)
	r.emitLook(i)
}

func (answerKind) woken(r *deciding, i int) {
	r.look(i)
	if r.t.Steps[i].State == Waiting && r.remind(i) {
		r.question(i)
	}
	r.advance()
}

// resume looks at an undecided step, and asks a decided one again (P33, P35).
func (answerKind) resume(r *deciding, i int) bool {
	s := &r.t.Steps[i]
	if s.State == Waiting {
		r.look(i)
	}
	if s.State == Waiting {
		r.goOnAsking(i)
	}
	return s.State == Failed && r.t.ProcessState == Processing
}

func (answerKind) validState(s *Step, _ *StepDefinition) bool {
	switch s.State {
	case Pending, Skipped:
		return !s.Attempted()
	case Failed:
		return !s.Attempted() || s.Attempt > 0
	case Waiting, Processed, Compensated:
		return s.Attempted() && s.Attempt > 0 && !s.Claim.Undo && s.Answers != nil
	}
	return false
}

// look ends a step whose need is complete or, in a task that goes forward, whose time is over. An answer goes
// before the time (P36).
func (r *deciding) look(i int) {
	s, d := &r.t.Steps[i], &r.def.Steps[i]
	decided, complete := s.Answers.complete()
	if !complete {
		if r.t.ProcessState != Processing || r.at.Now < s.Wait.At {
			return
		}
		decided = Decided{Value: d.Answer.TimeoutValue, By: ByTimeout}
		if decided.Value == nil {
			decided.Value = json.RawMessage("null")
			r.decide(i, decided, &StepError{Code: CodeAnswerTimeout, Message: "no answer came in time"})
			return
		}
	}
	switch failed := r.refusedAnswer(i, decided); {
	case r.err != nil:
	case failed != nil && r.t.ProcessState == Error: // P36: it waits for the Resubmit
	default:
		r.decide(i, decided, failed)
	}
}

// refusedAnswer is the step's failure where the value is a refusal.
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
		return &StepError{Code: CodeAnswerRefused, Message: "no answer came in time, which counts as " +
			string(decided.Value)}
	case d.Event != "":
		return &StepError{Code: CodeAnswerRefused,
			Message: "the event " + d.Event + " came with a value that the workflow refuses"}
	}
	return &StepError{Code: CodeAnswerRefused, Message: decided.By + " answered " + string(decided.Value)}
}

// decide ends the round. What was decided is the step's output, also where it has failed.
func (r *deciding) decide(i int, decided Decided, failed *StepError) {
	s := &r.t.Steps[i]
	decided.At = r.at.Now
	output, err := json.Marshal(decided)
	if err != nil { // its value was checked when it came
		r.err = fmt.Errorf("step %s: %w", s.Name, err)
		return
	}
	if r.def.Steps[i].Answer.Event != "" { // its value may be large, and stands in the output
		a := *s.Answers
		a.Votes, s.Answers = nil, &a
	}
	if failed == nil {
		r.finish(i, output)
		return
	}
	s.Output = output
	r.recordFailure(i, failed.Code, failed.Message, s.Attempt)
	r.failStep(i)
}

// policyOf returns the policy for the failure of a step. A step whose time was over has a policy of its own
// (P37).
func (r *deciding) policyOf(i int) Policy {
	d, s := &r.def.Steps[i], &r.t.Steps[i]
	if r.t.Overtaken(r.def, i) {
		return OnFailureContinue
	}
	if d.Answer != nil && d.Answer.OnTimeout != "" && s.Error != nil && s.Error.Code == CodeAnswerTimeout {
		return d.Answer.OnTimeout
	}
	return d.OnFailure
}

// decided reports a step whose round has ended with a decision.
func (s *Step) decided() bool { return s.Answers != nil && s.Output != nil }

// round is the present one of a step, from 1.
func (s *Step) round() int {
	if s.Answers == nil {
		return 1
	}
	return max(1, s.Answers.Round)
}

// excludes returns why a person may not answer, or "" if they may.
func (a *Answers) excludes(by string) string {
	switch {
	case by == ByToken && (a.Need > 1 || len(a.Who) > 0 || a.NotSelf != ""): // P39
		return "the answer names no person, and this step asks who answers"
	case a.NotSelf != "" && a.NotSelf == by:
		return by + " is excluded from answering this step (notSelf)"
	case len(a.Who) > 0 && !slices.Contains(a.Who, by):
		return by + " is not among those who may answer this step"
	}
	return ""
}

// complete is the value that enough people gave first, and they. The time is not set.
func (a *Answers) complete() (Decided, bool) {
	if a.Need == 0 {
		return Decided{}, false
	}
	for n := range a.Votes {
		var by []string
		for _, v := range a.Votes[:n+1] {
			if bytes.Equal(v.Value, a.Votes[n].Value) {
				by = append(by, v.By)
			}
		}
		if len(by) >= a.Need {
			return Decided{Value: a.Votes[n].Value, By: strings.Join(by, ", ")}, true
		}
	}
	return Decided{}, false
}
