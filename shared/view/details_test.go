package view_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// expressions of the definition below: the input of a step is the order.
type expressions struct{ core.Expressions }

func (expressions) Value(_ core.Part, _ int, e core.Environment) (json.RawMessage, error) {
	return e.Order, nil
}

// stopped is a task in Error whose only step is in doubt since t0.
func stopped() (*protocol.Task, *core.Definition) {
	d := &core.Definition{
		Name: "order", Hash: "abc", HopBudget: 100, Expr: expressions{},
		Agents: map[string]core.AgentDefinition{"payment": {}},
		Steps: []core.StepDefinition{{
			Name: "charge", Agent: "payment", Operation: "charge",
			Grade: core.Idempotent, Timeout: core.Second,
			Input: json.RawMessage(`"${ order }"`), OnFailure: core.OnFailureStop,
			Retry: core.Retry{MaxFailures: 1},
			Undo:  &core.Undo{Operation: "refund", Timeout: core.Second, Retry: core.Retry{MaxFailures: 1}},
		}},
	}
	d.Link()
	return &protocol.Task{
			OrderID: "o-1", Version: 4, Workflow: "order", Definition: "abc",
			ProcessState: core.Error, Phase: core.Forward, Commands: protocol.Commands{Number: 2}, Created: t0,
			End:    protocol.End{At: t0 + 5000},
			Reason: protocol.Reason{Step: "charge", Code: "timeout", Text: "no answer"},
			Steps: []protocol.Step{{
				Name: "charge", State: core.Failed, Attempt: 1,
				First: protocol.First{Nth: 1, At: t0},
				Claim: protocol.Claim{At: t0}, Stops: protocol.Stops{Do: t0 + 60_000},
				Failures: protocol.Failures{Do: 1},
			}},
		},
		d
}

// What the core offers is listed. A command that is refused because a call may take effect has the time from which it
// would be accepted, to the millisecond.
func TestAccepts(t *testing.T) {
	task, def := stopped()
	payment := def.Agents["payment"]
	payment.ClockSkew = 500
	def.Agents["payment"] = payment
	from := t0 + 60_501
	want := []view.LaterCommand{{Command: view.Command{Command: "close"}, From: from}}
	for _, fact := range []core.Fact{core.Happened, core.NotHappened, core.Undone} {
		want = append(want, view.LaterCommand{Command: view.Command{
			Command: "resolve", Step: "charge",
			Fact: fact,
		}, From: from})
	}
	for at, want := range map[core.Time][]view.LaterCommand{t0 + 10_000: want, from - 1: want, from: nil} {
		got := view.Detailed(task, def, nil, at.Std())
		require.Equal(t, []view.Command{{Command: "cancel"}, {Command: "undo"}, {Command: "resubmit"}}, got.Accepts[:3])
		require.Equal(t, want, got.AcceptsLater)
		for _, c := range want {
			require.NotContains(t, got.Accepts, c.Command, "%+v", c)
		}
	}
	task.Steps[0].State = core.Compensating // in flight: no time of its own ends that
	require.Empty(t, view.Detailed(task, def, nil, (t0+10_000).Std()).AcceptsLater)
}

func TestInputs(t *testing.T) {
	task, def := stopped()
	require.Equal(t, `{"card":"c-1"}`, string(view.Detailed(task, def, json.RawMessage(`{"card":"c-1"}`),
		t0.Std()).Steps[0].Input))
	task.Steps[0] = protocol.Step{Name: "charge", State: core.Pending}
	task.ProcessState = core.Processing
	task.Phase = ""
	require.Nil(t, view.Detailed(task, def, json.RawMessage(`{"card":"c-1"}`),
		t0.Std()).Steps[0].Input)
}

// P49: the definition that an undone order was moved to holds for its next run. It does not show what the
// last run gave to its agents, and no alert that the last run did not send.
func TestAnUndoneOrderThatWasMovedShowsWhatItsRunDid(t *testing.T) {
	task, def := stopped()
	def.AlertUndone = true
	task.ProcessState = core.Compensated
	task.Phase = ""
	task.Undo.Why = protocol.WhyFailure
	task.Steps[0].State = core.Failed
	for _, x := range []struct {
		name    string
		verdict protocol.Verdict
		shown   bool
	}{
		{"not moved", protocol.Verdict{ID: "r", Command: "resubmit", Accepted: false, At: task.End.At + 1}, true},
		{
			"the move was refused",
			protocol.Verdict{ID: "m", Command: "move", Accepted: false, At: task.End.At + 1},
			true,
		},
		{"moved in the run before", protocol.Verdict{
			ID: "m", Command: "move", Accepted: true,
			At: task.End.At - 1,
		}, true},
		{
			"moved after its end",
			protocol.Verdict{ID: "m", Command: "move", Accepted: true, At: task.End.At + 1},
			false,
		},
	} {
		task.Commands.Verdicts = []protocol.Verdict{x.verdict}
		v := view.Detailed(task, def, json.RawMessage(`{"card":"c-1"}`), t0.Std())
		alerted := slices.ContainsFunc(v.History,
			func(e view.Entry) bool { return e.Kind == view.EntryAlert })
		require.Equal(t, x.shown, v.Steps[0].Input != nil, x.name)
		require.Equal(t, x.shown, alerted, x.name)
	}
}

