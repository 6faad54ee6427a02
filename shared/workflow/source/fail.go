package source

import (
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// fail reads a step that fails by rule (P50, a rule can fail the order). The message appears in alerts,
// statuses and logs, so it must not contain data of an order.
func (b *builder) fail(f field) core.StepDefinition {
	s := b.uncalled(f)
	rule := f.value.get("fail")
	s.Fail = &core.Fail{Code: b.text(rule, "code"), Message: b.text(rule, "message")}
	message := rule.get("message")
	switch text := s.Fail.Message; {
	case message == nil || message.shape != isText:
	case strings.TrimSpace(text) == "":
		b.error(message.at, "the message of step %s is empty", f.key).fix("write for people why the order fails")
	case strings.Contains(text, "${"):
		b.error(message.at, "the message of step %s has an expression", f.key).
			fix("write plain text: it stands in alerts and logs, which hold nothing of an order")
	case len(text) > core.MaxMessage:
		b.error(message.at, "the message of step %s has %d bytes, the most is %d", f.key, len(text),
			core.MaxMessage).fix("shorten it")
	}
	return s
}
