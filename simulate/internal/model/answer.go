package model

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// answer applies an answer from a person or an application (P35, an answer decides a round; P36, answers may
// come early, late or twice). A repeated ID gets the same verdict.
func (m *Model) answer(from *message.Control, c core.Answered) {
	if m.T == nil {
		if !m.Direct && from.Tries < 3 {
			m.post('e', "", 0, 0) // the order may still arrive
			return
		}
		m.refuse(from.ReplyTo)
		return
	}
	if v, known := m.verdict(c.ID); known {
		m.reported(v)
		m.again()
		return
	}
	if c.Run > m.T.Run && !m.T.IsTombstone() { // the answer stays queued (P8, every commit is conditional)
		m.Ahead = true
		return
	}
	m.Changed = true
	steps := m.addressed(c)
	var counts []int
	for _, i := range steps {
		yes, vote := m.takes(i, c)
		if yes {
			counts = append(counts, i)
		}
		if vote {
			a := m.answers(i)
			a.Votes = append(slices.Clip(a.Votes), core.Vote{By: c.By, Value: c.Value})
		}
	}
	v := core.Verdict{ID: c.ID, Command: "answer", Accepted: len(counts) > 0}
	m.reported(v.Accepted)
	if !v.Accepted {
		m.remember("answer", c.ID)
	}
	switch {
	case len(steps) == 0:
		return
	case len(counts) == 0:
		counts = steps[:1]
	}
	for _, i := range counts {
		a := m.answers(i)
		a.Verdicts = lastEight(a.Verdicts, v)
	}
	if !v.Accepted {
		return
	}
	for _, i := range counts {
		forward := m.T.ProcessState == core.Processing || m.T.ProcessState == core.Error &&
			m.T.Phase == core.Forward
		if forward && m.T.Steps[i].State == core.Waiting {
			m.lookAtAnswers(i)
		}
	}
	m.advance()
}

func (m *Model) addressed(c core.Answered) (steps []int) {
	if m.T.Erased != nil { // no step of an erased order takes an answer, or stores its refusal
		return nil
	}
	for i := range m.T.Steps {
		d := &m.Def.Steps[i]
		if d.Answer != nil && (c.Step == d.Name || c.Step == "" && c.Name == d.Answer.Event) {
			steps = append(steps, i)
		}
	}
	return steps
}

func lastEight(all []core.Verdict, v core.Verdict) []core.Verdict {
	all = append(slices.Clone(all), v)
	return all[max(0, len(all)-8):]
}

// verdict returns the stored verdict on the command or answer with the ID. The result known is false if the
// task stores no verdict.
func (m *Model) verdict(id string) (yes, known bool) {
	for i := range m.T.Steps {
		if a := m.T.Steps[i].Answers; a != nil {
			if k := slices.IndexFunc(a.Verdicts, func(v core.Verdict) bool { return v.ID == id }); k >= 0 {
				return a.Verdicts[k].Accepted, true
			}
		}
	}
	if k := slices.IndexFunc(m.T.Commands.Verdicts, func(v core.Verdict) bool { return v.ID == id }); k >= 0 {
		return m.T.Commands.Verdicts[k].Accepted, true
	}
	// The order of the loop does not matter, because only one list contains the ID.
	for _, refused := range m.T.Commands.Refused {
		known = known || slices.Contains(refused, idHash(id))
	}
	return false, known
}

// answers replaces the stored answers of a step with a copy that the model may change. It returns the copy.
func (m *Model) answers(i int) *core.Answers {
	a := core.Answers{Round: 1}
	if s := &m.T.Steps[i]; s.Answers != nil {
		a = *s.Answers
	}
	m.T.Steps[i].Answers = &a
	return &a
}

