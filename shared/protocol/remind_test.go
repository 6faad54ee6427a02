package protocol_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// reminding returns a workflow with a question that has reminders, and the call that sends it.
func reminding(timeout, remind core.Duration) *core.Definition {
	ask := step("w-ask", func(s *core.StepDefinition) {
		s.Undo = nil
		s.Timeout = timeout
	})
	def := workflow(ask, core.StepDefinition{
		Name: "w", After: []string{"w-ask"}, Timeout: core.Day,
		OnFailure: core.OnFailureUndo,
		Answer: &core.Answer{
			Ask: "w-ask", Values: []string{"yes", "no"}, OnTimeout: core.OnFailureUndo,
		},
	})
	if remind > 0 {
		def.Steps[1].Remind = &core.Remind{After: remind, Every: remind}
	}
	def.Expr = &expressions{input: map[int]func(core.Environment) (json.RawMessage, error){
		1: func(core.Environment) (json.RawMessage, error) { return json.RawMessage(`{}`), nil },
	}}
	def.Hash = fmt.Sprint("with ", timeout, " ", remind)
	return def
}

// reminders are the requests among effects, with the timeout of the call and when they were due.
func reminders(effects []core.Effect) (all []string) {
	for _, e := range effects {
		if q, ok := e.(core.SendRequest); ok {
			all = append(all, fmt.Sprint(q.Key, " ", q.Timeout, " ", q.ClaimedAt.Sub(noon)))
		}
	}
	return all
}

// asking returns a desk whose question is open.
func asking(t *testing.T, def *core.Definition) *desk {
	d := newDesk(t, def)
	d.decide(d.submit)
	d.decide(core.Reply{Step: "w-ask", Attempt: 1, Operation: core.Do, Outcome: core.OutcomeDone})
	return d
}

func (d *desk) move(to *core.Definition) protocol.Decision {
	dec := d.decide(core.Command{Name: core.Move, ID: "m", Number: d.task.Commands.Number, To: &core.Target{Definition: to}})
	d.def = to
	return dec
}

// P37, P49: a reminder that was sent is not sent again after a move, since the new definition may ask
// otherwise under the same key. The next one goes out with what the new definition says.
func TestAReminderIsNotSentAgainAfterAMove(t *testing.T) {
	d := asking(t, reminding(10*core.Second, core.Hour))
	restart := func() []string {
		dec, err := protocol.Decide(d.def, d.order, d.task, nil, d.at())
		if err != nil {
			t.Fatal(err)
		}
		return reminders(dec.Effects)
	}
	d.wait(core.Hour)
	d.decide(core.Wake{Step: "w", Attempt: 1})
	if got := restart(); len(got) != 1 || got[0] != "o1/0/w/1.1 10s 1h0m0s" {
		t.Errorf("a restart sends %v", got)
	}
	if got := reminders(d.move(reminding(20*core.Second, core.Hour)).Effects); len(got) != 0 {
		t.Errorf("the move sends %v", got)
	}
	if got := restart(); len(got) != 0 {
		t.Errorf("after the move a restart sends %v", got)
	}
	d.wait(core.Hour + core.Minute)
	if got := reminders(d.decide(core.Wake{Step: "w", Attempt: 1}).Effects); len(got) != 1 ||
		got[0] != "o1/0/w/1.2 20s 2h0m0s" {
		t.Errorf("the next reminder is %v", got)
	}
	if got := restart(); len(got) != 1 {
		t.Errorf("a restart then sends %v", got)
	}
}

// P37, P49: after a move reminders are sent at the interval of the new definition from the move on, under
// numbers that no reminder had, and neither Supervisor nor Scheduler looks at the question at times that only
// the old one had.
func TestAMoveGivesAnOpenQuestionItsNewReminders(t *testing.T) {
	for _, c := range []struct {
		name string
		// interval of the new definition; the old one reminds every hour and has done so three times
		is    core.Duration
		next  core.Duration // time of the next look, from the claim
		after []string
	}{
		{"more often", 30 * core.Minute, 3*core.Hour + 30*core.Minute, []string{"o1/0/w/1.7 10s 3h30m0s"}},
		{"less often", 4 * core.Hour, 4 * core.Hour, []string{"o1/0/w/1.4 10s 4h0m0s"}},
		{"much less often", 20 * core.Hour, 20 * core.Hour, []string{"o1/0/w/1.4 10s 20h0m0s"}},
		{"never", 0, core.Day, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := asking(t, reminding(10*core.Second, core.Hour))
			for range 3 {
				d.wait(core.Hour)
				d.decide(core.Wake{Step: "w", Attempt: 1})
			}
			wake := core.SendWake{OrderID: orderID, Step: "w", Attempt: 1, WakeAt: noon.Add(c.next)}
			effects := d.move(reminding(10*core.Second, c.is)).Effects
			at := core.Time(0)
			if c.is > 0 {
				at = noon.Add(c.next)
				require.Contains(t, effects, core.Effect(wake))
			}
			require.Equal(t, at, d.task.Step("w").RemindAt())
			require.Empty(t, protocol.SweepEvents(d.def, d.task, noon.Add(c.next-1)), "before it is due")
			d.wait(c.next - 3*core.Hour)
			if got := reminders(d.decide(core.Wake{Step: "w", Attempt: 1}).Effects); !slices.Equal(got,
				c.after) {
				t.Errorf("then %v is sent, want %v", got, c.after)
			}
		})
	}
}
