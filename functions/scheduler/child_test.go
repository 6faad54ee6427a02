package scheduler_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/actorstest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// childOf returns a request of a step to its third child.
func childOf(w *actorstest.World, ask core.ChildAsk, attempt int) *message.Control {
	return toChild(askOf(w, ask, attempt))
}

func askOf(w *actorstest.World, ask core.ChildAsk, attempt int) core.AskChild {
	p := core.Parent{OrderID: "parent", Step: "all", Index: 2, Attempt: attempt}
	return core.AskChild{
		OrderID: p.ChildID(), Parent: p,
		Ask: ask, Workflow: "order", Definition: w.Def.Hash, Order: json.RawMessage(`{"n":1}`),
	}
}

func toChild(ask core.AskChild) *message.Control {
	return &message.Control{OrderID: ask.OrderID, Event: ask}
}

func toParent(p core.Parent, state core.ChildState) *message.Control {
	return &message.Control{OrderID: p.OrderID, Event: core.ChildEnded{Parent: p, State: state}}
}

// reported returns the ends that children have reported since the last call.
func reported(t *testing.T, w *actorstest.World) (all []core.ChildEnded) {
	t.Helper()
	for _, d := range w.Take(port.Tasks) {
		m, err := message.Of[message.Control](d)
		require.NoError(t, err)
		require.Equal(t, message.ChildEnded, m.Kind())
		all = append(all, m.Event.(core.ChildEnded))
	}
	return all
}

func handled(t *testing.T, w *actorstest.World, values ...port.Value) {
	t.Helper()
	require.Empty(t, w.Scheduler.Handle(ctx, port.Tasks, deliver(values...)))
}

// P41: a child is created for its parent, and replies to a repeated request. An expired child replies that it
// has expired.
func TestAChildAnswers(t *testing.T) {
	w, _ := begun(t)
	const id = "parent~all~2"
	handled(t, w, childOf(w, core.AskStart, 1))
	task := w.Task(id)
	require.Equal(t, core.Processing, task.ProcessState)
	require.NotNil(t, task.Parent, "it is %+v", task)
	require.Equal(t, 1, task.Parent.Attempt)
	require.Empty(t, task.ReplyTo)
	for range 40 {
		w.Agents()
		w.Handle(port.Replies)
		if w.Task(id).Terminal() {
			break
		}
	}
	all := reported(t, w)
	require.Len(t, all, 1)
	require.Equal(t, core.ChildProcessed, all[0].State)
	require.Equal(t, "parent", all[0].Parent.OrderID)
	require.Equal(t, 2, all[0].Parent.Index)
	require.Zero(t, w.Task(id).End.ResendAt, "its end is not settled")
	handled(t, w, childOf(w, core.AskStart, 1)) // a fresh copy, as a parent sends that has received nothing
	all = reported(t, w)
	require.Len(t, all, 1)
	require.Equal(t, core.ChildProcessed, all[0].State)
	require.NoError(t, w.Store.Forget(ctx, []string{id}))
	w.Boot()
	for _, ask := range []core.ChildAsk{core.AskStart, core.AskUndo} {
		handled(t, w, childOf(w, ask, 2))
		all := reported(t, w)
		require.Len(t, all, 1, "%+v", ask)
		require.Equal(t, core.ChildExpired, all[0].State, "%+v", ask)
		require.Equal(t, message.CodeExpired, all[0].Code, "%+v", ask)
		require.Equal(t, 2, all[0].Parent.Attempt, "%+v", ask)
	}
}

// P41: the parent of a child whose definition cannot be read learns that the child has stopped, and asks again
// later. Then it begins, if the definition was restored.
func TestAChildWhoseDefinitionCannotBeRead(t *testing.T) {
	for _, ask := range []core.ChildAsk{core.AskStart, core.AskUndo} {
		t.Run(string(ask), func(t *testing.T) {
			w, _ := begun(t)
			lost := askOf(w, ask, 1)
			lost.Definition = strings.Repeat("0123456789abcdef", 2)
			handled(t, w, toChild(lost))
			all := reported(t, w)
			require.Len(t, all, 1)
			require.Equal(t, core.ChildError, all[0].State)
			require.Equal(t, core.CodeDamaged, all[0].Code)
			require.Equal(t, lost.Parent, all[0].Parent)
			require.Contains(t, all[0].Message, "the definition of its workflow order cannot be read")
			handled(t, w, childOf(w, ask, 1))
			require.NotNil(t, w.Task("parent~all~2"))
		})
	}
}

