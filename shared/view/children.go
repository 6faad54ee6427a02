package view

import (
	"encoding/json"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// Children is the state of a step's child orders.
type Children struct {
	Workflow string   `json:"workflow" doc:"workflow that each child order runs"`
	Count    int      `json:"count" doc:"number of child orders; 0 before the step is reached"`
	Ended    int      `json:"ended" doc:"number of child orders that have ended; during an undo, the number that are undone or were never started"`
	Running  int      `json:"running" doc:"number of child orders that were asked, have not ended, and have not reported an Error"`
	Failed   int      `json:"failed" doc:"number of child orders that ended in another state than Processed, without those that the step stopped"`
	Tolerate int      `json:"tolerate" doc:"number of child orders that may fail"`
	Enough   int      `json:"enough,omitempty" doc:"number of child orders that must end well; then the others are undone"`
	Open     []string `json:"open,omitempty" nullable:"false" doc:"IDs of the first 20 child orders that run; of a step that is repeated, the iteration that runs"`
	Events   []string `json:"events,omitempty" nullable:"false" doc:"events that only steps of the child order wait for; an answer to this order is passed on to it; absent once the step has ended or is undone"`
	Answers  int      `json:"answers,omitempty" doc:"number of answers to events that wait for a child order that takes them"`
	FailedAs []string `json:"failedAs,omitempty" nullable:"false" doc:"IDs of the first 20 child orders that failed"`
	Reason   string   `json:"reason,omitempty" doc:"why the first failed child order failed, or why no more are started"`
	Undo     bool     `json:"undo,omitempty" doc:"true if the child orders are being undone"`
	Stopped  []string `json:"stopped,omitempty" nullable:"false" doc:"IDs of the child orders whose last report was an Error; one that was resubmitted since then is listed until it reports again"`
	Repeat   *Repeat  `json:"repeat,omitempty" doc:"set for a step that is repeated; count is then the number of iterations that have begun"`
	InDoubt  []string `json:"inDoubt,omitempty" nullable:"false" doc:"IDs of the child orders that cannot be undone: they were closed by hand, or are no longer stored"`
}

// maxOpen is the number of running child orders that a view names.
const maxOpen = 20

// Repeat is the state of a step that is repeated.
type Repeat struct {
	AtMost int             `json:"atMost" doc:"number of iterations that there may be"`
	Until  string          `json:"until" doc:"condition that ends the step"`
	Last   json.RawMessage `json:"last,omitempty" doc:"output of the last iteration that ended Processed; absent after the end of the step, whose output holds it"`
	Next   core.Time       `json:"next,omitzero" doc:"start of the next iteration; absent while one runs"`
	Ends   []Iteration     `json:"ends,omitempty" nullable:"false" doc:"ends of the last 16 iterations, the earliest first"`
}

// Iteration is the end of an iteration of a step that is repeated.
type Iteration struct {
	OrderID string          `json:"orderId" doc:"ID of its order"`
	Number  int             `json:"number" doc:"number of the iteration, from 1"`
	State   core.ChildState `json:"state" enum:"processed,compensated,closed,expired,refused" doc:"refused: it was never created"`
	At      core.Time       `json:"at" doc:"time when its end was counted"`
}

// Parent is the step that a child task belongs to.
type Parent struct {
	OrderID string `json:"orderId"`
	Step    string `json:"step"`
	Index   int    `json:"index" doc:"index of the item in the step's list, from 0"`
}

func parentOf(t *protocol.Task) *Parent {
	if t.Parent == nil {
		return nil
	}
	return &Parent{OrderID: t.Parent.OrderID, Step: t.Parent.Step, Index: t.Parent.Index}
}

func childrenOf(t *protocol.Task, s *protocol.Step, def *core.Each) *Children {
	v := &Children{Workflow: def.Workflow, Tolerate: def.Tolerate}
	if (s.State == core.Processing || s.State == core.Waiting) && !s.Claim.Undo {
		for _, e := range def.Events {
			v.Events = append(v.Events, e.Name)
		}
	}
	if s.Passing != nil {
		v.Answers = len(s.Passing.Answers)
	}
	c := s.Children
	if c == nil {
		return v
	}
	id := func(index int) string {
		return core.Parent{OrderID: t.OrderID, Run: t.Run, Step: s.Name, Index: index}.ChildID()
	}
	v.Count = c.Count
	if r := def.Repeat; r != nil {
		v.Count = c.Started
		v.Repeat = &Repeat{AtMost: r.AtMost, Until: r.Until, Last: c.Last}
		if c.Pauses(s) && t.ProcessState != core.Error {
			v.Repeat.Next = s.Wait.Until
		}
		for _, e := range c.Ends {
			v.Repeat.Ends = append(v.Repeat.Ends, Iteration{id(e.Index), e.Index + 1, e.State, e.At})
		}
	}
	v.Failed = c.Failed
	v.Enough = c.Enough
	v.Tolerate = c.Tolerates(def)
	v.Reason = c.Reason
	v.Undo = s.Claim.Undo
	v.Ended = c.Next - len(c.Open)
	if s.Claim.Undo {
		v.Ended = v.Count - c.Cursor - len(c.Open)
		for _, o := range c.Open {
			if o.Index < c.Cursor { // Cursor includes this child, which was therefore subtracted twice
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
		default:
			v.Running++
			if len(v.Open) < maxOpen {
				v.Open = append(v.Open, id(o.Index))
			}
		}
	}
	return v
}
