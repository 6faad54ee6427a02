package protocol

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// codeExhausted is the code of a step whose condition is false after all of its iterations.
const codeExhausted = "exhausted"

// keepLast stores the output of an iteration, from which the next one begins (P57, a block can be repeated).
func (s step) keepLast(e core.ChildEnded) {
	c := s.Children
	before := c.Last
	c.Judge = true
	c.Last = e.Output
	if len(c.Last) <= core.MaxCollected && s.at.SizeLimit.Fits(s.def, s.t) {
		return
	}
	c.Last = before
	s.stopChildren(fmt.Sprintf("%s: the output of iteration %d takes more than %d bytes, or has no room in the "+
		"order's document; let the block return less", core.CodeOutputTooLarge, e.Parent.Index, core.MaxCollected))
}

// addEnd records the end of the latest iteration. Those before it only tell their ends again, after a Resubmit.
func (c *Children) addEnd(e IterationEnd) {
	known := len(c.Ends) > 0 && c.Ends[len(c.Ends)-1].Index == e.Index &&
		c.Ends[len(c.Ends)-1].State == core.ChildProcessed
	if e.Index < c.Started-1 || known {
		return
	}
	c.Ends = append(slices.Clip(c.Ends), e)
	c.Ends = c.Ends[max(0, len(c.Ends)-MaxEnds):]
}

// lookAtIterations continues a step that is repeated: it ends the step, or starts the next iteration when its time has
// come. It waits while an iteration is open.
func (s step) lookAtIterations() {
	c := s.OwnChildren()
	if !c.Stopped && c.Failed > s.d.Each.Tolerate {
		c.Stopped = true
	}
	switch {
	case len(c.Open) > 0:
	case c.Stopped:
		s.failChildren()
	case c.Judge && s.judge(), s.err != nil:
	case c.Next >= max(s.d.Each.Repeat.AtMost, c.Started):
		s.exhausted()
	case !s.pauses():
		s.startIteration()
	}
}

// judge evaluates the condition about the iteration that has ended. It reports whether the step has ended by it. If
// another iteration followed before a Resubmit, the condition was false, and is not evaluated again.
func (s step) judge() (ended bool) {
	c := s.Children
	if c.Next < c.Started {
		c.Judge = false
		return false
	}
	if !s.orderKnown() {
		return false
	}
	env := s.environment(false)
	env.Item = c.Last
	env.Index = c.Next - 1
	met, err := s.def.Expr.Holds(core.PartUntil, s.i, env)
	c.Judge = false
	switch {
	case err != nil:
		s.fail("expression", "until: "+err.Error(), s.Attempt)
	case met:
		s.endIterations(false)
	default:
		return false
	}
	return true
}

// pauses reports whether the time between two iterations is not over. The time is fixed once, in Wait.Until.
func (s step) pauses() bool {
	c := s.Children
	every := s.d.Each.Repeat.Every
	if s.Wait.Until == 0 && every > 0 && c.Next > 0 && c.Next >= c.Started {
		if s.at.LongestWait > 0 {
			every = min(every, s.at.LongestWait)
		}
		s.Wait.Until = s.at.Now.Add(every)
	}
	if s.Wait.Until <= s.at.Now {
		return false
	}
	if s.Wait.At != s.Wait.Until || s.CompleteBy == 0 {
		s.wait(s.Wait.Until)
	}
	return true
}

// Pauses reports whether the step waits for the time of its next iteration.
func (c *Children) Pauses(s *Step) bool {
	return c != nil && len(c.Open) == 0 && s.State == core.Waiting && !s.Claim.Undo && s.Wait.Until != 0
}

// startIteration starts the next iteration. One that has ended before a Resubmit answers with its end, or begins its
// next run if it was undone; it is asked without an order.
func (s step) startIteration() {
	c := s.Children
	n := c.Next
	ended := n < c.Started
	switch err := s.open(n, core.AskStart, ended); {
	case s.err != nil:
		return
	case err != nil:
		s.cannotBegin(n, "expression", err.Error())
		s.failChildren()
		return
	}
	s.Wait.Until = 0
	c.Next++
	c.Started = max(c.Started, c.Next)
	c.Count = max(s.d.Each.Repeat.AtMost, c.Started)
	c.Rounds = 0
}

// cannotBegin stops a step whose next iteration has no order, or one that was refused. No later iteration could begin
// either, because the output of the last one stays. The iteration does not exist, so an undo must not ask it, and a
// Resubmit asks it with its order.
func (s step) cannotBegin(n int, code, message string) {
	c := s.Children
	c.Reason = "" // that of an iteration which was tolerated
	c.Fail(n, code, message)
	c.Stopped = true
	c.Next = n
	c.Started = n
}

// undoIterations prepares an undo in reverse. Only the last iteration may be open for the first time. One that was
// asked again after a Resubmit has its turn.
func (c *Children) undoIterations() {
	c.Close(func(o OpenChild) bool { return o.Ended })
	c.Cursor -= len(c.Open)
}

// exhausted ends a step whose condition is false after all of its iterations.
func (s step) exhausted() {
	if s.d.Each.Repeat.OnExhausted == core.OnExhaustedKeep {
		s.endIterations(true)
		return
	}
	s.fail(codeExhausted, fmt.Sprintf("the condition of its repeat is still false after iteration %d", s.Children.Next),
		s.Attempt)
}

// isExhausted reports whether the step has failed because of the number of its iterations.
func (s *Step) isExhausted(d *core.StepDefinition) bool {
	return d.Each != nil && d.Each.Repeat != nil && s.Error != nil && s.Error.Code == codeExhausted &&
		s.Children != nil && s.Children.Failed <= d.Each.Tolerate
}

// endIterations ends a step after its last iteration.
func (s step) endIterations(exhausted bool) {
	c := s.Children
	output, _ := core.Marshal(struct { // Marshal cannot fail for valid JSON and numbers
		Count     int             `json:"count"`
		Exhausted bool            `json:"exhausted"`
		Last      json.RawMessage `json:"last"`
	}{c.Next, exhausted, c.Last})
	c.Count = c.Next
	c.Last = nil
	s.finishIfFits(output, "let the block return less")
}
