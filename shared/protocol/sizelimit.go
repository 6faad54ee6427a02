package protocol

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

func (s step) outputFits(output json.RawMessage) bool {
	if len(output) == 0 || s.at.SizeLimit.SurelyFits(s.def, s.t, output) {
		return true
	}
	c := s.t.Clone()
	c.Steps[s.i].Output = output
	return s.at.SizeLimit.KeepsReserve(s.def, c)
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
		"and return a reference", len(e.Output), s.at.SizeLimit.Limit)
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
	s.recordFailure(core.CodeOutputTooLarge, text, e.Attempt)
	s.giveUp()
	return "", nil
}

// SizeLimit limits the size of stored tasks, so that the store accepts the document of every decision. The
// zero value sets no limit.
//
// Every stored task keeps a reserve free. The reserve is the space for the longest values that later events
// must store (see longest). An output, or the reason of a verdict, is stored only if the reserve stays free.
// The texts of failures are cut if their space is needed (see Trim). So each later event finds room for its
// data.
type SizeLimit struct {
	Limit int             // limit of a document, in bytes
	Size  func(*Task) int // size of a task's document in bytes; a pure function
	// Inline is the length in bytes of the longest order that is stored within its task's document. 0 means
	// the result of the function InlineOrder.
	Inline int
}

// InlineOrder returns the length in bytes of the longest order that is stored within its task's document.
func (m SizeLimit) InlineOrder(def *core.Definition) int { return cmp.Or(m.Inline, InlineOrder(def)) }

// Reserve returns the size of the longest document of a new task, without the outputs and failure texts of
// its steps. A definition whose reserve is over the limit cannot run. The document contains the order,
// because the order is longer than its hash.
func (m SizeLimit) Reserve(def *core.Definition) int {
	id := strings.Repeat("x", core.MaxID)
	return m.Size(longest(def, &Task{
		OrderID: id, Workflow: def.Name, Definition: core.DefinitionHash(nil),
		Order:    json.RawMessage(strconv.Quote(strings.Repeat("x", m.InlineOrder(def)-2))),
		Priority: "normal", ReplyTo: id, Created: 1, Steps: make([]Step, len(def.Steps)),
	}))
}

// Fits reports whether the document fits. It allows for later commits that only move the due and resend times or
// settle the end.
func (m SizeLimit) Fits(t *Task) bool {
	if m.Size == nil || upperBound(t) <= m.Limit {
		return true
	}
	c := *t
	c.Version = maxCount
	c.Attention = true
	c.Due = farAfter(t)
	c.End.ResendAt = farAfter(t)
	c.Undelivered = slices.Clone(t.Undelivered)
	for i := range c.Undelivered {
		c.Undelivered[i].ResendAt = farAfter(t)
	}
	return m.Size(&c) <= m.Limit
}

// KeepsReserve reports whether the task keeps its reserve free beside its present outputs and reasons.
func (m SizeLimit) KeepsReserve(def *core.Definition, t *Task) bool {
	return m.SurelyFits(def, t, nil) || m.Size(longest(def, t)) <= m.Limit
}

// SurelyFits reports whether the task certainly keeps its reserve with one more output. It only estimates the
// size, so the output may fit even if the result is false.
func (m SizeLimit) SurelyFits(def *core.Definition, t *Task, output json.RawMessage) bool {
	if m.Size == nil {
		return true
	}
	if def == nil { // the task of an early Cancel has no definition
		return upperBound(t) <= m.Limit
	}
	n := upperBound(t) + roughStep*len(t.Steps) + 3*len(output)
	for i := range def.Steps {
		if def.Steps[i].Answer != nil {
			n += roughAnswer
		}
		if def.Steps[i].Each != nil {
			n += roughChildren
		}
		if def.Steps[i].MaxDuration > 0 {
			n += roughProgress
		}
	}
	return n <= m.Limit
}

// Bounds of parts of a stored task.
const (
	maxCount = 1<<63 - 1  // largest value of a counter of the task
	manyOf   = 10_000_000 // upper bound of a step's counters
	// roughHeader and roughStep are upper bounds, in bytes, of the names, numbers and times of a
	// document and of one step. The other rough bounds are in bytes too.
	roughHeader   = 16 << 10
	roughStep     = 1 << 10
	roughAnswer   = 32 << 10 // upper bound of a step's answers, without the value of an event
	roughChildren = 96 << 10 // upper bound of a step's record of children
	roughProgress = 2 << 10  // upper bound of a step's progress, and of an Undelivered
	maxReceivers  = 2        // a reply-to, and the event bus
	longTime      = 30 * 365 * core.Day
)

// farAfter returns a time that is later than all times of a task. In JSON, it is at least as long as each of
// them.
func farAfter(t *Task) core.Time { return max(t.Created, 1).Add(longTime) }

