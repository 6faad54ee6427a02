package protocol

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// decision returns the decision about a step. The text at states the time of the decision. It is empty if
// enough people have voted, but the decision is not stored yet.
func (s *Step) decision() (decided Decided, at string, ok bool) {
	if s.Decided() && json.Unmarshal(s.Output, &decided) == nil {
		return decided, " at " + decided.At.String(), true
	}
	if s.Answers != nil && !s.Decided() {
		decided, ok = s.Answers.Complete()
	}
	return decided, "", ok
}

// DecisionText returns the decision about a step, and a sentence about it. The sentence is "" if there is no
// decision.
func (s *Step) DecisionText() (Decided, string) {
	was, at, ok := s.decision()
	switch {
	case !ok:
		return was, ""
	case was.TimedOut():
		return was, "the time for an answer to step " + s.Name + " was over" + at
	}
	return was, fmt.Sprintf("step %s was decided%s: %s by %s", s.Name, at, Shown(was.Value), was.By)
}

// TimedOut reports whether the decision has no value, because the time for an answer ended.
func (d Decided) TimedOut() bool { return d.By == ByTimeout && string(d.Value) == "null" }

// Shown returns a value as text for people. A value of more than MaxApproval bytes becomes "another value".
func Shown(value json.RawMessage) string {
	if len(value) > core.MaxApproval {
		return "another value"
	}
	return string(value)
}

// OwnAnswers gives the step its own copy of Answers, and returns the copy.
func (s *Step) OwnAnswers() *Answers {
	a := Answers{Round: 1}
	if s.Answers != nil {
		a = *s.Answers
	}
	s.Answers = &a
	return s.Answers
}

// AsAsked returns a question with the values that the step's claim stored. The present definition may have
// other values, because a Move can change the definition after the claim (P49, move pins another definition).
func (s *Step) AsAsked(question json.RawMessage, timeout core.Duration) json.RawMessage {
	now, timeout, err := ReadQuestion(question, timeout, s.Claim.At)
	a := s.Answers
	asked := s.Wait.Until.Sub(s.Claim.At)
	if err != nil || now.Need == a.Need && now.NotSelf == a.NotSelf && slices.Equal(now.Who, a.Who) &&
		timeout == asked {
		return question
	}
	var q core.Question
	if len(question) > 0 && json.Unmarshal(question, &q) != nil {
		return question
	}
	q.Need = new(core.Whole(a.Need))
	q.Timeout = asked.String()
	q.Who = a.Who
	q.NotSelf = nil
	if a.NotSelf != "" {
		q.NotSelf = &a.NotSelf
	}
	if b, err := core.Marshal(q); err == nil {
		return b
	}
	return question
}

