package explore

import (
	"encoding/json"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// smallScopes lists the worlds of the exploration: one task of two steps, in a row and at once, for
// each grade of service, with two instances of each actor: all well, a step that fails for good and
// an undo, a Cancel, what an operator can do with a task that has stopped. Then steps that are
// skipped, a deadline, a point of no return, two tasks, and more requests than agents (P32). Then the first of two,
// a block of one step, and one that is repeated once.
func smallScopes() []Scope {
	var all scopes
	all.ofGrades()
	all.ofCommands()
	all.ofWaits()
	all.ofGroups()
	return all
}

// scopes lists worlds.
type scopes []Scope

// add appends a world.
func (all *scopes) add(name string, d *core.Definition, s Scope) {
	p := Plot{}.also("world", "instances", 1, 1)
	if s.Orders > 1 {
		p.also("world", "orders", 1, s.Orders-1)
	}
	if len(s.Down) > 0 { // A scope with instances down has one instance of each actor.
		p = Plot{}.also("world", "orders", 1, max(s.Orders, 1)-1).also("world", "capacity", 1, 1)
	}
	s.Name = name
	s.Scenario = world.Scenario{
		Definition: d, Base: p.Base, Orders: max(s.Orders, 1) + 1,
		Order: s.Order,
	}
	*all = append(*all, s)
}

// people is a world in which these commands are sent.
func people(k ...message.ControlKind) Scope { return Scope{People: k} }

// fails is such a world in which a step fails for good.
func fails(step string, k ...message.ControlKind) Scope {
	return Scope{People: k, Refuses: step}
}

// ofGrades adds the worlds of each grade of service.
func (all *scopes) ofGrades() {
	for _, g := range []core.Grade{core.Fenced, core.Idempotent, core.Plain} {
		n := string(g) + ": "
		all.add(n+"in a row", small(g, false), Scope{})
		all.add(n+"at once", small(g, true), Scope{})
		all.add(n+"in a row, the second fails for good", small(g, false), fails("b"))
		all.add(n+"at once, one fails for good", small(g, true), fails("b"))
		all.add(n+"in a row, cancelled", terse(small(g, false)), people(message.Cancel))
		all.add(n+"at once, cancelled", terse(small(g, true)), people(message.Cancel))
		all.add(n+"stopped, resubmitted, cancelled",
			terse(stops(small(g, false))),
			fails("b", message.Resubmit, message.Cancel))
		all.add(n+"stopped, undone, resubmitted", terse(stops(small(g, false))),
			fails("b", message.Undo, message.Resubmit))
		all.add(n+"stopped, resolved, resubmitted",
			terse(stops(small(g, false))),
			fails("b", message.Resolve, message.Resubmit))
		all.add(n+"a deadline passes", terse(deadline(small(g, false))),
			Scope{Down: []string{"b-agent-1"}})
	}
}

// ofCommands adds what an operator can do, conditions and points of no return.
func (all *scopes) ofCommands() {
	all.add("stopped, closed, cancelled",
		terse(stops(small(core.Idempotent, false))),
		fails("b", message.Close, message.Cancel))
	all.add("undone, erased, resubmitted", terse(small(core.Fenced, false)),
		fails("b", message.Erase, message.Resubmit))
	all.add("stopped, moved, resubmitted",
		terse(stops(small(core.Idempotent, false))),
		fails("b", message.Move, message.Resubmit))
	corrects := Scope{
		People: []message.ControlKind{message.Resolve, message.Resubmit}, Refuses: "b",
		Corrects: "b",
	}
	all.add("stopped, resolved, resubmitted with another input",
		terse(stops(small(core.Idempotent, false))),
		corrects)
	all.add("the first is skipped",
		terse(when(small(core.Fenced, false), 0, "false")),
		fails("b", message.Cancel))
	all.add("the second is skipped",
		terse(when(small(core.Idempotent, true), 1, "false")),
		people(message.Cancel))
	all.add("a condition on the order",
		terse(when(small(core.Fenced, true), 1, "order.wanted")),
		Scope{Scenario: world.Scenario{Order: json.RawMessage(`{"wanted":true}`)}})
	all.add("a condition that cannot be evaluated",
		terse(when(small(core.Fenced, false), 1, "order.missing.field > 1")),
		Scope{})
	all.add("a point of no return",
		terse(noReturn(small(core.Idempotent, false))),
		fails("b", message.Resubmit, message.Cancel))
	all.add("a point of no return that is refused",
		terse(pivot(small(core.Idempotent, false))),
		fails("b", message.Cancel))
	all.add("a point of no return beside a step, refused",
		terse(pivot(small(core.Idempotent, true))),
		fails("b"))
}

// ofWaits adds waits, answers, steps that fail for good and are gone on without, and two orders.
func (all *scopes) ofWaits() {
	all.add("a wait between two steps, cancelled", terse(between(3*core.Second)),
		people(message.Cancel))
	all.add("a wait beside a step, stopped, resubmitted",
		terse(stops(waitBeside())),
		fails("b", message.Resubmit))
	all.add("an approval, answered twice", terse(askOnly(asking(false))),
		people(message.Answer, message.Answer))
	all.add("an approval, answered, cancelled", terse(askOnly(asking(false))),
		people(message.Answer, message.Cancel))
	all.add("an approval beside a step, answered, stopped, resubmitted",
		terse(stops(askBeside())),
		fails("b", message.Answer, message.Resubmit))
	all.add("an approval that a call asks for",
		terse(askOnly(askedFor(asking(false)))),
		people(message.Answer))
	all.add("an event, twice", terse(askOnly(eventOf(asking(false)))),
		people(message.Answer, message.Answer))
	all.add("a rule stops the order, undone, resubmitted",
		terse(stops(ruled(small(core.Idempotent, false)))),
		people(message.Undo, message.Resubmit))
	for _, g := range []core.Grade{core.Fenced, core.Idempotent} {
		n := string(g) + ": goes on without the first"
		all.add(n, terse(otherwise(g)), fails("a"))
		all.add(n+", cancelled", terse(goesOn(small(g, true))),
			fails("a", message.Cancel))
	}
	all.add("goes on without the first, stopped by the second, resubmitted",
		terse(stops(goesOn(small(core.Fenced, true)))),
		Scope{
			People:  []message.ControlKind{message.Resubmit},
			Refuses: "a",
		})
	all.add("two tasks", terse(small(core.Fenced, false)),
		Scope{Scenario: world.Scenario{Orders: 2}})
	all.add("two tasks on an agent that comes late",
		terse(one(small(core.Idempotent, false))),
		Scope{Scenario: world.Scenario{Orders: 2}, Down: []string{"a-agent-1"}})
}

// ofGroups adds steps of which the first decides (P54), blocks (P55) and a block that is repeated (P57).
func (all *scopes) ofGroups() {
	all.add("the first of two", terse(firstOfTwo()), Scope{})
	all.add("the first of two, one fails for good", terse(firstOfTwo()), fails("s-b"))
	all.add("a block", terse(block(nil)), Scope{})
	all.add("a block that fails for good, before it another step", terse(block(nil, "b")), fails("a"))
	twice := &core.Repeat{Until: "result.n == 2", AtMost: 2}
	all.add("a block, repeated", terse(block(twice)), Scope{})
	all.add("a block, repeated too often", terse(block(&core.Repeat{Until: "false", AtMost: 2})), Scope{})
	all.add("an approval with two attempts, answered twice", terse(askAgain(asking(false))),
		people(message.Answer, message.Answer))
	all.add("a step that is late, without which the order goes on", terse(late(small(core.Idempotent, true))),
		Scope{Down: []string{"b-agent-1"}})
}
