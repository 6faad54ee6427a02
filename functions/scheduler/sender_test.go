package scheduler_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/internal/actorstest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

// P3: a reply counts only if it is of the agent that its step asked, by the role that the queue vouches
// for and by the name in the reply, as far as they are known.
func TestReplyOfAnotherAgent(t *testing.T) {
	const a, shared = "AROAAAAA", "AROASHARED"
	known := map[string][]string{"agent-a": {a}, "agent-b": {"AROABBBB", shared}, "agent-c": {shared}}
	for name, c := range map[string]struct {
		agent, sender string
		senders       map[string][]string
		counts        bool
	}{
		"the agent itself":                 {"agent-a", a + ":payment", known, true},
		"another's name":                   {"agent-b", a + ":payment", known, false},
		"another's role":                   {"agent-a", "AROABBBB:shipping", known, false},
		"another's role, without a name":   {"", shared + ":both", known, false},
		"no name, its own role":            {"", a + ":payment", known, true},
		"a role that only begins alike":    {"agent-a", a + "X:payment", known, true},
		"redriven by an operator":          {"agent-a", "AROAOPERATOR:ann", known, true},
		"an operator's, in another's name": {"agent-c", "AIDAOPERATOR", known, false},
		"nothing is known of the sender":   {"", "", known, true},
		"the agent's roles are not known": {
			"agent-a", "AROABBBB:shipping",
			map[string][]string{"agent-b": {"AROABBBB"}},
			true,
		},
		"no roles are known at all": {"agent-b", "", nil, false},
		"no roles, its own name":    {"agent-a", "AROABBBB:x", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			w, asked := begun(t)
			config := w.SchedulerConfig(w.NewState(w.Store, 0), "s")
			config.Senders = c.senders
			s := scheduler.New(config)
			replies := deliver(&message.Reply{
				Schema: 1, OrderID: "o-1", Step: "a", Attempt: 1,
				Operation: core.Do, Outcome: core.OutcomeDone,
				Agent: c.agent, Waited: 400 * core.Second,
			}, &message.Reply{
				Schema: 1, OrderID: "o-1",
				Step: "b", Attempt: 1, Operation: core.Do, Outcome: core.OutcomeDone, Agent: "agent-b",
			})
			replies[0].Sender = c.sender
			require.Empty(t, s.Handle(ctx, port.Replies, replies))
			task := w.Task("o-1")
			quarantined := w.Take(port.Quarantine)
			require.Equal(t, c.counts, task.Step("a").State == core.Processed)
			require.NotNil(t, asked["o-1 a/1 do"])
			require.Equal(t, core.Processed, task.Step("b").State, "the good reply beside it was lost")
			require.Equal(t, c.counts, len(quarantined) == 0)
			require.Equal(t, c.counts, w.Counts["refused: "+message.CodeOtherAgent] == 0)
			for _, d := range quarantined {
				q, ok := d.Value.(*message.Quarantined)
				role, _, _ := strings.Cut(c.sender, ":")
				from := fmt.Sprintf("from agent %q, role %q;", c.agent, role)
				if !ok || q.Queue != port.Replies {
					t.Errorf("quarantined as %+v, want a message of %s", d.Value, port.Replies)
					continue
				}
				for _, want := range []string{`step "a"`, from, `asked agent "agent-a"`} {
					require.Contains(t, q.Reason, want)
				}
			}
		})
	}
}

// P43, P3: a report gives its step time, if it comes from the agent that was asked.
func TestProgressGivesTime(t *testing.T) {
	def := actorstest.Definition()
	def.Steps[0].MaxDuration = core.Hour
	require.NoError(t, workflow.Seal(def))
	w := actorstest.New(t, def).Boot()
	w.Scheduler.Handle(ctx, port.Intake, deliver(actorstest.Order("o-1")))
	asked := requests(t, w)["o-1 a/1 do"]
	r := &message.Reply{
		Schema: message.Schema, OrderID: "o-1", Step: "a", Attempt: 1, Agent: "agent-b", Operation: core.Do,
		Outcome: message.Progress, Percent: 40, Note: "of\nframes", Until: asked.StopBy.Add(core.Hour),
	}
	require.Empty(t, w.Scheduler.Handle(ctx, port.Replies, deliver(r)))
	require.Equal(t, asked.CompleteBy, w.Task("o-1").Step("a").CompleteBy)
	require.Equal(t, 1, w.Counts["refused: "+message.CodeOtherAgent])
	r.Agent = "agent-a"
	require.Empty(t, w.Scheduler.Handle(ctx, port.Replies, deliver(r)))
	a := w.Task("o-1").Step("a")
	require.Equal(t, asked.StopBy, a.CompleteBy)
	require.Equal(t, 40, a.Claim.Progress.Percent)
	require.Equal(t, "of frames", a.Claim.Progress.Note)
}