// upperBound returns an upper bound of the document's size, without encoding the document. It counts six
// bytes for each byte of text. It counts three bytes for each byte of JSON, such as an output.
func upperBound(t *Task) int {
	n := roughHeader + roughStep*len(t.Steps) +
		6*(len(t.Reason.Text)+len(t.Reason.Code)+len(t.Undo.Reason.Code)+len(t.Undo.Reason.Text)) +
		3*(len(t.Order)+len(t.Output)+unknownSize(t.Unknown)) + roughStep*len(t.Attempts.Removed) +
		roughProgress*maxReceivers
	for i := range t.Commands.Verdicts {
		n += roughStep + 6*t.Commands.Verdicts[i].text()
	}
	n += roughStep * len(t.Attempts.Last)
	for i := range t.Steps {
		s := &t.Steps[i]
		n += 3 * (len(s.Output) + unknownSize(s.Unknown))
		if s.Children != nil {
			n += roughChildren
		}
		if s.Claim.Progress != nil {
			n += roughProgress
		}
		if g := s.Corrected; g != nil {
			n += roughStep + 3*len(g.Input) + 6*(len(g.By)+len(g.Reason))
		}
		if s.Answers != nil {
			n += roughAnswer
			for _, v := range s.Answers.Votes {
				n += 3 * len(v.Value)
			}
			for i := range s.Answers.Verdicts {
				n += 6 * s.Answers.Verdicts[i].text()
			}
		}
		if s.Error != nil {
			n += 6 * (len(s.Error.Code) + len(s.Error.Message))
		}
	}
	return n
}

func unknownSize(fields map[string]json.RawMessage) (n int) {
	// The loop may run in any order, because the result is a sum.
	for name, v := range fields {
		n += 8 + len(name) + len(v)
	}
	return n
}

// longest returns a copy of the task with the longest values that later events may store. Only the lengths of
// the values matter. Outputs and the reasons of verdicts keep at least their length.
func longest(def *core.Definition, t *Task) *Task {
	c := t.Clone()
	far := farAfter(t)
	c.Version = maxCount
	c.ProcessState = core.Compensating
	c.Phase = core.Forward
	c.Undo.Why = WhyOperator
	c.Undo.CancelAsked = true
	c.Attention = true
	for _, n := range []*int{
		&c.Run, &c.Commands.Number, &c.Hops, &c.StatusSeq, &c.Told, &c.Start.Seq, &c.End.Seq, &c.End.Command,
		&c.Deadline.Seq,
	} {
		*n = maxCount
	}
	for _, at := range []*core.Time{&c.Start.At, &c.End.At, &c.Deadline.At, &c.End.ResendAt, &c.Due} {
		*at = far
	}
	if def != nil && def.Tokens { // the task of an early Cancel has no definition
		c.TokenKey = strings.Repeat("x", core.KeyIDLength)
	}
	c.Parent = &core.Parent{
		OrderID: strings.Repeat("x", core.MaxID), Run: manyOf, Step: strings.Repeat("x", core.MaxID),
		Index: core.MaxChildren, Attempt: manyOf,
	}
	// The name may belong to a step of an earlier definition (P49, move pins another definition).
	name := t.Reason.Step
	if len(t.Undo.Reason.Step) > len(name) {
		name = t.Undo.Reason.Step
	}
	for i := range t.Steps {
		if d := def.Steps[i].Name; len(d) > len(name) {
			name = d
		}
	}
	c.Undelivered = slices.Repeat([]core.Undelivered{{
		ReplyTo: strings.Repeat("x", core.MaxID), First: maxCount,
		Reason: strings.Repeat("\x00", core.MaxNote), Since: far, ResendAt: far,
	}}, maxReceivers)
	cause := "reply/" + name + "/10000000/" + string(core.OutcomeRetryLater)
	c.Start.Cause = cause
	c.End.Cause = cause
	c.Reason.Step = name
	c.Undo.Reason = Reason{Step: name, Code: strings.Repeat("x", core.MaxShortCode)}
	c.Reason.Code = strings.Repeat("\x00", core.MaxCode)
	c.Reason.Text = strings.Repeat("\x00", core.MaxMessage)
	// An erasure needs no space of its own, because it removes the texts of Reason and Closing.
	c.Closing = &Closing{By: strings.Repeat("\x00", core.MaxID), Reason: strings.Repeat("\x00", core.MaxMessage)}
	c.Attempts.Last = []Attempt{{Step: name, Number: 1, Began: far, Ended: far, Outcome: core.OutcomeFailed}}
	c.Attempts.Earlier = Earlier{Failed: manyOf, Later: manyOf, Overdue: manyOf, Superseded: manyOf}
	c.Commands.Verdicts, c.Commands.Refused = longestVerdicts(t, far)
	for i := range c.Steps {
		c.Steps[i] = longestStep(c, def, i, cause)
	}
	return c
}