// ReadQuestion parses a question that is asked at a time. It returns who may answer, and how long the question is
// open: 0 if it has a time that has passed. Its errors contain no data of the order.
func ReadQuestion(text json.RawMessage, timeout core.Duration, asked core.Time) (*Answers, core.Duration, error) {
	var q core.Question
	if len(text) > 0 {
		if err := json.Unmarshal(text, &q); err != nil {
			return nil, 0,
				errors.New("need must be a whole number, who a list of names, notSelf and timeout texts")
		}
	}
	a := &Answers{Need: 1, Who: q.Who}
	if q.Need != nil {
		a.Need = int(*q.Need)
	}
	if q.NotSelf != nil {
		a.NotSelf = *q.NotSelf
	}
	if q.Timeout != "" {
		var err error
		timeout, err = readTimeout(q.Timeout, asked)
		if err != nil {
			return nil, 0, err
		}
	}
	names := slices.Clone(q.Who)
	if q.NotSelf != nil {
		names = append(names, a.NotSelf)
	}
	allowed := len(q.Who)
	if slices.Contains(q.Who, a.NotSelf) {
		allowed--
	}
	switch {
	case timeout > core.MaxWait || q.Timeout == "" && timeout <= 0:
		return nil, 0, errors.New("timeout must be more than 0 and at most 366 days")
	case a.Need < 1 || a.Need > core.MaxVoters:
		return nil, 0, fmt.Errorf("need must be 1 to %d", core.MaxVoters)
	case len(q.Who) > core.MaxVoters:
		return nil, 0, fmt.Errorf("who lists more than %d names", core.MaxVoters)
	case len(q.Who) > 0 && allowed < a.Need:
		return nil, 0, errors.New("fewer people may answer than are needed")
	case slices.ContainsFunc(names, func(n string) bool { return !core.PersonName(n) }):
		return nil, 0, fmt.Errorf(
			`who and notSelf must hold names of 1 to %d bytes without control characters and < > & " \`,
			core.MaxAnswerBy)
	}
	slices.Sort(a.Who)
	a.Who = slices.Compact(a.Who)
	return a, timeout, nil
}

func readTimeout(text string, asked core.Time) (core.Duration, error) {
	length, isLength := core.ParseDuration(text)
	if isLength && length <= 0 {
		return 0, errors.New("timeout must be more than 0 and at most 366 days")
	}
	if isLength {
		return length, nil
	}
	until := core.Time(0)
	if err := until.UnmarshalJSON([]byte(strconv.Quote(text))); err != nil {
		return 0, errors.New(`timeout is neither a duration, like "48h" or "7d", nor a time in RFC 3339, like ` +
			`"2026-11-21T10:00:00Z"`)
	}
	return max(0, until.Sub(asked)), nil
}

// Decided reports whether the step's round has ended with a decision.
func (s *Step) Decided() bool { return s.Answers != nil && s.Output != nil }

// Round returns the number of the step's present round, from 1.
func (s *Step) Round() int {
	if s.Answers == nil {
		return 1
	}
	return max(1, s.Answers.Round)
}

// Excludes returns the reason why a person may not answer, or "" if the person may answer.
func (a *Answers) Excludes(by string) string {
	switch {
	case by == core.ByToken && (a.Need > 1 || len(a.Who) > 0 || a.NotSelf != ""):
		// A token without a person does not show who answers (P39, a token is an answer's permission).
		return "the answer names no person, and this step asks who answers"
	case a.NotSelf != "" && a.NotSelf == by:
		return by + " is excluded from answering this step (notSelf)"
	case len(a.Who) > 0 && !slices.Contains(a.Who, by):
		return by + " is not among those who may answer this step"
	}
	return ""
}

// Complete returns the first value that enough people gave, and the names of these people. It leaves
// Decided.At zero. It returns false if no value has enough votes, or if the step was not claimed.
func (a *Answers) Complete() (Decided, bool) {
	if a.Need == 0 {
		return Decided{}, false
	}
	for n := range a.Votes {
		var by []string
		for _, v := range a.Votes[:n+1] {
			if bytes.Equal(v.Value, a.Votes[n].Value) {
				by = append(by, v.By)
			}
		}
		if len(by) >= a.Need {
			return Decided{Value: a.Votes[n].Value, By: strings.Join(by, ", ")}, true
		}
	}
	return Decided{}, false
}

// Addressed returns the indexes of the steps that the answer is for. Without such a step, it returns the
// reason.
func (t *Task) Addressed(def *core.Definition, e core.Answered) (steps []int, reason string) {
	if def == nil {
		return nil, "the order was cancelled before it came"
	}
	for i := range def.Steps {
		d := &def.Steps[i]
		if d.Answer != nil && (e.Step != "" && d.Name == e.Step || e.Step == "" && d.Answer.Event == e.Name) {
			steps = append(steps, i)
		}
	}
	switch {
	case len(steps) > 0:
		return steps, ""
	case e.Step == "":
		return nil, "no step of the order waits for an event " + e.Name
	case t.Index(e.Step) < 0:
		return nil, "the order has no step " + e.Step
	}
	return nil, "step " + e.Step + " is not one that is answered"
}

// HasEnded returns why an answer is refused after the order has stopped going forward. The reason includes
// the decision about the step if the answer is for the present run and round, and if its sender may answer.
func (t *Task) HasEnded(s *Step, e core.Answered) string {
	why := "the order no longer goes forward; it is " + string(t.ProcessState)
	if e.Run != t.Run || e.Step != "" && e.Round != s.Round() || s.Answers == nil ||
		s.Answers.Excludes(e.By) != "" {
		return why
	}
	if _, by := s.DecisionText(); by != "" {
		why += "; " + by
	}
	return why
}

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
