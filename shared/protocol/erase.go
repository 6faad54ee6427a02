package protocol

import (
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

const isErased = "the content of the order was erased, so it takes no further command; submit new work " +
	"under a new ID"

// eraseCommand erases an ended order for the operator (P52, erase removes content, not identity). An erased
// order accepts the command again, and removes content that was left after a crash.
func (r *decision) eraseCommand(ev core.Event) (string, error) {
	e := ev.(core.Command)
	t := r.t
	// A command with an old number may have been refused before, so it is not accepted here (P5, commands
	// have a number and an ID).
	if t.Erased != nil && e.Number == t.Commands.Number {
		r.emit(t.contentErased()...)
		r.storeVerdict(true, "it was erased before")
		return "", nil
	}
	return operators((*decision).eraseOnce)(r, ev)
}

func (r *decision) eraseOnce(ev core.Event) (refused string) {
	e := ev.(core.Command)
	t := r.t
	if reason := t.EraseRefusal(e.ActiveAncestor); reason != "" {
		return reason
	}
	t.ContentHash = e.KnownHash
	t.Erase()
	r.accept("")
	t.Erased = &Erasure{By: r.Sender.By, Reason: core.TrimMessage(r.Sender.Reason), At: r.at.Now}
	r.emit(t.contentErased()...)
	return ""
}

// contentErased returns the removal of a content that is stored apart.
func (t *Task) contentErased() []core.Effect {
	if t.ContentHash == "" {
		return nil
	}
	return []core.Effect{core.EraseContent{OrderID: t.OrderID, Hash: t.ContentHash}}
}

func (s *Step) erase() {
	s.Output = nil
	s.Unknown = nil
	if s.Error != nil {
		e := *s.Error
		e.Message = ""
		s.Error = &e
	}
	if s.Corrected != nil {
		c := *s.Corrected
		c.Input = nil
		c.Reason = ""
		s.Corrected = &c
	}
	if s.Claim.Progress != nil {
		p := *s.Claim.Progress
		p.Note = ""
		s.Claim.Progress = &p
	}
	if s.Children != nil {
		c := *s.Children
		c.Results = nil
		c.Last = nil
		c.Reason = ""
		s.Children = &c
	}
	if s.Passing != nil {
		s.Passing = &Passing{Known: s.Passing.Known}
	}
	if s.Answers != nil {
		a := *s.Answers
		a.Who = nil
		a.NotSelf = ""
		a.Votes = nil
		a.Verdicts = slices.Clone(a.Verdicts)
		for i := range a.Verdicts {
			a.Verdicts[i].eraseAnswer()
		}
		s.Answers = &a
	}
}

// eraseAnswer removes the texts from the verdict of an answer, because they may name people.
func (v *Verdict) eraseAnswer() {
	if v.Command == "answer" {
		v.By = ""
		v.Reason = ""
		v.Note = ""
	}
}

// Erase removes the data that people and services have sent. States, times, counts, codes, hashes, and the
// names of the senders of commands stay. Undelivered statuses are given up, because their outputs are removed.
func (t *Task) Erase() {
	t.Order = nil
	t.Output = nil
	t.Unknown = nil
	t.Undelivered = nil
	t.Reason.Text = ""
	t.Undo.Reason.Text = ""
	if t.Closing != nil {
		t.Closing = &Closing{By: t.Closing.By}
	}
	t.Commands.Verdicts = slices.Clone(t.Commands.Verdicts)
	for i := range t.Commands.Verdicts {
		t.Commands.Verdicts[i].Note = ""
		t.Commands.Verdicts[i].eraseAnswer()
	}
	for i := range t.Steps {
		t.Steps[i].erase()
	}
}
