package view_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

const t0 = core.Time(1_800_000_000_000)

var definition = func() *core.Definition {
	d := &core.Definition{Name: "order", Steps: []core.StepDefinition{
		{
			Name: "reserve", Agent: "inventory", Operation: "reserve", Grade: core.Fenced,
			Undo: &core.Undo{Operation: "release"},
		},
		{
			Name: "charge", Agent: "payment", Operation: "charge", Grade: core.Idempotent,
			Undo: &core.Undo{Operation: "refund"},
		},
		{
			Name: "mail", Agent: "notification", Operation: "send", Grade: core.Plain,
			After: []string{"reserve", "charge"}, PointOfNoReturn: true,
		},
	}}
	d.Link()
	return d
}()

func task() *protocol.Task {
	return &protocol.Task{
		OrderID: "o-1", Version: 7, Workflow: "order", Definition: "abc", ProcessState: core.Compensating,
		Undo: protocol.Reversal{Why: protocol.WhyFailure},
		Run:  1, Commands: protocol.Commands{
			Number: 2,
			Verdicts: []protocol.Verdict{{
				ID: "c", Command: "cancel", Accepted: false, Reason: "too late",
				At: t0 + 6000,
			}},
		}, Created: t0, Deadline: protocol.Deadline{At: t0 + 90_000},
		Steps: []protocol.Step{
			{
				Name: "reserve", State: core.Processed, Attempt: 1, First: protocol.First{Nth: 1, At: t0 + 100},
				Claim: protocol.Claim{At: t0 + 100}, Stops: protocol.Stops{Do: t0 + 9000},
				Finish: protocol.Finish{At: t0 + 200},
			},
			{
				Name: "charge", State: core.Compensating, Attempt: 3,
				Claim: protocol.Claim{Undo: true, At: t0 + 5000}, First: protocol.First{Nth: 2, At: t0 + 100},
				CompleteBy: t0 + 35_000, Stops: protocol.Stops{Do: t0 + 4000},
				Failures: protocol.Failures{Do: 2, Undo: 1},
				Error:    &protocol.StepError{Code: "timeout", Message: "no answer", At: t0 + 4500, Attempt: 2},
			},
			{Name: "mail", State: core.Pending},
		},
	}
}

// P42: a step that was undone alone shows the failure that led to its undo, whatever its last error is.
func TestStepUndoneAlone(t *testing.T) {
	of := task()
	of.Steps[1].FailureCode = "http-503"
	s := view.Of(of, definition).Steps[1]
	require.Equal(t, "http-503", s.FailedAs)
	require.Equal(t, "timeout", s.Error.Code)
}

func TestEnded(t *testing.T) {
	for _, tt := range []struct {
		state core.State
		step  core.State
		ended bool
	}{
		{core.Processing, core.Processing, false},
		{core.Compensating, core.UndoWait, false},
		{core.Processed, core.Processed, true},
		{core.Compensated, core.Compensated, true},
		{core.Cancelled, core.Compensated, true},
		{core.Error, core.Failed, true},
		{core.Error, core.Processing, false}, // an agent may be at work
	} {
		x := &protocol.Task{ProcessState: tt.state, Steps: []protocol.Step{{State: tt.step}}}
		require.Equal(t, tt.ended, view.Ended(x), "%+v", tt.state)
		require.Equal(t, tt.ended, view.SummaryOf(x).Ended, "%+v", tt.state)
	}
}

// A record shows the state of its document. If the document cannot be read, or belongs to another order, it
// shows the state that the store has.
func TestListed(t *testing.T) {
	x := task()
	doc, err := state.EncodeTask(x)
	require.NoError(t, err)
	record := port.Record{
		ID: "o-1", Version: 7, Workflow: "order", State: "Compensating", Created: t0.Std(),
		Document: doc,
	}
	got := view.Listed(&record)
	require.Equal(t, view.SummaryOf(x), got)
	require.Empty(t, got.Damaged)
	for name, bad := range map[string]struct {
		id  string
		doc string
	}{
		"no JSON": {"o-1", "{"}, "newer": {"o-1", `{"Schema":9}`}, "another's": {"o-2", string(doc)},
		"none": {"o-1", ""},
	} {
		record.ID = bad.id
		record.Document = []byte(bad.doc)
		got := view.Listed(&record)
		require.NotEmpty(t, got.Damaged, name)
		got.Damaged = ""
		require.Equal(t,
			view.Summary{OrderID: bad.id, Workflow: "order", State: core.Compensating, Ended: name != "newer", Created: t0},
			got, name)
	}
}

