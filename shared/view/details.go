package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

// Command is a command that the task would accept.
type Command struct {
	Command string    `json:"command" enum:"cancel,undo,resubmit,resolve,close,move"`
	Step    string    `json:"step,omitempty" doc:"step to resolve; with resubmit, a call that can get another input"`
	Fact    core.Fact `json:"fact,omitempty" doc:"fact that resolve states"`

	Definition string `json:"definition,omitempty" doc:"definition to move the order to, for move and for a resubmit that moves it; latest is the one that new orders get"`
}

// LaterCommand is a command that the task would accept at the time From or later. Before this time, a call
// may still take effect.
type LaterCommand struct {
	Command
	From core.Time `json:"from"`
}

// Detailed returns the view of a single order. Besides the result of Of, the view has the history, the
// inputs of the attempted steps, and the commands that the task would accept. The view has no inputs if def
// or order is nil, or if the task was moved after it was undone.
func Detailed(t *protocol.Task, def *core.Definition, order json.RawMessage, now time.Time) Task {
	v := Of(t, def)
	v.Accepts, v.AcceptsLater = accepts(t, def, core.TimeOf(now))
	v.History = History(t, def)
	if def == nil || order == nil || t.Damaged != "" || movedAfterEnd(t) {
		return v
	}
	for i := range v.Steps {
		if v.Steps[i].FirstAt == 0 {
			continue
		}
		// An input that cannot be computed is left out. The step's error states the reason.
		if input, err := protocol.InputOf(def, order, t, i); err == nil {
			v.Steps[i].Input = input
		}
	}
	return v
}

// movedAfterEnd reports whether a Compensated task was moved to another definition for its next run (P49,
// move pins another definition). The inputs and the history of the last run do not follow from the new
// definition.
func movedAfterEnd(t *protocol.Task) bool {
	return t.ProcessState == core.Compensated &&
		slices.ContainsFunc(t.Commands.Verdicts, func(v protocol.Verdict) bool {
			return v.Command == "move" && v.Accepted && v.At >= t.End.At
		})
}

// Pinned completes v, the view of t. It adds the definition that new orders get, and the commands with which
// the task would accept a move to this definition. It adds nothing if t has this definition already, or is
// Processed, Cancelled or Closed.
func (v *Task) Pinned(t *protocol.Task, def, deployed *core.Definition, now time.Time) {
	final := t.ProcessState == core.Processed || t.ProcessState == core.Cancelled ||
		t.ProcessState == core.Closed
	if final || def == nil || deployed == nil || deployed.Hash == t.Definition {
		return
	}
	v.Deployed = deployed.Hash
	to := core.Target{Definition: deployed}
	for _, ev := range []core.Command{
		{Name: core.Resubmit, ID: trial, Number: t.Commands.Number, To: &to},
		{Name: core.Move, ID: trial, Number: t.Commands.Number, To: &to},
	} {
		d, err := protocol.Decide(def, nil, t, ev, protocol.At{
			Now: core.TimeOf(now), SizeLimit: port.MaxDocument,
			Tokens: core.HiddenTokens{},
		})
		if !acceptedBy(d, err) {
			continue
		}
		c := Command{Command: "move", Definition: message.Latest}
		if ev.Name == core.Resubmit {
			c.Command = "resubmit"
		}
		v.Accepts = append(v.Accepts, c)
	}
}

// trial is the ID of a command whose decision is not stored. The ID of a real command contains no space.
const trial = "a trial"

// acceptedBy reports whether the decision accepts its command. Decide returns ErrOrderNeeded if an expression
// needs an order that the caller did not pass. This error counts as accepted, because Decide evaluates
// expressions only after it has accepted the command.
func acceptedBy(d protocol.Decision, err error) bool {
	return errors.Is(err, core.ErrOrderNeeded) || err == nil && d.Verdict != nil && d.Verdict.Accepted
}

