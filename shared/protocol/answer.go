package protocol

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// answered applies an answer to its steps (P35, an answer decides a round; P36, answers may come early, late
// or twice).
func (r *decision) answered(ev core.Event) (string, error) {
	e := ev.(core.Answered)
	// The loaded task is outdated if the answer names a later run (P8, every commit is conditional).
	if r.def != nil && e.Run > r.t.Run {
		return "", core.ErrStale
	}
	if r.t.Erased != nil { // no text of the answer is stored (P52, erase removes content, not identity)
		return r.refuseAnswer(-1, e, isErased)
	}
	steps, reason := r.t.Addressed(r.def, e)
	if i := r.passes(e.Step, e.Name); reason != "" && i >= 0 {
		return r.step(i).passOn(e)
	}
	if reason != "" {
		return r.refuseAnswer(-1, e, reason)
	}
	var took []int
	var unchanged string // note for the sender of an accepted answer that does not count now
	voted := false
	for _, i := range steps {
		vote, note, why := r.step(i).voteOf(e)
		if r.err != nil {
			return "", nil
		}
		if why != "" {
			if reason == "" {
				reason = why
			}
			continue
		}
		took = append(took, i)
		unchanged = cmp.Or(unchanged, note)
		voted = voted || vote != nil && note == ""
		r.step(i).addVote(vote)
	}
	if len(took) == 0 {
		return r.refuseAnswer(steps[0], e, reason)
	}
	v := Verdict{ID: e.ID, Command: "answer", Accepted: true, At: r.at.Now}
	if !voted {
		v.Reason = core.TrimMessage(unchanged)
	}
	v.Note = core.TrimMessage(e.Note)
	if v.Note != "" {
		v.By = e.By
	}
	for _, i := range took {
		r.step(i).keepVerdict(v)
	}
	for _, i := range took {
		going := r.t.ProcessState == core.Processing || r.t.ProcessState == core.Error &&
			r.t.Phase == core.Forward
		if going && r.err == nil && r.t.Steps[i].State == core.Waiting {
			r.step(i).look()
		}
	}
	return "", nil
}

// voteOf returns the vote that an answer adds to step i:
//
//   - vote is nil if the answer changes nothing.
//   - note is a text for the sender of an accepted answer that does not count, or does not count yet.
//   - refused is the reason of a refusal. It is "" for an accepted answer.
func (s step) voteOf(e core.Answered) (vote *Vote, note, refused string) {
	value, reason := s.def.AnswerValue(s.i, e.Value)
	switch mode := modeOf(s.t); {
	case mode != going && mode != errForward:
		return nil, "", s.t.HasEnded(s.Step, e)
	case e.Run != s.t.Run:
		return nil, "", fmt.Sprintf("the order is in run %d, and the answer is for run %d; look at it again",
			s.t.Run, e.Run)
	case s.State == core.Skipped:
		return nil, "", "step " + s.Name + " was skipped"
	case s.State == core.Compensated || s.Withdrawn != 0:
		return nil, "", "step " + s.Name + " waits no more, because the order has gone on without its answer"
	case e.Step != "" && e.Round != s.Round():
		return nil, "",
			fmt.Sprintf("step %s is in round %d, and the answer is for round %d; look at it again", s.Name,
				s.Round(), e.Round)
	case reason != "":
		return nil, "", reason
	}
	question, known := s.questionOf()
	if s.err != nil {
		return nil, "", ""
	}
	if why := question.Excludes(e.By); why != "" {
		return nil, "", why
	}
	if was, by := s.DecisionText(); by != "" {
		if bytes.Equal(was.Value, value) && !was.TimedOut() {
			return nil, by, ""
		}
		return nil, "", by
	}
	if !known {
		note = fmt.Sprintf("step %s has not begun; the answer counts if %s may answer it then", s.Name, e.By)
	}
	vote, refused = s.newVote(e.ID, e.By, value)
	return vote, note, refused
}

