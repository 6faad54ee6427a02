package protocol_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// firstOf returns a workflow whose step s has three members, of which some decide, and a step after it.
func firstOf(enough int, members ...string) []core.StepDefinition {
	s := core.StepDefinition{
		Name: "s", OnFailure: core.OnFailureUndo, Any: &core.Any{Members: members, Enough: enough},
	}
	var steps []core.StepDefinition
	for _, m := range members {
		steps = append(steps, step(core.MemberName("s", m), func(d *core.StepDefinition) {
			d.OnFailure = core.OnFailureContinue
		}))
	}
	return append(steps, s, step("c", after("s")))
}

// P54: before the decision a move can change how many decide. What has ended well too often is withdrawn (P53).
func TestMoveOfAnAny(t *testing.T) {
	for _, c := range []struct {
		name    string
		members []string
		enough  int
		refused string
		states  string
	}{
		{
			"less",
			[]string{"p", "q", "r"},
			1, "",
			"Processing: s-p Processed/1, s-q Compensating/2, s-r Compensated/1, s Settling/1, c Processing/1",
		},
		{"other members", []string{"p", "q", "x"}, 3, "step s: its members are others", ""},
		{"fewer members", []string{"p", "q"}, 2, "step s: its members are others", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			steps := firstOf(3, "p", "q", "r")
			steps[2] = waitStep("s-r", core.Hour)
			d := begun(t, steps...)
			d.decideAll(done("s-p", 1), done("s-q", 1))
			moved := firstOf(c.enough, c.members...)
			if len(c.members) > 2 {
				moved[2] = waitStep(core.MemberName("s", c.members[2]), core.Hour)
			}
			to := target("feed", moved...)
			dec, err := d.try(core.Command{
				Name: core.Move, ID: "m", To: &core.Target{Definition: to}, Sender: core.Sender{By: "b", Reason: "r"},
			})
			require.NoError(t, err)
			require.Equal(t, c.refused == "", dec.Verdict.Accepted)
			require.Contains(t, dec.Verdict.Reason, c.refused)
			if c.states != "" {
				d.def = to
				d.commit(dec.Task)
				d.expect(nil, c.states, "")
			}
		})
	}
}

// P54: a decided step keeps how many have decided it, and takes no fact.
func TestADecidedAny(t *testing.T) {
	steps := firstOf(1, "p", "q")
	steps[3] = step("c", after("s"), stopping)
	d := begun(t, steps...)
	d.decideAll(done("s-p", 1), undone("s-q", 2))
	d.settle(d.decide(failed("c", 1)))
	require.Equal(t, core.Processed, d.task.Step("s").State)
	more := firstOf(2, "p", "q")
	more[3] = steps[3]
	for _, c := range []struct {
		command core.Command
		refused string
	}{
		{core.Command{Name: core.Move, To: &core.Target{Definition: target("feed", more...)}}, "its enough is another one"},
		{core.Command{Name: core.Resolve, Step: "s", Fact: core.Happened}, "resolve those of its members that are"},
	} {
		c.command.ID = c.refused
		dec, err := d.try(c.command)
		require.NoError(t, err)
		require.False(t, dec.Verdict.Accepted)
		require.Contains(t, dec.Verdict.Reason, c.refused)
	}
}
