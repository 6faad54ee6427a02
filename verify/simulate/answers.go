package simulate

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// answers holds a step that is answered to what is true of every one (P35 to P37), whatever led to the commit.
func (m *move) answers(was, s *core.Step) {
	m.did("P35", "P36")
	if s.FailureCount > 0 || s.InFlight() {
		m.fail("P35", "step %s is answered, and is %s with %d failures", s.Name, s.State, s.FailureCount)
	}
	for _, v := range verdictsOf(s) {
		if yes, known := m.o.seen.answered[v.ID]; known && yes != v.Accepted {
			m.fail("P36", "answer %s got the verdict %v, and now %v", v.ID, yes, v.Accepted)
		}
		m.o.seen.answered[v.ID] = v.Accepted
	}
	if s.Answers == nil || m.before.Definition != m.after.Definition {
		return
	}
	round := fmt.Sprintf("%s/%d/%d", s.Name, m.after.Run, s.Answers.Round)
	d, decided := decidedOf(s)
	if text := string(d.Value) + " by " + d.By; decided {
		if first, known := m.o.seen.decisions[round]; known && first != text {
			m.fail("P35", "round %s was decided as %s, and now as %s", round, first, text)
		}
		m.o.seen.decisions[round] = text
	} else if first, known := m.o.seen.decisions[round]; known {
		m.fail("P35", "round %s was decided as %s, and is open", round, first)
	}
	if s.State == core.Processed && !decided {
		m.fail("P35", "step %s is Processed, and nothing was decided", s.Name)
	}
	m.votes(was, s, decided)
	m.decidedInTime(was, s, &d, decided)
}

func verdictsOf(s *core.Step) []core.Verdict {
	if s.Answers == nil {
		return nil
	}
	return s.Answers.Verdicts
}

// votes: an accepted answer is never lost, and each person has one (P35, P36). At the claim those go who may not answer.
func (m *move) votes(was, s *core.Step, decided bool) {
	if was.Answers == nil || was.Answers.Round != s.Answers.Round || m.before.Run != m.after.Run {
		return
	}
	people := map[string]bool{}
	for _, v := range s.Answers.Votes {
		if people[v.By] {
			m.fail("P35", "%s has two votes on step %s", v.By, s.Name)
		}
		people[v.By] = true
	}
	if m.def.Steps[m.def.Index(s.Name)].Answer.Event != "" && decided {
		return // the value stands in the output
	}
	for _, v := range was.Answers.Votes {
		if !people[v.By] && (was.Answers.Need > 0 || may(s.Answers, v.By)) {
			m.fail("P36", "the answer of %s to step %s is lost", v.By, s.Name)
		}
	}
}

// decidedInTime: nothing stands for an answer before its time has passed (P37).
func (m *move) decidedInTime(was, s *core.Step, d *core.Decided, decided bool) {
	if _, before := decidedOf(was); !decided || before || was.State != core.Waiting {
		return
	}
	m.did("P37")
	at := was.WakeAt
	switch {
	case d.By == core.ByTimeout && core.Time(start+m.w.now+m.w.skew()) < at:
		m.fail("P37", "the time for an answer to step %s was over at %s by the true time, and it is waited for until %s", s.Name, core.Time(start+m.w.now), at)
	case d.By == core.ByTimeout && m.w.quiescing && m.w.driver == nil && m.before.ProcessState == core.Processing:
		m.prompt(s, at)
	}
}

var (
	persons = []string{"ann", "bob", "cleo"}
	bought  = "bought"
)

// answersTo are the steps of a definition that are answered.
func answersTo(def *core.Definition) (all []*core.StepDefinition) {
	for i := range def.Steps {
		if def.Steps[i].Answer != nil {
			all = append(all, &def.Steps[i])
		}
	}
	return all
}

// answering lets people answer: some before the step is asked, some late, twice, for another round or run, and
// with a value that is none.
func (w *simulation) answering(o *order) {
	if len(answersTo(w.def)) == 0 {
		return
	}
	for range w.choose("answers", o.id, 6, 0.8) {
		w.after(200+w.spread("answer", o.id, 200_000), func() { w.reply(o) })
	}
}

func (w *simulation) reply(o *order) {
	c := w.answer(o, w.store.task(o.id))
	switch w.choose("answer-variation", o.id, 8, 0.35) {
	case 1:
		c.Round++
	case 2:
		c.Round = max(1, c.Round-1)
	case 3: // the same answer a second time, or another one with its ID
		c.ID = fmt.Sprintf("%s-c%d", o.id, max(1, o.commands-1))
	case 4:
		c.Run++
	case 5:
		c.Value = json.RawMessage(`"perhaps"`)
	case 6:
		c.Name, c.Step, c.Round = bought, "", 0
	case 7:
		c.Step = []string{"nowhere", w.def.Steps[0].Name}[w.choose("answer-variation", o.id+"/step", 2, 0.5)]
	}
	w.instruct(o, *c, w.embedded || w.choose("by", o.id, 2, 0.5) == 1)
}

