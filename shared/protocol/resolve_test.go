package protocol_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

func happened(d *desk, step string, output json.RawMessage) core.Command {
	return core.Command{
		Name: core.Resolve,
		ID:   "f", Number: d.task.Commands.Number, Step: step, Fact: core.Happened,
		Output: output,
	}
}

// An output is refused for a call without effect, for a step that is being undone, and if it is too large.
func TestResolveWithAnOutputIsRefused(t *testing.T) {
	text := func(n int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", n-2) + `"`) }
	for name, x := range map[string]struct {
		before func(*desk)
		fact   core.Fact
		output json.RawMessage
		limit  protocol.SizeLimit
		want   string // "" where it is accepted
	}{
		"largest": {func(*desk) {}, core.Happened, text(core.MaxOutput), 0, ""},
		"too large": {
			func(*desk) {}, core.Happened, text(core.MaxOutput + 1),
			0,
			"the limit is 49152",
		},
		"no room": {
			func(*desk) {}, core.Happened, text(4001),
			protocol.SizeLimit(protocol.Reserve(stopped(t).def) + 4000),
			"does not fit into the order's document",
		},
		"did not happen": {
			func(*desk) {}, core.NotHappened, corrected,
			0,
			"only a step that happened",
		},
		"undone": {
			func(*desk) {}, core.Undone, corrected,
			0,
			"only a step that happened",
		},
		"order is undone": {undoStops, core.Happened, corrected, 0, "is being undone"},
	} {
		d := stopped(t)
		x.before(d)
		ev := happened(d, "b", x.output)
		ev.Fact = x.fact
		v := d.command(t, ev, x.limit).Verdict
		if v.Accepted != (x.want == "") || !strings.Contains(v.Reason, x.want) {
			t.Errorf("%s: %+v, want %q", name, v, x.want)
		}
	}
	alone := begun(t, step("a"), step("b", after("a"), goingOn), step("c", after("b")))
	alone.decideAll(done("a", 1), failed("b", 1))
	for n := range 2 {
		alone.wait(core.Minute)
		alone.decideAll(wake("b", 1+n), undoFailed("b", 2+n))
	}
	alone.wait(core.Hour)
	require.Equal(t, core.Error, alone.task.ProcessState)
	require.Equal(t, core.UndoWait, alone.task.Step("b").State)
	v := alone.command(t, happened(alone, "b", corrected), 0).Verdict
	require.False(t, v.Accepted, "of a step that is undone alone: %+v", v)
	require.Contains(t, v.Reason, "is being undone")
}

// undoStops lets the order be undone until the undo of b has failed too often.
func undoStops(d *desk) {
	d.decide(core.Command{Name: core.UndoCommand, ID: "u", Number: 0})
	d.decideAll(undoFailed("b", 2), wake("b", 2))
	d.wait(core.Minute)
	d.decideAll(wake("b", 2), undoFailed("b", 3))
	d.wait(core.Hour)
}
