package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// errNoKeys means that the workflow makes tokens, but this Scheduler has no signing keys. The message returns
// to its queue until a Scheduler with keys takes it.
var errNoKeys = errors.New("there is no key for the tokens of its workflow; deploy it with the workflow")

type input struct {
	definition *core.Definition
	order      []byte
	hash       string // hash of the submission that creates the task
	// event is nil after a restart of the embedded mode. The function protocol.Decide then emits the
	// messages that the stored task still needs (P27, the embedded runtime survives its queues).
	event  core.Event
	target *core.Definition // definition that the event may move the task to
}

func (e *Engine) inputs(ctx context.Context, j *Job, m *Message, at *protocol.At) (input, error) {
	in := input{definition: j.Definition, order: j.order, hash: j.hash, event: m.Event}
	if err := e.keys(ctx, j, at); err != nil {
		return in, err
	}
	if j.Task == nil {
		err := e.first(ctx, j, m, &in)
		return in, err
	}
	var err error
	switch ev := m.Event.(type) {
	case core.Reply:
		err = e.notAsked(j.Definition, ev.Step, ev.Attempt, m.From)
	case core.Progress: // long work reports progress (P43)
		err = e.notAsked(j.Definition, ev.Step, ev.Attempt, m.From)
	case core.Submitted:
		ev.KnownHash = state.HashOf(j.Task)
		in.event = ev
	case core.AskChild:
		err = e.childTarget(ctx, j.Task, ev, &in)
	case core.Command:
		err = e.ofCommand(ctx, j.Task, ev, &in)
	case core.Answered:
		if ev.Token != "" {
			in.event, err = withTokenClaims(j.ID, ev, *at)
		}
	}
	return in, err
}

// ofCommand adds to a command what its decision needs of other tasks and definitions.
func (e *Engine) ofCommand(ctx context.Context, t *protocol.Task, c core.Command, in *input) (err error) {
	switch {
	case c.Name == core.Move, c.Name == core.Resubmit && c.Definition != "":
		var to core.Target
		if c.Definition != "" {
			to, err = e.State.Target(ctx, t.Workflow, c.Definition)
		}
		c.To = &to
		in.event = c
		in.target = to.Definition
	case c.Name == core.Close:
		in.event, err = e.withAbsent(ctx, t, c)
	case c.Name == core.Erase:
		in.event, err = e.withActiveAncestor(ctx, t, c)
	}
	return err
}

// keys loads the signing keys again if the key of the task is not loaded (P39, a token is an answer's
// permission). It returns errNoKeys if the workflow makes tokens and there are no signing keys.
func (e *Engine) keys(ctx context.Context, j *Job, at *protocol.At) (err error) {
	if !e.Claims || j.Task == nil {
		return nil
	}
	if j.Task.TokenKey != "" && at.Tokens != nil && !at.Tokens.Holds(j.Task.TokenKey) {
		at.Tokens, err = e.Tokens(ctx, true)
	}
	if err == nil && j.Definition != nil && j.Definition.Tokens && at.Tokens == nil {
		err = fmt.Errorf("task %q: %w", j.ID, errNoKeys)
	}
	return err
}

// withTokenClaims returns an answer with the run, the step and the person that its token states (P39).
func withTokenClaims(id string, ev core.Answered, at protocol.At) (core.Event, error) {
	if at.Tokens == nil {
		return nil, &core.Refusal{
			Code: core.CodeNoTokens, Field: "token",
			Text: "this deployment has no key for tokens; answer as a person, with by",
		}
	}
	of, err := at.Tokens.Read(id, ev.Token, at.Now)
	if err != nil {
		return nil, err
	}
	ev.Run = of.Run
	ev.Step = of.Step
	ev.Name = ""
	ev.By = cmp.Or(of.Person, core.ByToken)
	return ev, nil
}

// childTarget reads the definition that a parent's request names, and adds it to the event. Only the start of
// an undone child with another definition needs this (P41, parent and child talk by messages).
func (e *Engine) childTarget(ctx context.Context, t *protocol.Task, ask core.AskChild, in *input) error {
	if ask.Ask != core.AskStart || t.ProcessState != core.Compensated || ask.Definition == t.Definition {
		return nil
	}
	to, err := e.State.Target(ctx, t.Workflow, ask.Definition)
	ask.To = to.Definition
	in.event = ask
	in.target = to.Definition
	return err
}

// withAbsent adds to a Close the IDs of the open children that can send no report (P48, close ends an order
// as it stands). There are three such cases:
//   - The child is not stored.
//   - The record of the child is damaged.
//   - The child has ended. While the step undoes its children, a child that is Processed does not count, because
//     it must still be undone.
func (e *Engine) withAbsent(ctx context.Context, t *protocol.Task, ev core.Command) (core.Event, error) {
	for i := range t.Steps {
		s := &t.Steps[i]
		open := t.OpenChildren(s)
		if len(open) == 0 {
			continue
		}
		for n, l := range e.State.Load(ctx, open) {
			switch {
			case l.Err != nil:
				return nil, l.Err
			case l.Task != nil && l.Task.Damaged == "" && (!l.Task.Terminal() || s.UndoesChildren() &&
				l.Task.ProcessState == core.Processed):
				continue
			}
			ev.Absent = append(ev.Absent, open[n])
		}
	}
	return ev, nil
}

