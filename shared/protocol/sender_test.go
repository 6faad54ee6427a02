package protocol_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// A verdict has the sender of the command and the reason, if the task has room for them.
func TestVerdictsSayWhoAndWhy(t *testing.T) {
	def := &core.Definition{
		Name:  "test",
		Steps: []core.StepDefinition{{Name: "a", Agent: "x", Operation: "do", Timeout: core.Minute}},
	}
	def.Link()
	d, err := protocol.Decide(def, []byte(`{}`), nil, core.Submitted{
		OrderID: orderID, Workflow: "test",
		ContentHash: "c0ffee", KnownHash: "c0ffee",
	}, protocol.At{Now: 1000})
	require.NoError(t, err)
	undo := core.Command{
		Name: core.UndoCommand,
		ID:   "u", Number: 99,
		Sender: core.Sender{By: "ann", Reason: strings.Repeat("é", core.MaxMessage)},
	}
	reported, err := protocol.Decide(def, nil, d.Task, undo, protocol.At{Now: 2000})
	require.NoError(t, err)
	require.Len(t, reported.Task.Commands.Verdicts, 1)
	v := reported.Task.Commands.Verdicts[0]
	require.Equal(t, "ann", v.By)
	require.True(t, strings.HasPrefix(v.Note, "éé"), "%+v", v)
	require.LessOrEqual(t, len(v.Note), core.MaxMessage)
	require.Equal(t, v, *reported.Verdict)
	cancel := core.Command{Name: core.Cancel, OrderID: orderID, ID: "c", Sender: core.Sender{By: "ann", Reason: "x"}}
	// room for nothing but what must be stored
	full := protocol.SizeLimit(protocol.Reserve(def))
	reported, err = protocol.Decide(def, nil, d.Task, cancel, protocol.At{Now: 2000, SizeLimit: full})
	require.NoError(t, err)
	require.Len(t, reported.Task.Commands.Verdicts, 1)
	v = reported.Task.Commands.Verdicts[0]
	require.Empty(t, v.By)
	require.Empty(t, v.Note)
	require.True(t, v.Accepted, "%+v", v)
	require.Equal(t, v, *reported.Verdict)
}

// A text of the longest length is kept as it is; a longer one is cut at the border of a character.
func TestTextsAreCutAtACharacter(t *testing.T) {
	whole := strings.Repeat("é", core.MaxMessage/2)
	require.Equal(t, whole, core.TrimMessage(whole))
	got, want := core.TrimMessage(whole+"x"), strings.Repeat("é", (core.MaxMessage-len("…"))/2)+
		"…"
	require.Equal(t, want, got)
}