// Plan describes the result of a possible move to another definition.
type Plan struct {
	OrderID     string                `json:"orderId"`
	Definition  string                `json:"definition,omitempty" doc:"hash of the definition that the order would be pinned to"`
	Accepted    bool                  `json:"accepted" doc:"true if the move would be accepted now"`
	Reason      string                `json:"reason,omitempty"`
	Differences []protocol.Difference `json:"differences" nullable:"false"`
	Documents   *Documents            `json:"documents,omitempty" doc:"present if the request asks for them"`
}

// Documents holds the stored form of an order, for a program that continues the order elsewhere, such as the
// simulation of a move.
type Documents struct {
	Task        json.RawMessage   `json:"task"`
	Order       json.RawMessage   `json:"order" doc:"order as submitted"`
	Definitions []json.RawMessage `json:"definitions" nullable:"false" doc:"compiled definitions: the one that the order runs, the one that it would be pinned to, and those of the child orders of both"`
}

// DocumentsOf encodes a task, its order, and the definitions def and to. The parameter def is the task's own
// definition. The parameter to is another definition, or nil. DocumentsOf also encodes the definitions of the
// child orders, and calls load to read them.
func DocumentsOf(t *protocol.Task, order json.RawMessage, def, to *core.Definition,
	load func(hash string) (*core.Definition, error),
) (*Documents, error) {
	task, err := state.EncodeTask(t)
	if err != nil {
		return nil, err
	}
	d := &Documents{Task: task, Order: order, Definitions: []json.RawMessage{}}
	known := map[string]bool{}
	for next := []*core.Definition{def, to}; len(next) > 0; next = next[1:] {
		def := next[0]
		if def == nil || known[def.Hash] {
			continue
		}
		known[def.Hash] = true
		data, err := workflow.Encode(def)
		if err != nil {
			return nil, err
		}
		d.Definitions = append(d.Definitions, data)
		for i := range def.Steps {
			if e := def.Steps[i].Each; e != nil {
				child, err := load(e.Definition)
				if err == nil && child == nil {
					err = fmt.Errorf("%s is not stored", e.Definition)
				}
				if err != nil {
					return nil, fmt.Errorf("the definition of the child orders of step %s: %w",
						def.Steps[i].Name, err)
				}
				next = append(next, child)
			}
		}
	}
	return d, nil
}

// PlanOf decides a move of a task, and stores nothing. room is the size limit of the store.
func PlanOf(t *protocol.Task, def *core.Definition, to core.Target, order json.RawMessage, now time.Time,
	room protocol.SizeLimit,
) Plan {
	p := Plan{OrderID: t.OrderID, Differences: []protocol.Difference{}}
	move := core.Command{Name: core.Move, ID: trial, Number: t.Commands.Number, To: &to}
	d, err := protocol.Decide(def, order, t, move,
		protocol.At{Now: core.TimeOf(now), SizeLimit: room, Tokens: core.HiddenTokens{}})
	p.Accepted = acceptedBy(d, err)
	var refused *core.Refusal
	switch {
	case errors.As(err, &refused):
		p.Reason = refused.Text
	case err == nil && d.Verdict != nil:
		p.Reason = d.Verdict.Reason
	}
	if def != nil && to.Definition != nil {
		p.Definition = to.Definition.Hash
		p.Differences = append(p.Differences, protocol.Differences(def, to.Definition, t)...)
	}
	return p
}

// accepts returns the commands that the task would accept now, and the commands that it would accept later.
func accepts(t *protocol.Task, def *core.Definition, now core.Time) (all []Command, later []LaterCommand) {
	all = []Command{}
	if t.Damaged == "" && protocol.Unfit(def, t) != nil {
		return all, nil
	}
	for _, o := range t.Offers(def, now) {
		c := Command{Command: o.Command, Step: o.Step, Fact: o.Fact}
		if o.From > now {
			later = append(later, LaterCommand{c, o.From})
		} else {
			all = append(all, c)
		}
	}
	return all, later
}
