package core

// CodeOvertaken is the failure of an ask whose step was answered before it was done.
const CodeOvertaken = "answered"

// answeredEarly reports an answer that decides before its ask is done, and whatever becomes of that (P36).
func (r *deciding) answeredEarly(i int) bool {
	if a := r.t.Steps[i].Answers; a == nil || len(a.Votes) == 0 {
		return false
	}
	p, err := r.kind(i).prepare(r, i)
	return err == nil && p.atOnce
}

// withdraw ends an ask that was to be sent again. It has no undo.
func (r *deciding) withdraw(i int) {
	s := &r.t.Steps[i]
	r.recordFailure(i, CodeOvertaken, "the answer came before it was asked for again", s.Attempt)
	s.FailureCode = CodeOvertaken
	r.undone(i)
}
