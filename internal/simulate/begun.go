package simulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/view"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

// FirstID is the ID of the first order of a run. An order with a past (Scenario.Begun) also has this ID.
const FirstID = "o1"

// Moved returns the scenario of a stored order after a Move to another definition of its workflow (P49, move
// pins another definition). The order gets the ID FirstID.
//   - The parameter hash names the new definition, which is in docs.
//   - The parameter at is the time of the Move. The scenario begins at this time.
//
// Moved returns an error if the order cannot be moved or simulated.
func Moved(docs *view.Documents, hash string, at core.Time) (Scenario, error) {
	t, err := state.DecodeTask(docs.Task)
	if err != nil {
		return Scenario{}, err
	}
	all, err := sealedAll(docs.Definitions)
	if err != nil {
		return Scenario{}, fmt.Errorf("its definitions: %w", err)
	}
	named := func(hash string) *core.Definition {
		if i := slices.IndexFunc(all, func(d *core.Definition) bool { return d.Hash == hash }); i >= 0 {
			return all[i]
		}
		return nil
	}
	to := named(hash)
	from := named(t.Definition)
	if from == nil || to == nil {
		return Scenario{}, fmt.Errorf("a definition is missing: it runs %q and is to run %q",
			t.Definition, hash)
	}
	return MoveTask(t, from, to, docs.Order, at)
}

// MoveTask returns the scenario of a task that is moved from one definition to another. The scenario begins
// after the move.
func MoveTask(t *protocol.Task, from, to *core.Definition, order json.RawMessage, at core.Time) (Scenario, error) {
	d, err := protocol.Decide(from, order, t,
		core.Command{Name: core.Move, ID: "simulated", Number: t.Commands.Number, To: &core.Target{Definition: to}},
		protocol.At{Now: at, By: "simulated", Tokens: firstKeys, SizeLimit: port.MaxDocument})
	switch {
	case err != nil:
		return Scenario{}, fmt.Errorf("the move cannot be decided: %w", err)
	case d.Verdict == nil || !d.Verdict.Accepted:
		reason := d.Ignored
		if d.Verdict != nil {
			reason = d.Verdict.Reason
		}
		return Scenario{}, errors.New(reason)
	}
	next := *d.Task
	next.OrderID = FirstID
	next.Version = t.Version + 1
	if next.ReplyTo != "" {
		next.ReplyTo = Shop
	}
	if next.TokenKey != "" {
		next.TokenKey = firstKeys.Current()
	}
	for i := range next.Steps {
		if c := next.Steps[i].Children; c != nil && c.Started > 0 {
			return Scenario{},
				fmt.Errorf(
					"step %s has started child orders, whose states are not known here; only an order "+
						"without any can be simulated", next.Steps[i].Name)
		}
	}
	return Scenario{Definition: to, Order: order, Orders: 1, Begun: &Begun{Task: &next, At: at}}, nil
}

// begin stores the task of an order with a past. It also records the past calls in the services and ledgers,
// and the past alerts and failures in the order's history. If the order is in Error or Compensated, the
// operator resubmits it.
func begin(w *Simulation, t *protocol.Task) {
	o := w.NewOrder(t.OrderID, message.SubmitOrder{
		Schema: message.Schema, Workflow: t.Workflow, Order: w.Sc.Order, ReplyTo: t.ReplyTo,
	})
	o.Acked = true
	w.Orders++
	first := *t
	first.Version = 1
	store := state.New(state.Config{Store: w.Store, Definitions: w.Store})
	if err := store.Commit(ctx, []state.Change{{Task: &first, Order: w.Sc.Order}})[0]; err != nil {
		w.Violate("bug", "the document of %s cannot be written: %v", t.OrderID, err)
		return
	}
	records, _ := w.Store.Load(ctx, []string{o.Id}) // a load without faults
	w.Store.Committed(records[0], &first)
	putDefinitions(w, append([]*core.Definition{w.Def}, w.Below...)) // the move has stored these definitions
	o.Seen.Alerts[alertID(t.End.At, t.Run, t.End.Command)] = true
	for n := range t.StatusSeq {
		o.Seen.Received[n+1] = true
	}
	if len(t.Commands.Verdicts) > 0 {
		o.Commands = 1000 // new commands must not repeat the IDs of the order's past commands
	}
	for i := range t.Steps {
		if s := &t.Steps[i]; s.Attempted() && w.Def.Steps[i].Agent != "" {
			behindIt(w, t, i)
			o.Seen.Counted[s.Name] = s.Failures.Do + s.Failures.Undo
		}
	}
	planSweep(w)
	if t.ProcessState == core.Error || t.ProcessState == core.Compensated {
		w.After(1000, func() {
			byAnyWay(w, o, core.Command{Name: core.Resubmit, ID: o.Id + "-resubmit", Number: t.Commands.Number})
		})
	}
	commands(w, o)
}

