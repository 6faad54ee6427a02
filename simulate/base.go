package simulate

import (
	"encoding/json"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

// Scene is a base scenario: one course of one small workflow, on which every single fault is tried
// at every place.
type Scene struct {
	Name string
	Scenario
}

// plot changes the plain course at some points.
type plot map[Point]int

func (p plot) base(at Point) int { return p[at] }

// fault puts a fault at a place of the plot.
func (p plot) fault(r role, c call, subject string, nth int, what Fault) plot {
	i := slices.IndexFunc(actsAt[c], func(a act) bool { return a.fault == what })
	p[Point{sites[r][c], subject, nth}] = i + 1
	return p
}

// also sets any other choice.
func (p plot) also(site, subject string, nth, value int) plot {
	p[Point{site, subject, nth}] = value
	return p
}

// command gives a command at a time (in 12.5 s): 0 cancel, 1 resubmit, 2 undo, 3 resolve, 4 close, 5 move.
func (p plot) command(at, kind int) plot {
	return p.also("commands", "o1", 1, 1).also("command", "o1", 1, at).also("kind", "o1", 1, kind)
}

// Scenes lists the base scenarios.
func Scenes() []Scene {
	var all []Scene
	add := func(name string, d *core.Definition, p plot) {
		for i := range 4 { // every run has its share of what happens to the deployment itself
			p.also("disturbance", "world", i+1, min(15, 2*i+1)).also("disturb", "world", i+1, i)
		}
		p.also("world", "disturbances", 1, 4).also("whose", "clock", 1, len(all)%4)
		s := Scene{name, Scenario{Definition: d, Base: p.base}}
		s.Prepare()
		all = append(all, s)
	}
	for _, g := range []core.Grade{core.Fenced, core.Idempotent, core.Plain} {
		n := string(g) + ": "
		add(n+"all goes well", small(g, false), plot{})
		add(n+"the second step fails for good", small(g, false),
			plot{}.fault(anAgent, callDo, "o1/0/b", 1, PermanentFailure))
		add(n+"one of two at once fails for good", small(g, true),
			plot{}.fault(anAgent, callDo, "o1/0/b", 1, PermanentFailure))
		add(n+"a reply is lost", small(g, false), plot{}.fault(anAgent, callDo, "o1/0/a", 1, ReplyLost))
		add(n+"it is cancelled under way", small(g, false), plot{}.command(1, 0))
		add(n+"the undo fails once", small(g, false), plot{}.fault(anAgent, callDo, "o1/0/b", 1,
			PermanentFailure).fault(anAgent, callUndo, "o1/0/a", 1, PermanentFailure))
		add(n+"the budget is spent", small(g, false),
			plot{}.fault(anAgent, callDo, "o1/0/b", 1, Hang).fault(anAgent, callDo, "o1/0/b", 2, Hang))
		add(n+"it stops and is resubmitted", stops(small(g, false)),
			plot{}.fault(anAgent, callDo, "o1/0/b", 1, PermanentFailure).command(8, 1))
	}
	add("it stops and is closed", stops(small(core.Idempotent, false)),
		plot{}.fault(anAgent, callDo, "o1/0/b", 1, PermanentFailure).command(8, 4))
	add("it is undone and erased, and a resubmit comes", small(core.Fenced, false),
		plot{}.fault(anAgent, callDo, "o1/0/b", 1, PermanentFailure).
			command(12, 1).also("erasures", "o1", 1, 1).also("erase", "o1", 1, 2))
	add("it stops, is moved and resubmitted", stops(small(core.Idempotent, false)),
		plot{}.fault(anAgent, callDo, "o1/0/b", 1, PermanentFailure).
			command(8, 5).also("commands", "o1", 1, 2).also("command", "o1", 2, 10).also("kind", "o1", 2, 1))
	add("it is undone, moved and resubmitted", small(core.Fenced, false),
		plot{}.fault(anAgent, callDo, "o1/0/b", 1, PermanentFailure).
			command(8, 1).also("aims", "o1", 1, 1))
	add("it stops, is resolved, and resubmitted with another input", stops(small(core.Idempotent, false)),
		plot{}.fault(anAgent, callDo, "o1/0/b", 1, PermanentFailure).
			command(11, 3).also("commands", "o1", 1, 2).also("command", "o1", 2, 13).also("kind", "o1", 2,
			1).also("aims", "o1", 1, 2))
	add("a point of no return stops", noReturn(small(core.Idempotent, false)),
		plot{}.fault(anAgent, callDo, "o1/0/b", 1, PermanentFailure).command(8, 1))
	for _, g := range []core.Grade{core.Idempotent, core.Plain} {
		n := string(g) + ": a point of no return "
		add(n+"is refused", pivot(small(g, false)),
			plot{}.fault(anAgent, callDo, "o1/0/b", 1, PermanentFailure))
		add(n+"times out, is resolved and undone", pivot(small(g, false)),
			plot{}.fault(anAgent, callDo, "o1/0/b", 1, Hang).
				fault(anAgent, callDo, "o1/0/b", 2, Hang).command(11, 3).also("commands", "o1", 1,
				2).also("command", "o1", 2, 13).also("kind", "o1", 2, 2))
	}
	add("a deadline passes", deadline(small(core.Fenced, false)),
		plot{}.fault(anAgent, callDo, "o1/0/b", 1, Hang))
	add("in one process: all goes well", small(core.Idempotent, false),
		plot{}.also("world", "embedded", 1, 1))
	add("in one process: the second step fails for good", small(core.Fenced, false),
		plot{}.also("world", "embedded", 1, 1).fault(anAgent, callDo, "o1/0/b", 1, PermanentFailure))
	add("two instances, two orders", small(core.Fenced, false),
		plot{}.also("world", "instances", 1, 1).also("world", "orders", 1, 1))
	add("a service forgets keys, and it stops for a long time",
		forgetful(stops(small(core.Idempotent, false))),
		plot{}.fault(anAgent, callDo, "o1/0/b", 1, ReplyLost).fault(anAgent, callDo, "o1/0/b", 2,
			PermanentFailure).command(15, 1))
	add("a service forgets keys, and the second step fails for good", forgetful(small(core.Fenced, false)),
		plot{}.fault(anAgent, callDo, "o1/0/b", 1, PermanentFailure))
	add("no statuses are wanted, and it stops", stops(small(core.Idempotent, false)),
		plot{}.also("silent", "o1", 1, 1).fault(anAgent, callMessage, port.Replies, 2,
			Retention).fault(anAgent, callMessage, port.Replies, 3, Retention))
	waiting(add)
	answered(add)
	goingOn(add)
	add("a rule fails the order", ruled(small(core.Idempotent, false)), plot{})
	add("a rule stops the order, which is undone", stops(ruled(small(core.Idempotent, false))),
		plot{}.command(8, 2))
	full := func() plot { return plot{}.also("world", "room", 1, 2).also("size", "a-agent", 1, 1) }
	add("the document is full, and the second output does not fit", small(core.Idempotent, false),
		full().also("size", "b-agent", 1, 2))
	add("the document is full, and the second of two at once fails for good", small(core.Fenced, true),
		full().fault(anAgent, callDo, "o1/0/b", 1, PermanentFailure))
	add("a request is not taken at first", small(core.Fenced, false),
		plot{}.fault(aScheduler, callSend, "requests-b-agent", 1, Throttle))
	add("a reply is not taken at first", small(core.Plain, false),
		plot{}.fault(anAgent, callSend, "replies", 1, Throttle))
	return all
}

// waiting adds the scenarios with a step that waits.
func waiting(add func(string, *core.Definition, plot)) {
	for _, w := range []struct {
		name string
		wait core.Duration
	}{{"a short wait", 3 * core.Second}, {"a wait longer than a message is delayed", 16 * core.Minute}} {
		fails := func() plot { return plot{}.fault(anAgent, callDo, "o1/0/b", 1, PermanentFailure) }
		// commands are given in the first 200 s, or after 25 minutes
		late := int(w.wait/(25*core.Second))/3 + 1
		add(w.name+" between two calls", between(w.wait), plot{})
		add(w.name+" is cancelled", between(w.wait), plot{}.command(1, 0))
		add(w.name+" beside a step that fails for good", beside(w.wait), fails())
		add(w.name+" beside a step that stops, resubmitted", stops(beside(w.wait)),
			fails().command(min(8, late), 1))
		add(w.name+" passes a deadline", deadline(between(w.wait)), plot{})
	}
	add("a wait is over when the order is resubmitted", stops(beside(3*core.Second)),
		plot{}.fault(anAgent, callDo, "o1/0/b", 1, PermanentFailure).command(8, 1))
	add("a wait that cannot be computed", until(between(0), `"soon"`), plot{})
	add("in one process: a wait", between(20*core.Second), plot{}.also("world", "embedded", 1, 1))
}

// answered adds the scenarios with a step that is answered.
func answered(add func(string, *core.Definition, plot)) {
	fails := func() plot { return plot{}.fault(anAgent, callDo, "o1/0/b", 1, PermanentFailure) }
	add("an approval between two calls", asking(false), plot{}.answers(1))
	add("an approval that comes early", asking(false), plot{}.answers(0))
	add("an approval that is refused", asking(false), plot{}.answers(1).also("answer", "o1/value", 1, 1))
	add("an approval that is never given", asking(false), plot{})
	add("an approval is given twice, and then otherwise", asking(false),
		plot{}.answers(1, 2, 3).also("answer-variation", "o1", 2, 3))
	add("an approval is cancelled", asking(false), plot{}.command(1, 0).answers(2))
	add("an approval beside a step that fails for good", asking(true), fails().answers(2))
	add("an approval beside a step that stops, resubmitted", stops(asking(true)),
		fails().command(4, 1).answers(2))
	add("a refusal beside a step that stops, resubmitted", stops(asking(true)),
		fails().command(4, 1).answers(2).also("answer", "o1/value", 1, 1))
	add("a refusal stops, and is asked again", refusalStops(asking(false)),
		plot{}.command(4, 1).answers(1, 6).also("answer", "o1/value", 1, 1).also("answer", "o1/value", 2, 1))
	add("two of three approve", several(asking(false)), plot{}.answers(0, 1, 2, 3).also("answer", "o1/value",
		2, 1).also("answer", "o1/value", 4, 1))
	add("an event", eventOf(asking(false)), plot{}.answers(1).also("answer-variation", "o1", 1, 6))
	add("an event that comes early", eventOf(asking(false)), plot{}.answers(0, 0, 2))
	add("an approval is asked for by a call", askedFor(asking(false)), plot{}.answers(1))
	add("an approval comes before the call that asks for it", askedFor(asking(false)), plot{}.answers(0))
	add("an approval passes a deadline", deadline(asking(false)), plot{}.answers(2))
	add("in one process: an approval", asking(false), plot{}.also("world", "embedded", 1, 1).answers(1))
}

// goingOn adds the scenarios with a step that the order goes on without (P42).
func goingOn(add func(string, *core.Definition, plot)) {
	fails := func() plot { return plot{}.fault(anAgent, callDo, "o1/0/a", 1, PermanentFailure) }
	for _, g := range []core.Grade{core.Fenced, core.Idempotent, core.Plain} {
		n := string(g) + ": the order goes on without a step "
		add(n+"that fails for good", otherwise(g), fails())
		add(n+"whose budget is spent", otherwise(g),
			plot{}.fault(anAgent, callDo, "o1/0/a", 1, Hang).fault(anAgent, callDo, "o1/0/a", 2, Hang))
		add(n+"whose undo fails once", otherwise(g),
			fails().fault(anAgent, callUndo, "o1/0/a", 1, PermanentFailure))
		add(n+"whose undo fails, resubmitted", otherwise(g),
			fails().fault(anAgent, callUndo, "o1/0/a", 1, PermanentFailure).
				fault(anAgent, callUndo, "o1/0/a", 2, PermanentFailure).command(8, 1))
	}
	both := func() plot { return fails().fault(anAgent, callDo, "o1/0/b", 1, PermanentFailure) }
	add("the order goes on without a step, and is undone by another", goesOn(small(core.Idempotent, true)),
		both())
	add("the order goes on without a step, and is cancelled", goesOn(small(core.Idempotent, true)),
		fails().command(1, 0))
	add("the order goes on without a step, and another stops it, resubmitted",
		stops(goesOn(small(core.Idempotent, true))), both().command(8, 1))
	add("the order goes on without a step, and passes a deadline",
		deadline(goesOn(small(core.Idempotent, false))), fails())
	add("the undo of a step alone is resolved", otherwise(core.Idempotent),
		fails().fault(anAgent, callUndo, "o1/0/a", 1, PermanentFailure).
			fault(anAgent, callUndo, "o1/0/a", 2, PermanentFailure).command(8, 3).also("commands", "o1", 1,
			2).also("command", "o1", 2, 10).also("kind", "o1", 2, 1))
	add("in one process: the order goes on without a step", otherwise(core.Idempotent),
		fails().also("world", "embedded", 1, 1))
}

// goesOn has the order go on without a.
func goesOn(d *core.Definition) *core.Definition {
	d.Steps[0].OnFailure = core.OnFailureContinue
	return sealed(d)
}

// otherwise is a, and b where a has failed.
func otherwise(g core.Grade) *core.Definition {
	d := goesOn(small(g, false))
	d.Steps[1].When = "steps.a.failed"
	return sealed(d)
}

// answers gives answers at times (in 12.5 s).
func (p plot) answers(at ...int) plot {
	p.also("answers", "o1", 1, len(at))
	for i, n := range at {
		p.also("answer", "o1", i+1, n)
	}
	return p
}

// asking is an approval between a and b, or beside them.
func asking(beside bool) *core.Definition {
	d := small(core.Idempotent, true)
	d.Steps = append(d.Steps, core.StepDefinition{Name: "w", Timeout: 40 * core.Second,
		OnFailure: core.OnFailureUndo,
		Answer: &core.Answer{Values: []string{"yes", "no"}, Refuse: `value == "no"`,
			OnTimeout: core.OnFailureUndo}})
	if !beside {
		d.Steps[2].After, d.Steps[1].After = []string{"a"}, []string{"w"}
	}
	return sealed(d)
}

// askedFor has a call ask for the approval (P38).
func askedFor(d *core.Definition) *core.Definition {
	ask := d.Steps[0]
	ask.Name, ask.Agent, ask.Operation, ask.After, ask.Undo = "w-ask", "w-agent", "ask-w", d.Steps[2].After,
		nil
	d.Agents[ask.Agent] = d.Agents[d.Steps[0].Agent]
	d.Steps[2].After, d.Steps[2].Answer.Ask = append(slices.Clone(ask.After), ask.Name), ask.Name
	d.Steps = append(d.Steps, ask)
	return sealed(d)
}

// refusalStops has a refusal, and the end of the time, stop the order.
func refusalStops(d *core.Definition) *core.Definition {
	d.Steps[2].OnFailure, d.Steps[2].Answer.OnTimeout = core.OnFailureStop, core.OnFailureStop
	return sealed(d)
}

// several needs two of three people.
func several(d *core.Definition) *core.Definition {
	d.Steps[2].Input = json.RawMessage(`{"question":"${ orderId }","need":2,"who":["ann","bob","cleo"]}`)
	return sealed(d)
}

// eventOf waits for an event, and goes on without it.
func eventOf(d *core.Definition) *core.Definition {
	d.Steps[2].Answer = &core.Answer{Event: bought, TimeoutValue: json.RawMessage(`"none"`)}
	return sealed(d)
}

// small is a then b, or both at once.
func small(g core.Grade, parallel bool) *core.Definition {
	retry := core.Retry{MaxFailures: 2, Backoff: core.Backoff{Initial: core.Second, Max: 4 * core.Second,
		Multiplier: 2, Jitter: 0.2}}
	d := &core.Definition{Name: "small", Agents: map[string]core.AgentDefinition{}, Grace: 3 * core.Second,
		ResendAfter: 20 * core.Second, HopBudget: 20,
		Notify: []core.StatusKind{core.StatusReceived, core.StatusStarted, core.StatusStepFinished,
			core.StatusUndoing, core.StatusCompleted, core.StatusFailed, core.StatusUndone,
			core.StatusCancelled}}
	for _, n := range []string{"a", "b"} {
		d.Agents[n+"-agent"] = core.AgentDefinition{QueueAllowance: 5 * core.Second, ClockSkew: core.Second}
		d.Steps = append(d.Steps, core.StepDefinition{Name: n, Agent: n + "-agent", Operation: "do-" + n,
			Timeout: 4 * core.Second, MaxQueueTime: core.Minute,
			Retry: retry, OnFailure: core.OnFailureUndo,
			Undo: &core.Undo{Operation: "undo-" + n, Timeout: 4 * core.Second, Retry: retry}, Grade: g,
			Input: json.RawMessage(`{"for":"${ orderId }"}`)})
	}
	if !parallel {
		d.Steps[1].After = []string{"a"}
	}
	return sealed(d)
}

// between is a, then a wait, then b.
func between(wait core.Duration) *core.Definition {
	d := beside(wait)
	d.Steps[2].After, d.Steps[1].After = []string{"a"}, []string{"w"}
	return sealed(d)
}

// beside is a and b at once, and a wait beside them.
func beside(wait core.Duration) *core.Definition {
	d := small(core.Idempotent, true)
	d.Steps = append(d.Steps, core.StepDefinition{Name: "w", Wait: &core.Wait{For: wait},
		OnFailure: core.OnFailureUndo})
	return sealed(d)
}

// ruled has b follow a failure by rule, which comes after a.
func ruled(d *core.Definition) *core.Definition {
	rule := core.StepDefinition{Name: "rule", After: []string{"a"}, When: "true",
		OnFailure: core.OnFailureUndo, Fail: &core.Fail{Code: "by-rule", Message: "the rule holds"}}
	d.Steps = []core.StepDefinition{d.Steps[0], rule, d.Steps[1]}
	d.Steps[2].After = []string{"rule"}
	return sealed(d)
}

// until has the wait end at a time.
func until(d *core.Definition, at string) *core.Definition {
	d.Steps[2].Input = json.RawMessage(at)
	return sealed(d)
}

func sealed(d *core.Definition) *core.Definition {
	if err := workflow.Seal(d); err != nil {
		panic("simulate: " + err.Error()) // its expressions are constants
	}
	return d
}

func stops(d *core.Definition) *core.Definition {
	d.Steps[1].OnFailure = core.OnFailureStop
	return sealed(d)
}

func noReturn(d *core.Definition) *core.Definition {
	d.Steps[1].PointOfNoReturn, d.Steps[1].Undo = true, nil
	return stops(d)
}

// pivot is a point of no return whose refusal undoes what came before it (P22a).
func pivot(d *core.Definition) *core.Definition {
	d = noReturn(d)
	d.Steps[1].OnFailure = core.OnFailureUndo
	return sealed(d)
}

func deadline(d *core.Definition) *core.Definition {
	d.Deadline, d.OnDeadline = 6*core.Second, core.OnFailureUndo
	return sealed(d)
}

func forgetful(d *core.Definition) *core.Definition {
	for n, a := range d.Agents {
		a.KeyRetention = core.Minute
		d.Agents[n] = a
	}
	return sealed(d)
}
