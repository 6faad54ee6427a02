package source

import (
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/expression"
)

const (
	leastRemind   = core.Minute
	remindTimeout = 10 * core.Second // as of an ask
	mostReminders = 100              // of a remind with every and without atMost
	remindExample = "as in remind: {after: 3h, agent: mail, operation: tell}"
)

// remind reads the reminders of a step (P59, a step can have reminders). A question also has a short form, within
// approval or event: a time after which, again and again, its ask is repeated.
func (s step) remind() {
	short := s.duration(s.value.get(answerForm(s.value)), "remind", limitWait, 0)
	v := s.value.get("remind")
	if short > 0 {
		s.Remind = &core.Remind{After: short, Every: short}
	}
	if v == nil || v.shape != isMap {
		return // the schema check reports the wrong type
	}
	every := s.duration(v, "every", limitWait, 0)
	most := 1
	if every > 0 {
		most = mostReminders
	}
	s.Remind = &core.Remind{
		After: s.duration(v, "after", limitWait, every), Every: every, AtMost: s.whole(v, "atMost", most),
		Agent: s.text(v, "agent"), Operation: s.text(v, "operation"),
	}
	if s.Remind.Agent != "" {
		s.Remind.Timeout = s.duration(v, "timeout", limitTimeout, remindTimeout)
	}
}

// reminderInput reads the template of a reminder's input.
func (s step) reminderInput(scope expression.Scope, answered map[string]bool) {
	if s.Remind == nil || s.Remind.Agent == "" {
		return
	}
	scope.Reminder = true
	scope.Answered = answered
	s.Remind.Input = s.template(s.value.get("remind").get("input"), "input", scope)
}

// reminds checks the reminders of a step.
func (s step) reminds() {
	if s.Remind == nil {
		return
	}
	v := s.value.field("remind")
	short := s.value.get(answerForm(s.value)).field("remind")
	at := s.at
	switch {
	case short != nil:
		at = short.value.at
	case v != nil:
		at = v.value.at
	}
	switch {
	case v != nil && short != nil:
		s.error(v.at, "step %s has two kinds of reminders", s.Name).
			fix("write remind once: as a time within %s, or as a mapping beside it", answerForm(s.value))
	case s.Remind.After == 0:
		s.error(at, "the reminders of step %s have no time", s.Name).
			fix("write after, every or both, %s", remindExample)
	default:
		s.remindTimes(at, v)
		s.remindCall(at, v)
	}
}

// remindTimes checks when a step reminds.
func (s step) remindTimes(at position, v *field) {
	m := s.Remind
	for _, t := range []core.Duration{m.After, m.Every} {
		if t > 0 && t < leastRemind {
			s.error(at, "step %s reminds every %s; the least is %s", s.Name, t, leastRemind).
				fix("write a longer time, as in remind: 1d")
			return
		}
	}
	if v != nil && m.Every == 0 && m.AtMost > 1 {
		s.error(v.value.field("atMost").at, "step %s reminds at most %d times, and says not how often", s.Name,
			m.AtMost).fix("add every, as in every: 1h, or remove atMost")
	}
	ends := "timeout"
	last := s.Timeout
	if s.Answer == nil {
		ends = "deadline"
		last = s.Deadline
	}
	if last > 0 && m.After >= last {
		s.error(at, "the first reminder of step %s comes after %s, and its %s is %s", s.Name, m.After, ends, last).
			fix("write a shorter time")
	}
}

// remindCall checks the call of a reminder.
func (s step) remindCall(at position, v *field) {
	m := s.Remind
	switch {
	case m.Agent == "" && m.Operation == "" && s.Answer != nil && s.Answer.Ask != "":
	case v == nil:
		s.error(at, "step %s has remind but no ask, so it has no call to repeat", s.Name).
			fix("add the call that asks for the answer, as in ask: {agent: mail, operation: ask}")
		return
	case m.Agent == "" || m.Operation == "":
		s.error(at, "the reminders of step %s need agent and operation", s.Name).
			fix("write both, %s", remindExample)
		return
	}
	for _, agent := range s.def.Reminders(s.StepDefinition) {
		for n := range s.def.Steps {
			if o := &s.def.Steps[n]; o.Grade == core.Plain && slices.Contains(o.AllAgents(), agent) {
				s.error(at, "step %s reminds through agent %s, whose service is plain (step %s), and a reminder "+
					"may be sent twice", s.Name, agent, o.Name).fix("use a service that is at least idempotent")
				return
			}
		}
	}
	if m.Agent == "" {
		return
	}
	where := v.value.get("agent").at
	s.knownAgent(m.Agent, where)
	if s.opts.MaxTimeout == nil {
		return
	}
	if most := s.opts.MaxTimeout(m.Agent); most > 0 && m.Timeout > most {
		s.error(where, "the timeout of the reminders of step %s, %s, is longer than agent %s can work at a time, "+
			"%s", s.Name, m.Timeout, m.Agent, most).fix("shorten it, or deploy the agent with a longer timeout")
	}
}
