package core_test

import (
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// An alert offers what the task accepts: nothing that is past the point of no return, or whose key may
// be forgotten, and no fact before the step's calls are over.
func TestAlertOffersWhatIsAccepted(t *testing.T) {
	for name, c := range map[string]struct {
		change func(def *core.Definition)
		after  core.Duration // the failure comes
		want   core.Accepted
	}{
		"it stops":                       {func(*core.Definition) {}, core.Second, core.Accepted{Resubmit: true, Undo: true}},
		"past its point of no return":    {func(def *core.Definition) { def.Steps[0].PointOfNoReturn = true }, core.Second, core.Accepted{Resubmit: true}},
		"its service forgets keys soon":  {forgets(10 * core.Second), core.Second, core.Accepted{Undo: true}},
		"its service forgets keys later": {forgets(core.Day), core.Second, core.Accepted{Resubmit: true, Undo: true}},
		"its calls are over":             {func(*core.Definition) {}, core.Hour, core.Accepted{Resubmit: true, Undo: true, Resolve: true}},
	} {
		def := workflow(step("a"))
		def.Steps[0].OnFailure = core.OnFailureStop
		c.change(def)
		def.Link()
		first, err := core.Decide(def, []byte(`{"n":1}`), nil, core.Submitted{OrderID: orderID, Workflow: def.Name, ContentHash: "h"}, core.At{Now: noon, By: "s"})
		if err != nil {
			t.Fatal(err)
		}
		failed := core.Reply{Step: "a", Attempt: 1, Operation: core.Do, Outcome: core.OutcomeFailed, Code: "declined", Message: "no funds"}
		dec, err := core.Decide(def, []byte(`{"n":1}`), first.Task, failed, core.At{Now: noon.Add(c.after), By: "s"})
		if err != nil {
			t.Fatal(err)
		}
		var got *core.RaiseAlert
		for _, e := range dec.Effects {
			if a, ok := e.(core.RaiseAlert); ok {
				got = &a
			}
		}
		want := core.RaiseAlert{OrderID: orderID, Workflow: def.Name, Phase: core.Forward, Step: "a", Attempts: 1, FirstTry: noon, LastTry: noon, Key: orderID + "/0/a",
			Code: "declined", Message: "no funds", At: noon.Add(c.after), Accepts: c.want}
		if got == nil || *got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, want)
		}
	}
}

func forgets(after core.Duration) func(*core.Definition) {
	return func(def *core.Definition) {
		agent := def.Agents[def.Steps[0].Agent]
		agent.KeyRetention = after
		def.Agents[def.Steps[0].Agent] = agent
	}
}
