package protocol

import (
	"cmp"
	"encoding/json"
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
