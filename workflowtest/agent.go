package workflowtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Call is one call of a fake service.
type Call struct {
	OrderID   string
	Run       int // run of the order, counted from 0
	Step      string
	Operation string          // agent and operation, such as "payment.charge"
	Undo      bool            // true if the call undoes the step
	Attempt   int             // number of attempts of the step so far, including undos
	Key       string          // idempotency key, the same for all attempts of a run
	Input     json.RawMessage // input of the operation
	At        time.Time
	Resolved  core.Fact // fact that the operator stated about the step; "" if there is none
	// Outcome is the outcome in the agent's reply: done, failed or retry-later. It is "" if there was no
	// reply.
	Outcome core.Outcome
}

// Into decodes the input into v.
func (c Call) Into(v any) error {
	if err := json.Unmarshal(c.Input, v); err != nil {
		return fmt.Errorf("input of %s: %w", c.Operation, err)
	}
	return nil
}

// Permanent returns the error of a service that refuses a call permanently. The call has no effect. The step
// fails without another attempt.
func Permanent(code, text string) error {
	return worker.NoEffect(worker.Permanent(worker.WithCode(errors.New(text), code)))
}

// Transient returns the error of a service that refuses a call temporarily. The call has no effect. The step
// tries again as its retry settings allow.
func Transient(code, text string) error {
	return worker.NoEffect(worker.Transient(worker.WithCode(errors.New(text), code)))
}

// RetryAfter returns a Transient error of a service that asks the caller to wait.
func RetryAfter(wait time.Duration, code, text string) error {
	return worker.NoEffect(worker.RetryAfter(worker.WithCode(errors.New(text), code), wait))
}

// NotYet returns the error of a service that cannot do the operation yet. The call has no effect and does not
// count as a failure. The step asks again after the given time, until the time in pollFor has passed.
func NotYet(after time.Duration) error { return worker.NotYet(after) }

// InDoubt returns the error of a failed call that may have had its effect.
func InDoubt(code, text string) error { return worker.WithCode(errors.New(text), code) }

// Agent is a fake of one agent and its remote service.
type Agent struct {
	w       *Workflow
	name    string
	worker  *worker.Worker
	scripts map[string]*Operation
	ledger  *memory.Ledger

	now     *Call // call in progress; nil if there is none
	playing *behaviour
	unknown bool // true if the call has no script
}

// Agent returns the fake of an agent that the workflow names. An unknown name ends the test.
func (w *Workflow) Agent(name string) *Agent {
	w.t.Helper()
	a := w.agents[name]
	if a == nil {
		w.t.Fatalf("the workflow %s has no agent %q; its agents are %s", w.def.Name, name,
			strings.Join(w.names, ", "))
	}
	return a
}

// operations returns the names of the agent's operations in all definitions. The result includes the
// operations that undo a step.
func (a *Agent) operations() []string {
	var all []string
	// Map iteration in any order is safe, because the names are sorted below.
	for _, def := range a.w.defs {
		for i := range def.Steps {
			all = append(all, def.Steps[i].Operations(a.name)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// start creates the agent's worker. The worker makes one call per attempt. It has its own ledger and no
// circuit breaker.
func (a *Agent) start() {
	quarantine, err := a.w.queues.Queue(port.Quarantine)
	a.w.must(err)
	a.worker, err = worker.New(worker.Config{
		Agent: a.name, Operations: worker.Operations{worker.AnyOperation: {Run: a.run}},
		Replies: outbox{agent: a}, Quarantine: quarantine, Ledger: a.ledger, Clock: a.w.clock,
		Retry: worker.Retry{Tries: 1}, Breaker: worker.Breaker{Off: true},
	})
	a.w.must(err)
}

// handle handles one request. For a plain service, the ledger may determine the reply without a call.
func (a *Agent) handle(ctx context.Context, _ string, batch []port.Delivery) []string {
	a.w.t.Helper()
	a.now = nil
	a.playing = nil
	a.unknown = false
	r, err := message.Of[message.Request](batch[0])
	a.w.must(err)
	run := a.w.run(r.OrderID)
	calls := len(run.calls)
	verdict := a.worker.Handle(ctx, batch[0])
	switch {
	case a.unknown:
		a.w.must(fmt.Errorf(
			"%s.%s was called, by the step %s, and has no script. Script "+
				"it:\n\tw.Agent(%q).On(%q).Return(…)\nor let operations without one answer \"done\": "+
				"w.AllowUnscripted()",
			a.name, r.Name, r.Step, a.name, r.Name))
	case !verdict.Delete:
		a.w.must(fmt.Errorf("%s.%s of step %s was returned to the queue", a.name, r.Name, r.Step))
	case len(run.calls) == calls:
		run.note(
			"%s: %s.%s, attempt %d: not called: the ledger of the plain service forbids it, or knows the "+
				"answer", r.Step, a.name, r.Name, r.Attempt)
	case run.calls[calls].Outcome == "":
		run.note("%s: %s.%s, attempt %d: no answer", r.Step, a.name, r.Name, r.Attempt)
	}
	return nil
}

var errNoAnswer = InDoubt("timeout", "the service did not answer within the step's timeout")

// run is the operation that the worker calls. It plays the script of the fake service.
func (a *Agent) run(_ context.Context, c worker.Call) (any, error) {
	run := a.w.run(c.OrderID)
	call := Call{
		OrderID: c.OrderID, Run: c.Run, Step: c.Step, Operation: a.name + "." + c.Name,
		Undo:    c.Operation == core.UndoOp,
		Attempt: c.Attempt, Key: c.Key, Input: c.Input, At: a.w.clock.Now(),
	}
	if c.Resolved != nil {
		call.Resolved = c.Resolved.Fact
	}
	run.calls = append(run.calls, call)
	a.w.callers = append(a.w.callers, run)
	a.now = &run.calls[len(run.calls)-1]
	script := a.scripts[c.Name]
	if script == nil && !a.w.unscripted {
		a.unknown = true
		return nil, InDoubt("unscripted", "the operation has no script")
	}
	a.playing = script.next()
	out, err := a.playing.answer(call)
	switch {
	case a.playing.silent:
		return nil, errNoAnswer
	case call.At.Add(a.playing.takes).After(c.Deadline):
		a.playing = &behaviour{takes: c.Deadline.Sub(call.At), held: a.playing.held}
		return nil, errNoAnswer
	}
	return out, err
}

// outbox is the queue for the worker's replies. It delivers each reply at the time that the script states.
type outbox struct {
	port.Queue
	agent *Agent
}

// Send schedules the delivery of one reply.
func (o outbox) Send(_ context.Context, messages []port.Message) []error {
	reply, ok := messages[0].Value.(*message.Reply)
	if !ok {
		return []error{fmt.Errorf("agent %s: a reply of the type %T", o.agent.name, messages[0].Value)}
	}
	b := o.agent.playing
	switch {
	case o.agent.unknown:
		return []error{nil}
	case b == nil: // Without a call, the reply comes from the ledger.
		b = &behaviour{}
	case b.silent:
		return []error{nil}
	}
	if o.agent.now != nil {
		o.agent.now.Outcome = reply.Outcome
	}
	o.agent.w.replied(reply, b.takes+b.held)
	return []error{nil}
}