// Another deployed definition is named where the order has not ended for good, and only what would be
// accepted is offered with it.
func TestPinned(t *testing.T) {
	resubmit := view.Command{Command: "resubmit", Definition: "latest"}
	move := view.Command{Command: "move", Definition: "latest"}
	child := &core.Parent{OrderID: "p", Step: "all", Index: 2, Attempt: 1}
	is := func(s core.State) func(*protocol.Task) {
		return func(t *protocol.Task) {
			t.ProcessState = s
			t.Phase = ""
		}
	}
	for name, c := range map[string]struct {
		edit     func(*protocol.Task)
		deployed func(*core.Definition) // nil if none is deployed
		named    bool
		offers   []view.Command
	}{
		"in Error": {
			func(*protocol.Task) {}, func(*core.Definition) {}, true,
			[]view.Command{resubmit, move},
		},
		"the same": {
			func(*protocol.Task) {}, func(d *core.Definition) { d.Hash = "abc" },
			false, nil,
		},
		"not known": {func(*protocol.Task) {}, nil, false, nil},
		"a step in doubt is different": {
			func(*protocol.Task) {},
			func(d *core.Definition) { d.Steps[0].Operation = "pay" }, true, nil,
		},
		"Compensated": {
			is(core.Compensated), func(*core.Definition) {}, true,
			[]view.Command{resubmit, move},
		},
		"a child in Error": {func(t *protocol.Task) {
			t.Parent = child
		}, func(*core.Definition) {}, true, []view.Command{resubmit, move}},
		"a Compensated child": {func(t *protocol.Task) {
			is(core.Compensated)(t)
			t.Parent = child
		}, func(*core.Definition) {}, true, nil},
		"being undone": {is(core.Compensating), func(*core.Definition) {}, true, nil},
		"in flight": {func(t *protocol.Task) {
			is(core.Processing)(t)
			t.Steps[0].State = core.Processing
		}, func(*core.Definition) {}, true, nil},
		"Processed": {is(core.Processed), func(*core.Definition) {}, false, nil},
		"Cancelled": {is(core.Cancelled), func(*core.Definition) {}, false, nil},
		"Closed":    {is(core.Closed), func(*core.Definition) {}, false, nil},
	} {
		task, def := stopped()
		c.edit(task)
		var deployed *core.Definition
		if c.deployed != nil {
			d := *def
			d.Hash = "def"
			d.Steps = slices.Clone(def.Steps)
			c.deployed(&d)
			deployed = &d
		}
		var v view.Task
		v.Pinned(task, def, deployed, (t0 + 70_000).Std())
		require.Equal(t, c.offers, v.Accepts, name)
		require.Equal(t, c.named, v.Deployed == "def", name)
	}
}

// A plan refuses everything that the move would refuse, and also a move for whose reserve the document has no
// room.
func TestPlanOf(t *testing.T) {
	task, def := stopped()
	other := *def
	other.Hash = "def"
	other.Steps = append(slices.Clone(def.Steps), core.StepDefinition{
		Name:  "ship",
		Agent: "payment", Operation: "ship", Grade: core.Idempotent, Timeout: core.Second,
	})
	other.Link()
	for _, c := range []struct {
		name   string
		limit  int
		reason string
	}{
		{"the document has room", 400_000, ""},
		{"the reserve does not fit", protocol.Reserve(&other) - 1, "do not fit into a document of"},
	} {
		room := protocol.SizeLimit(c.limit)
		p := view.PlanOf(task, def, core.Target{Definition: &other}, json.RawMessage(`{}`),
			(t0 + 70_000).Std(), room)
		require.Equal(t, c.reason == "", p.Accepted, c.name)
		require.Contains(t, p.Reason, c.reason, c.name)
		require.Equal(t, "def", p.Definition, c.name)
	}
}

// The documents of an order hold its definition, the one to move to, and those of the child orders of both,
// each once; one that is not stored is an error that names the step.
func TestDocumentsOf(t *testing.T) {
	child := &core.Definition{Name: "child", Hash: strings.Repeat("c", 32)}
	each := core.StepDefinition{Name: "parts", Each: &core.Each{Workflow: "child", Definition: child.Hash}}
	def := &core.Definition{Name: "parent", Hash: strings.Repeat("a", 32), Steps: []core.StepDefinition{each}}
	to := &core.Definition{Name: "parent", Hash: strings.Repeat("b", 32), Steps: []core.StepDefinition{each}}
	task := &protocol.Task{OrderID: "o", Workflow: "parent", Definition: def.Hash}
	stored := map[string]*core.Definition{child.Hash: child}
	load := func(hash string) (*core.Definition, error) { return stored[hash], nil }
	d, err := view.DocumentsOf(task, json.RawMessage(`{"n":1}`), def, to, load)
	require.NoError(t, err)
	require.Len(t, d.Definitions, 3)
	require.Equal(t, `{"n":1}`, string(d.Order))
	again, err := state.DecodeTask(d.Task)
	require.NoError(t, err)
	require.Equal(t, "o", again.OrderID)
	d, err = view.DocumentsOf(task, nil, def, nil, load)
	require.NoError(t, err)
	require.Len(t, d.Definitions, 2)
	for name, c := range map[string]struct {
		task *protocol.Task
		def  *core.Definition
	}{
		"its task":       {&protocol.Task{OrderID: "o", Created: -1}, def},
		"its definition": {task, &core.Definition{Name: "parent", Hash: "d", Output: json.RawMessage("{")}},
	} {
		_, err := view.DocumentsOf(c.task, nil, c.def, nil, load)
		require.Error(t, err, name)
	}
	clear(stored)
	_, err = view.DocumentsOf(task, nil, def, to, load)
	require.ErrorContains(t, err, "child orders of step parts: "+child.Hash+" is not stored")
}
