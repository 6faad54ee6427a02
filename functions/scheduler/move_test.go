package scheduler_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/actorstest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

// P49, P13: what comes after a Move in the same batch is decided by the definition that it has pinned, and a
// Move that comes again changes nothing.
func TestMoveInABatch(t *testing.T) {
	def := actorstest.Definition()
	def.Steps[2].OnFailure = core.OnFailureStop
	require.NoError(t, workflow.Seal(def))
	w := actorstest.New(t, def).Boot()
	w.Scheduler.Handle(ctx, port.Intake, deliver(actorstest.Order("o-1")))
	asked := requests(t, w)
	w.Scheduler.Handle(ctx, port.Replies,
		deliver(actorstest.Done(asked["o-1 a/1 do"]), actorstest.Done(asked["o-1 b/1 do"])))
	w.Scheduler.Handle(ctx, port.Replies, deliver(actorstest.Failed(requests(t, w)["o-1 c/1 do"], "refused")))
	task := w.Task("o-1")
	require.Equal(t, core.Error, task.ProcessState)
	require.Zero(t, task.End.ResendAt)
	newer := *def
	newer.Grace++
	require.NoError(t, workflow.Seal(&newer))
	w.Def = &newer
	w.Boot()
	move := &message.Control{OrderID: "o-1", Event: core.Command{Name: core.Move, ID: "m-1", Definition: message.Latest}}
	resubmit := &message.Control{OrderID: "o-1", Event: core.Command{Name: core.Resubmit, ID: "m-2", Number: 1}}
	version := w.Task("o-1").Version
	ds := deliver(move, resubmit)
	for range 2 {
		require.Empty(t, w.Scheduler.Handle(ctx, port.Control, ds))
		task := w.Task("o-1")
		require.Equal(t, newer.Hash, task.Definition)
		require.Equal(t, 2, task.Commands.Number)
		require.Equal(t, core.Processing, task.ProcessState)
		require.Equal(t, version+1, task.Version)
		ds = again(ds)
	}
	unknown := &message.Control{
		OrderID: "o-1",
		Event:   core.Command{Name: core.Move, ID: "m-3", Number: 2, Definition: strings.Repeat("0", 32)},
	}
	w.Scheduler.Handle(ctx, port.Control, deliver(unknown))
	v := w.Task("o-1").Commands.Verdicts
	require.False(t, v[len(v)-1].Accepted)
	require.Contains(t, v[len(v)-1].Reason, "no definition with the hash")
}
