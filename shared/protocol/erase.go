package protocol

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
)

const isErased = "the content of the order was erased, so it takes no further command; submit new work " +
	"under a new ID"

// eraseCommand erases an ended order for the operator (P52, erase removes content, not identity). An erased
// order accepts the command again, and removes content that was left after a crash.
func (r *deciding) eraseCommand(_ int, ev core.Event) (string, error) {
	e, t := ev.(core.Erase), r.t
	// A command with an old number may have been refused before, so it is not accepted here (P5, commands
	// have a number and an ID).
	if t.Erased != nil && e.Command == t.Commands.Number {
		r.eraseContent()
		r.acceptAgain("it was erased before")
		return "", nil
	}
	return operators((*deciding).eraseOnce).action(r, -1, ev)
}

func (r *deciding) eraseOnce(ev core.Event) (refused string) {
	e, t := ev.(core.Erase), r.t
	if reason := t.EraseRefusal(e.ActiveAncestor); reason != "" {
		return reason
	}
	t.ContentHash = e.KnownHash
	t.Erase()
	r.accept("")
	t.Erased = &core.Erasure{By: r.From.By, Reason: core.TrimMessage(r.From.Reason), At: r.at.Now}
	r.eraseContent()
	return ""
}

func (r *deciding) eraseContent() {
	if r.t.ContentHash != "" {
		r.emit(core.EraseContent{OrderID: r.t.OrderID, Hash: r.t.ContentHash})
	}
}
