// Package scenes lists the base scenarios and the small worlds that are gone through as a whole.
package explore

import (
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// Scene is a base scenario: one course of one small workflow, on which every single fault is tried
// at every place.
type Scene struct {
	Name string
	world.Scenario
}

// Plot changes the plain course at some points.
type Plot map[world.Point]int

// Base returns the choice that the plot makes at a point.
func (p Plot) Base(at world.Point) int { return p[at] }

// Fault puts a fault at a place of the plot.
func (p Plot) Fault(r world.Role, c world.Call, subject string, nth int, what world.Fault) Plot {
	i := slices.IndexFunc(world.ActsAt[c], func(a world.Act) bool { return a.Fault == what })
	p[world.Point{Site: world.Sites[r][c], Subject: subject, Nth: nth}] = i + 1
	return p
}

// also sets any other choice.
func (p Plot) also(site, subject string, nth, value int) Plot {
	p[world.Point{Site: site, Subject: subject, Nth: nth}] = value
	return p
}

// command adds a command at a time (in 12.5 s): 0 cancel, 1 resubmit, 2 undo, 3 resolve, 4 close, 5 move.
func (p Plot) command(at, kind int) Plot {
	return p.also("commands", "o1", 1, 1).also("command", "o1", 1, at).also("kind", "o1", 1, kind)
}

// scenes lists the base scenarios.
func scenes() []Scene {
	var all []Scene
	add := func(name string, d *core.Definition, p Plot) {
		for i := range 4 { // every run has its share of what happens to the deployment itself
			p.also("disturbance", "world", i+1, min(15, 2*i+1)).also("disturb", "world", i+1, i)
		}
		p.also("world", "disturbances", 1, 4).also("whose", "clock", 1, len(all)%4)
		s := Scene{name, world.Scenario{Definition: d, Base: p.Base}}
		s.Prepare()
		all = append(all, s)
	}
	gradedScenes(add)
	commandedScenes(add)
	deployedScenes(add)
	waitingScenes(add)
	answeredScenes(add)
	goingOnScenes(add)
	ruledScenes(add)
	add("a request is not taken at first", small(core.Fenced, false),
		Plot{}.Fault(world.AScheduler, world.CallSend, "requests-b-agent", 1, world.Throttle))
	add("a reply is not taken at first", small(core.Plain, false),
		Plot{}.Fault(world.AnAgent, world.CallSend, "replies", 1, world.Throttle))
	return all
}

// secondFails has the second step fail for good.
func secondFails() Plot {
	return Plot{}.Fault(world.AnAgent, world.CallDo, "o1/0/b", 1, world.PermanentFailure)
}

// gradedScenes are courses of services of each grade.
func gradedScenes(add func(string, *core.Definition, Plot)) {
	for _, g := range []core.Grade{core.Fenced, core.Idempotent, core.Plain} {
		n := string(g) + ": "
		add(n+"all goes well", small(g, false), Plot{})
		add(n+"the second step fails for good", small(g, false),
			secondFails())
		add(n+"one of two at once fails for good", small(g, true),
			secondFails())
		add(n+"a reply is lost", small(g, false),
			Plot{}.Fault(world.AnAgent, world.CallDo, "o1/0/a", 1, world.ReplyLost))
		add(n+"it is cancelled under way", small(g, false), Plot{}.command(1, 0))
		add(n+"the undo fails once", small(g, false),
			secondFails().Fault(world.AnAgent, world.CallUndo, "o1/0/a", 1,
				world.PermanentFailure))
		add(n+"the budget is spent", small(g, false),
			Plot{}.Fault(world.AnAgent, world.CallDo, "o1/0/b", 1, world.Hang).Fault(world.AnAgent,
				world.CallDo, "o1/0/b", 2, world.Hang))
		add(n+"it stops and is resubmitted", stops(small(g, false)),
			secondFails().command(8, 1))
	}
}

// commandedScenes are courses in which an operator gives commands.
func commandedScenes(add func(string, *core.Definition, Plot)) {
	add("it stops and is closed", stops(small(core.Idempotent, false)),
		secondFails().command(8, 4))
	add("it is undone and erased, and a resubmit comes", small(core.Fenced, false),
		secondFails().
			command(12, 1).also("erasures", "o1", 1, 1).also("erase", "o1", 1, 2))
	add("it stops, is moved and resubmitted", stops(small(core.Idempotent, false)),
		secondFails().
			command(8, 5).also("commands", "o1", 1, 2).also("command", "o1", 2, 10).also("kind", "o1", 2, 1))
	add("it is undone, moved and resubmitted", small(core.Fenced, false),
		secondFails().
			command(8, 1).also("aims", "o1", 1, 1))
	add("it stops, is resolved, and resubmitted with another input",
		stops(small(core.Idempotent, false)),
		secondFails().
			command(11, 3).also("commands", "o1", 1, 2).also("command", "o1", 2, 13).also("kind", "o1", 2,
			1).also("aims", "o1", 1, 2))
	add("a point of no return stops", noReturn(small(core.Idempotent, false)),
		secondFails().command(8, 1))
	for _, g := range []core.Grade{core.Idempotent, core.Plain} {
		n := string(g) + ": a point of no return "
		add(n+"is refused", pivot(small(g, false)),
			secondFails())
		add(n+"times out, is resolved and undone", pivot(small(g, false)),
			Plot{}.Fault(world.AnAgent, world.CallDo, "o1/0/b", 1, world.Hang).
				Fault(world.AnAgent, world.CallDo, "o1/0/b", 2, world.Hang).command(11, 3).also("commands",
				"o1", 1,
				2).also("command", "o1", 2, 13).also("kind", "o1", 2, 2))
	}
}

// deployedScenes are courses that depend on how the actors are deployed, on time, and on what services
// forget.
func deployedScenes(add func(string, *core.Definition, Plot)) {
	add("a deadline passes", deadline(small(core.Fenced, false)),
		Plot{}.Fault(world.AnAgent, world.CallDo, "o1/0/b", 1, world.Hang))
	add("in one process: all goes well", small(core.Idempotent, false),
		Plot{}.also("world", "embedded", 1, 1))
	add("in one process: the second step fails for good", small(core.Fenced, false),
		Plot{}.also("world", "embedded", 1, 1).Fault(world.AnAgent, world.CallDo, "o1/0/b", 1,
			world.PermanentFailure))
	add("two instances, two orders", small(core.Fenced, false),
		Plot{}.also("world", "instances", 1, 1).also("world", "orders", 1, 1))
	add("a service forgets keys, and it stops for a long time",
		forgetful(stops(small(core.Idempotent, false))),
		Plot{}.Fault(world.AnAgent, world.CallDo, "o1/0/b", 1, world.ReplyLost).Fault(world.AnAgent,
			world.CallDo, "o1/0/b", 2,
			world.PermanentFailure).command(15, 1))
	add("a service forgets keys, and the second step fails for good",
		forgetful(small(core.Fenced, false)),
		secondFails())
	add("no statuses are wanted, and it stops", stops(small(core.Idempotent, false)),
		Plot{}.also("silent", "o1", 1, 1).Fault(world.AnAgent, world.CallMessage, port.Replies, 2,
			world.Retention).Fault(world.AnAgent, world.CallMessage, port.Replies, 3, world.Retention))
}

// ruledScenes are courses with a failure by rule, and with documents that are full.
func ruledScenes(add func(string, *core.Definition, Plot)) {
	add("a rule fails the order", ruled(small(core.Idempotent, false)), Plot{})
	add("a rule stops the order, which is undone",
		stops(ruled(small(core.Idempotent, false))),
		Plot{}.command(8, 2))
	full := func() Plot { return Plot{}.also("world", "room", 1, 2).also("size", "a-agent", 1, 1) }
	add("the document is full, and the second output does not fit", small(core.Idempotent, false),
		full().also("size", "b-agent", 1, 2))
	add("the document is full, and the second of two at once fails for good",
		small(core.Fenced, true),
		full().Fault(world.AnAgent, world.CallDo, "o1/0/b", 1, world.PermanentFailure))
}

// waitingScenes adds the scenarios with a step that waits.
func waitingScenes(add func(string, *core.Definition, Plot)) {
	for _, w := range []struct {
		name string
		wait core.Duration
	}{{"a short wait", 3 * core.Second}, {"a wait longer than a message is delayed", 16 * core.Minute}} {
		fails := func() Plot {
			return secondFails()
		}
		// commands are given in the first 200 s, or after 25 minutes
		late := int(w.wait/(25*core.Second))/3 + 1
		add(w.name+" between two calls", between(w.wait), Plot{})
		add(w.name+" is cancelled", between(w.wait), Plot{}.command(1, 0))
		add(w.name+" beside a step that fails for good", beside(w.wait), fails())
		add(w.name+" beside a step that stops, resubmitted", stops(beside(w.wait)),
			fails().command(min(8, late), 1))
		add(w.name+" passes a deadline", deadline(between(w.wait)), Plot{})
	}
	add("a wait is over when the order is resubmitted", stops(beside(3*core.Second)),
		secondFails().command(8, 1))
	add("a wait that cannot be computed", until(between(0), `"soon"`), Plot{})
	add("in one process: a wait", between(20*core.Second), Plot{}.also("world", "embedded", 1, 1))
}

// answeredScenes adds the scenarios with a step that is answered.
func answeredScenes(add func(string, *core.Definition, Plot)) {
	fails := func() Plot {
		return secondFails()
	}
	add("an approval between two calls", asking(false), Plot{}.answers(1))
	add("an approval that comes early", asking(false), Plot{}.answers(0))
	add("an approval that is refused", asking(false),
		Plot{}.answers(1).also("answer", "o1/value", 1, 1))
	add("an approval that is never given", asking(false), Plot{})
	add("an approval is given twice, and then otherwise", asking(false),
		Plot{}.answers(1, 2, 3).also("answer-variation", "o1", 2, 3))
	add("an approval is cancelled", asking(false), Plot{}.command(1, 0).answers(2))
	add("an approval beside a step that fails for good", asking(true), fails().answers(2))
	add("an approval beside a step that stops, resubmitted", stops(asking(true)),
		fails().command(4, 1).answers(2))
	add("a refusal beside a step that stops, resubmitted", stops(asking(true)),
		fails().command(4, 1).answers(2).also("answer", "o1/value", 1, 1))
	add("a refusal stops, and is asked again", refusalStops(asking(false)),
		Plot{}.command(4, 1).answers(1, 6).also("answer", "o1/value", 1, 1).also("answer", "o1/value", 2, 1))
	add("two of three approve", several(asking(false)),
		Plot{}.answers(0, 1, 2, 3).also("answer", "o1/value",
			2, 1).also("answer", "o1/value", 4, 1))
	add("an event", eventOf(asking(false)),
		Plot{}.answers(1).also("answer-variation", "o1", 1, 6))
	add("an event that comes early", eventOf(asking(false)), Plot{}.answers(0, 0, 2))
	add("an approval is asked for by a call", askedFor(asking(false)), Plot{}.answers(1))
	add("an approval comes before the call that asks for it", askedFor(asking(false)),
		Plot{}.answers(0))
	add("an approval passes a deadline", deadline(asking(false)), Plot{}.answers(2))
	add("in one process: an approval", asking(false),
		Plot{}.also("world", "embedded", 1, 1).answers(1))
}

// goingOnScenes adds the scenarios with a step that the order goes on without (P42).
func goingOnScenes(add func(string, *core.Definition, Plot)) {
	fails := func() Plot {
		return Plot{}.Fault(world.AnAgent, world.CallDo, "o1/0/a", 1,
			world.PermanentFailure)
	}
	for _, g := range []core.Grade{core.Fenced, core.Idempotent, core.Plain} {
		n := string(g) + ": the order goes on without a step "
		add(n+"that fails for good", otherwise(g), fails())
		add(n+"whose budget is spent", otherwise(g),
			Plot{}.Fault(world.AnAgent, world.CallDo, "o1/0/a", 1, world.Hang).Fault(world.AnAgent,
				world.CallDo, "o1/0/a", 2, world.Hang))
		add(n+"whose undo fails once", otherwise(g),
			fails().Fault(world.AnAgent, world.CallUndo, "o1/0/a", 1, world.PermanentFailure))
		add(n+"whose undo fails, resubmitted", otherwise(g),
			fails().Fault(world.AnAgent, world.CallUndo, "o1/0/a", 1, world.PermanentFailure).
				Fault(world.AnAgent, world.CallUndo, "o1/0/a", 2, world.PermanentFailure).command(8, 1))
	}
	both := func() Plot {
		return fails().Fault(world.AnAgent, world.CallDo, "o1/0/b", 1,
			world.PermanentFailure)
	}
	add("the order goes on without a step, and is undone by another",
		goesOn(small(core.Idempotent, true)),
		both())
	add("the order goes on without a step, and is cancelled",
		goesOn(small(core.Idempotent, true)),
		fails().command(1, 0))
	add("the order goes on without a step, and another stops it, resubmitted",
		stops(goesOn(small(core.Idempotent, true))), both().command(8, 1))
	add("the order goes on without a step, and passes a deadline",
		deadline(goesOn(small(core.Idempotent, false))), fails())
	add("the undo of a step alone is resolved", otherwise(core.Idempotent),
		fails().Fault(world.AnAgent, world.CallUndo, "o1/0/a", 1, world.PermanentFailure).
			Fault(world.AnAgent, world.CallUndo, "o1/0/a", 2, world.PermanentFailure).command(8,
			3).also("commands", "o1", 1,
			2).also("command", "o1", 2, 10).also("kind", "o1", 2, 1))
	add("in one process: the order goes on without a step", otherwise(core.Idempotent),
		fails().also("world", "embedded", 1, 1))
}

// answers adds answers at times (in 12.5 s).
func (p Plot) answers(at ...int) Plot {
	p.also("answers", "o1", 1, len(at))
	for i, n := range at {
		p.also("answer", "o1", i+1, n)
	}
	return p
}
