package explore

import (
	"encoding/json"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/simulate/internal/workflows"
)

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

// asking is an approval between a and b, or beside them.
func asking(beside bool) *core.Definition {
	d := small(core.Idempotent, true)
	d.Steps = append(d.Steps, core.StepDefinition{
		Name: "w", Timeout: 40 * core.Second,
		OnFailure: core.OnFailureUndo,
		Answer: &core.Answer{
			Values: []string{"yes", "no"}, Refuse: `value == "no"`,
			OnTimeout: core.OnFailureUndo,
		},
	})
	if !beside {
		d.Steps[2].After = []string{"a"}
		d.Steps[1].After = []string{"w"}
	}
	return sealed(d)
}

// askedFor has a call ask for the approval (P38).
func askedFor(d *core.Definition) *core.Definition {
	ask := d.Steps[0]
	ask.Name = "w-ask"
	ask.Agent = "w-agent"
	ask.Operation = "ask-w"
	ask.After = d.Steps[2].After
	ask.Undo = nil
	d.Agents[ask.Agent] = d.Agents[d.Steps[0].Agent]
	d.Steps[2].After = append(slices.Clone(ask.After), ask.Name)
	d.Steps[2].Answer.Ask = ask.Name
	d.Steps = append(d.Steps, ask)
	return sealed(d)
}

// askAgain is an approval alone, which refuses the first answer and waits for a second one (P35).
func askAgain(d *core.Definition) *core.Definition {
	d.Steps = d.Steps[d.Index("w"):]
	d.Steps[0].After = nil
	d.Steps[0].Answer.Refuse = `value == "yes"`
	d.Steps[0].Answer.Attempts = 2
	clear(d.Agents)
	return sealed(d)
}

// late is b alone, with a deadline after which the order goes on without it (P58).
func late(d *core.Definition) *core.Definition {
	d.Steps = d.Steps[1:]
	delete(d.Agents, "a-agent")
	d.Steps[0].Deadline = 6 * core.Second
	d.Steps[0].OnDeadline = core.OnFailureContinue
	return sealed(d)
}

// refusalStops has a refusal, and the end of the time, stop the order.
func refusalStops(d *core.Definition) *core.Definition {
	d.Steps[2].OnFailure = core.OnFailureStop
	d.Steps[2].Answer.OnTimeout = core.OnFailureStop
	return sealed(d)
}

// several needs two of three people.
func several(d *core.Definition) *core.Definition {
	d.Steps[2].Input = json.RawMessage(`{"question":"${ orderId }","need":2,"who":["ann","bob","cleo"]}`)
	return sealed(d)
}

// eventOf waits for an event, and goes on without it.
func eventOf(d *core.Definition) *core.Definition {
	d.Steps[2].Answer = &core.Answer{Event: workflows.Bought, TimeoutValue: json.RawMessage(`"none"`)}
	return sealed(d)
}

// small is a then b, or both at once.
func small(g core.Grade, parallel bool) *core.Definition {
	retry := core.Retry{MaxFailures: 2, Backoff: core.Backoff{
		Initial: core.Second, Max: 4 * core.Second,
		Multiplier: 2, Jitter: 0.2,
	}}
	d := &core.Definition{
		Name: "small", Agents: map[string]core.AgentDefinition{}, Grace: 3 * core.Second,
		ResendAfter: 20 * core.Second, HopBudget: 20,
		Notify: []core.StatusKind{
			core.StatusReceived, core.StatusStarted, core.StatusStepFinished,
			core.StatusUndoing, core.StatusCompleted, core.StatusFailed, core.StatusUndone,
			core.StatusCancelled,
		},
	}
	for _, n := range []string{"a", "b"} {
		d.Agents[n+"-agent"] = core.AgentDefinition{QueueAllowance: 5 * core.Second, ClockSkew: core.Second}
		d.Steps = append(d.Steps, core.StepDefinition{
			Name: n, Agent: n + "-agent", Operation: "do-" + n,
			Timeout: 4 * core.Second, MaxQueueTime: core.Minute,
			Retry: retry, OnFailure: core.OnFailureUndo,
			Undo: &core.Undo{Operation: "undo-" + n, Timeout: 4 * core.Second, Retry: retry}, Grade: g,
			Input: json.RawMessage(`{"for":"${ orderId }"}`),
		})
	}
	if !parallel {
		d.Steps[1].After = []string{"a"}
	}
	return sealed(d)
}

// between is a, then a wait, then b.
func between(wait core.Duration) *core.Definition {
	d := beside(wait)
	d.Steps[2].After = []string{"a"}
	d.Steps[1].After = []string{"w"}
	return sealed(d)
}

// beside is a and b at once, and a wait beside them.
func beside(wait core.Duration) *core.Definition {
	d := small(core.Idempotent, true)
	d.Steps = append(d.Steps, core.StepDefinition{
		Name: "w", Wait: &core.Wait{For: wait},
		OnFailure: core.OnFailureUndo,
	})
	return sealed(d)
}

