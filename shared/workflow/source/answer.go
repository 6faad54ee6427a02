package source

import (
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/expression"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/schema"
	"github.com/stepkeeper/stepkeeper/shared/suggest"
)

// answer reads an approval step or an event step. Such a step waits for an answer from outside (P35, an
// answer decides a round; P37, a question has a time). The method question reads the expressions of the step.
func (b *builder) answer(f field) core.StepDefinition {
	form := answerForm(f.value)
	v := f.value.get(form)
	s := b.uncalled(f)
	s.Answer = &core.Answer{}
	if timeout := v.get("timeout"); timeout == nil || !isExpression(timeout) {
		s.Timeout = b.duration(v, "timeout", limitWait, 0)
	}
	if form == "event" {
		s.Answer.Event = b.text(v, "name")
		b.eventSchema(v, s.Answer)
	} else {
		b.choices(v, s.Answer)
		b.people(f.key, v)
	}
	b.onTimeout(f.key, v, s.Answer)
	b.attempts(f.key, v, s.Answer)
	if f.value.field(askMade) != nil {
		s.Answer.Ask = f.key + askSuffix
	}
	b.remind(f, &s)
	return s
}

func isExpression(v *value) bool {
	if v.shape != isText {
		return false
	}
	_, found, err := expression.Unwrap(v.text)
	return found || err != nil
}

func (b *builder) choices(v *value, a *core.Answer) {
	answers := v.get("answers")
	if answers == nil {
		return
	}
	for _, e := range answers.list {
		if e.shape != isText {
			continue // the schema check reports the wrong type
		}
		if len(e.text) > core.MaxApproval {
			b.error(e.at, "the answer %s has more than %d bytes", e, core.MaxApproval).fix("write a shorter one")
		}
		a.Values = append(a.Values, e.text)
	}
}

func (b *builder) eventSchema(v *value, a *core.Answer) {
	if given := v.get("schema"); given != nil {
		data, err := rawjson.Marshal(given.plain())
		a.Schema, _ = b.compiled(given, data, err)
	}
}

// people checks the fields need and who. It skips a field with an expression, because the value depends on
// the order.
func (b *builder) people(step string, v *value) {
	who := v.get("who")
	if who == nil || who.shape != isList {
		return
	}
	names := map[string]bool{}
	for _, e := range who.list {
		switch {
		case e.shape != isText: // the schema check reports the wrong type
		case isExpression(e):
			return
		case !core.PersonName(e.text):
			b.error(e.at, "%s is no person's name", e).
				fix("use 1 to %d bytes without control characters and < > & \" \\", core.MaxAnswerBy)
		}
		names[e.text] = true
	}
	if need := b.whole(v, "need", 1); need > len(names) && len(names) > 0 {
		b.error(v.get("need").at, "step %s needs %d people, and who lists %d", step, need, len(names)).
			fix("lower need, or list more people")
	}
}

// attempts reads how many answers may decide the step. Only one that is refused lets another one decide.
func (b *builder) attempts(step string, v *value, a *core.Answer) {
	a.Attempts = b.whole(v, "attempts", 0)
	if a.Attempts > 0 && v.get("refuse") == nil {
		b.error(v.field("attempts").at, "step %s has %d attempts, and no answer is refused", step, a.Attempts).
			fix(`write refuse, as in refuse: value == "reject", or remove attempts`)
	}
}

func (b *builder) onTimeout(step string, v *value, a *core.Answer) {
	on := v.get("onTimeout")
	switch {
	case on == nil:
	case on.shape == isText:
		a.OnTimeout = core.Policy(on.text)
	case on.get("answer") != nil:
		given := on.get("answer")
		data, err := rawjson.Marshal(given.plain())
		if err != nil {
			return
		}
		if len(data) > core.MaxAnswerValue {
			b.error(given.at, "the value of onTimeout has %d bytes, the limit is %d", len(data),
				core.MaxAnswerValue).fix("write a smaller one")
		}
		a.TimeoutValue = data
		b.timeoutValue(step, given, a)
	}
}

