package protocol

import (
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// maxKnown is the number of accepted answers whose copies a step recognises.
const maxKnown = 64

// passes returns the step that passes an event's answers on to its only child (P56, answers pass through), or -1. Of
// several such steps, which come one after the other, it is the first one that has not ended.
func (r *decision) passes(step, event string) int {
	if step != "" || r.def == nil {
		return -1
	}
	found := -1
	for i := range r.def.Steps {
		e := r.def.Steps[i].Each
		if e == nil || e.Passes(event) < 0 {
			continue
		}
		if found < 0 || r.t.Steps[found].passesNoMore() || slices.Contains(r.def.Ancestors(found), i) &&
			!r.t.Steps[i].passesNoMore() {
			found = i
		}
	}
	return found
}

// passesNoMore reports whether the step has ended, or is not wanted any more.
func (s *Step) passesNoMore() bool {
	return s.Passed() || s.State == core.UndoWait || s.Withdrawn != 0 || s.Claim.Undo
}

// passOn keeps an answer for the open child of the step, or for the next one, and sends it to the open one.
func (s step) passOn(e core.Answered) (string, error) {
	mode := modeOf(s.t)
	reason := ""
	switch {
	case mode != going && mode != errForward:
		reason = s.t.HasEnded(s.Step, e)
	case e.Run != s.t.Run:
		reason = fmt.Sprintf("the order is in run %d, and the answer is for run %d; look at it again", s.t.Run, e.Run)
	default:
		reason = s.keepPassed(core.Passed{ID: e.ID, Name: e.Name, Value: e.Value, By: e.By, Note: e.Note})
	}
	if reason != "" {
		return s.refuseAnswer(-1, e, reason)
	}
	v := s.passedOn(e.ID)
	s.verdict = &v
	if mode == going {
		s.passToChild()
	}
	return "", nil
}

// keepPassed stores an answer that is to be passed on, or returns why it cannot.
func (s step) keepPassed(a core.Passed) (refused string) {
	p := Passing{}
	if s.Passing != nil {
		p = *s.Passing
	}
	value, wrong := s.def.PassedValue(s.i, s.d.Each.Passes(a.Name), a.Value)
	a.Value = value
	switch {
	case s.State == core.Skipped:
		return "step " + s.Name + " was skipped"
	case s.passesNoMore():
		return "step " + s.Name + " has ended, and nothing in it waits for the event " + a.Name + " any more"
	case wrong != "":
		return wrong
	case len(p.Answers) >= core.MaxPassed:
		return fmt.Sprintf("step %s holds %d answers until its child order ends; send this one under a new ID then, or to "+
			"the child order itself", s.Name, len(p.Answers))
	}
	p.Answers = append(slices.Clip(p.Answers), a)
	p.Known = append(slices.Clip(p.Known), ShortHash(a.ID))
	p.Known = p.Known[max(0, len(p.Known)-maxKnown):]
	before := s.Passing
	s.Passing = &p
	if passedSize(p.Answers) > core.MaxPassedSize || !s.at.SizeLimit.Fits(s.def, s.t) {
		s.Passing = before
		return fmt.Sprintf("the answers that wait for step %s take more than %d bytes with it, or have no room in the "+
			"order's document; send it under a new ID when one of them was taken", s.Name, core.MaxPassedSize)
	}
	return ""
}

// passToChild sends the start of the open child again, with all answers.
func (s step) passToChild() {
	if s.State != core.Waiting || s.Children == nil || s.UndoesChildren() || s.Children.Stopped {
		return
	}
	s.OwnChildren().ask(s.cause, false)
	s.askOpen("")
}

// passedOn returns the verdict on an answer that was passed on.
func (s *Step) passedOn(id string) Verdict {
	return Verdict{ID: id, Command: "answer", Accepted: true, Reason: "passed on to step " + s.Name}
}

func (p *Passing) knows(id string) bool { return p != nil && slices.Contains(p.Known, ShortHash(id)) }

// toPass returns the answers as a message has them.
func (p *Passing) toPass() (answers []core.Passed) {
	if p == nil {
		return nil
	}
	for _, a := range p.Answers {
		a.Above = false
		answers = append(answers, a)
	}
	return answers
}

// taken removes the answers that a child has used or refused, and after a Move those for events that no later child
// waits for. Used ones that came from the order's own parent are reported to it with the end.
func (s step) taken(took []string) {
	if s.Passing == nil {
		return
	}
	p := *s.Passing
	p.Answers = nil
	for _, a := range s.Passing.Answers {
		hash := ShortHash(a.ID)
		switch used := slices.Contains(took, hash); {
		case used && a.Above:
			s.t.tookPassed(hash)
		case !used && s.d.Each.Passes(a.Name) >= 0:
			p.Answers = append(p.Answers, a)
		}
	}
	s.Passing = &p
}

// dropPassed removes the answers that no child can take any more.
func (r *decision) dropPassed() {
	mode := modeOf(r.t)
	for i := range r.t.Steps {
		switch s := r.step(i); {
		case s.Passing == nil || len(s.Passing.Answers) == 0:
		case mode != going && mode != errForward || s.passesNoMore():
			s.Passing = &Passing{Known: s.Passing.Known}
		case s.Children == nil || len(s.Children.Open) == 0: // the next child gets the present definition
			s.taken(nil)
		}
	}
}

// takePassed applies the answers of a start to a child that goes forward. It reports whether one was new. An answer
// that no step can take now stays with the parent.
func (r *decision) takePassed(answers []core.Passed) (changed bool) {
	mode := modeOf(r.t)
	if mode != going && mode != errForward {
		return false
	}
	for _, a := range answers {
		if r.err == nil && !r.t.hasPassed(ShortHash(a.ID)) {
			changed = r.take(a) || changed
		}
	}
	return changed
}

// hasPassed reports whether the task has used, refused or kept an answer of its parent.
func (t *Task) hasPassed(hash string) bool {
	if slices.Contains(t.Took, hash) || len(t.Took) >= core.MaxPassed {
		return true
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.Answers != nil && slices.ContainsFunc(s.Answers.Votes, func(v Vote) bool { return v.Passed == hash }) {
			return true
		}
		if s.Passing != nil && slices.ContainsFunc(s.Passing.Answers,
			func(a core.Passed) bool { return ShortHash(a.ID) == hash }) {
			return true
		}
	}
	return false
}

// tookPassed records that an answer of the parent was used or refused. Several steps may have used the same one.
func (t *Task) tookPassed(hash string) {
	if hash != "" && !slices.Contains(t.Took, hash) {
		t.Took = append(slices.Clip(t.Took), hash)
	}
}

// take gives an answer of the parent to the steps that wait for its event, or passes it on. It refuses one that no step
// may ever take.
func (r *decision) take(a core.Passed) (changed bool) {
	e := core.Answered{ID: a.ID, Run: r.t.Run, Name: a.Name, Value: a.Value, By: a.By, Note: a.Note}
	steps, _ := r.t.Addressed(r.def, e)
	if i := r.passes("", a.Name); len(steps) == 0 && i >= 0 {
		a.Above = true
		changed = r.step(i).keepPassed(a) == ""
		if changed && r.t.ProcessState == core.Processing {
			r.step(i).passToChild()
		}
		return changed
	}
	wrong := 0
	refused := ""
	for _, i := range steps {
		s := r.step(i)
		value, why := r.def.AnswerValue(i, a.Value)
		vote := &Vote{By: a.By, Value: value, At: r.at.Now, Passed: ShortHash(a.ID)}
		switch {
		case why != "":
			wrong++
			refused = why
		case s.awaitsEvent() && s.holdsVote(vote):
			s.addVote(vote)
			changed = true
			if s.State == core.Waiting {
				s.look()
			}
		}
	}
	if wrong == len(steps) && wrong > 0 {
		r.refusePassed(steps[0], a, refused)
		return true
	}
	return changed
}

// refusePassed refuses an answer whose value no step allows. Only the child knows that.
func (r *decision) refusePassed(i int, a core.Passed, reason string) {
	sent := r.verdict
	r.t.tookPassed(ShortHash(a.ID))
	r.step(i).keepVerdict(Verdict{ID: a.ID, Command: "answer", Reason: core.TrimMessage(reason), At: r.at.Now})
	r.verdict = sent
}

// awaitsEvent reports whether an answer to the step's event may still decide it. With attempts, the next one decides if
// those before it are refused.
func (s step) awaitsEvent() bool {
	open := s.State == core.Waiting || s.State == core.Pending && !s.Decided()
	return open && s.Withdrawn == 0 && (s.Answers == nil || len(s.Answers.Votes) < s.attemptsLeft())
}

func passedSize(answers []core.Passed) (n int) {
	for _, a := range answers {
		n += 80 + len(a.ID) + len(a.Name) + len(a.Value) + quoted(a.By) + quoted(a.Note)
	}
	return n
}

// causePassed returns the part of a cause that distinguishes starts with different answers (P4, a cause is logical).
func causePassed(answers []core.Passed) string {
	if len(answers) == 0 {
		return ""
	}
	h := fnv.New64a()
	for _, a := range answers {
		_, _ = h.Write([]byte(a.ID + "/"))
	}
	return "/" + hex.EncodeToString(h.Sum(nil))
}
