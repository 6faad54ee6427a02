package scenes

import (
	"encoding/json"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/simulate/internal/workflows"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// SmallScopes lists the worlds of the exploration: one task of two steps, in a row and at once, for
// each grade of service, with two instances of each actor: all well, a step that fails for good and
// an undo, a Cancel, what an operator can do with a task that has stopped. Then steps that are
// skipped, a deadline, a point of no return, two tasks, and more requests than agents (P32).
func SmallScopes() []world.Scope {
	var all scopes
	all.ofGrades()
	all.ofCommands()
	all.ofWaits()
	return all
}

// scopes lists worlds.
type scopes []world.Scope

// add appends a world.
func (all *scopes) add(name string, d *core.Definition, s world.Scope) {
	p := Plot{}.also("world", "instances", 1, 1)
	if s.Orders > 1 {
		p.also("world", "orders", 1, s.Orders-1)
	}
	if len(s.Down) > 0 { // A scope with instances down has one instance of each actor.
		p = Plot{}.also("world", "orders", 1, max(s.Orders, 1)-1).also("world", "capacity", 1, 1)
	}
	s.Name, s.Scenario = name, world.Scenario{Definition: d, Base: p.Base, Orders: max(s.Orders, 1) + 1,
		Order: s.Order}
	*all = append(*all, s)
}

// people is a world in which these commands are sent.
func people(k ...message.ControlKind) world.Scope { return world.Scope{People: k} }

// fails is such a world in which a step fails for good.
func fails(step string, k ...message.ControlKind) world.Scope {
	return world.Scope{People: k, Refuses: step}
}

// ofGrades adds the worlds of each grade of service.
func (all *scopes) ofGrades() {
	for _, g := range []core.Grade{core.Fenced, core.Idempotent, core.Plain} {
		n := string(g) + ": "
		all.add(n+"in a row", workflows.Small(g, false), world.Scope{})
		all.add(n+"at once", workflows.Small(g, true), world.Scope{})
		all.add(n+"in a row, the second fails for good", workflows.Small(g, false), fails("b"))
		all.add(n+"at once, one fails for good", workflows.Small(g, true), fails("b"))
		all.add(n+"in a row, cancelled", workflows.Terse(workflows.Small(g, false)), people(message.Cancel))
		all.add(n+"at once, cancelled", workflows.Terse(workflows.Small(g, true)), people(message.Cancel))
		all.add(n+"stopped, resubmitted, cancelled",
			workflows.Terse(workflows.Stops(workflows.Small(g, false))),
			fails("b", message.Resubmit, message.Cancel))
		all.add(n+"stopped, undone, resubmitted", workflows.Terse(workflows.Stops(workflows.Small(g, false))),
			fails("b", message.Undo, message.Resubmit))
		all.add(n+"stopped, resolved, resubmitted",
			workflows.Terse(workflows.Stops(workflows.Small(g, false))),
			fails("b", message.Resolve, message.Resubmit))
		all.add(n+"a deadline passes", workflows.Terse(workflows.Deadline(workflows.Small(g, false))),
			world.Scope{Down: []string{"b-agent-1"}})
	}
}

// ofCommands adds what an operator can do, conditions and points of no return.
func (all *scopes) ofCommands() {
	all.add("stopped, closed, cancelled",
		workflows.Terse(workflows.Stops(workflows.Small(core.Idempotent, false))),
		fails("b", message.Close, message.Cancel))
	all.add("undone, erased, resubmitted", workflows.Terse(workflows.Small(core.Fenced, false)),
		fails("b", message.Erase, message.Resubmit))
	all.add("stopped, moved, resubmitted",
		workflows.Terse(workflows.Stops(workflows.Small(core.Idempotent, false))),
		fails("b", message.Move, message.Resubmit))
	corrects := world.Scope{People: []message.ControlKind{message.Resolve, message.Resubmit}, Refuses: "b",
		Corrects: "b"}
	all.add("stopped, resolved, resubmitted with another input",
		workflows.Terse(workflows.Stops(workflows.Small(core.Idempotent, false))),
		corrects)
	all.add("the first is skipped",
		workflows.Terse(workflows.When(workflows.Small(core.Fenced, false), 0, "false")),
		fails("b", message.Cancel))
	all.add("the second is skipped",
		workflows.Terse(workflows.When(workflows.Small(core.Idempotent, true), 1, "false")),
		people(message.Cancel))
	all.add("a condition on the order",
		workflows.Terse(workflows.When(workflows.Small(core.Fenced, true), 1, "order.wanted")),
		world.Scope{Scenario: world.Scenario{Order: json.RawMessage(`{"wanted":true}`)}})
	all.add("a condition that cannot be evaluated",
		workflows.Terse(workflows.When(workflows.Small(core.Fenced, false), 1, "order.missing.field > 1")),
		world.Scope{})
	all.add("a point of no return",
		workflows.Terse(workflows.NoReturn(workflows.Small(core.Idempotent, false))),
		fails("b", message.Resubmit, message.Cancel))
	all.add("a point of no return that is refused",
		workflows.Terse(workflows.Pivot(workflows.Small(core.Idempotent, false))),
		fails("b", message.Cancel))
	all.add("a point of no return beside a step, refused",
		workflows.Terse(workflows.Pivot(workflows.Small(core.Idempotent, true))),
		fails("b"))
}

// ofWaits adds waits, answers, steps that fail for good and are gone on without, and two orders.
func (all *scopes) ofWaits() {
	all.add("a wait between two steps, cancelled", workflows.Terse(workflows.Between(3*core.Second)),
		people(message.Cancel))
	all.add("a wait beside a step, stopped, resubmitted",
		workflows.Terse(workflows.Stops(workflows.WaitBeside())),
		fails("b", message.Resubmit))
	all.add("an approval, answered twice", workflows.Terse(workflows.AskOnly(workflows.Asking(false))),
		people(message.Answer, message.Answer))
	all.add("an approval, answered, cancelled", workflows.Terse(workflows.AskOnly(workflows.Asking(false))),
		people(message.Answer, message.Cancel))
	all.add("an approval beside a step, answered, stopped, resubmitted",
		workflows.Terse(workflows.Stops(workflows.AskBeside())),
		fails("b", message.Answer, message.Resubmit))
	all.add("an approval that a call asks for",
		workflows.Terse(workflows.AskOnly(workflows.AskedFor(workflows.Asking(false)))),
		people(message.Answer))
	all.add("an event, twice", workflows.Terse(workflows.AskOnly(workflows.EventOf(workflows.Asking(false)))),
		people(message.Answer, message.Answer))
	all.add("a rule stops the order, undone, resubmitted",
		workflows.Terse(workflows.Stops(workflows.Ruled(workflows.Small(core.Idempotent, false)))),
		people(message.Undo, message.Resubmit))
	for _, g := range []core.Grade{core.Fenced, core.Idempotent} {
		n := string(g) + ": goes on without the first"
		all.add(n, workflows.Terse(workflows.Otherwise(g)), fails("a"))
		all.add(n+", cancelled", workflows.Terse(workflows.GoesOn(workflows.Small(g, true))),
			fails("a", message.Cancel))
	}
	all.add("goes on without the first, stopped by the second, resubmitted",
		workflows.Terse(workflows.Stops(workflows.GoesOn(workflows.Small(core.Fenced, true)))),
		world.Scope{People: []message.ControlKind{message.Resubmit},
			Refuses: "a"})
	all.add("two tasks", workflows.Terse(workflows.Small(core.Fenced, false)),
		world.Scope{Scenario: world.Scenario{Orders: 2}})
	all.add("two tasks on an agent that comes late",
		workflows.Terse(workflows.One(workflows.Small(core.Idempotent, false))),
		world.Scope{Scenario: world.Scenario{Orders: 2}, Down: []string{"a-agent-1"}})
}
