package workflowtest

import (
	"slices"
	"strings"
	"time"
)

// Operation is the script of one operation: its answers are given in the order in which they were
// added, each once, and the last one for all further calls.
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
	held   time.Duration // time that the reply is on its way
}

// On begins the script of an operation, and forgets an earlier one of it. A name that the workflow
// does not ask this agent for ends the test.
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

// Return answers "done" with that output: anything that encodes to JSON.
func (o *Operation) Return(output any) *Operation {
	return o.Func(func(Call) (any, error) { return output, nil })
}

// Fail answers with a failure: Permanent, Transient, RetryAfter, InDoubt, or any other error,
// which is in doubt.
func (o *Operation) Fail(err error) *Operation {
	return o.Func(func(Call) (any, error) { return nil, err })
}

// FailTimes fails n calls, n from 1; without a further answer the calls after them are done, with
// the output null.
func (o *Operation) FailTimes(n int, err error) *Operation {
	o.w.t.Helper()
	if n < 1 {
		o.w.t.Fatalf("FailTimes(%d): give a number from 1", n)
	}
	return o.add(behaviour{times: n, do: func(Call) (any, error) { return nil, err }})
}

// Silent makes the call and never answers, so that it is unknown what happened: the answer was lost,
// or the agent died. The Supervisor finds the step once its complete-by has passed.
func (o *Operation) Silent() *Operation { return o.add(behaviour{silent: true}) }

// Func returns what the function answers.
func (o *Operation) Func(f func(Call) (output any, err error)) *Operation {
	return o.add(behaviour{do: f})
}

// After lets the service take that long for the answer that was added last. Past the step's timeout
// the agent gives up: the attempt has failed, its effect is in doubt.
func (o *Operation) After(d time.Duration) *Operation {
	o.w.t.Helper()
	o.last("After").takes = d
	return o
}

// ArrivesAfter holds up, on its way to the Scheduler, the answer that was added last. It was given in
// time, and it counts however late it arrives (P15, a late "done" counts).
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

// next is the answer to the next call. A nil script, or an empty one, answers "done".
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
