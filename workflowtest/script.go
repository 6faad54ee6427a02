package workflowtest

import (
	"slices"
	"strings"
	"time"
)

// Operation is the script of one operation. Each call uses up one answer, in the order in which the answers
// were added. The last answer serves all further calls.
type Operation struct {
	w     *Workflow
	plays []behaviour
	place int
}

// behaviour is one answer.
type behaviour struct {
	do     func(Call) (any, error)
	times  int // number of uses; 0 means one, or no limit for the last behaviour
	silent bool
	takes  time.Duration // time that the service takes
	held   time.Duration // delay of the reply on its way to the Scheduler
}

// On begins a new script of an operation. The test ends if the workflow does not ask this agent for an
// operation with that name.
func (a *Agent) On(operation string) *Operation {
	a.w.t.Helper()
	known := a.operations()
	if !slices.Contains(known, operation) {
		a.w.t.Fatalf("the workflow %s never asks agent %s for %q; its operations are %s", a.w.def.Name,
			a.name, operation, strings.Join(known, ", "))
	}
	o := &Operation{w: a.w}
	a.scripts[operation] = o
	return o
}

func (o *Operation) add(b behaviour) *Operation {
	o.plays = append(o.plays, b)
	return o
}

// Return adds the answer "done" with an output, which is any value that encodes to JSON.
func (o *Operation) Return(output any) *Operation {
	return o.Func(func(Call) (any, error) { return output, nil })
}

// Fail adds a failure: Permanent, Transient, RetryAfter, InDoubt, or any other error, which is in doubt.
func (o *Operation) Fail(err error) *Operation {
	return o.Func(func(Call) (any, error) { return nil, err })
}

// FailTimes adds a failure for n calls; n is at least 1. Without a further answer the calls after them return
// "done" with the output null.
func (o *Operation) FailTimes(n int, err error) *Operation {
	o.w.t.Helper()
	if n < 1 {
		o.w.t.Fatalf("FailTimes(%d): give a number from 1", n)
	}
	return o.add(behaviour{times: n, do: func(Call) (any, error) { return nil, err }})
}

// Silent adds a call without an answer, as if the answer were lost or the agent had died. Whether the call
// took effect is unknown. The Supervisor finds the step when its complete-by time has passed.
func (o *Operation) Silent() *Operation { return o.add(behaviour{silent: true}) }

// Func adds an answer that a function computes from the call.
func (o *Operation) Func(f func(Call) (output any, err error)) *Operation {
	return o.add(behaviour{do: f})
}

// After sets the time that the service takes for the answer that was added last. If it exceeds the step's
// timeout, the agent gives up: the attempt fails, and its effect is in doubt.
func (o *Operation) After(d time.Duration) *Operation {
	o.w.t.Helper()
	o.last("After").takes = d
	return o
}

// ArrivesAfter delays the reply with the answer that was added last. The service answered in time, so the
// reply counts however late it arrives (P15, a late "done" counts).
func (o *Operation) ArrivesAfter(d time.Duration) *Operation {
	o.w.t.Helper()
	o.last("ArrivesAfter").held = d
	return o
}

func (o *Operation) last(method string) *behaviour {
	o.w.t.Helper()
	if len(o.plays) == 0 {
		o.w.t.Fatalf("%s comes after an answer: On(…).Return(…).%s(…)", method, method)
	}
	return &o.plays[len(o.plays)-1]
}

// next returns the answer to the next call: "done" if the script is nil or empty.
func (o *Operation) next() *behaviour {
	if o == nil || o.place >= len(o.plays) {
		return &behaviour{}
	}
	b := &o.plays[o.place]
	switch last := o.place == len(o.plays)-1; {
	case b.times > 1:
		b.times--
	case b.times == 1 || !last:
		o.place++
	}
	return b
}

func (b *behaviour) answer(c Call) (any, error) {
	if b.do == nil {
		return nil, nil
	}
	return b.do(c)
}
