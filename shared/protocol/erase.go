package protocol

import (
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// isErased is the reason for which an erased order refuses a command.
const isErased = "the content of the order was erased, so it takes no further command; submit new work " +
	"under a new ID"

// eraseCommand is the operator's decision to remove what an order at an end holds of people's data (P52). An
// order that is erased already accepts the command, which then removes again whatever a crash has left of the
// content.
func (r *deciding) eraseCommand(_ int, ev core.Event) (string, error) {
	e, t := ev.(core.Erase), r.t
	// one with an old number may have been refused before (P5)
	if t.Erased != nil && e.Command == t.Commands.Number {
		r.eraseContent()
		r.acceptAgain(e.ID, "erase", "it was erased before")
		return "", nil
	}
	if reason := r.checkCommand(e.Command); reason != "" {
		return r.reject(e.ID, "erase", reason)
	}
	if reason := r.eraseRefusal(e.Unrested); reason != "" {
		return r.reject(e.ID, "erase", reason)
	}
	t.ContentHash = e.KnownHash
	r.erase()
	t.Erased = &core.Erasure{By: e.By, Reason: core.TrimMessage(e.Reason), At: r.at.Now}
	r.eraseContent()
	r.accept(e.ID, "erase", "")
	return "", nil
}

// eraseRefusal returns why the task cannot be erased, or "" if it can. Nothing may still need the content: no
// further attempt, no undo, and no status that has to be sent again byte for byte.
func (r *deciding) eraseRefusal(unrested string) string {
	t := r.t
	switch {
	case t.ProcessState == core.Error:
		return "the order is in Error and may still need its content; end it first: resubmit, undo or " +
			"close it"
	case !t.Terminal():
		return "the order is " + string(t.ProcessState) + "; only one that has ended can be erased"
	case t.End.ResendAt != 0:
		return "the end of the order has not been reported yet; repeat the command in a minute"
	case unrested != "":
		return "the order is a child of " + unrested +
			", which has not come to rest and may still need it; end that one first"
	}
	return ""
}

// eraseContent has the content removed that is kept apart from the task.
func (r *deciding) eraseContent() {
	if r.t.ContentHash != "" {
		r.emit(core.EraseContent{OrderID: r.t.OrderID, Hash: r.t.ContentHash})
	}
}

// erase removes what people and services have sent. States, times, counts, codes, hashes, and the names of
// those who gave commands stay.
func (r *deciding) erase() {
	t := r.t
	t.Order, t.Output, t.Unknown = nil, nil, nil
	t.Reason.Text, t.Undo.Reason.Text = "", ""
	if t.Closing != nil {
		t.Closing = &core.Closing{By: t.Closing.By}
	}
	t.Commands.Verdicts = slices.Clone(t.Commands.Verdicts)
	for i := range t.Commands.Verdicts {
		t.Commands.Verdicts[i].Note = ""
		eraseAnswer(&t.Commands.Verdicts[i])
	}
	for i := range t.Steps {
		erase(&t.Steps[i])
	}
}

// eraseAnswer removes what an answer and its verdict say, which may name people and values.
func eraseAnswer(v *core.Verdict) {
	if v.Command == "answer" {
		v.By, v.Reason, v.Note = "", "", ""
	}
}

func erase(s *core.Step) {
	s.Output, s.Unknown = nil, nil
	if s.Error != nil {
		e := *s.Error
		e.Message = ""
		s.Error = &e
	}
	if s.Corrected != nil {
		c := *s.Corrected
		c.Input, c.Reason = nil, ""
		s.Corrected = &c
	}
	if s.Claim.Progress != nil {
		p := *s.Claim.Progress
		p.Note = ""
		s.Claim.Progress = &p
	}
	if s.Children != nil {
		c := *s.Children
		c.Results, c.Reason = nil, ""
		s.Children = &c
	}
	if s.Answers != nil {
		a := *s.Answers
		a.Who, a.NotSelf, a.Votes = nil, "", nil
		a.Verdicts = slices.Clone(a.Verdicts)
		for i := range a.Verdicts {
			eraseAnswer(&a.Verdicts[i])
		}
		s.Answers = &a
	}
}
