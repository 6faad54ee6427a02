package protocol

import (
	"encoding/json"
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

func (s step) outputFits(output json.RawMessage) bool {
	if len(output) == 0 {
		return true
	}
	before := s.Output
	s.Output = output
	fits := s.at.SizeLimit.Fits(s.def, s.t)
	s.Output = before
	return fits
}

// outputTooLarge handles a do whose output cannot be stored. If the task goes forward, the step fails,
// because later steps need the output (P28, what is too large fails once). If a later attempt was sent, the
// step does not fail. If the task does not go forward, the step becomes Processed without the output (P24, an
// undo needs no output).
func (s step) outputTooLarge(e core.Reply) (string, error) {
	contradicted := s.NoEffect != 0
	s.NoEffect = 0 // this call had an effect (P22a, a proven refusal permits undo)
	text := fmt.Sprintf("the agent's output of %d bytes does not fit into the order's document of at most "+
		"%d, which holds those of the other steps and a reserve; let the agent store the data elsewhere "+
		"and return a reference", len(e.Output), s.at.SizeLimit)
	if s.t.ProcessState != core.Processing {
		s.recordFailure(core.CodeOutputTooLarge, text, e.Attempt)
		s.finish(nil)
		return "", nil
	}
	if e.Attempt < s.Attempt {
		if contradicted {
			return "", nil
		}
		return "its output does not fit into the order's document, and a later attempt was asked for", nil
	}
	if s.State == core.Processing { // otherwise the attempt was recorded when the step was handed back
		s.Failures.Do++
		s.recordAttempt(core.OutcomeFailed, core.CodeOutputTooLarge)
	}
	s.fail(core.CodeOutputTooLarge, text, e.Attempt)
	return "", nil
}

// SizeLimit is the largest size of a document, in bytes, so that the store accepts the document of every
// decision. Zero means no limit.
//
// A document has two parts. The reserve is for what Stepkeeper writes: states, times, causes, names and texts
// of a bounded length. Its size follows from the definition alone. The rest is for what people and services
// send: outputs, inputs, answers and the texts of failures and commands. A decision stores such data only if it
// fits beside the reserve. So each later event finds room for what it must store.
type SizeLimit int

// Sizes of the parts of a reserve, in bytes. A test compares them with the longest documents.
const (
	headerReserve   = 30 << 10 // order, ends, commands with their verdicts, attempts
	stepReserve     = 1080     // step with its last failure, without names
	namesOfStep     = 3        // times that a step contains its name
	finishReserve   = 20       // number of the status "step finished"
	codeReserve     = 150      // code of a failure after which the order goes on
	lateReserve     = 60       // deadline of a step
	remindReserve   = 1400     // record of the reminders of a step, with why the newest one was not sent
	markReserve     = 45       // time since which a step is no longer wanted
	progressReserve = 1320     // last progress
	answerReserve   = 7 << 10  // people and verdicts of a step that waits for an answer
	voteReserve     = 350      // vote, and the voter's name in the decision
	iteratedSize    = 50       // output of a step that is repeated, without that of its last iteration
	childrenReserve = 11 << 10 // open and failed children, without names
	endsReserve     = 1280     // ends of iterations
	passingReserve  = 1 << 10  // hashes of answers that were passed on
)

// InlineOrder is the length in bytes of the longest order that is stored within its task's document. A longer
// order is stored in an item or row of its own, which is written once, and not with each commit.
const InlineOrder = 1 << 10

// Reserve returns the bytes of the document that are kept free from the data of people and services. A
// definition whose reserve is over the limit of documents cannot run.
func Reserve(def *core.Definition) int {
	n := headerReserve + InlineOrder
	if def == nil { // the task of an early Cancel has no definition
		return n
	}
	serves := map[string]bool{} // by name, because Link has not run yet when a definition is measured
	for i := range def.Steps {
		for _, name := range def.Steps[i].Servants() {
			serves[name] = true
		}
	}
	for i := range def.Steps {
		d := &def.Steps[i]
		n += stepReserve + namesOfStep*len(d.Name) + longestOf(d.Others)
		if def.Notifies(core.StatusStepFinished) {
			n += finishReserve
		}
		if d.OnFailure == core.OnFailureContinue || d.HasDeadline() || serves[d.Name] {
			n += codeReserve
		}
		if serves[d.Name] || d.HasDeadline() {
			n += markReserve
		}
		if d.HasDeadline() {
			n += lateReserve
		}
		if d.Remind != nil {
			n += remindReserve
		}
		switch {
		case d.Any != nil:
			n += anyReserve(d.Any)
		case d.Answer != nil:
			n += answersReserve(d.Answer)
		case d.Each != nil:
			n += childrenReserve + core.MaxConcurrency*len(d.Name)
			if d.Each.Collect {
				n += core.MaxCollected
			}
			if d.Each.Repeat != nil {
				n += endsReserve
			}
			if len(d.Each.Events) > 0 {
				n += passingReserve
			}
		case d.MaxDuration > 0:
			n += progressReserve
		}
	}
	return n
}

// anyReserve has room for the names of all members, because a Move can change how many decide.
func anyReserve(a *core.Any) int {
	n := 10
	for _, m := range a.Members {
		n += len(m) + 3
	}
	return n
}

func longestOf(all []string) (n int) {
	for _, s := range all {
		n = max(n, len(s))
	}
	return n
}

// answersReserve has room for the values that the definition gives: those of all votes, and of the decision.
func answersReserve(d *core.Answer) int {
	value := len(d.TimeoutValue)
	for _, v := range d.Values {
		value = max(value, 2+quoted(v))
	}
	votes := max(1, d.Attempts) // of an event, those to come too (P56, answers pass through)
	if d.Event == "" {
		votes = core.MaxVoters
	}
	return answerReserve + votes*(voteReserve+value) + value
}

// Fits reports whether the data of people and services in the task fits beside the reserve.
func (m SizeLimit) Fits(def *core.Definition, t *Task) bool {
	return m == 0 || Reserve(def)+given(def, t) <= int(m)
}

// given returns the size of the data of people and services, of members that only newer versions know, and of
// what steps of earlier definitions have left.
func given(def *core.Definition, t *Task) int {
	n := len(t.Output) + unknownSize(t.Unknown) + verdictTexts(t.Commands.Verdicts)
	// The loop may go in any order, because the result is a sum.
	for name := range t.Attempts.Removed {
		n += len(name) + 30
	}
	for _, s := range t.EndSteps {
		n += len(s.Step) + 70
	}
	if def != nil {
		for i := range t.Steps {
			n += givenOf(&def.Steps[i], &t.Steps[i])
		}
	}
	return n
}

func givenOf(d *core.StepDefinition, s *Step) int {
	n := unknownSize(s.Unknown) + leftOver(d, s)
	if c := s.Corrected; c != nil {
		n += 128 + len(c.Input) + quoted(c.By) + quoted(c.Reason)
	}
	if e := s.Error; e != nil && (e.Message != "" || e.Code != core.ShortCode(e.Code)) {
		n += quoted(e.Code) + quoted(e.Message)
	}
	if s.Passing != nil {
		n += passedSize(s.Passing.Answers)
	}
	output := len(s.Output)
	switch {
	case d.Answer != nil && s.Answers != nil:
		votes := 0
		for _, v := range s.Answers.Votes {
			votes += len(v.Value)
		}
		n += verdictTexts(s.Answers.Verdicts)
		if d.Answer.Event == "" { // the reserve includes every vote and the decision
			return n + max(0, output-answersReserve(d.Answer))
		}
		return n + votes + max(votes, output) // the value becomes the output
	case d.Each != nil && d.Each.Collect: // the reserve includes what can be collected
		return n + max(0, output-core.MaxCollected)
	case s.Children != nil: // the only child's output becomes the output of the step
		for _, r := range s.Children.Results {
			output = max(output, 2*(len(r.Output)+collectedSize))
		}
		output = max(output, 2*(len(s.Children.Last)+iteratedSize))
	}
	return n + output
}

// leftOver returns the size of what an earlier definition has left in the step, and for which the reserve of the
// present one has no room (P49, move pins another definition).
func leftOver(d *core.StepDefinition, s *Step) (n int) {
	if d.Remind == nil && s.Reminded != (Reminded{}) {
		n += remindReserve
	}
	if !d.HasDeadline() && s.Late.Seq > 0 {
		n += lateReserve + markReserve + codeReserve
	}
	if s.Passing != nil && (d.Each == nil || len(d.Each.Events) == 0) {
		n += passingReserve
	}
	if s.Children != nil && len(s.Children.Ends) > 0 && (d.Each == nil || d.Each.Repeat == nil) {
		n += endsReserve
	}
	if s.Answers != nil && d.Answer != nil && d.Answer.Event != "" {
		n += voteReserve * max(0, len(s.Answers.Votes)-max(1, d.Answer.Attempts))
	}
	return n
}

func verdictTexts(all []Verdict) (n int) {
	for i := range all {
		if v := &all[i]; v.Long() {
			n += quoted(v.Reason) + quoted(v.By) + quoted(v.Note)
		}
	}
	return n
}

func unknownSize(members map[string]json.RawMessage) (n int) {
	// The loop may run in any order, because the result is a sum.
	for name, v := range members {
		n += 4 + quoted(name) + len(v)
	}
	return n
}

// quoted returns the length of a text in JSON.
func quoted(s string) int {
	n := len(s)
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ':
			n += 5 // as in \u0001
		case c == '"' || c == '\\':
			n++
		}
	}
	return n
}

const noReason = "the order has no room for the reason"