// ruled has b follow a failure by rule, which comes after a.
func ruled(d *core.Definition) *core.Definition {
	rule := core.StepDefinition{
		Name: "rule", After: []string{"a"}, When: "true",
		OnFailure: core.OnFailureUndo, Fail: &core.Fail{Code: "by-rule", Message: "the rule holds"},
	}
	d.Steps = []core.StepDefinition{d.Steps[0], rule, d.Steps[1]}
	d.Steps[2].After = []string{"rule"}
	return sealed(d)
}

// until has the wait end at a time.
func until(d *core.Definition, at string) *core.Definition {
	d.Steps[2].Input = json.RawMessage(at)
	return sealed(d)
}

// stops returns the workflow with a step that stops it if it fails.
func stops(d *core.Definition) *core.Definition {
	d.Steps[1].OnFailure = core.OnFailureStop
	return sealed(d)
}

// noReturn returns the workflow with a point of no return.
func noReturn(d *core.Definition) *core.Definition {
	d.Steps[1].PointOfNoReturn = true
	d.Steps[1].Undo = nil
	return stops(d)
}

// pivot is a point of no return whose refusal undoes what came before it (P22a).
func pivot(d *core.Definition) *core.Definition {
	d = noReturn(d)
	d.Steps[1].OnFailure = core.OnFailureUndo
	return sealed(d)
}

// deadline returns the workflow with a deadline after which it is undone.
func deadline(d *core.Definition) *core.Definition {
	d.Deadline = 6 * core.Second
	d.OnDeadline = core.OnFailureUndo
	return sealed(d)
}

// forgetful returns the workflow with services that forget keys after a minute.
func forgetful(d *core.Definition) *core.Definition {
	for n, a := range d.Agents {
		a.KeyRetention = core.Minute
		d.Agents[n] = a
	}
	return sealed(d)
}

// terse leaves out statuses: fewer statuses leave fewer calls. Without the first one the order is submitted
// for ever.
func terse(d *core.Definition) *core.Definition {
	d.Notify = []core.StatusKind{
		core.StatusReceived, core.StatusCompleted, core.StatusFailed,
		core.StatusUndone, core.StatusCancelled,
	}
	return sealed(d)
}

// when puts a condition on a step.
func when(d *core.Definition, step int, condition string) *core.Definition {
	d.Steps[step].When = condition
	return sealed(d)
}

// waitBeside is one call, which is the second step, beside a wait.
func waitBeside() *core.Definition {
	d := beside(3 * core.Second)
	d.Steps[0], d.Steps = d.Steps[2], d.Steps[:2]
	delete(d.Agents, "a-agent")
	return sealed(d)
}

// askBeside is one call, which is the second step, beside an approval.
func askBeside() *core.Definition {
	d := asking(true)
	d.Steps[0], d.Steps = d.Steps[2], d.Steps[:2]
	delete(d.Agents, "a-agent")
	return sealed(d)
}

// askOnly is a call, and then what is answered.
func askOnly(d *core.Definition) *core.Definition {
	d.Steps = slices.Delete(d.Steps, 1, 2)
	delete(d.Agents, "b-agent")
	return sealed(d)
}

// one leaves the first step only, which waits a short while for its agent.
func one(d *core.Definition) *core.Definition {
	d.Steps = d.Steps[:1]
	d.Steps[0].MaxQueueTime = 20 * core.Second
	delete(d.Agents, "b-agent")
	return sealed(d)
}

// firstOfTwo is a and b at once, and the first of them decides.
func firstOfTwo() *core.Definition {
	d := small(core.Fenced, true)
	group := core.StepDefinition{Name: "s", OnFailure: core.OnFailureUndo, Any: &core.Any{Enough: 1}}
	for i := range d.Steps {
		member := &d.Steps[i]
		group.Any.Members = append(group.Any.Members, member.Name)
		member.Name = core.MemberName(group.Name, member.Name)
		member.OnFailure = core.OnFailureContinue
	}
	d.Steps = append(d.Steps, group)
	return sealed(d)
}

// block is a block of the step a, which may be repeated, after the other steps.
func block(repeat *core.Repeat, after ...string) *core.Definition {
	d := small(core.Fenced, false)
	inner := terse(one(small(core.Fenced, false)))
	inner.Notify = nil
	inner.Name = core.BlockName(d.Name, "s")
	inner.Output = json.RawMessage(`{"n":"${ order.n }"}`)
	sealed(inner)
	d.Steps = slices.DeleteFunc(d.Steps, func(s core.StepDefinition) bool { return !slices.Contains(after, s.Name) })
	for i := range d.Steps {
		d.Steps[i].After = nil
	}
	if len(d.Steps) == 0 {
		delete(d.Agents, "b-agent")
	}
	d.Steps = append(d.Steps, core.StepDefinition{
		Name: "s", After: after, OnFailure: core.OnFailureUndo,
		Each: &core.Each{
			Workflow: inner.Name, Definition: inner.Hash, Child: inner, Concurrency: 1, Repeat: repeat,
			Order: json.RawMessage(`{"n":1}`),
		},
	})
	if repeat != nil {
		d.Steps[len(d.Steps)-1].Each.Order = json.RawMessage(`{"n":"${ (previous?.n ?? 0) + 1 }"}`)
	}
	return sealed(d)
}
