package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// Sender identifies the sender of a reply.
type Sender struct {
	Agent string // name in the reply; "" if the reply has none
	Role  string // role ID that the queue reports; "" if the role is unknown
}

// notAsked refuses a reply if its sender is not an agent of the step (P3, a reply names request and sender).
// A refused reply goes to quarantine. notAsked accepts a role that belongs to no agent, because SQS does not
// report the original sender of a redriven message.
func (e *Engine) notAsked(def *core.Definition, step string, attempt int, from Sender) error {
	if def == nil || def.Index(step) < 0 {
		return nil
	}
	d := &def.Steps[def.Index(step)]
	asked := d.AllAgents() // a step may use any of its agents (P44, several agents can do one step)
	if attempt == 0 {
		asked = def.Reminders(d)
	}
	if len(asked) == 0 {
		return &core.Refusal{Code: message.CodeOtherAgent, Text: fmt.Sprintf("a reply for step %q names the attempt 0, "+
			"which only a reminder has, and the step has none; fix: the attempt in the agent's replies", step)}
	}
	if (from.Agent == "" || slices.Contains(asked, from.Agent)) && !e.ofOthers(asked, from.Role) {
		return nil
	}
	return &core.Refusal{Code: message.CodeOtherAgent, Text: fmt.Sprintf(
		"a reply for step %q came from agent %.60q, role %.60q; this step asked agent %q, so the reply "+
			"was not counted; fix: the agent's name in its replies, or the role that it runs with",
		step, from.Agent, from.Role, strings.Join(asked, " or "))}
}

// ofOthers reports whether the role belongs to another agent and to none of these agents. It returns false if
// one of these agents has no entry in Senders.
func (e *Engine) ofOthers(agents []string, role string) bool {
	if slices.ContainsFunc(agents, func(a string) bool {
		return len(e.Senders[a]) == 0 || slices.Contains(e.Senders[a], role)
	}) {
		return false
	}
	// The loop may go in any order, because one match is enough.
	for _, roles := range e.Senders {
		if slices.Contains(roles, role) {
			return true
		}
	}
	return false
}
