package protocol_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// P58, P49. A Move keeps a deadline that is the same, and sets another one from where the old one counted: the first
// claim, or a Resubmit. Broken by: MovedTo sets it from the first claim.
func TestAMoveKeepsFromWhereADeadlineCounts(t *testing.T) {
	within := func(deadline core.Duration) core.StepDefinition {
		s := step("a")
		s.Deadline = deadline
		s.OnDeadline = core.OnFailureStop
		return s
	}
	for _, c := range []struct {
		name     string
		resubmit bool
		before   core.Duration // deadlines
		after    core.Duration
		from     core.Duration // from the first claim, where the new deadline counts
	}{
		{"the same", false, core.Hour, core.Hour, 0},
		{"the same after a Resubmit", true, core.Hour, core.Hour, 2 * core.Hour},
		{"a longer one", false, core.Hour, core.Day, 0},
		{"a longer one after a Resubmit", true, core.Hour, core.Day, 2 * core.Hour},
		{"the first one", false, 0, core.Hour, 0},
		{"none", false, core.Hour, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := begun(t, within(c.before))
			first := d.now
			d.decide(later("a", 1)) // a step in flight is not moved
			if c.resubmit {
				d.wait(2 * core.Hour)
				d.decide(core.StepLate{Step: "a", Seq: 1})
				d.decide(core.Command{Name: core.Resubmit, ID: "r"})
				d.decide(later("a", 2))
			}
			dec, err := d.try(core.Command{
				Name: core.Move, ID: "m", Number: d.task.Commands.Number,
				To: &core.Target{Definition: target("fedcba", within(c.after))},
			})
			require.NoError(t, err)
			require.True(t, dec.Verdict.Accepted, dec.Verdict.Reason)
			want := core.Time(0)
			if c.after > 0 {
				want = first.Add(c.from + c.after)
			}
			require.Equal(t, want, dec.Task.Step("a").LateAt())
		})
	}
}
