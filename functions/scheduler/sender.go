package scheduler

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// CodeOtherAgent counts replies of an agent that the step did not ask (P3).
const CodeOtherAgent = "other-agent"

// sender is what is known of who sent a reply.
type sender struct {
	agent string // that the reply names; "": none
	role  string // that the queue vouches for; "": unknown
}

// senderOf takes the role ID out of SQS's SenderId, "AROA…:session".
func senderOf(r *message.Reply, d *port.Delivery) sender {
	role, _, _ := strings.Cut(d.Sender, ":")
	return sender{agent: r.Agent, role: role}
}

// notAsked refuses a reply of another agent than the one that its step asked (P3): its refusal puts it
// into quarantine. A role that no agent is known by passes, since an operator may have redriven the
// message; SQS does not say whose SenderId a redriven message has.
func (s *Scheduler) notAsked(def *core.Definition, it *item) error {
	step := ""
	switch e := it.ev.(type) {
	case core.Reply:
		step = e.Step
	case core.Progress: // P43
		step = e.Step
	}
	if def == nil || def.Index(step) < 0 {
		return nil
	}
	asked := def.Steps[def.Index(step)].AllAgents() // in turn, or one after another (P44)
	switch {
	case it.from.agent != "" && !slices.Contains(asked, it.from.agent):
	case s.anothers(asked, it.from.role):
	default:
		return nil
	}
	return &message.Refusal{Code: CodeOtherAgent, Text: fmt.Sprintf(
		"a reply for step %q came from agent %.60q, role %.60q; this step asked agent %q, so the reply "+
			"was not counted; fix: the agent's name in its replies, or the role that it runs with",
		step, it.from.agent, it.from.role, strings.Join(asked, " or "))}
}

// anothers reports a role that other agents reply with, and these do not.
func (s *Scheduler) anothers(agents []string, role string) bool {
	if slices.ContainsFunc(agents, func(a string) bool {
		return len(s.cfg.Senders[a]) == 0 || slices.Contains(s.cfg.Senders[a], role)
	}) {
		return false
	}
	// in any order: one that has it is enough
	for _, roles := range s.cfg.Senders {
		if slices.Contains(roles, role) {
			return true
		}
	}
	return false
}