// Each bad message on the queue between tasks goes to quarantine with a reason, and the message beside it is
// handled.
func TestBadMessagesBetweenTasks(t *testing.T) {
	asked := func(change func(*core.AskChild)) func(core.AskChild) *message.Control {
		return func(ask core.AskChild) *message.Control {
			change(&ask)
			return toChild(ask)
		}
	}
	bad := map[string]func(core.AskChild) *message.Control{
		"is not the child":   asked(func(a *core.AskChild) { a.OrderID = "o-1" }),
		"attempt is 0":       asked(func(a *core.AskChild) { a.Parent.Attempt = 0 }),
		"ask is":             asked(func(a *core.AskChild) { a.Ask = "kill" }),
		"JSON object":        asked(func(a *core.AskChild) { a.Order = json.RawMessage(`[]`) }),
		"both must be there": asked(func(a *core.AskChild) { a.Definition = "latest" }),
		"run and index": asked(func(a *core.AskChild) {
			a.Parent.Run = -1
			a.OrderID = "parent~all~2"
		}),
		"no order's ID": asked(func(a *core.AskChild) {
			a.Parent.OrderID = strings.Repeat("x", core.MaxID+1)
			a.OrderID = a.Parent.ChildID()
		}),
		"no step's name": asked(func(a *core.AskChild) {
			a.Parent.Step = "A"
			a.OrderID = a.Parent.ChildID()
		}),
		"takes no wake": func(core.AskChild) *message.Control {
			return &message.Control{OrderID: "parent~all~2", Event: core.Wake{Step: "a", Attempt: 1}}
		},
		"is not the parent": func(a core.AskChild) *message.Control {
			return &message.Control{OrderID: "o-1", Event: core.ChildEnded{Parent: a.Parent}}
		},
		"state is": func(a core.AskChild) *message.Control { return toParent(a.Parent, "done") },
	}
	for reason, change := range bad {
		w, _ := begun(t)
		m := change(askOf(w, core.AskStart, 1))
		handled(t, w, m, childOf(w, core.AskStart, 1))
		q := w.Take(port.Quarantine)
		if len(q) != 1 {
			t.Errorf("%s: %d in quarantine", reason, len(q))
			continue
		}
		require.Contains(t, q[0].Value.(*message.Quarantined).Reason, reason)
		require.Equal(t, core.Processing, w.Task("parent~all~2").ProcessState, reason)
	}
}

// P41: the next run of an undone child has the definition that its parent's request names. If that is not
// stored, the child keeps its own and begins all the same, instead of a request that comes back for ever.
func TestAChildWhoseNextDefinitionIsNotStored(t *testing.T) {
	w, _ := begun(t)
	next := actorstest.Definition()
	next.Steps = next.Steps[:1]
	text, err := json.Marshal(next)
	require.NoError(t, err)
	const id = "parent~all~2"
	handled(t, w, childOf(w, core.AskUndo, 1)) // the child does not exist, and is created as Compensated
	if task := w.Task(id); task.ProcessState != core.Compensated || task.Definition != w.Def.Hash {
		t.Fatalf("it is %s with the definition %s", task.ProcessState, task.Definition)
	}
	start := askOf(w, core.AskStart, 2)
	start.Definition = core.DefinitionHash(text)
	handled(t, w, toChild(start))
	task := w.Task(id)
	require.Equal(t, core.Processing, task.ProcessState)
	require.Equal(t, 1, task.Run)
	require.Equal(t, w.Def.Hash, task.Definition)
	require.Empty(t, w.Take(port.Quarantine))

	handled(t, w, childOf(w, core.AskUndo, 3))
	for range 40 {
		if w.Task(id).Terminal() {
			break
		}
		w.Agents()
		w.Handle(port.Replies)
	}
	require.NoError(t, w.Defs.PutDefinition(ctx, start.Definition, text))
	again := askOf(w, core.AskStart, 4)
	again.Definition = start.Definition
	handled(t, w, toChild(again))
	task = w.Task(id)
	require.Equal(t, core.Processing, task.ProcessState)
	require.Equal(t, again.Definition, task.Definition)
}

// P41: a child that cannot be stored is refused. A stored child does not, even if its start comes again
// while the store refuses all writes.
func TestAChildThatCannotBeStored(t *testing.T) {
	for _, there := range []bool{false, true} {
		w, _ := begun(t)
		if there {
			handled(t, w, childOf(w, core.AskStart, 1))
		}
		full := w.SchedulerOn(&actorstest.Faulty{
			Store:      w.Store,
			FailCommit: func(int) error { return port.ErrTooLarge },
		}, 0, "other")
		require.Empty(t, full.Handle(ctx, port.Tasks, deliver(childOf(w, core.AskStart, 1))), "%v", there)
		all := reported(t, w)
		if refused := len(all) == 1 && all[0].State == core.ChildRefused && all[0].Code == "too-large" &&
			strings.HasPrefix(all[0].Message, "the order's task does not fit"); refused == there || there &&
			len(all) > 0 {
			t.Errorf("there %t: reported %+v", there, all)
		}
	}
}

