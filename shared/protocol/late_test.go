package protocol_test

import (
	"encoding/json"
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

// P58, P49. The decision of a Move evaluates an absolute deadline that the new definition gives. One that cannot be
// computed refuses the Move.
func TestAMoveEvaluatesAnAbsoluteDeadline(t *testing.T) {
	for _, c := range []struct {
		name     string
		deadline string
		want     core.Time // of the step; 0 if the Move is refused
	}{
		{"a time", `"2026-11-21T18:00:00Z"`, noon.Add(6 * core.Hour)},
		{"a time that has passed", `"2026-11-21T11:00:00Z"`, noon.Add(-core.Hour)},
		{"a time span from the first claim", `"4h"`, noon.Add(4 * core.Hour)},
		{"neither", `"soon"`, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := step("a")
			s.Deadline = core.Hour
			s.OnDeadline = core.OnFailureStop
			d := begun(t, s)
			d.decide(later("a", 1)) // a step in flight is not moved
			d.wait(core.Minute)
			s.Deadline = 0
			s.DeadlineAt = json.RawMessage(`"template"`)
			to := target("fedcba", s)
			to.Expr = &expressions{deadline: map[int]func(core.Environment) (json.RawMessage, error){
				0: func(core.Environment) (json.RawMessage, error) { return json.RawMessage(c.deadline), nil },
			}}
			dec, err := d.try(core.Command{
				Name: core.Move, ID: "m", Number: d.task.Commands.Number, To: &core.Target{Definition: to},
			})
			require.NoError(t, err)
			require.Equal(t, c.want != 0, dec.Verdict.Accepted, dec.Verdict.Reason)
			if c.want == 0 {
				require.Contains(t, dec.Verdict.Reason, "step a of the new definition: deadline: the time is neither")
				return
			}
			require.Equal(t, c.want, dec.Task.Step("a").LateAt())
		})
	}
}
