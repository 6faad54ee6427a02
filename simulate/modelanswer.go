package simulate

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

// answer is an answer from outside (P35, P36). The same ID gets the same verdict.
func (m *model) answer(c *message.Control) {
	if m.t == nil {
		if !m.direct && c.Tries < 3 {
			m.post('e', "", 0, 0) // its order may still come
			return
		}
		m.refuse(c.ReplyTo)
		return
	}
	if v, known := m.verdict(c.ID); known {
		m.reported(v)
		m.again()
		return
	}
	if c.Run > m.t.Run && !m.t.IsTombstone() { // P8
		m.ahead = true
		return
	}
	m.changed = true
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
		forward := m.t.ProcessState == core.Processing || m.t.ProcessState == core.Error &&
			m.t.Phase == core.Forward
		if forward && m.t.Steps[i].State == core.Waiting {
			m.lookAtAnswers(i)
		}
	}
	m.advance()
}

// addressed returns the steps that an answer is for.
func (m *model) addressed(c *message.Control) (steps []int) {
	for i := range m.t.Steps {
		d := &m.def.Steps[i]
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

// verdict is the answer that a command or an answer of that ID got.
func (m *model) verdict(id string) (yes, known bool) {
	for i := range m.t.Steps {
		if a := m.t.Steps[i].Answers; a != nil {
			if k := slices.IndexFunc(a.Verdicts, func(v core.Verdict) bool { return v.ID == id }); k >= 0 {
				return a.Verdicts[k].Accepted, true
			}
		}
	}
	if k := slices.IndexFunc(m.t.Verdicts, func(v core.Verdict) bool { return v.ID == id }); k >= 0 {
		return m.t.Verdicts[k].Accepted, true
	}
	for _, refused := range m.t.Refused { // in any order: an ID stands in one list
		known = known || slices.Contains(refused, idHash(id))
	}
	return false, known
}

// answers is the model's own copy of what a step keeps of answers.
func (m *model) answers(i int) *core.Answers {
	a := core.Answers{Round: 1}
	if s := &m.t.Steps[i]; s.Answers != nil {
		a = *s.Answers
	}
	m.t.Steps[i].Answers = &a
	return &a
}

// takes: is an answer accepted by a step, and is it a new vote?
func (m *model) takes(i int, c *message.Control) (yes, vote bool) {
	t, s, d := m.t, &m.t.Steps[i], &m.def.Steps[i]
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
	if !may(question, c.By) {
		return false, false
	}
	if v, decided := m.decidedAs(s); decided { // the same once more changes nothing
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

// question is who may answer: as it was stored, or, before the claim, as it is known where it reads nothing
// that may still change (P36).
func (m *model) question(i int) *core.Answers {
	s, d := &m.t.Steps[i], &m.def.Steps[i]
	if s.Answers != nil && s.Answers.Need > 0 {
		return s.Answers
	}
	if d.Input != nil {
		for _, name := range m.def.Expr.InputReads(i) {
			if !passed(m.t.Step(name)) {
				return &core.Answers{}
			}
		}
	}
	if a, _, ok := m.asked(i); ok {
		return a
	}
	return &core.Answers{}
}

// eventFits: the value of an event is kept where the reserve stays free beside it (P28). Within what the
// model does not know it takes what the real task did.
func (m *model) eventFits(i int, c *message.Control) bool {
	if m.room.limit == 0 {
		return true
	}
	if need, vague := m.needs(m.t, -1); need+vague+len(c.Value) <= m.room.limit {
		return true
	}
	if m.real == nil {
		return false
	}
	for _, v := range verdictsOf(m.realStep(i)) {
		if v.ID == c.ID {
			return v.Accepted
		}
	}
	return false
}

// shaped: an approval has one of its values, an event the shape of its schema.
func (m *model) shaped(d *core.StepDefinition, value json.RawMessage) bool {
	var text string
	if d.Answer.Schema != nil && m.def.Expr.CheckAnswer(m.def.Index(d.Name), value) != nil {
		return false
	}
	return d.Answer.Event != "" || json.Unmarshal(value, &text) == nil &&
		slices.Contains(d.Answer.Values, text)
}

// may: who was excluded, or is not among those named, may not answer. Before the claim nothing is known of
// it.
func may(a *core.Answers, by string) bool {
	return by != a.NotSelf && (len(a.Who) == 0 || slices.Contains(a.Who, by))
}

// decidedAs is what was decided of a step, also where only a Resubmit applies it.
func (m *model) decidedAs(s *core.Step) (core.Decided, bool) {
	if v, ok := decidedOf(s); ok {
		return v, true
	}
	return wholeNeed(s.Answers)
}

// wholeNeed is the value that as many people gave as are needed, first.
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

// asked is what the claim of a step stores of its question, and how long it waits; not ok: a failing input.
func (m *model) asked(i int) (a *core.Answers, timeout core.Duration, ok bool) {
	s, d := &m.t.Steps[i], &m.def.Steps[i]
	var q struct {
		Need    int
		Who     []string
		NotSelf string
		Timeout string
	}
	q.Need = 1
	if d.Input != nil {
		text, err := m.def.Expr.Input(i, m.environment(i))
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
	if n := len(q.Who); timeout <= 0 || timeout > longestWait || q.Need < 1 || n > 0 &&
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
		if may(a, v.By) && m.shaped(d, v.Value) {
			a.Votes = append(a.Votes, v)
		}
	}
	return a, timeout, true
}

// claimAnswer: what is complete at the claim decides at once (P36).
func (m *model) claimAnswer(i int) {
	s := &m.t.Steps[i]
	a, timeout, _ := m.asked(i)
	if s.Answers != nil && s.Output == nil { // a refusal at the claim gives its reason
		for _, v := range s.Answers.Votes {
			if !may(a, v.By) || !m.shaped(&m.def.Steps[i], v.Value) {
				a.Verdicts = lastEight(a.Verdicts, core.Verdict{Command: "answer"})
			}
		}
	}
	s.Attempt++
	m.first(s)
	s.State, s.Cause, s.NoEffect, s.ClaimedAt, s.Answers, s.Output = core.Waiting, m.cause, 0, m.now, a, nil
	s.WakeAt, s.Until = m.now.Add(timeout), m.now.Add(timeout)
	if _, whole := wholeNeed(a); whole {
		m.lookAtAnswers(i)
		return
	}
	m.leaveTime(i)
}

// nextLook is the earlier of the time of a wait and of the next reminder (P37).
func nextLook(def *core.Definition, t *core.Task, i int) core.Time {
	s, d := &t.Steps[i], def.Steps[i].Answer
	if d == nil || d.Remind == 0 || s.Answers == nil || s.State != core.Waiting {
		return s.WakeAt
	}
	return min(s.WakeAt, s.ClaimedAt.Add((reminded(s, d)+1)*d.Remind))
}

// reminded is how many intervals had passed when the last reminder was sent first (P37).
func reminded(s *core.Step, d *core.Answer) core.Duration {
	if s.Answers.RemindedAt == 0 {
		return 0
	}
	return s.Answers.RemindedAt.Sub(s.ClaimedAt) / d.Remind
}

// remind: the newest reminder that is due (P37).
func (m *model) remind(i int) bool {
	s, d := &m.t.Steps[i], m.def.Steps[i].Answer
	if d.Remind == 0 || m.t.ProcessState != core.Processing {
		return false
	}
	n := m.now.Sub(s.ClaimedAt) / d.Remind
	if n <= reminded(s, d) || s.ClaimedAt.Add(n*d.Remind) >= s.WakeAt {
		return false
	}
	a := *s.Answers
	a.Reminded, a.RemindedAt, a.Moved, s.Cause = max(int(n), a.Reminded+1), m.now, false, m.cause
	s.Answers = &a
	m.mails = append(m.mails, reminder(m.def, m.t, i, m.now)...)
	return true
}

// reminder is the request of the last reminder: that of the ask once more, until the next one is due or its
// service may have forgotten the key, and never after a move (P37).
func reminder(def *core.Definition, t *core.Task, i int, now core.Time) []mail {
	d, s := def.Steps[i].Answer, &t.Steps[i]
	if d == nil || d.Remind == 0 || s.Answers == nil || s.Answers.RemindedAt == 0 || s.Answers.Moved {
		return nil
	}
	ask := t.Step(d.Ask)
	if ask == nil || ask.State != core.Processed || now >= s.ClaimedAt.Add((reminded(s, d)+1)*d.Remind) {
		return nil
	}
	call := &def.Steps[def.Index(d.Ask)]
	agent := def.Agents[call.Agent]
	if kept := max(agent.KeyRetention-agent.ClockSkew, call.Timeout); agent.KeyRetention > 0 &&
		now >= s.Answers.RemindedAt.Add(kept) {
		return nil
	}
	return []mail{{kind: 'r', step: ask.Name, attempt: ask.Attempt}}
}

// lookAtAnswers: an answer goes before the time (P36, P37).
func (m *model) lookAtAnswers(i int) {
	s, d := &m.t.Steps[i], &m.def.Steps[i]
	v, whole := wholeNeed(s.Answers)
	policy := d.OnFailure
	late := false
	if !whole {
		if m.t.ProcessState != core.Processing || m.now < s.WakeAt {
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
		env := m.environment(i)
		env.Value = v.Value
		no, err := m.def.Expr.Refused(i, env)
		refused = no || err != nil
	}
	if refused && m.t.ProcessState == core.Error {
		return
	}
	v.At = m.now
	output, err := json.Marshal(v)
	if err != nil {
		panic("simulate: " + err.Error()) // its value was read from JSON
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

// causeOfAnswer: of an answer's ID a hash stands in the cause (P4).
func causeOfAnswer(c *message.Control) string {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s/%d/%d/%s", c.Name, c.Run, c.Round, c.ID)
	return fmt.Sprintf("answer/%s/%016x", c.Step, h.Sum64())
}

// differAnswers compares what a step keeps of answers, but for times and reasons.
func differAnswers(want, got *core.Answers) string {
	if (want == nil) != (got == nil) {
		return fmt.Sprintf("that it keeps answers is %v", got != nil)
	}
	if want == nil {
		return ""
	}
	short := func(a *core.Answers) string {
		text := fmt.Sprintf("round %d, reminder %d, to be sent again %v, need %d of %v but %q", a.Round,
			a.Reminded, a.RemindedAt != 0 && !a.Moved, a.Need, a.Who, a.NotSelf)
		for _, v := range a.Votes {
			text += fmt.Sprintf(", %s: %s", v.By, v.Value)
		}
		return text
	}
	if w, g := short(want), short(got); w != g {
		return fmt.Sprintf("it keeps of answers %s, and must keep %s", g, w)
	}
	return differVerdicts(want.Verdicts, got.Verdicts)
}

// answers holds a step that is answered to what is true of every one (P35 to P37), whatever led to the
// commit.
func (m *move) answers(was, s *core.Step) {
	m.did("P35", "P36")
	if s.FailureCount > 0 || s.InFlight() {
		m.fail("P35", "step %s is answered, and is %s with %d failures", s.Name, s.State, s.FailureCount)
	}
	for _, v := range verdictsOf(s) {
		if v.ID == "" { // the vote did not count at the claim
			continue
		}
		if yes, known := m.o.seen.answered[v.ID]; known && yes != v.Accepted {
			m.fail("P36", "answer %s got the verdict %v, and now %v", v.ID, yes, v.Accepted)
		}
		m.o.seen.answered[v.ID] = v.Accepted
	}
	if s.Answers == nil || m.before.Definition != m.after.Definition || m.after.Erased != nil {
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

// votes: an accepted answer is never lost, and each person has one (P35, P36). At the claim those go who may
// not answer.
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
	case d.By == core.ByTimeout && core.Time(m.w.start+m.w.now+m.w.skew()) < at:
		m.fail("P37",
			"the time for an answer to step %s was over at %s by the true time, and it is "+
				"waited for until %s", s.Name, core.Time(m.w.start+m.w.now), at)
	case d.By == core.ByTimeout && m.w.quiescing && m.w.driver == nil &&
		m.before.ProcessState == core.Processing:
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

// answering lets people answer: some before the step is asked, some late, twice, for another round or run,
// and with a value that is none.
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

// answer is that of a person who looks at the order. The next one is of another person, and says something
// else.
func (w *simulation) answer(o *order, t *core.Task) *message.Control {
	o.commands++
	c := &message.Control{Schema: message.Schema, Kind: message.Answer, OrderID: o.id,
		ID: fmt.Sprintf("%s-c%d", o.id, o.commands), Round: 1}
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
	c.Value, _ = json.Marshal(
		values[(o.commands-1+w.choose("answer", o.id+"/value", len(values), 0.5))%len(values)])
	if d.Answer.Schema != nil && d.Answer.TimeoutValue != nil &&
		w.choose("answer", o.id+"/shape", 2, 0.5) == 0 {
		c.Value = d.Answer.TimeoutValue // the one value that is known to have the event's shape
	}
	return c
}