// answer is that of a person who looks at the order. The next one is of another person, and says something else.
func (w *simulation) answer(o *order, t *core.Task) *message.Control {
	o.commands++
	c := &message.Control{Schema: message.AnswerSchema, Kind: message.Answer, OrderID: o.id, ID: fmt.Sprintf("%s-c%d", o.id, o.commands), Round: 1}
	def := w.def
	if t != nil && !t.IsTombstone() {
		def, c.Run = w.defOf(t), t.Run
	}
	steps := answersTo(def)
	if len(steps) == 0 { // it was moved
		steps = answersTo(w.def)
	}
	d := steps[w.choose("answer", o.id+"/step", len(steps), 0.6)]
	if t != nil {
		if s := t.Step(d.Name); s != nil && s.Answers != nil {
			c.Round = s.Answers.Round
		}
	}
	c.Step = d.Name
	c.By = persons[(o.commands-1+w.choose("answer", o.id+"/by", len(persons), 0.5))%len(persons)]
	values := d.Answer.Values
	if d.Answer.Event != "" {
		values = []string{"one", "two"}
	}
	c.Value, _ = json.Marshal(values[(o.commands-1+w.choose("answer", o.id+"/value", len(values), 0.5))%len(values)])
	if d.Answer.Schema != nil && d.Answer.TimeoutValue != nil && w.choose("answer", o.id+"/shape", 2, 0.5) == 0 {
		c.Value = d.Answer.TimeoutValue // the one value that is known to have the event's shape
	}
	return c
}

// may: who was excluded, or is not among those named, may not answer. Before the claim nothing is known of it.
func may(a *core.Answers, by string) bool {
	return by != a.NotSelf && (len(a.Who) == 0 || slices.Contains(a.Who, by))
}

// answered: an answer is accepted where the step waits for it, from one who may give it (P35, P36). What completes the
// need decides, in the commit that it comes with, and a reminder is sent when it is due (P37).
func (m *move) answered(i int, was *core.Step) {
	t, s, d := m.after, &m.after.Steps[i], m.def.Steps[i].Answer
	c, _ := m.event.(*message.Control)
	if c != nil && c.Kind == message.Answer && c.Step == s.Name && m.w.room.limit == 0 {
		_, known := verdictOf(m.before, c.ID)
		if yes, _ := verdictOf(t, c.ID); !known && yes != m.takes(i, was, c) {
			m.fail("P36", "answer %s of %s to step %s, which is %s, was accepted: %v", c.ID, c.By, s.Name, was.State, yes)
		}
	}
	value, whole := wholeNeed(s.Answers)
	decided, over := decidedOf(s)
	_, before := decidedOf(was)
	switch {
	case s.State == core.Waiting && whole && t.ProcessState == core.Processing && !m.supervisor && d.Refuse == "":
		m.fail("P36", "step %s waits, and as many people as it needs have answered %s", s.Name, value)
	case over && !before && decided.By != core.ByTimeout && d.Event == "" && (!whole || value != string(decided.Value)):
		m.fail("P35", "step %s is decided as %s, and as many people as it needs have answered %q", s.Name, decided.Value, value)
	}
	if c == nil || c.Kind != message.Wake || c.Step != s.Name || c.Attempt != s.Attempt || s.State != core.Waiting || t.ProcessState != core.Processing {
		return
	}
	if next := nextLook(m.def, t, i); next <= m.from || d.Remind > 0 && s.Answers.Reminded > int(m.to.Sub(s.ClaimedAt)/d.Remind) {
		m.fail("P37", "step %s was woken at %s, and a reminder is due at %s after %d", s.Name, m.to, next, s.Answers.Reminded)
	}
}

// wholeNeed is the value that as many people gave as are needed, first.
func wholeNeed(a *core.Answers) (value string, ok bool) {
	if a == nil || a.Need == 0 {
		return "", false
	}
	by := map[string]int{}
	for _, v := range a.Votes {
		value = string(v.Value)
		if by[value]++; by[value] == a.Need {
			return value, true
		}
	}
	return "", false
}

// takes: the step, as it was, accepts the answer.
func (m *move) takes(i int, was *core.Step, c *message.Control) bool {
	t, d := m.before, m.def.Steps[i].Answer
	a := was.Answers
	if a == nil {
		a = &core.Answers{Round: 1}
	}
	var text string
	shaped := d.Event != "" || json.Unmarshal(c.Value, &text) == nil && slices.Contains(d.Values, text)
	if d.Schema != nil {
		shaped = shaped && m.def.Expr.CheckAnswer(i, c.Value) == nil
	}
	if t.ProcessState != core.Processing && (t.ProcessState != core.Error || t.Phase != core.Forward) || c.Run != t.Run || was.State == core.Skipped || c.Round != a.Round || !shaped {
		return false
	}
	same := string(c.Value)
	if value, whole := wholeNeed(a); whole {
		return value == same
	}
	if decided, over := decidedOf(was); over { // the same once more changes nothing
		return string(decided.Value) == same && (decided.By != core.ByTimeout || same != "null")
	}
	for _, v := range a.Votes {
		if v.By == c.By || d.Event != "" {
			return string(v.Value) == same && may(a, c.By)
		}
	}
	return may(a, c.By) && len(a.Votes) < 32
}