// takes reports whether a step accepts an answer, and whether the answer adds a vote.
func (m *Model) takes(i int, c core.Answered) (yes, vote bool) {
	t, s, d := m.T, &m.T.Steps[i], &m.Def.Steps[i]
	round := 1
	if s.Answers != nil {
		round = s.Answers.Round
	}
	switch {
	case t.ProcessState != core.Processing && (t.ProcessState != core.Error || t.Phase != core.Forward),
		c.Run != t.Run, s.State == core.Skipped, c.Step != "" && c.Round != round, !m.shaped(d, c.Value):
		return false, false
	}
	question := m.question(i)
	if !May(question, c.By) {
		return false, false
	}
	if v, decided := m.decidedAs(s); decided { // the step is decided, so no answer adds a vote
		return string(v.Value) == string(c.Value) && (v.By != core.ByTimeout || string(v.Value) != "null"),
			false
	}
	a := s.Answers
	if a == nil {
		a = &core.Answers{}
	}
	for _, v := range a.Votes {
		if v.By == c.By || d.Answer.Event != "" {
			return string(v.Value) == string(c.Value), false
		}
	}
	vote = len(a.Votes) < 32 && (d.Answer.Event == "" || m.eventFits(i, c))
	return vote, vote
}

// question returns the question of a step, which names the people who may answer. After the claim, this is
// the stored question. Before the claim, it is the evaluated input, if all steps that the input reads have
// ended (P36). Otherwise the question is empty.
func (m *Model) question(i int) *core.Answers {
	s, d := &m.T.Steps[i], &m.Def.Steps[i]
	if s.Answers != nil && s.Answers.Need > 0 {
		return s.Answers
	}
	if d.Input != nil {
		for _, name := range m.Def.Expr.InputReads(i) {
			if !Passed(m.T.Step(name)) {
				return &core.Answers{}
			}
		}
	}
	if a, _, ok := m.asked(i); ok {
		return a
	}
	return &core.Answers{}
}

// eventFits reports whether the document has space for an event's value in addition to the reserve (P28, what
// is too large fails once). If the model cannot compute the space exactly, it follows the committed task.
func (m *Model) eventFits(i int, c core.Answered) bool {
	if m.Room.Limit == 0 {
		return true
	}
	if need, vague := m.needs(m.T, -1); need+vague+len(c.Value) <= m.Room.Limit {
		return true
	}
	if m.Real == nil {
		return false
	}
	for _, v := range VerdictsOf(m.realStep(i)) {
		if v.ID == c.ID {
			return v.Accepted
		}
	}
	return false
}

// shaped reports whether a value is one of the values of an approval, or matches the schema of an event.
func (m *Model) shaped(d *core.StepDefinition, value json.RawMessage) bool {
	var text string
	if d.Answer.Schema != nil && m.Def.Expr.CheckAnswer(m.Def.Index(d.Name), value) != nil {
		return false
	}
	return d.Answer.Event != "" || json.Unmarshal(value, &text) == nil &&
		slices.Contains(d.Answer.Values, text)
}

// May reports whether a person may answer the question. The question may exclude one person, and may name the
// people who may answer. An empty question permits every person.
func May(a *core.Answers, by string) bool {
	return by != a.NotSelf && (len(a.Who) == 0 || slices.Contains(a.Who, by))
}

// decidedAs returns the stored decision about a step. If the step has none, decidedAs returns the decision of
// its complete votes, which a Resubmit must still apply.
func (m *Model) decidedAs(s *core.Step) (core.Decided, bool) {
	if v, ok := DecidedOf(s); ok {
		return v, true
	}
	return wholeNeed(s.Answers)
}

// wholeNeed returns the first value that the required number of people have given. The result ok is false if
// no value has enough votes.
func wholeNeed(a *core.Answers) (core.Decided, bool) {
	if a == nil || a.Need == 0 {
		return core.Decided{}, false
	}
	by := map[string][]string{}
	for _, v := range a.Votes {
		value := string(v.Value)
		if by[value] = append(by[value], v.By); len(by[value]) == a.Need {
			return core.Decided{Value: v.Value, By: strings.Join(by[value], ", ")}, true
		}
	}
	return core.Decided{}, false
}

