package source

import (
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// fail reads a step that fails by rule (P50, a rule can fail the order). The message appears in alerts,
// statuses and logs, so it must not contain data of an order.
func (s step) fail() {
	s.uncalled()
	rule := s.value.get("fail")
	s.Fail = &core.Fail{Code: s.text(rule, "code"), Message: s.text(rule, "message")}
	message := rule.get("message")
	switch text := s.Fail.Message; {
	case message == nil || message.shape != isText:
	case strings.TrimSpace(text) == "":
		s.error(message.at, "the message of step %s is empty", s.key).fix("write for people why the order fails")
	case strings.Contains(text, "${"):
		s.error(message.at, "the message of step %s has an expression", s.key).
			fix("write plain text: it stands in alerts and logs, which hold nothing of an order")
	case len(text) > core.MaxMessage:
		s.error(message.at, "the message of step %s has %d bytes, the most is %d", s.key, len(text),
			core.MaxMessage).fix("shorten it")
	}
}
