package scheduler_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/actorstest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Applications may send to the intake queue alone: a cancel, and an answer that has a token. Every other
// command that comes there goes to quarantine, with its reason, and changes nothing.
func TestCommandsOfApplications(t *testing.T) {
	for _, queue := range []string{port.Intake, port.High(port.Intake)} {
		w, _, sent := linked(t, `{"who":["ann","bob"]}`)
		before := w.Task("o-1").Version
		eve := core.Sender{By: "eve", Reason: "why not"}
		forbidden := []*message.Control{
			answer("x-by", "yes"), // an answer without a checked sender
			{OrderID: "o-1", Event: core.Command{Name: core.UndoCommand, ID: "c-1"}},
			{OrderID: "o-1", Event: core.Command{Name: core.Resubmit, ID: "c-2"}},
			{OrderID: "o-1", Event: core.Command{Name: core.Resolve, ID: "c-3", Step: "a", Fact: core.Happened}},
			{OrderID: "o-1", Event: core.Command{Name: core.Close, ID: "c-4", Sender: eve}},
			{OrderID: "o-1", Event: core.Command{Name: core.Erase, ID: "c-6", Sender: eve}},
			{OrderID: "o-1", Event: core.Command{Name: core.Move, ID: "c-5", Definition: message.Latest}},
			{OrderID: "o-1", Event: core.Wake{Step: "a", Attempt: 1}},
			{OrderID: "o-1", Event: core.Settle{}},
		}
		for _, c := range forbidden {
			body, err := c.Encode()
			require.NoError(t, err)
			ds := append(deliver(c), port.Delivery{
				Message: port.Message{Body: body}, ID: "as text",
				Receipt: "as text",
			})
			require.Empty(t, w.Scheduler.Handle(ctx, queue, ds), queue)
			letters := w.Take(port.Quarantine)
			require.Len(t, letters, len(ds), queue)
			for _, l := range letters {
				q := l.Value.(*message.Quarantined)
				require.Equal(t, queue, q.Queue, queue)
				require.Contains(t, q.Reason, "send this "+string(c.Kind())+" to the control queue", queue)
			}
		}
		require.Equal(t, before, w.Task("o-1").Version, queue)
		w.Scheduler.Handle(ctx, queue, deliver(byToken("x-1", sent.Ann, "yes")))
		require.Equal(t, core.Processed, w.Task("o-1").Step("b").State, queue)
		w.Scheduler.Handle(ctx, queue, deliver(actorstest.Order("o-2"),
			&message.Control{OrderID: "o-2", Event: core.Command{Name: core.Cancel, ID: "c-9"}}))
		v := w.Task("o-2").Verdict("c-9")
		require.NotNil(t, v, queue)
		require.True(t, v.Accepted, queue)
	}
}

// A submission that has a member of a command is refused as a submission: its application is notified.
func TestASubmissionIsNoCommand(t *testing.T) {
	w, _ := begun(t)
	body := `{"schema":1,"orderId":"o-7","workflow":"w","replyTo":"shop","order":1,"kind":"cancel","task":"o-1","id":"c"}`
	require.Empty(t,
		w.Scheduler.Handle(ctx, port.Intake, []port.Delivery{{Message: port.Message{Body: []byte(body)}, Receipt: "r"}}))
	require.Nil(t, w.Task("o-1").Verdict("c"))
	require.Empty(t, w.Take(port.Quarantine))
	require.NotEmpty(t, w.Take("shop"))
}