// behindIt records the past effects of a step's calls in the simulated service and ledger. If the task does
// not show the result of a call, behindIt chooses a result:
//   - A do was refused, took effect without a reply, or never arrived.
//   - An undo removed the effect, or did not remove it.
func behindIt(w *Simulation, t *protocol.Task, i int) {
	s := &t.Steps[i]
	d := &w.Def.Steps[i]
	key := core.Key(t.OrderID, t.Run, s.Name)
	svc := w.ServiceOf(worker.Call{Key: key, OrderID: t.OrderID, Run: t.Run, Step: s.Name, Grade: d.Grade},
		d.Agent)
	svc.Since = int64(max(s.Claim.At, s.Finish.At)) - w.Start
	entry := port.LedgerEntry{Key: key, State: worker.StateStarted, Attempt: s.Attempt}
	happened := func() {
		svc.Applied = 1
		svc.Known = true
		if !noEffect(w, t, s.Name) {
			svc.Net = 1
		}
	}
	undone := func() {
		svc.Net = 0
		svc.Undone = true
		svc.Fenced = svc.Grade == core.Fenced
		entry.State = worker.StateFenced
	}
	stated := s.Resolved != nil && s.Resolved.At > s.Claim.At
	switch {
	case s.State == core.Processed || stated && s.Resolved.Fact == core.Happened:
		happened()
		entry.State = worker.StateDone
		entry.Output = slices.Clone(s.Output)
	case s.NoEffect != 0:
		svc.Proven = s.Attempt
		entry.State = worker.StateFailed
	case s.State == core.Compensated, stated && s.Resolved.Fact == core.Undone:
		svc.Applied = 1
		svc.Known = true
		undone()
	case stated:
	case s.Claim.Undo || s.State == core.UndoWait:
		happened()
		entry.State = worker.StateUndoStarted
		if w.Choose("begun", key, 2, 0.5) == 1 {
			undone()
		}
	default:
		switch w.Choose("begun", key, 3, 0.7) {
		case 0:
			entry.State = worker.StateFailed
		case 1:
			happened()
		}
	}
	if svc.Grade == core.Plain || d.PointOfNoReturn {
		_ = w.Ledgers[agentOf(s, d)].Move(ctx, entry) // the ledger is empty
	}
}

// agentOf returns the agent of the step's last claim. The step may have several agents (P44, several agents
// can do one step).
func agentOf(s *protocol.Step, d *core.StepDefinition) string {
	if s.Claim.Agent != "" {
		return s.Claim.Agent
	}
	return d.Agent
}

// sealedAll parses compiled definitions. If a step has child orders, sealedAll sets the definition of the
// child orders in the step.
func sealedAll(data []json.RawMessage) (all []*core.Definition, err error) {
	for _, one := range data {
		d := &core.Definition{}
		if err := json.Unmarshal(one, d); err != nil {
			return nil, err
		}
		// Seal makes the encoding, and therefore the hash, independent of white space.
		if err := workflow.Seal(d); err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	for _, d := range all {
		for i := range d.Steps {
			if e := d.Steps[i].Each; e != nil {
				if n := slices.IndexFunc(all,
					func(o *core.Definition) bool { return o.Hash == e.Definition }); n >= 0 {
					e.Child = all[n]
				}
			}
		}
	}
	return all, nil
}
