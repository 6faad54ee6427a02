package scheduler_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/actorstest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

// P43: progress moves the time at which a step is found overdue; that of another agent, or past stopBy, does
// not, and no report teaches how long requests wait.
func TestProgressGivesTime(t *testing.T) {
	def := actorstest.Definition()
	def.Steps[0].MaxDuration = core.Hour
	require.NoError(t, workflow.Seal(def))
	w := actorstest.New(t, def).Boot()
	w.Scheduler.Handle(ctx, port.Intake, deliver(actorstest.Order("o-1")))
	asked := requests(t, w)["o-1 a/1 do"]
	require.Equal(t, core.Hour, asked.MaxDuration)
	require.Equal(t, asked.ClaimedAt.Add(core.Hour+20*core.Second), asked.StopBy)
	require.Equal(t, asked.ClaimedAt.Add(30*core.Second), asked.CompleteBy)
	report := func(change func(*message.Reply)) protocol.Step {
		r := &message.Reply{
			Schema: message.Schema, OrderID: "o-1", Step: "a", Attempt: 1, Agent: "agent-a",
			Operation: core.Do, Outcome: message.Progress, Percent: 40, Note: "frames",
		}
		change(r)
		require.Empty(t, w.Scheduler.Handle(ctx, port.Replies, deliver(r)), "returned")
		return *w.Task("o-1").Step("a")
	}
	w.Clock.Advance(25 * time.Second)
	require.Equal(t, asked.CompleteBy, report(func(r *message.Reply) { r.Agent = "agent-b" }).CompleteBy)
	require.Equal(t, 1, w.Counts["refused: "+message.CodeOtherAgent])
	s := report(func(*message.Reply) {})
	require.Equal(t, asked.ClaimedAt.Add(35*core.Second), s.CompleteBy)
	require.Equal(t, 40, s.Claim.Progress.Percent)
	require.Equal(t, "frames", s.Claim.Progress.Note)
	w.Clock.Advance(5 * time.Second)
	s = report(func(r *message.Reply) {
		r.Until = asked.StopBy.Add(core.Hour)
	})
	require.Equal(t, asked.StopBy, s.CompleteBy)
	require.Equal(t, asked.StopBy, s.Claim.StopBy)
	s = report(func(r *message.Reply) {
		r.Outcome = core.OutcomeDone
		r.Schema = message.Schema
		r.Percent = 0
		r.Note = ""
	})
	require.Equal(t, core.Processed, s.State)
	require.Nil(t, s.Claim.Progress)
}
