package view

import "github.com/stepkeeper/stepkeeper/shared/core"

// Children is how far a step is with its child tasks.
type Children struct {
	Workflow string   `json:"workflow" doc:"what each of them goes through"`
	Count    int      `json:"count" doc:"how many there are in all; 0 before the step is reached"`
	Ended    int      `json:"ended" doc:"how many have ended; while they are undone: how many are undone, or were never started"`
	Running  int      `json:"running" doc:"how many have not ended, of those that were asked"`
	Failed   int      `json:"failed" doc:"how many have not been Processed"`
	Tolerate int      `json:"tolerate" doc:"how many may fail"`
	FailedAs []string `json:"failedAs,omitempty" nullable:"false" doc:"IDs of the first 20 that have failed"`
	Reason   string   `json:"reason,omitempty" doc:"why the first of them has failed, or why no more are started"`
	Undo     bool     `json:"undo,omitempty" doc:"they are undone"`
	Stopped  []string `json:"stopped,omitempty" nullable:"false" doc:"IDs of those that wait for the operator, as far as they have reported"`
	InDoubt  []string `json:"inDoubt,omitempty" nullable:"false" doc:"IDs of those that cannot be undone: closed by hand, or no longer stored"`
}

// Parent is the step that a child task belongs to.
type Parent struct {
	OrderID string `json:"orderId"`
	Step    string `json:"step"`
	Index   int    `json:"index" doc:"of the item in the step's list, from 0"`
}

func parentOf(t *core.Task) *Parent {
	if t.Parent == nil {
		return nil
	}
	return &Parent{OrderID: t.Parent.OrderID, Step: t.Parent.Step, Index: t.Parent.Index}
}

func childrenOf(t *core.Task, s *core.Step, def *core.Each) *Children {
	v := &Children{Workflow: def.Workflow, Tolerate: def.Tolerate}
	c := s.Children
	if c == nil {
		return v
	}
	id := func(index int) string {
		return core.Parent{OrderID: t.OrderID, Run: t.Run, Step: s.Name, Index: index}.ChildID()
	}
	v.Count = c.Count
	v.Running = len(c.Open)
	v.Failed = c.Failed
	v.Reason = c.Reason
	v.Undo = s.Claim.Undo
	v.Ended = c.Next - len(c.Open)
	if s.Claim.Undo {
		v.Ended = c.Count - c.Cursor - len(c.Open)
		for _, o := range c.Open {
			if o.Index < c.Cursor { // it is counted among those to come
				v.Ended++
			}
		}
	}
	for _, index := range c.FailedAt {
		v.FailedAs = append(v.FailedAs, id(index))
	}
	for _, o := range c.Open {
		switch core.ChildState(o.State) {
		case core.ChildError:
			v.Stopped = append(v.Stopped, id(o.Index))
		case core.ChildClosed, core.ChildExpired:
			v.InDoubt = append(v.InDoubt, id(o.Index))
		}
	}
	return v
}
