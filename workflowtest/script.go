package workflowtest

import (
	"slices"
	"strings"
	"time"
)

// Operation is the script of one operation. Each call gets the next answer of the script. If there is no next
// answer, the call gets the last answer again, except after FailTimes.
type Operation struct {
	w     *Workflow
	plays []behaviour
	place int
}

type behaviour struct {
	do     func(Call) (any, error)
	times  int // number of calls that get this answer; 0 means one call, or no limit for the last answer
	silent bool
	takes  time.Duration // time that the service takes
	held   time.Duration // delay of the reply on its way to the Scheduler
}

// On begins a new script for an operation. If the workflow does not use the operation with this agent, the
// test ends.
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

// Return adds the answer "done" with an output. The output may be any value that encodes to JSON.
func (o *Operation) Return(output any) *Operation {
	return o.Func(func(Call) (any, error) { return output, nil })
}

// Fail adds a failure. Use Permanent, Transient, RetryAfter, NotYet or InDoubt to make the error. After any
// other error, the call counts as in doubt.
func (o *Operation) Fail(err error) *Operation {
	return o.Func(func(Call) (any, error) { return nil, err })
}

// FailTimes adds a failure for n calls. The number n must be at least 1. If no further answer is added, later
// calls return "done" with the output null.
func (o *Operation) FailTimes(n int, err error) *Operation {
	o.w.t.Helper()
	if n < 1 {
		o.w.t.Fatalf("FailTimes(%d): give a number from 1", n)
	}
	return o.add(behaviour{times: n, do: func(Call) (any, error) { return nil, err }})
}

// Silent adds a call without a reply, for example because the agent died. Nobody knows whether the call had
// its effect. The Supervisor finds the step after its complete-by time.
func (o *Operation) Silent() *Operation { return o.add(behaviour{silent: true}) }

// Func adds an answer that a function computes from the call.
func (o *Operation) Func(f func(Call) (output any, err error)) *Operation {
	return o.add(behaviour{do: f})
}

// After sets how long the service takes for the answer that was added last. If the time exceeds the step's
// timeout, the attempt fails, and its effect is in doubt.
func (o *Operation) After(d time.Duration) *Operation {
	o.w.t.Helper()
	o.last("After").takes = d
	return o
}

// ArrivesAfter delays the reply for the answer that was added last. The reply counts even if it arrives late,
// because the service answered in time (P15, a late "done" counts).
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

// next returns the answer for the next call. It is "done" if the script is nil or has no answer left.
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