// asked returns the question that a claim of the step would store now, and the time for answers. The result
// ok is false if the input of the step cannot be evaluated or is invalid.
func (m *Model) asked(i int) (a *core.Answers, timeout core.Duration, ok bool) {
	s, d := &m.T.Steps[i], &m.Def.Steps[i]
	var q struct {
		Need    int
		Who     []string
		NotSelf string
		Timeout string
	}
	q.Need = 1
	if d.Input != nil {
		text, err := m.Def.Expr.Input(i, m.Environment(i))
		if err != nil || json.Unmarshal(text, &q) != nil {
			return nil, 0, false
		}
	}
	if timeout = d.Timeout; q.Timeout != "" {
		span, err := time.ParseDuration(q.Timeout)
		if timeout = core.DurationOf(span); err != nil {
			return nil, 0, false
		}
	}
	a = &core.Answers{Round: 1, Need: q.Need, Who: q.Who, NotSelf: q.NotSelf}
	if n := len(q.Who); timeout <= 0 || timeout > LongestWait || q.Need < 1 || n > 0 &&
		n-len(slices.DeleteFunc(slices.Clone(q.Who),
			func(w string) bool { return w != q.NotSelf })) < q.Need {
		return nil, 0, false
	}
	slices.Sort(a.Who)
	if s.Answers == nil {
		return a, timeout, true
	}
	a.Round, a.Verdicts = s.Answers.Round, s.Answers.Verdicts
	if s.Output != nil { // a decided step is asked in the next round
		a.Round++
		return a, timeout, true
	}
	for _, v := range s.Answers.Votes {
		if May(a, v.By) && m.shaped(d, v.Value) {
			a.Votes = append(a.Votes, v)
		}
	}
	return a, timeout, true
}

// claimAnswer claims a step that needs an answer. It decides the step at once if the early answers are
// complete (P36).
func (m *Model) claimAnswer(i int) {
	s := &m.T.Steps[i]
	a, timeout, _ := m.asked(i)
	// The claim stores a verdict with a reason for each early vote that it refuses.
	if s.Answers != nil && s.Output == nil {
		for _, v := range s.Answers.Votes {
			if !May(a, v.By) || !m.shaped(&m.Def.Steps[i], v.Value) {
				a.Verdicts = lastEight(a.Verdicts, core.Verdict{Command: "answer"})
			}
		}
	}
	m.claimWithoutAgent(s)
	s.Answers, s.Output = a, nil
	s.Wait.At, s.Wait.Until = m.Now.Add(timeout), m.Now.Add(timeout)
	if _, whole := wholeNeed(a); whole {
		m.lookAtAnswers(i)
		return
	}
	m.leaveTime(i)
}

// lookAtAnswers decides a step if its answers are complete or its time has passed (P37, a question has a
// time). Complete answers have precedence (P36).
func (m *Model) lookAtAnswers(i int) {
	s, d := &m.T.Steps[i], &m.Def.Steps[i]
	v, whole := wholeNeed(s.Answers)
	policy := d.OnFailure
	late := false
	if !whole {
		if m.T.ProcessState != core.Processing || m.Now < s.Wait.At {
			return
		}
		v = core.Decided{Value: d.Answer.TimeoutValue, By: core.ByTimeout}
		if late = v.Value == nil; late {
			v.Value = json.RawMessage("null")
			if d.Answer.OnTimeout != "" {
				policy = d.Answer.OnTimeout
			}
		}
	}
	refused := late
	if d.Answer.Refuse != "" && !late {
		env := m.Environment(i)
		env.Value = v.Value
		no, err := m.Def.Expr.Refused(i, env)
		refused = no || err != nil
	}
	if refused && m.T.ProcessState == core.Error {
		return
	}
	v.At = m.Now
	output, err := core.Marshal(v)
	if err != nil {
		panic("simulate: " + err.Error()) // Marshal cannot fail, because the value was parsed from JSON
	}
	if d.Answer.Event != "" {
		m.answers(i).Votes = nil
	}
	if !refused {
		m.finish(i, output)
		return
	}
	s.Output = output
	m.end(s, core.Failed)
	m.policyOf(policy)
}

// causeOfAnswer returns the cause of an answer (P4, a cause is logical). The cause contains the step, and a
// hash of the event, the run, the round and the answer's ID.
func causeOfAnswer(c core.Answered) string {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s/%d/%d/%s", c.Name, c.Run, c.Round, c.ID)
	return fmt.Sprintf("answer/%s/%016x", c.Step, h.Sum64())
}

// VerdictsOf returns the stored verdicts on the answers to a step.
func VerdictsOf(s *core.Step) []core.Verdict {
	if s.Answers == nil {
		return nil
	}
	return s.Answers.Verdicts
}

// DecidedOf returns the decision that the output of an answered step contains. The result ok is false if the
// step has no decision.
func DecidedOf(s *core.Step) (d core.Decided, ok bool) {
	ok = s.Answers != nil && s.Output != nil && json.Unmarshal(s.Output, &d) == nil
	return d, ok
}
