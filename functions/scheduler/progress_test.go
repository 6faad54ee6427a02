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
		if failed := w.Scheduler.Handle(ctx, port.Replies, deliver(r)); len(failed) > 0 {
			t.Errorf("returned: %v", failed)
		}
		return *w.Task("o-1").Step("a")
	}
	w.Clock.Advance(25 * time.Second)
	require.Equal(t, asked.CompleteBy, report(func(r *message.Reply) { r.Agent = "agent-b" }).CompleteBy)
	require.Equal(t, 1, w.Counts["refused: "+message.CodeOtherAgent])
	if s := report(func(*message.Reply) {}); s.CompleteBy != asked.ClaimedAt.Add(35*core.Second) ||
		s.Claim.Progress.Percent != 40 || s.Claim.Progress.Note != "frames" {
		t.Errorf("complete by %s, %+v", s.CompleteBy, s.Claim.Progress)
	}
	w.Clock.Advance(5 * time.Second)
	if s := report(func(r *message.Reply) {
		r.Until = asked.StopBy.Add(core.Hour)
	}); s.CompleteBy != asked.StopBy || s.Claim.StopBy != asked.StopBy {
		t.Errorf("complete by %s, stopBy %s", s.CompleteBy, s.Claim.StopBy)
	}
	if s := report(func(r *message.Reply) {
		r.Outcome = core.OutcomeDone
		r.Schema = message.Schema
		r.Percent = 0
		r.Note = ""
	}); s.State != core.Processed || s.Claim.Progress != nil {
		t.Errorf("done: %s, %+v", s.State, s.Claim.Progress)
	}
}