// timeoutValue checks the answer of onTimeout. A short text that nobody else can answer is allowed, so that later
// steps can ask whether the time has ended the question.
func (b *builder) timeoutValue(step string, given *value, a *core.Answer) {
	short := given.shape == isText && given.text != "" && len(given.text) <= core.MaxApproval
	says := "onTimeout answers step " + step + " with "
	switch {
	case a.Event == "" && !short:
		b.error(given.at, "%s%s, which is no answer", says, given).
			fix("write a text of 1 to %d bytes, as in onTimeout: {answer: late}", core.MaxApproval)
	case a.Event == "" && !slices.Contains(a.Values, given.text):
		if near := suggest.Nearest(given.text, a.Values); near != "" {
			b.warn(given.at, "%s%s, which people cannot answer, and %s is one of theirs", says, given, near).
				fix("write %s, or a text that is less like it", near)
		}
	case a.Schema != nil && !short:
		s, err := schema.Compile(a.Schema)
		if err == nil {
			err = s.Check(a.TimeoutValue)
		}
		if err != nil {
			b.error(given.at, "%sa value that its schema refuses: %s", says, err).
				fix("correct the value or the schema, or write a short text, which only onTimeout can give")
		}
	}
}

// question reads the expressions of an approval step or an event step. The input of the step evaluates to a
// core.Question. The field refuse is an expression too.
func (b *builder) question(f field, s *core.StepDefinition, scope expression.Scope) {
	form := answerForm(f.value)
	v := f.value.get(form)
	q := value{at: v.at, shape: isMap}
	for _, key := range []string{"question", "show", "need", "who"} {
		if part := v.field(key); part != nil {
			q.fields = append(q.fields, *part)
		}
	}
	if not := v.field("notSelf"); not != nil && b.bare(not.value, "notSelf", "order.requestedBy") {
		excluded := *not.value
		excluded.text = "${ " + strings.TrimSpace(excluded.text) + " }"
		q.fields = append(q.fields, field{not.at, "notSelf", &excluded})
	}
	if timeout := v.field("timeout"); timeout != nil {
		until := timeout.value.field("until")
		switch {
		case until != nil && until.value.shape == isText:
			b.variable(until.value)
			q.fields = append(q.fields, field{timeout.at, "timeout", until.value})
		case isExpression(timeout.value):
			q.fields = append(q.fields, *timeout)
		}
	}
	if len(q.fields) > 0 {
		s.Input = b.template(&q, form, scope)
	}
	if refuse := v.get("refuse"); refuse != nil && b.bare(refuse, "refuse", `value == "reject"`) {
		s.Answer.Refuse = strings.TrimSpace(refuse.text)
		scope.Value = true
		scope.Condition = true
		b.expression(refuse.at, s.Answer.Refuse, scope)
	}
}

// unread warns about an approval whose answers all have the same effect: no answer refuses the order, and no
// expression reads the answer.
func (b *builder) unread(i int) {
	s := &b.def.Steps[i]
	if s.Answer == nil || len(s.Answer.Values) < 2 || s.Answer.Refuse != "" {
		return
	}
	read := s.Name
	if group := b.memberIn(s.Name); group != nil {
		read = group.Name
	}
	if b.root.holds("steps." + strings.ReplaceAll(read, "-", "_")) {
		return
	}
	b.warn(b.steps[i].value.get("approval").field("answers").at,
		"every answer to step %s lets the order go on, %q too", s.Name, s.Answer.Values[len(s.Answer.Values)-1]).
		fix("write refuse: value == %q, or read steps.%s.output.value in a later step",
			s.Answer.Values[len(s.Answer.Values)-1], strings.ReplaceAll(s.Name, "-", "_"))
}

// bare reports whether an expression is written without ${ }. If the expression has ${ }, bare reports a
// problem.
func (b *builder) bare(v *value, key, example string) bool {
	if v.shape != isText {
		return false // the schema check reports the wrong type
	}
	if strings.HasPrefix(strings.TrimSpace(v.text), "${") {
		b.error(v.at, "%s is written with ${ }", key).fix("write the bare expression, as in %s: %s", key, example)
		return false
	}
	return true
}

// answerForm returns "approval" or "event" for a step that waits for an answer, and "" for all other steps.
func answerForm(step *value) string {
	for _, form := range []string{"approval", "event"} {
		if step.field(form) != nil {
			return form
		}
	}
	return ""
}

// answered returns the names of the steps that wait for an answer. The value of a name is true if a
// token for the step must name a person (P39, a token is an answer's permission). These are the steps with
// who, with notSelf, or with a need other than 1.
func (b *builder) answered() map[string]bool {
	names := map[string]bool{}
	for _, f := range b.steps {
		if form := answerForm(f.value); form != "" {
			v := f.value.get(form)
			one := b.whole(v, "need", 0) == 1
			names[f.key] = v.get("who") != nil || v.get("notSelf") != nil || v.get("need") != nil && !one
		}
	}
	return names
}