// The wait of an undo is that of the step that is undone next.
func TestUndoWait(t *testing.T) {
	undo := func(change func(*protocol.Step)) *view.UndoWait {
		x := task()
		change(&x.Steps[1])
		return view.Of(x, definition).UndoWait
	}
	for _, tt := range []struct {
		name   string
		change func(*protocol.Step)
		want   *view.UndoWait
	}{
		{
			"its undo was asked for", func(*protocol.Step) {},
			&view.UndoWait{Step: "charge", For: "undo", Until: t0 + 35_000},
		},
		{"it is being done", func(s *protocol.Step) {
			s.State = core.Processing
			s.Claim.Undo = false
		}, &view.UndoWait{Step: "charge", For: "reply", Until: t0 + 35_000}},
		{
			"a call may take effect", func(s *protocol.Step) {
				s.State = core.UndoWait
				s.Claim.Undo = false
				s.Wait.At = t0 + 5001
			},
			&view.UndoWait{Step: "charge", For: "quiet", LastEffect: t0 + 4000, Until: t0 + 5001},
		},
		{"its undo failed", func(s *protocol.Step) {
			s.State = core.UndoWait
			s.Wait.At = t0 + 6000
		}, &view.UndoWait{Step: "charge", For: "retry", Until: t0 + 6000}},
		{"the Scheduler is about to go on", func(s *protocol.Step) { s.State = core.Failed }, nil},
		{
			"it is undone, and the one before is fenced", func(s *protocol.Step) { s.State = core.Compensated },
			nil,
		},
	} {
		if got := undo(tt.change); (got == nil) != (tt.want == nil) || got != nil && *got != *tt.want {
			t.Errorf("%s: it waits for %+v, want %+v", tt.name, got, tt.want)
		}
	}
	stopped := task()
	stopped.ProcessState = core.Error
	stopped.Phase = core.Undoing
	require.Nil(t, view.Of(stopped, definition).UndoWait)
}

// A command that undoes a stopped order is a later cause than its failure. The first one of the run began the undo.
func TestUndoneFor(t *testing.T) {
	command := func(name, by, note string, at core.Time) protocol.Verdict {
		return protocol.Verdict{Command: name, Accepted: by != "refused", By: by, Note: note, At: at}
	}
	for name, c := range map[string]struct {
		why      protocol.Why
		verdicts []protocol.Verdict
		want     string
	}{
		"a failure": {protocol.WhyFailure, []protocol.Verdict{command("undo", "ann", "", t0+20)}, ""},
		"the operator": {protocol.WhyOperator, []protocol.Verdict{
			command("undo", "joe", "in the run before", t0), command("undo", "refused", "", t0+11),
			command("cancel", "cid", "", t0+12), command("undo", "ann", "wrong address", t0+20),
			command("undo", "bob", "again", t0+30),
		}, "ann asked for it: wrong address"},
		"the caller, with a name": {
			protocol.WhyCancel, []protocol.Verdict{command("cancel", "cid", "", t0+20)}, "cid cancelled it",
		},
		"the caller":                     {protocol.WhyCancel, nil, "the caller cancelled it"},
		"the parent":                     {protocol.WhyParent, nil, "the order that it is a child of is undone"},
		"an operator whose name is gone": {protocol.WhyOperator, nil, "the operator asked for it"},
	} {
		t.Run(name, func(t *testing.T) {
			x := task()
			x.Start.At = t0 + 10
			x.Undo.Why = c.why
			x.Reason = protocol.Reason{Step: "charge", Code: "declined", Text: "no money"}
			x.Commands.Verdicts = c.verdicts
			v := view.Of(x, nil)
			require.Equal(t, &view.TaskError{Step: "charge", Code: "declined", Message: "no money"}, v.Error)
			var want *view.TaskError
			if c.want != "" {
				want = &view.TaskError{Code: string(c.why), Message: c.want}
			}
			require.Equal(t, want, v.UndoneFor)
		})
	}
}
