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
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/view"
	"github.com/stepkeeper/stepkeeper/simulate/internal/model"
)

// Begun is an order that has a past when a run begins: nothing of it is in flight.
type Begun struct {
	Task *core.Task // of the order "o1"; never changed
	At   core.Time  // when the run begins
}

// firstID is the ID of the first order of a run, and of a begun one: choices, tapes and diagrams name it.
const firstID = "o1"

// Moved is the scenario of a stored order that is moved to another definition of its workflow: to, or, where
// that is nil, the one of the documents with the hash. It begins right after the move, as the core decides it
// at that time (P49). The order's ID is replaced by "o1". An error says why it cannot be moved, or not
// simulated.
func Moved(docs *view.Documents, hash string, to *core.Definition, at core.Time) (Scenario, error) {
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
	if to == nil {
		to = named(hash)
	}
	from := named(t.Definition)
	if from == nil || to == nil {
		return Scenario{}, fmt.Errorf("a definition is missing: it runs %q and is to run %q", t.Definition,
			hash)
	}
	return moved(t, from, to, docs.Order, at)
}

func moved(t *core.Task, from, to *core.Definition, order json.RawMessage, at core.Time) (Scenario, error) {
	d, err := core.Decide(from, order, t,
		core.Move{ID: "simulated", Command: t.Command, To: core.Target{Definition: to}},
		core.At{Now: at, By: "simulated", Tokens: model.FirstKeys, SizeLimit: state.Room})
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
	next.OrderID, next.Version = firstID, t.Version+1
	if next.ReplyTo != "" {
		next.ReplyTo = model.Shop
	}
	if next.TokenKey != "" {
		next.TokenKey = model.FirstKeys.Current()
	}
	for i := range next.Steps {
		if c := next.Steps[i].Children; c != nil && c.Started > 0 {
			return Scenario{},
				fmt.Errorf(
					"step %s has started child orders, whose states are not known here; only an order "+
						"without any can be simulated", next.Steps[i].Name)
		}
	}
	return Scenario{Definition: to, Order: order, Orders: 1, Begun: &Begun{&next, at}}, nil
}

// begin puts the order into the store, adds to the services, the ledgers and the checks what it has behind
// it, and has the operator go on with it.
func (w *simulation) begin(t *core.Task) {
	o := &order{id: t.OrderID, acked: true, seen: newHistory(),
		submit: message.SubmitOrder{Schema: message.Schema, OrderID: t.OrderID, Workflow: t.Workflow,
			Order: w.sc.Order, ReplyTo: t.ReplyTo}}
	w.orders, w.byID[o.id] = append(w.orders, o), o
	w.Orders++
	document, err := state.EncodeTask(t)
	if err != nil {
		w.violate("bug", "the document of %s cannot be written: %v", t.OrderID, err)
		return
	}
	bucket, at := core.Index(t)
	r := w.store.row(o.id)
	r.hash = message.HashOf(t)
	if t.Apart() {
		r.content = w.sc.Order
	}
	r.task, r.record = t, &port.Record{ID: o.id, Version: t.Version, State: string(t.ProcessState),
		Workflow: t.Workflow,
		Created:  t.Created.Std(), Bucket: port.Bucket(bucket), IndexAt: at.Std(), Document: document}
	for _, d := range append([]*core.Definition{w.def}, w.below...) { // the move has stored them
		if data, err := w.encode(d); err == nil {
			w.store.defs[d.Hash] = data
		}
	}
	o.seen.alerts[alertID(t.Ended, t.Run, t.EndCommand)] = t.ProcessState == core.Error
	for _, v := range t.Verdicts {
		o.seen.verdicts[v.ID] = v.Accepted
		o.commands = 1000 // IDs of its own
	}
	for i := range t.Steps {
		if s := &t.Steps[i]; s.Attempted() && w.def.Steps[i].Agent != "" {
			w.behindIt(t, i)
			o.seen.counted[s.Name] = s.FailureCount + s.UndoFailures
		}
	}
	w.planSweep()
	if t.ProcessState == core.Error || t.ProcessState == core.Compensated {
		w.after(1000, func() {
			c := message.Control{Schema: message.Schema, Kind: message.Resubmit, OrderID: o.id,
				ID: o.id + "-resubmit", Command: t.Command}
			w.instruct(o, c, w.embedded || w.choose("by", o.id, 2, 0.5) == 1)
		})
	}
	w.commands(o)
}

// behindIt puts into the books what a call of a step has done. What the task does not know is chosen: a do in
// doubt was refused, or it has happened and its answer was lost, or it never arrived; of an undo in doubt the
// effect stands, or not.
func (w *simulation) behindIt(t *core.Task, i int) {
	s, d := &t.Steps[i], &w.def.Steps[i]
	key := core.Key(t.OrderID, t.Run, s.Name)
	svc := w.service(worker.Call{Key: key, OrderID: t.OrderID, Run: t.Run, Step: s.Name, Grade: d.Grade},
		d.Agent)
	svc.since = int64(max(s.ClaimedAt, s.FinishedAt)) - w.start
	entry := port.LedgerEntry{Key: key, State: worker.StateStarted, Attempt: s.Attempt, Version: 1}
	happened := func() {
		svc.applied, svc.known = 1, true
		if !w.noEffect(t, s.Name) {
			svc.net = 1
		}
	}
	undone := func() {
		svc.net, svc.undone, svc.fenced = 0, true, svc.grade == core.Fenced
		entry.State = worker.StateFenced
	}
	stated := s.Resolved != nil && s.Resolved.At > s.ClaimedAt
	switch {
	case s.State == core.Processed || stated && s.Resolved.Fact == core.Happened:
		happened()
		entry.State, entry.Output = worker.StateDone, slices.Clone(s.Output)
	case s.NoEffect != 0:
		svc.proven, entry.State = s.Attempt, worker.StateFailed
	case s.State == core.Compensated, stated && s.Resolved.Fact == core.Undone:
		svc.applied, svc.known = 1, true
		undone()
	case stated:
	case s.Undo || s.State == core.UndoWait:
		happened()
		entry.State = worker.StateUndoStarted
		if w.choose("begun", key, 2, 0.5) == 1 {
			undone()
		}
	default:
		switch w.choose("begun", key, 3, 0.7) {
		case 0:
			entry.State = worker.StateFailed
		case 1:
			happened()
		}
	}
	if svc.grade == core.Plain || d.PointOfNoReturn {
		w.ledgers[agentOf(s, d)].entries[key] = entry
	}
}

// agentOf is the agent that the step's last attempt asked (P44).
func agentOf(s *core.Step, d *core.StepDefinition) string {
	if s.Agent != "" {
		return s.Agent
	}
	return d.Agent
}
