package protocol

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

const (
	firstRound  = 10 * core.Minute
	lastRound   = 6 * core.Hour
	maxFailedAt = 20 // failed children whose indexes a step keeps
)

// Pause returns how long the step waits before it asks all open children again. The pause doubles with each
// round, up to lastRound.
func (c *Children) Pause() core.Duration { return min(firstRound<<min(c.Rounds, 10), lastRound) }

// OwnChildren gives the step its own copy of Children, and returns the copy.
func (s *Step) OwnChildren() *Children {
	c := *s.Children
	c.Open = slices.Clone(c.Open)
	c.FailedAt = slices.Clip(c.FailedAt)
	s.Children = &c
	return &c
}

// Close removes the matching children from Open.
func (c *Children) Close(match func(OpenChild) bool) {
	c.Open = slices.DeleteFunc(c.Open, match)
	if len(c.Open) == 0 {
		c.Open = nil
	}
}

// ask records the cause of a request to all open children. If it asks for something else, what they have reported
// before does not count.
func (c *Children) ask(cause string, other bool) {
	for n := range c.Open {
		c.Open[n].Cause = cause
		if other {
			c.Open[n].State = ""
		}
	}
}

// At returns the position in Open of the child with the index, or -1.
func (c *Children) At(index int) int {
	if c == nil {
		return -1
	}
	return slices.IndexFunc(c.Open, func(o OpenChild) bool { return o.Index == index })
}

// Opened reports whether an open child has this cause, which is the cause of the last request to the child.
func (c *Children) Opened(cause string) bool {
	return c != nil && slices.ContainsFunc(c.Open, func(o OpenChild) bool { return o.Cause == cause })
}

// Fail counts a failed child.
func (c *Children) Fail(index int, code, message string) {
	c.Failed++
	if len(c.FailedAt) < maxFailedAt {
		c.FailedAt = append(c.FailedAt, index)
	}
	if c.Reason == "" {
		c.Reason = core.TrimMessage(core.PlainCode(cmp.Or(code, core.CodeFailed)) + ": " + message)
	}
}

// Tolerates returns how many children may fail.
func (c *Children) Tolerates(d *core.Each) int {
	if c.Enough > 0 {
		return c.Count - c.Enough
	}
	return d.Tolerate
}

// UndoesChildren reports whether the children that are open are asked for their undo.
func (s *Step) UndoesChildren() bool { return s.Claim.Undo || s.State == core.Settling }

// Output returns the output of a step that has a list of children. If collect is true, the output contains
// the outputs of the children, and which of them have decided the step, in the order in which they ended.
func (c *Children) Output(collect bool) json.RawMessage {
	out := struct {
		Count   int               `json:"count"`
		Failed  int               `json:"failed"`
		Won     []int             `json:"won,omitzero"`
		Results []json.RawMessage `json:"results,omitzero"`
	}{Count: c.Count, Failed: c.Failed}
	if collect && c.Enough > 0 {
		out.Won = []int{}
		for _, have := range c.Results {
			out.Won = append(out.Won, have.Index)
		}
	}
	if collect {
		out.Results = make([]json.RawMessage, c.Count)
		for _, have := range c.Results {
			if have.Index < c.Count {
				out.Results[have.Index] = have.Output
			}
		}
	}
	b, _ := core.Marshal(out) // Marshal cannot fail for valid JSON and numbers
	return b
}

// Running reports whether a child is open and can still be undone.
func (c *Children) Running() bool {
	return c != nil && slices.ContainsFunc(c.Open, func(o OpenChild) bool { return !o.inDoubt() })
}

// OpenChildren returns the IDs of the children that the step waits for. Each of them got a request and has
// not reported an end.
func (t *Task) OpenChildren(s *Step) (ids []string) {
	waits := s.State == core.Waiting || s.State == core.Settling
	if !waits || s.Children == nil || t.Terminal() {
		return nil
	}
	for _, o := range s.Children.Open {
		if !o.inDoubt() {
			ids = append(ids, core.Parent{OrderID: t.OrderID, Run: t.Run, Step: s.Name, Index: o.Index}.ChildID())
		}
	}
	return ids
}

// inDoubt reports whether the child can no longer be undone, because it was closed or is no longer stored.
func (o OpenChild) inDoubt() bool {
	return o.State == string(core.ChildClosed) || o.State == string(core.ChildExpired)
}

// ResolveRefusal returns why a fact about the children is refused, or "" if the fact is accepted.
func (c *Children) ResolveRefusal(fact core.Fact) string {
	switch {
	case c == nil || !slices.ContainsFunc(c.Open, OpenChild.inDoubt):
		return "the step has child tasks, and none of them is in doubt: each has an end of its own; fix: " +
			"resolve a step of a child that has stopped, then resubmit the child"
	case fact != core.Undone:
		return "children of the step were closed, or are no longer stored, and cannot be undone; fix: " +
			"undo by hand what they did, and resolve the step as undone"
	}
	return ""
}

// enough evaluates how many of the children must end well (P54, the first of several decides). It returns 0 for a step
// that needs all of them. Its errors contain no data of the order.
func (s step) enough(count int) (int, error) {
	if s.d.Each.Enough == nil || !s.orderKnown() {
		return 0, nil
	}
	if count == 0 {
		return 0, &core.Fail{Code: core.CodeNoneLeft, Message: "each is an empty list, so no child can end well"}
	}
	text, err := s.def.Expr.Value(core.PartEnough, s.i, s.environment(false))
	if err != nil {
		return 0, err
	}
	var n core.Whole
	if n.UnmarshalJSON(text) != nil || n < 1 || int(n) > count {
		return 0, fmt.Errorf("enough must be a whole number from 1 to %d, the number of elements of each", count)
	}
	return int(n), nil
}

// decideChildren decides a list of which enough children have ended well. No more start, and the open ones have lost:
// they are undone, while the steps after this one begin. A Move keeps how many are enough, as the claim has stored it.
func (s step) decideChildren() {
	c := s.Children
	mode := modeOf(s.t)
	ended := c.Next - len(c.Open) - c.Failed
	if c.Enough == 0 || ended < c.Enough || c.Stopped || s.Withdrawn != 0 || mode != going && mode != errForward {
		return
	}
	output := c.Output(s.d.Each.Collect)
	c.Results = nil
	c.Rounds = 0
	if !s.outputFits(output) {
		s.stopChildren(tooMuchCollected)
		return
	}
	s.finish(output)
	s.State = core.Settling
}

// settleChildren asks the children that have lost for their undo, and again when the time has come. The step ends when
// the last of them is undone.
func (s step) settleChildren() {
	c := s.OwnChildren()
	switch {
	case len(c.Open) == 0:
		s.release()
		s.State = core.Processed
		return
	case !s.due(s.at.Now):
		return
	case s.Wait.At == 0: // decided by this event, or taken up by a Resubmit
		c.ask(s.cause, true)
	default:
		c.Rounds++
	}
	s.askOpen("")
	if s.err == nil {
		s.wait(s.at.Now.Add(c.Pause()))
	}
}