func longestVerdicts(t *Task, far core.Time) ([]Verdict, map[string][]string) {
	all := make([]Verdict, MaxVerdicts)
	for i := range all {
		all[i] = Verdict{
			ID: strings.Repeat("x", core.MaxID), Command: "resubmit", Reason: noReason, At: far,
		}
		if i < len(t.Commands.Verdicts) {
			all[i].Reason += t.Commands.Verdicts[i].Reason
			all[i].By = t.Commands.Verdicts[i].By
			all[i].Note = t.Commands.Verdicts[i].Note
		}
	}
	refused := map[string][]string{}
	for _, command := range append(slices.Clip(core.CommandNames), AheadCommand) {
		refused[command] = slices.Repeat([]string{ShortHash(command)}, MaxRefused)
	}
	return all, refused
}

func longestStep(t *Task, def *core.Definition, i int, cause string) Step {
	d := &def.Steps[i]
	s := &t.Steps[i]
	far := farAfter(t)
	c := Step{
		Name: d.Name, State: core.Compensating, Claim: Claim{
			By: strings.Repeat("x", core.MaxName), Cause: cause,
			At: far, StopBy: far - 3, Allowance: longTime,
		}, Attempt: manyOf,
		First: First{Nth: manyOf, At: far - 1}, Failures: Failures{Do: manyOf, Queued: longTime},
		CompleteBy: far - 2,
		Stops:      Stops{Do: far - 4, Undo: far - 5},
		Wait:       StepWait{At: far, Until: far}, Finish: Finish{At: far},
		EndState: core.Compensating, NoEffect: far - 6,
		Error: &StepError{
			Code: strings.Repeat("x", core.MaxShortCode), At: far, Attempt: manyOf, Since: far,
			Polling: far,
		},
		Resolved: &core.Resolved{Fact: core.NotHappened, Command: manyOf, At: far},
		Output:   s.Output, Corrected: s.Corrected, Unknown: s.Unknown,
	}
	for _, name := range d.Others {
		if len(name) > len(c.Claim.Agent) {
			c.Claim.Agent = name
		}
	}
	if d.Answer != nil {
		c.Answers = longestAnswers(d.Answer, s.Answers, far)
		// The output may be the decision of this round, or of a later round.
		if longest := longestDecision(d.Answer, far); len(c.Output) < len(longest) {
			c.Output = longest
		}
	}
	if d.Each != nil {
		c.Claim.Undo = true
		c.Children = longestChildren(d.Each, s.Children, cause)
	}
	if d.MaxDuration > 0 || s.Claim.Progress != nil {
		c.Claim.Progress = &StepProgress{Percent: 100, Note: strings.Repeat("\x00", core.MaxNote), At: far}
	}
	if d.Undo != nil || s.Claim.Undo { // the present definition, or an earlier one, has an undo (P49)
		c.Claim.Undo = true
		c.Failures.Undo = manyOf
	}
	// The loop compares names, because Link has not run yet when a definition is measured.
	ask := slices.ContainsFunc(def.Steps, func(o core.StepDefinition) bool {
		return o.Answer != nil && o.Answer.Ask == d.Name
	})
	if d.OnFailure == core.OnFailureContinue || ask || s.FailureCode != "" {
		c.FailureCode = strings.Repeat("x", core.MaxCode)
	}
	if def.Notifies(core.StatusStepFinished) || s.Finish.Seq != 0 {
		c.Finish.Seq = manyOf
		c.Finish.Cause = cause
	}
	return c
}

// longestChildren returns the longest Children of a step. The result includes the collected outputs, which
// later become the step's output.
func longestChildren(d *core.Each, have *Children, cause string) *Children {
	c := &Children{
		Count: manyOf, Next: manyOf, Started: manyOf, Cursor: manyOf, Failed: manyOf,
		FailedAt: slices.Repeat([]int{core.MaxChildren}, maxFailedAt),
		Reason:   strings.Repeat("\x00", core.MaxMessage), Stopped: true, Rounds: manyOf,
	}
	// Open has MaxConcurrency children, because a Move can lower the limit of the definition.
	open := OpenChild{Index: core.MaxChildren, Cause: cause, State: string(core.ChildProcessed)}
	c.Open = slices.Repeat([]OpenChild{open}, core.MaxConcurrency)
	if d.Collect {
		c.Results = []Collected{{
			Index:  core.MaxChildren,
			Output: json.RawMessage(strconv.Quote(strings.Repeat("x", core.MaxCollected))),
		}}
	} else if have != nil {
		c.Results = have.Results
	}
	return c
}