// withActiveAncestor adds to an Erase the ID of the nearest active ancestor (P52, erase removes content, not
// identity). An ancestor is active until it has ended and is at rest. A damaged ancestor counts as active,
// because it may still need its child. An ancestor that is not stored counts as ended.
//
// The function also adds the hash of the content, because the erased task keeps the hash.
func (e *Engine) withActiveAncestor(ctx context.Context, t *protocol.Task, ev core.Command) (core.Event, error) {
	ev.KnownHash = state.HashOf(t)
	for p := t.Parent; p != nil && ev.ActiveAncestor == ""; {
		l := e.State.Load(ctx, []string{p.OrderID})[0]
		switch {
		case l.Err != nil:
			return nil, l.Err
		case l.Task != nil && (l.Task.Damaged != "" || !(l.Task.Terminal() && l.Task.AtRest())):
			ev.ActiveAncestor = p.OrderID
		case l.Task == nil:
			return ev, nil
		default:
			p = l.Task.Parent
		}
	}
	return ev, nil
}

// first reads the values for a decision about a task that does not exist. If the task has expired, the
// function refuses the order, so that the order does not run again (P26, an ID never runs twice).
func (e *Engine) first(ctx context.Context, j *Job, m *Message, in *input) (err error) {
	switch ev := m.Event.(type) {
	case core.Command:
		if ev.Name != core.Cancel {
			return nil
		}
		if j.expired {
			return expired(j.ID)
		}
		ev.OrderID = j.ID
		in.event = ev
		return nil
	case core.Submitted:
		if j.expired {
			return expired(j.ID)
		}
		in.order = m.Order
		in.hash = ev.ContentHash
		in.definition, err = e.current(ctx, ev)
		if err != nil {
			return err
		}
	case core.AskChild:
		if j.expired || len(ev.Order) == 0 { // a child that is asked without its order has begun long ago (P57)
			return expired(j.ID)
		}
		in.order = ev.Order
		in.hash = ev.ContentHash
		in.definition, err = e.State.Definition(ctx, ev.Workflow, ev.Definition)
		if err != nil {
			if j.status == unread { // the child may exist with a definition of its own
				return errReload
			}
			return e.unreadable(ev, err)
		}
	default:
		return nil
	}
	if err := fits(in.definition, in.order); err != nil {
		return err
	}
	if j.status == tooLarge {
		return &core.Refusal{
			Code: message.CodeTooLarge, Field: "order",
			Text: "the order's task does not fit into the store; store large data elsewhere and send a " +
				"reference",
		}
	}
	return nil
}

// unreadable refuses a new child whose definition is lost or damaged. Its parent learns it, and asks again later
// (P41, parent and child talk by messages).
func (e *Engine) unreadable(ask core.AskChild, err error) error {
	if !errors.Is(err, port.ErrNotFound) && !errors.Is(err, state.ErrDefinition) {
		return err
	}
	e.Logger.Error("a child order cannot begin; restore the definition of its workflow from a backup", "order",
		ask.OrderID, "workflow", ask.Workflow, "error", err)
	return &core.Refusal{
		Code: core.CodeDamaged, Field: "definition",
		Text: fmt.Sprintf("the child cannot begin, because the definition of its workflow %s cannot be read: %v",
			ask.Workflow, err),
	}
}

// fits refuses a new order that does not match the schema of its workflow.
func fits(def *core.Definition, order []byte) error {
	if len(def.Order) == 0 {
		return nil
	}
	if err := def.Expr.CheckOrder(order); err != nil {
		return message.Mismatch(def.Name, err)
	}
	return nil
}

// current returns the definition for a new order. It refuses the order if its workflow or its reply-to is not
// deployed. The engine does not call current for an existing order, because that order stays accepted (P14,
// submit creates once).
func (e *Engine) current(ctx context.Context, ev core.Submitted) (*core.Definition, error) {
	def, err := e.State.Current(ctx, ev.Workflow)
	if err != nil || ev.ReplyTo == "" {
		return def, err
	}
	_, err = e.Queues.ReplyTo(ev.ReplyTo)
	if errors.Is(err, port.ErrNotFound) {
		return nil, &core.Refusal{
			Code: message.CodeUnknownReplyTo, Field: "replyTo",
			Text: fmt.Sprintf("no reply-to %q is deployed; deploy a queue or a bus of that name, or "+
				"leave it out", ev.ReplyTo),
		}
	}
	return def, err
}

func expired(id string) error {
	return &core.Refusal{
		Code: message.CodeExpired, Field: "orderId",
		Text: fmt.Sprintf(
			"order %q ended long ago and its record has expired; it was not run again: submit new work "+
				"under a new ID", id),
	}
}

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
