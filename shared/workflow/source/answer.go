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
func (s step) answer() {
	form := answerForm(s.value)
	v := s.value.get(form)
	s.uncalled()
	s.Answer = &core.Answer{}
	if timeout := v.get("timeout"); timeout == nil || !isExpression(timeout) {
		s.Timeout = s.duration(v, "timeout", limitWait, 0)
	}
	if form == "event" {
		s.Answer.Event = s.text(v, "name")
		if given := v.get("schema"); given != nil {
			data, err := rawjson.Marshal(given.plain())
			s.Answer.Schema, _ = s.compiled(given, data, err)
		}
	} else {
		s.choices(v)
		s.people(v)
	}
	s.onTimeout(v)
	s.attempts(v)
	if s.value.field(askMade) != nil {
		s.Answer.Ask = s.key + askSuffix
	}
	s.remind()
}

func isExpression(v *value) bool {
	if v.shape != isText {
		return false
	}
	_, found, err := expression.Unwrap(v.text)
	return found || err != nil
}

func (s step) choices(v *value) {
	answers := v.get("answers")
	if answers == nil {
		return
	}
	for _, e := range answers.list {
		if e.shape != isText {
			continue // the schema check reports the wrong type
		}
		if len(e.text) > core.MaxApproval {
			s.error(e.at, "the answer %s has more than %d bytes", e, core.MaxApproval).fix("write a shorter one")
		}
		s.Answer.Values = append(s.Answer.Values, e.text)
	}
}

// people checks the fields need and who. It skips a field with an expression, because the value depends on
// the order.
func (s step) people(v *value) {
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
			s.error(e.at, "%s is no person's name", e).
				fix("use 1 to %d bytes without control characters and < > & \" \\", core.MaxAnswerBy)
		}
		names[e.text] = true
	}
	if need := s.whole(v, "need", 1); need > len(names) && len(names) > 0 {
		s.error(v.get("need").at, "step %s needs %d people, and who lists %d", s.Name, need, len(names)).
			fix("lower need, or list more people")
	}
}

// attempts reads how many answers may decide the step. Only one that is refused lets another one decide.
func (s step) attempts(v *value) {
	s.Answer.Attempts = s.whole(v, "attempts", 0)
	if s.Answer.Attempts > 0 && v.get("refuse") == nil {
		s.error(v.field("attempts").at, "step %s has %d attempts, and no answer is refused", s.Name, s.Answer.Attempts).
			fix(`write refuse, as in refuse: value == "reject", or remove attempts`)
	}
}

func (s step) onTimeout(v *value) {
	on := v.get("onTimeout")
	switch {
	case on == nil:
	case on.shape == isText:
		s.Answer.OnTimeout = core.Policy(on.text)
	case on.get("answer") != nil:
		given := on.get("answer")
		data, err := rawjson.Marshal(given.plain())
		if err != nil {
			return
		}
		if len(data) > core.MaxAnswerValue {
			s.error(given.at, "the value of onTimeout has %d bytes, the limit is %d", len(data),
				core.MaxAnswerValue).fix("write a smaller one")
		}
		s.Answer.TimeoutValue = data
		s.timeoutValue(given)
	}
}

// timeoutValue checks the answer of onTimeout. A short text that nobody else can answer is allowed, so that later
// steps can ask whether the time has ended the question.
func (s step) timeoutValue(given *value) {
	a := s.Answer
	short := given.shape == isText && given.text != "" && len(given.text) <= core.MaxApproval
	says := "onTimeout answers step " + s.Name + " with "
	switch {
	case a.Event == "" && !short:
		s.error(given.at, "%s%s, which is no answer", says, given).
			fix("write a text of 1 to %d bytes, as in onTimeout: {answer: late}", core.MaxApproval)
	case a.Event == "" && !slices.Contains(a.Values, given.text):
		if near := suggest.Nearest(given.text, a.Values); near != "" {
			s.warn(given.at, "%s%s, which people cannot answer, and %s is one of theirs", says, given, near).
				fix("write %s, or a text that is less like it", near)
		}
	case a.Schema != nil && !short:
		compiled, err := schema.Compile(a.Schema)
		if err == nil {
			err = compiled.Check(a.TimeoutValue)
		}
		if err != nil {
			s.error(given.at, "%sa value that its schema refuses: %s", says, err).
				fix("correct the value or the schema, or write a short text, which only onTimeout can give")
		}
	}
}

// question reads the expressions of an approval step or an event step. The input of the step evaluates to a
// core.Question. The field refuse is an expression too.
func (s step) question(scope expression.Scope) {
	form := answerForm(s.value)
	v := s.value.get(form)
	q := value{at: v.at, shape: isMap}
	for _, key := range []string{"question", "show", "need", "who"} {
		if part := v.field(key); part != nil {
			q.fields = append(q.fields, *part)
		}
	}
	if not := v.field("notSelf"); not != nil && s.bare(not.value, "notSelf", "order.requestedBy") {
		excluded := *not.value
		excluded.text = "${ " + strings.TrimSpace(excluded.text) + " }"
		q.fields = append(q.fields, field{not.at, "notSelf", &excluded})
	}
	if timeout := v.field("timeout"); timeout != nil {
		until := timeout.value.field("until")
		switch {
		case until != nil && until.value.shape == isText:
			s.variable(until.value)
			q.fields = append(q.fields, field{timeout.at, "timeout", until.value})
		case isExpression(timeout.value):
			q.fields = append(q.fields, *timeout)
		}
	}
	if len(q.fields) > 0 {
		s.Input = s.template(&q, form, scope)
	}
	if refuse := v.get("refuse"); refuse != nil && s.bare(refuse, "refuse", `value == "reject"`) {
		s.Answer.Refuse = strings.TrimSpace(refuse.text)
		scope.Value = true
		scope.Condition = true
		s.expression(refuse.at, s.Answer.Refuse, scope)
	}
}

// unread warns about an approval whose answers all have the same effect: no answer refuses the order, and no
// expression reads the answer.
func (s step) unread() {
	if s.Answer == nil || len(s.Answer.Values) < 2 || s.Answer.Refuse != "" {
		return
	}
	read := s.Name
	if group := s.memberIn(s.Name); group != nil {
		read = group.Name
	}
	if s.root.holds("steps." + strings.ReplaceAll(read, "-", "_")) {
		return
	}
	s.warn(s.value.get("approval").field("answers").at,
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