// longestAnswers returns the longest Answers of a step. It keeps the value of an event that is already
// stored.
func longestAnswers(d *core.Answer, have *Answers, far core.Time) *Answers {
	name := strings.Repeat("x", core.MaxAnswerBy)
	a := &Answers{
		Round: manyOf, Reminded: manyOf, RemindedAt: far, Moved: true, Need: core.MaxVoters,
		Who: make([]string, core.MaxVoters), NotSelf: name, Verdicts: make([]Verdict, MaxVerdicts),
	}
	for i := range a.Who {
		a.Who[i] = name
	}
	vote := Vote{By: name, Value: json.RawMessage("0"), At: far}
	if d.Event == "" {
		vote.Value = longestValue(d)
		a.Votes = slices.Repeat([]Vote{vote}, core.MaxVoters)
	} else {
		if have != nil && len(have.Votes) > 0 {
			vote.Value = have.Votes[0].Value
		}
		a.Votes = []Vote{vote}
	}
	for i := range a.Verdicts {
		a.Verdicts[i] = Verdict{ID: strings.Repeat("x", core.MaxID), Command: "answer", Reason: noReason, At: far}
		if have != nil && i < len(have.Verdicts) {
			a.Verdicts[i].Reason += have.Verdicts[i].Reason
			a.Verdicts[i].By = have.Verdicts[i].By
			a.Verdicts[i].Note = have.Verdicts[i].Note
		}
	}
	return a
}

func longestDecision(d *core.Answer, far core.Time) json.RawMessage {
	by := strings.Repeat("x", core.MaxVoters*(core.MaxAnswerBy+2))
	if d.Event != "" {
		by = strings.Repeat("x", core.MaxAnswerBy)
	}
	b, _ := core.Marshal(Decided{Value: longestValue(d), By: by, At: far})
	return b
}

func longestValue(d *core.Answer) json.RawMessage {
	longest := json.RawMessage("null")
	if len(d.TimeoutValue) > 0 {
		longest = d.TimeoutValue
	}
	for _, v := range d.Values {
		if b, _ := core.Marshal(v); len(b) > len(longest) {
			longest = b
		}
	}
	return longest
}

const noReason = "the order has no room for the reason"

// InlineOrder returns the default of SizeLimit.Inline: the length in bytes of the longest order that is
// stored within its task's document. A longer order is stored in an item or row of its own.
//
// The length follows from the bill of DynamoDB, which rounds the size of each write up to whole KiB. An order
// that fits into the first KiB beside the rest of the document adds no cost. A longer order can make each
// commit cost one write unit more. An order in an item of its own costs about as much as 1.3 writes. The
// sizes below were measured with small outputs (docs/explanation/cost.md).
func InlineOrder(def *core.Definition) int {
	const kibibyte, spare, header, step, least = 1 << 10, 45, 300, 85, 100
	room := kibibyte - spare - header
	for i := range def.Steps {
		room -= step + len(def.Steps[i].Name)
	}
	return max(room, least)
}

// Trim shortens texts for people until the document fits, in this order:
//   - It reduces the failures of steps to their codes, the oldest first.
//   - It reduces the attempts to their counts, the oldest first.
//   - It removes the text of an undo that has stopped.
//   - It removes the texts of verdicts. Only a task of an earlier version, which kept no reserve, needs
//     this.
//
// Trim keeps the values of the final status and the alert (P12, effects are emitted again).
func (m SizeLimit) Trim(t *Task) {
	if m.Fits(t) {
		return
	}
	var texts []int
	for i := range t.Steps {
		if t.Steps[i].Error != nil {
			texts = append(texts, i)
		}
	}
	slices.SortStableFunc(texts,
		func(a, b int) int { return int(t.Steps[a].Error.At.Sub(t.Steps[b].Error.At)) })
	// Each round cuts an eighth of the texts, so that few measurements are needed and few texts are lost.
	for from, step := 0, max(1, len(texts)/8); from < len(texts); from += step {
		for _, i := range texts[from:min(from+step, len(texts))] {
			e := *t.Steps[i].Error
			e.Code = core.ShortCode(e.Code)
			e.Message = ""
			t.Steps[i].Error = &e
		}
		if m.Fits(t) {
			return
		}
	}
	// Each round halves the list, so that few measurements are needed.
	for keep := len(t.Attempts.Last) / 2; len(t.Attempts.Last) > 0; keep /= 2 {
		t.DropAttempts(keep)
		if m.Fits(t) {
			return
		}
	}
	t.Undo.Reason.Code = core.ShortCode(t.Undo.Reason.Code)
	t.Undo.Reason.Text = ""
	if m.Fits(t) {
		return
	}
	t.Commands.Verdicts = slices.Clone(t.Commands.Verdicts)
	for i := range t.Commands.Verdicts {
		if v := &t.Commands.Verdicts[i]; v.Long() {
			v.Drop()
		}
	}
}
