package protocol_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// Of a workflow with events the end of every order goes to the bus too, with the number of the one status,
// again with a redelivered message, and by the Scheduler only. Broken by: an order without a reply-to ends
// without a number, or one with a reply-to sends its end there only.
func TestEndsGoToTheBus(t *testing.T) {
	ends := func(effects []core.Effect) (to []string) {
		for _, e := range effects {
			if s, ok := e.(core.SendStatus); ok && s.Status.Kind == core.StatusCompleted {
				if s.Status.Seq != 1 {
					t.Errorf("the end to %s has the number %d", s.ReplyTo, s.Status.Seq)
				}
				to = append(to, s.ReplyTo)
			}
		}
		return to
	}
	for name, c := range map[string]struct {
		events  bool
		replyTo string
		want    []string
	}{
		"neither": {false, "", nil}, "a reply-to": {false, "shop", []string{"shop"}},
		"events": {true, "", []string{core.Events}}, "both": {true, "shop", []string{"shop", core.Events}},
		"a reply-to that is the bus": {true, core.Events, []string{core.Events}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, workflow(step("a")))
			d.def.Events = c.events
			d.submit.ReplyTo = c.replyTo
			d.decide(d.submit)
			done := core.Reply{Step: "a", Attempt: 1, Operation: core.Do, Outcome: core.OutcomeDone}
			end := d.decide(done)
			if got := ends(end.Effects); !slices.Equal(got, c.want) || settles(d.def, end) != (c.want != nil) {
				t.Fatalf("sent to %q, settles %t; want %q", got, settles(d.def, end), c.want)
			}
			if again := ends(d.decide(done).Effects); !slices.Equal(again, c.want) {
				t.Errorf("a redelivery sends to %q, want %q", again, c.want)
			}
			if c.want == nil {
				return
			}
			d.wait(core.Hour)
			if swept := d.sweep(); len(ends(swept)) > 0 || !slices.Contains(swept,
				core.Effect(core.SendSettle{OrderID: orderID})) {
				t.Errorf("the sweep sends %s", brief(swept))
			}
			if again := ends(d.decide(core.Settle{}).Effects); !slices.Equal(again, c.want) {
				t.Errorf("settle sends to %q, want %q", again, c.want)
			}
		})
	}
}

// P12, P60: a child that was closed as damaged has no definition. It reports its end to its parent until that is
// settled.
func TestTheEndOfADamagedChildIsReportedAgain(t *testing.T) {
	at := protocol.At{Now: noon, By: "scheduler-1"}
	child := &protocol.Task{
		OrderID: "p~s~0", Damaged: "it is cut", Due: noon, Parent: &core.Parent{OrderID: "p", Step: "s", Attempt: 1},
	}
	closed, err := protocol.Decide(nil, nil, child, core.Command{Name: core.Close, ID: "c"}, at)
	require.NoError(t, err)
	require.Equal(t, core.Closed, closed.Task.ProcessState)
	again, err := protocol.Decide(nil, nil, closed.Task, core.Settle{}, at)
	require.NoError(t, err)
	require.Equal(t, closed.Effects, again.Effects)
	require.True(t, settles(nil, again))
}
