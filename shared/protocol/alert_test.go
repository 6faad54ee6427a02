package protocol_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// An alert offers the commands that the task accepts: none that the point of no return or a forgotten key
// forbids. It offers a fact from the time at which the step's calls are over.
func TestAlertOffersWhatIsAccepted(t *testing.T) {
	const later = core.Time(1) // stands for a time after the alert
	for name, c := range map[string]struct {
		change func(def *core.Definition)
		after  core.Duration // the failure comes
		want   core.Accepted
	}{
		"it stops": {
			func(*core.Definition) {}, core.Second,
			core.Accepted{Resubmit: true, Undo: true, Resolve: true, ResolveFrom: later},
		},
		"past its point of no return": {func(def *core.Definition) {
			def.Steps[0].PointOfNoReturn = true
		}, core.Second, core.Accepted{Resubmit: true, Resolve: true, ResolveFrom: later}},
		"its service forgets keys soon": {forgets(10 * core.Second), core.Second, core.Accepted{Undo: true, Resolve: true, ResolveFrom: later}},
		"its service forgets keys later": {
			forgets(core.Day), core.Second,
			core.Accepted{Resubmit: true, Undo: true, Resolve: true, ResolveFrom: later},
		},
		"its calls are over": {
			func(*core.Definition) {}, core.Hour,
			core.Accepted{Resubmit: true, Undo: true, Resolve: true},
		},
	} {
		def := workflow(step("a"))
		def.Steps[0].OnFailure = core.OnFailureStop
		c.change(def)
		def.Link()
		first, err := protocol.Decide(def, []byte(`{"n":1}`), nil, core.Submitted{
			OrderID:  orderID,
			Workflow: def.Name, ContentHash: "h", KnownHash: "h",
		}, protocol.At{Now: noon, By: "s"})
		if err != nil {
			t.Fatal(err)
		}
		failed := core.Reply{
			Step: "a", Attempt: 1, Operation: core.Do, Outcome: core.OutcomeFailed,
			Code: "declined", Message: "no funds",
		}
		dec, err := protocol.Decide(def, []byte(`{"n":1}`), first.Task, failed,
			protocol.At{Now: noon.Add(c.after), By: "s"})
		if err != nil {
			t.Fatal(err)
		}
		var got *core.RaiseAlert
		for _, e := range dec.Effects {
			if a, ok := e.(core.RaiseAlert); ok {
				got = &a
			}
		}
		want := core.RaiseAlert{
			OrderID: orderID, Workflow: def.Name, Phase: core.Forward, Step: "a",
			Attempts: 1, FirstTry: noon, LastTry: noon, Key: orderID + "/0/a",
			Code: "declined", Message: "no funds", At: noon.Add(c.after), Accepts: c.want,
		}
		require.NotNil(t, got, name)
		from := max(got.Accepts.ResolveFrom, dec.Task.End.At)
		for at, accepted := range map[core.Time]bool{from - 1: got.Accepts.ResolveFrom == 0, from: true} {
			v, err := protocol.Decide(def, nil, dec.Task, core.Command{
				Name: core.Resolve,
				ID:   "r", Number: got.Command, Step: "a",
				Fact: core.NotHappened,
			}, protocol.At{Now: at, By: "s"})
			require.NoError(t, err, name)
			require.Equal(t, accepted, v.Verdict.Accepted, "%s: at %s: %s", name, at, v.Verdict.Reason)
		}
		if got.Accepts.ResolveFrom > got.At {
			got.Accepts.ResolveFrom = later
		}
		require.Equal(t, want, *got, name)
	}
}

func forgets(after core.Duration) func(*core.Definition) {
	return func(def *core.Definition) {
		agent := def.Agents[def.Steps[0].Agent]
		agent.KeyRetention = after
		def.Agents[def.Steps[0].Agent] = agent
	}
}

// A workflow may ask for an alert if an order is undone because a step failed (P11). The alert is raised
// once, and the task keeps the time to report it again until it is settled. Other undos raise no alert.
func TestAlertOfAnUndo(t *testing.T) {
	decide := func(def *core.Definition, task *protocol.Task, ev core.Event) protocol.Decision {
		t.Helper()
		dec, err := protocol.Decide(def, []byte(`{"n":1}`), task, ev, protocol.At{Now: noon, By: "s"})
		if err != nil {
			t.Fatal(err)
		}
		return dec
	}
	alertOf := func(effects []core.Effect) (found []core.RaiseAlert) {
		for _, e := range effects {
			if a, ok := e.(core.RaiseAlert); ok {
				found = append(found, a)
			}
		}
		return found
	}
	failed := core.Reply{
		Step: "a", Attempt: 1, Operation: core.Do, Outcome: core.OutcomeFailed,
		Code: "declined", Message: "no funds",
	}
	undone := core.Reply{Step: "a", Attempt: 2, Operation: core.UndoOp, Outcome: core.OutcomeDone}
	cancel := core.Command{Name: core.Cancel, OrderID: orderID, ID: "cancel-1"}
	for name, c := range map[string]struct {
		asked, replyTo bool
		first          core.Event
		want           []core.RaiseAlert
	}{
		"a step failed": {
			asked: true, replyTo: true, first: failed,
			want: []core.RaiseAlert{{
				OrderID: orderID, Workflow: "test", Undone: true, Step: "a",
				Code: "declined", Message: "no funds", At: noon,
				Accepts: core.Accepted{Resubmit: true},
			}},
		},
		"there is no reply-to": {
			asked: true, first: failed,
			want: []core.RaiseAlert{{
				OrderID: orderID, Workflow: "test", Undone: true, Step: "a",
				Code: "declined", Message: "no funds", At: noon,
				Accepts: core.Accepted{Resubmit: true},
			}},
		},
		"it is not asked for":  {replyTo: true, first: failed},
		"it was cancelled":     {asked: true, replyTo: true, first: cancel},
		"an operator undid it": {asked: true, replyTo: true, first: core.Command{Name: core.UndoCommand, ID: "undo-1"}},
	} {
		def := workflow(step("a"))
		def.AlertUndone = c.asked
		submitted := core.Submitted{OrderID: orderID, Workflow: def.Name, ContentHash: "h", KnownHash: "h"}
		if c.replyTo {
			submitted.ReplyTo = "shop"
		}
		task := decide(def, nil, submitted).Task
		if core.CommandOf(c.first).Name == core.UndoCommand {
			def.Steps[0].OnFailure = core.OnFailureStop
			task = protocol.Settled(decide(def, task, failed).Task)
		}
		task = decide(def, task, c.first).Task
		end := decide(def, task, undone)
		if end.Task.ProcessState != core.Compensated && end.Task.ProcessState != core.Cancelled {
			t.Fatalf("%s: it is %s", name, end.Task.ProcessState)
		}
		if got := alertOf(end.Effects); !slices.Equal(got, c.want) {
			t.Errorf("%s: raised %+v, want %+v", name, got, c.want)
		}
		reports := c.replyTo || len(c.want) > 0
		if (end.Task.End.ResendAt != 0) != reports || settles(def, end) != reports || end.Task.AtRest() == reports {
			t.Errorf("%s: to be reported again at %s, settles %v", name, end.Task.End.ResendAt, settles(def, end))
		}
		if !reports {
			continue
		}
		if again := decide(def, end.Task, core.Settle{}); !slices.Equal(alertOf(again.Effects), c.want) {
			t.Errorf("%s: again %+v", name, again.Effects)
		}
		if s := protocol.Settled(end.Task); !s.AtRest() {
			t.Errorf("%s: it is reported, and not at rest", name)
		}
	}
}
