package core_test

import (
	"errors"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// checkAlert: what a new alert says that the task accepts is what the core itself answers to the
// commands at that time.
func (w *world) checkAlert(m move) {
	for _, e := range m.dec.Effects {
		a, ok := e.(core.RaiseAlert)
		if !ok || m.before != nil && m.before.Ended == m.after.Ended {
			continue
		}
		want := core.Accepted{
			Resubmit: w.takes(m.after, a.At, core.Resubmit{ID: "x", Command: a.Command}),
			Undo:     w.takes(m.after, a.At, core.UndoCommand{ID: "x", Command: a.Command}),
			Resolve:  a.Step != "" && w.takes(m.after, a.At, core.Resolve{ID: "x", Command: a.Command, Step: a.Step, Fact: core.NotHappened}),
		}
		if a.Accepts != want {
			w.violate("P5", "the alert says that the task accepts %+v, and it accepts %+v", a.Accepts, want)
		}
		if s := m.after.Step(a.Step); s != nil && (a.Attempts != s.Attempt || (a.Key != "") != s.Attempted() || a.Key != "" && a.Key != core.Key(orderID, m.after.Run, s.Name)) {
			w.violate("P2", "the alert says attempt %d and key %q of %s", a.Attempts, a.Key, s.Name)
		}
	}
}

// takes reports whether a command is accepted.
func (w *world) takes(t *core.Task, now core.Time, ev core.Event) bool {
	dec, err := core.Decide(w.def, w.order, t, ev, core.At{Now: now, By: "scheduler-1"})
	if err != nil && !errors.Is(err, core.ErrOrderNeeded) {
		w.violate("P5", "%s: %v", name(ev), err)
	}
	return dec.Verdict != nil && dec.Verdict.Accepted
}

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
		want := core.RaiseAlert{OrderID: orderID, Workflow: def.Name, Phase: core.Forward, Step: "a", Attempts: 1, Key: orderID + "/0/a",
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