// P41: only the queue between tasks takes messages of tasks, and only the Scheduler may send there. Messages
// that an application forges go to quarantine, on each queue that it may send to.
func TestAForgedEndOfAChild(t *testing.T) {
	for _, queue := range []string{port.Intake, port.Control, port.Replies} {
		w, _ := begun(t)
		before := w.Task("o-1").Version
		for _, m := range []*message.Control{
			toParent(core.Parent{OrderID: "o-1", Step: "a", Attempt: 1}, core.ChildProcessed),
			childOf(w, core.AskUndo, 1),
		} {
			body, err := m.Encode()
			require.NoError(t, err)
			d := deliver(m)
			d[0].Value = nil
			d[0].Body = body
			require.Empty(t, w.Scheduler.Handle(ctx, queue, d), queue)
			require.Len(t, w.Take(port.Quarantine), 1, queue)
		}
		require.Equal(t, before, w.Task("o-1").Version, queue)
		require.Nil(t, w.Task("parent~all~2"), queue)
	}
}

// parentOfTwo returns a world with an order p that has started two children, and the requests for them. If the step
// has enough, one child decides it.
func parentOfTwo(t *testing.T, enough json.RawMessage) (w *actorstest.World, starts []port.Delivery) {
	t.Helper()
	def := actorstest.Definition()
	def.Steps = def.Steps[:1]
	child, err := json.Marshal(def)
	require.NoError(t, err)
	parent := actorstest.Definition()
	parent.Steps = []core.StepDefinition{{
		Name: "all", OnFailure: core.OnFailureUndo,
		Input: json.RawMessage(`"${ order.items }"`),
		Each: &core.Each{
			Workflow: "order", Definition: core.DefinitionHash(child), Order: json.RawMessage(`"${ item }"`), Concurrency: 2,
			Enough: enough,
		},
	}}
	w = actorstest.New(t, parent)
	require.NoError(t, w.Defs.PutDefinition(ctx, core.DefinitionHash(child), child))
	w.Boot()
	o := actorstest.Order("p")
	o.Order = json.RawMessage(`{"items":[{"n":1},{"n":2}]}`)
	w.Send(port.Intake, o)
	w.Handle(port.Intake)
	starts = w.Take(port.Tasks)
	require.Len(t, starts, 2)
	return w, starts
}

// closing closes the order p.
func closing(t *testing.T, w *actorstest.World, id string) protocol.Verdict {
	t.Helper()
	v, err := w.Scheduler.Command(ctx, message.Control{
		OrderID: "p",
		Event: core.Command{
			Name: core.Close,
			ID:   id, Number: w.Task("p").Commands.Number,
			Sender: core.Sender{By: "ann", Reason: "lost"},
		},
	})
	require.NoError(t, err)
	return v
}

// P48, P54: a child that has ended well, and is undone because another one has decided its step, has not ended yet.
func TestAParentIsNotClosedBeforeALoserIsUndone(t *testing.T) {
	w, starts := parentOfTwo(t, json.RawMessage("1"))
	handled(t, w, starts[0].Value, starts[1].Value)
	for range 40 {
		w.Agents()
		w.Handle(port.Replies)
	}
	ends := w.Take(port.Tasks)
	require.Len(t, ends, 2)
	handled(t, w, ends[0].Value)
	require.Equal(t, core.Settling, w.Task("p").Steps[0].State)
	require.Equal(t, core.Processed, w.Task("p~all~1").ProcessState)
	require.Contains(t, closing(t, w, "c").Reason, "p~all~1")
}

// P48: Close ends a parent whatever it waits for, in Error or not. Existing children have to end first. Those
// that never came are cancelled, so that a late request begins nothing.
func TestAParentIsClosedWhoseChildNeverCame(t *testing.T) {
	for _, first := range []core.Event{nil, core.Command{Name: core.Cancel}} {
		w, lost := parentOfTwo(t, nil)
		if first != nil {
			v, err := w.Scheduler.Command(ctx, message.Control{
				OrderID: "p",
				Event:   core.Stamped(first, "c-0", core.Sender{}, 0),
			})
			require.NoError(t, err)
			require.True(t, v.Accepted)
			w.Take(port.Tasks)
		}
		handled(t, w, lost[1].Value) // child 1 is there
		v := closing(t, w, "c-1")
		require.False(t, v.Accepted, "%+v", first)
		require.Contains(t, v.Reason, "p~all~1", "%+v", first)
		handled(t, w, toChild(core.AskChild{
			OrderID: "p~all~1", Parent: core.Parent{
				OrderID: "p", Step: "all", Index: 1,
				Attempt: w.Task("p").Steps[0].Attempt,
			},
			Ask: core.AskUndo, Workflow: "order", Definition: w.Def.Steps[0].Each.Definition,
			Order: json.RawMessage(`{"n":2}`),
		}))
		for range 40 {
			w.Agents()
			w.Handle(port.Replies)
		}
		require.True(t, closing(t, w, "c-2").Accepted, "%v", first)
		require.Equal(t, core.Closed, w.Task("p").ProcessState, "%v", first)
		for _, m := range append(w.Take(port.Tasks), lost...) {
			handled(t, w, m.Value)
		}
		c := w.Task("p~all~0")
		require.NotNil(t, c, "%+v", first)
		require.Equal(t, core.Compensated, c.ProcessState, "%+v", first)
	}
}