// newVote returns the vote of a person on an undecided step. vote is nil if this answer is already stored, or
// if the vote is refused. refused is the reason of a refusal. It is "" for an accepted vote.
func (s step) newVote(id, by string, value json.RawMessage) (vote *Vote, refused string) {
	event := s.d.Answer.Event != ""
	a := s.Answers
	if a == nil {
		a = &Answers{}
	}
	at := slices.IndexFunc(a.Votes, func(v Vote) bool { return v.By == by })
	switch {
	case at >= 0 && bytes.Equal(a.Votes[at].Value, value):
		return nil, ""
	case at >= 0:
		return nil, by + " has answered step " + s.Name + " before, with " + Shown(a.Votes[at].Value) +
			" at " + a.Votes[at].At.String()
	case event && len(a.Votes) > 0: // only the first answer to an event counts, even before the claim
		if bytes.Equal(a.Votes[0].Value, value) {
			return nil, ""
		}
		return nil, "an event came before, from " + a.Votes[0].By + " at " + a.Votes[0].At.String()
	case len(a.Votes) >= core.MaxVoters:
		return nil, fmt.Sprintf("%d people have answered step %s, which is the most that can", core.MaxVoters,
			s.Name)
	}
	vote = &Vote{By: by, Value: value, At: s.at.Now}
	if event && s.d.Answer.Attempts > 1 {
		vote.ID = ShortHash(id)
	}
	if event && !s.holdsVote(vote) {
		return nil, fmt.Sprintf("the event's value of %d bytes does not fit into the order's document "+
			"beside the outputs of its steps; store the data elsewhere and send a reference", len(value))
	}
	return vote, ""
}

// questionOf returns who may answer a step. After the claim it returns the stored values. Before the claim it
// evaluates the input of the step. known is false if the evaluation fails, or if the input reads a step that
// has not passed.
func (s step) questionOf() (question *Answers, known bool) {
	if s.Answers != nil && s.Answers.Need > 0 {
		return s.Answers, true
	}
	if s.d.Input != nil {
		for _, name := range s.def.Expr.InputReads(s.i) {
			if before := s.t.Step(name); before == nil || !before.Passed() {
				return &Answers{}, false
			}
		}
	}
	text, err := s.input(core.Do)
	if err == nil && s.err == nil {
		question, _, err = ReadQuestion(text, s.d.Timeout, s.at.Now)
	}
	if err != nil || s.err != nil { // the claim will report err later; s.err ends this decision
		return &Answers{}, false
	}
	return question, true
}

func (s step) holdsVote(vote *Vote) bool {
	with := s.t.Clone()
	with.Steps[s.i].addVote(vote)
	return s.at.SizeLimit.Fits(s.def, with)
}

func (s *Step) addVote(vote *Vote) {
	if vote == nil {
		return
	}
	a := s.OwnAnswers()
	a.Votes = append(slices.Clip(a.Votes), *vote)
}

// refuseEarly stores a refusal for each vote in early that does not count (P36). These votes came before the
// claim, and a verdict accepted each of them then. The refusal has no ID, because a vote stores no ID.
func (s step) refuseEarly(early []Vote) {
	sent := s.verdict
	for _, v := range early {
		_, why := s.def.AnswerValue(s.i, v.Value)
		why = cmp.Or(why, s.Answers.Excludes(v.By))
		if why != "" {
			s.keepVerdict(Verdict{
				Command: "answer", Reason: core.TrimMessage(why), By: v.By,
				At: s.at.Now,
			})
		}
	}
	s.verdict = sent
}

func (s step) keepVerdict(v Verdict) {
	s.addVerdict(&s.OwnAnswers().Verdicts, v)
}

// refuseAnswer refuses an answer. It stores the verdict in step i, or in no step if i is negative. The task
// stores nothing for an answer with a token, and then only the sender gets the refusal (P36).
func (r *decision) refuseAnswer(i int, e core.Answered, reason string) (string, error) {
	v := Verdict{ID: e.ID, Command: "answer", Reason: core.TrimMessage(reason), At: r.at.Now}
	r.verdict = &v
	if e.Token == "" {
		r.changed = true
		r.t.Commands.Remember(e.ID, v.Command)
		if i >= 0 {
			r.step(i).keepVerdict(v)
		}
	}
	return "refused: " + reason, nil
}
