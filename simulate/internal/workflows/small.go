package workflows

import (
	"encoding/json"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

// GoesOn has the order go on without a.
func GoesOn(d *core.Definition) *core.Definition {
	d.Steps[0].OnFailure = core.OnFailureContinue
	return sealed(d)
}

// Otherwise is a, and b where a has failed.
func Otherwise(g core.Grade) *core.Definition {
	d := GoesOn(Small(g, false))
	d.Steps[1].When = "steps.a.failed"
	return sealed(d)
}

// Asking is an approval between a and b, or beside them.
func Asking(beside bool) *core.Definition {
	d := Small(core.Idempotent, true)
	d.Steps = append(d.Steps, core.StepDefinition{Name: "w", Timeout: 40 * core.Second,
		OnFailure: core.OnFailureUndo,
		Answer: &core.Answer{Values: []string{"yes", "no"}, Refuse: `value == "no"`,
			OnTimeout: core.OnFailureUndo}})
	if !beside {
		d.Steps[2].After, d.Steps[1].After = []string{"a"}, []string{"w"}
	}
	return sealed(d)
}

// AskedFor has a call ask for the approval (P38).
func AskedFor(d *core.Definition) *core.Definition {
	ask := d.Steps[0]
	ask.Name = "w-ask"
	ask.Agent = "w-agent"
	ask.Operation = "ask-w"
	ask.After = d.Steps[2].After
	ask.Undo = nil
	d.Agents[ask.Agent] = d.Agents[d.Steps[0].Agent]
	d.Steps[2].After, d.Steps[2].Answer.Ask = append(slices.Clone(ask.After), ask.Name), ask.Name
	d.Steps = append(d.Steps, ask)
	return sealed(d)
}

// RefusalStops has a refusal, and the end of the time, stop the order.
func RefusalStops(d *core.Definition) *core.Definition {
	d.Steps[2].OnFailure, d.Steps[2].Answer.OnTimeout = core.OnFailureStop, core.OnFailureStop
	return sealed(d)
}

// Several needs two of three people.
func Several(d *core.Definition) *core.Definition {
	d.Steps[2].Input = json.RawMessage(`{"question":"${ orderId }","need":2,"who":["ann","bob","cleo"]}`)
	return sealed(d)
}

// EventOf waits for an event, and goes on without it.
func EventOf(d *core.Definition) *core.Definition {
	d.Steps[2].Answer = &core.Answer{Event: Bought, TimeoutValue: json.RawMessage(`"none"`)}
	return sealed(d)
}

// Small is a then b, or both at once.
func Small(g core.Grade, parallel bool) *core.Definition {
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

// Between is a, then a wait, then b.
func Between(wait core.Duration) *core.Definition {
	d := Beside(wait)
	d.Steps[2].After, d.Steps[1].After = []string{"a"}, []string{"w"}
	return sealed(d)
}

// Beside is a and b at once, and a wait beside them.
func Beside(wait core.Duration) *core.Definition {
	d := Small(core.Idempotent, true)
	d.Steps = append(d.Steps, core.StepDefinition{Name: "w", Wait: &core.Wait{For: wait},
		OnFailure: core.OnFailureUndo})
	return sealed(d)
}

// Ruled has b follow a failure by rule, which comes after a.
func Ruled(d *core.Definition) *core.Definition {
	rule := core.StepDefinition{Name: "rule", After: []string{"a"}, When: "true",
		OnFailure: core.OnFailureUndo, Fail: &core.Fail{Code: "by-rule", Message: "the rule holds"}}
	d.Steps = []core.StepDefinition{d.Steps[0], rule, d.Steps[1]}
	d.Steps[2].After = []string{"rule"}
	return sealed(d)
}

// Until has the wait end at a time.
func Until(d *core.Definition, at string) *core.Definition {
	d.Steps[2].Input = json.RawMessage(at)
	return sealed(d)
}

func sealed(d *core.Definition) *core.Definition {
	if err := workflow.Seal(d); err != nil {
		panic("simulate: " + err.Error()) // its expressions are constants
	}
	return d
}

// Stops returns the workflow with a step that stops it if it fails.
func Stops(d *core.Definition) *core.Definition {
	d.Steps[1].OnFailure = core.OnFailureStop
	return sealed(d)
}

// NoReturn returns the workflow with a point of no return.
func NoReturn(d *core.Definition) *core.Definition {
	d.Steps[1].PointOfNoReturn, d.Steps[1].Undo = true, nil
	return Stops(d)
}

// Pivot is a point of no return whose refusal undoes what came before it (P22a).
func Pivot(d *core.Definition) *core.Definition {
	d = NoReturn(d)
	d.Steps[1].OnFailure = core.OnFailureUndo
	return sealed(d)
}

// Deadline returns the workflow with a deadline after which it is undone.
func Deadline(d *core.Definition) *core.Definition {
	d.Deadline, d.OnDeadline = 6*core.Second, core.OnFailureUndo
	return sealed(d)
}

// Forgetful returns the workflow with services that forget keys after a minute.
func Forgetful(d *core.Definition) *core.Definition {
	for n, a := range d.Agents {
		a.KeyRetention = core.Minute
		d.Agents[n] = a
	}
	return sealed(d)
}

// Terse leaves out statuses: fewer statuses leave fewer calls. Without the first one the order is submitted
// for ever.
func Terse(d *core.Definition) *core.Definition {
	d.Notify = []core.StatusKind{core.StatusReceived, core.StatusCompleted, core.StatusFailed,
		core.StatusUndone, core.StatusCancelled}
	return sealed(d)
}

// When puts a condition on a step.
func When(d *core.Definition, step int, condition string) *core.Definition {
	d.Steps[step].When = condition
	return sealed(d)
}

// WaitBeside is one call, which is the second step, beside a wait.
func WaitBeside() *core.Definition {
	d := Beside(3 * core.Second)
	d.Steps[0], d.Steps = d.Steps[2], d.Steps[:2]
	delete(d.Agents, "a-agent")
	return sealed(d)
}

// AskBeside is one call, which is the second step, beside an approval.
func AskBeside() *core.Definition {
	d := Asking(true)
	d.Steps[0], d.Steps = d.Steps[2], d.Steps[:2]
	delete(d.Agents, "a-agent")
	return sealed(d)
}

// AskOnly is a call, and then what is answered.
func AskOnly(d *core.Definition) *core.Definition {
	d.Steps = slices.Delete(d.Steps, 1, 2)
	delete(d.Agents, "b-agent")
	return sealed(d)
}

// One leaves the first step only, which waits a short while for its agent.
func One(d *core.Definition) *core.Definition {
	d.Steps = d.Steps[:1]
	d.Steps[0].MaxQueueTime = 20 * core.Second
	delete(d.Agents, "b-agent")
	return sealed(d)
}
