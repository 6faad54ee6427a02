package protocol_test

import (
	"strings"
	"testing"

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
	if err != nil {
		t.Fatal(err)
	}
	undo := core.Command{
		Name: core.UndoCommand,
		ID:   "u", Number: 99,
		Sender: core.Sender{By: "ann", Reason: strings.Repeat("é", core.MaxMessage)},
	}
	reported, err := protocol.Decide(def, nil, d.Task, undo, protocol.At{Now: 2000})
	if err != nil || len(reported.Task.Commands.Verdicts) != 1 {
		t.Fatalf("%+v %v", reported, err)
	}
	if v := reported.Task.Commands.Verdicts[0]; v.By != "ann" || !strings.HasPrefix(v.Note, "éé") ||
		len(v.Note) > core.MaxMessage || *reported.Verdict != v {
		t.Errorf("%+v", v)
	}
	cancel := core.Command{Name: core.Cancel, OrderID: orderID, ID: "c", Sender: core.Sender{By: "ann", Reason: "x"}}
	// room for nothing but what must be stored
	full := protocol.SizeLimit(protocol.Reserve(def))
	reported, err = protocol.Decide(def, nil, d.Task, cancel, protocol.At{Now: 2000, SizeLimit: full})
	if err != nil || len(reported.Task.Commands.Verdicts) != 1 {
		t.Fatalf("%+v %v", reported, err)
	}
	if v := reported.Task.Commands.Verdicts[0]; v.By != "" || v.Note != "" || !v.Accepted ||
		*reported.Verdict != v {
		t.Errorf("%+v", v)
	}
}

// A text of the longest length is kept as it is; a longer one is cut at the border of a character.
func TestTextsAreCutAtACharacter(t *testing.T) {
	whole := strings.Repeat("é", core.MaxMessage/2)
	if got := core.TrimMessage(whole); got != whole {
		t.Errorf("%d bytes became %d", len(whole), len(got))
	}
	if got, want := core.TrimMessage(whole+"x"), strings.Repeat("é", (core.MaxMessage-len("…"))/2)+
		"…"; got != want {
		t.Errorf("%q", got)
	}
}
