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
	Run       int // number of times that the order was restarted, from 0
	Step      string
	Operation string          // "payment.charge"
	Undo      bool            // the call reverses the step
	Attempt   int             // number of the step's attempts so far, undos included
	Key       string          // idempotency key, the same for all attempts of a run
	Input     json.RawMessage // input from the workflow
	At        time.Time
	Resolved  core.Fact // fact that the operator stated about the step; usually ""
	// outcome that the agent reported: done, failed or retry-later; "" if no reply came
	Outcome core.Outcome
}

// Into decodes the input.
func (c Call) Into(v any) error {
	if err := json.Unmarshal(c.Input, v); err != nil {
		return fmt.Errorf("input of %s: %w", c.Operation, err)
	}
	return nil
}

// Permanent returns a refusal without effect that no repetition changes. The step fails for good.
func Permanent(code, text string) error {
	return worker.NoEffect(worker.Permanent(worker.WithCode(errors.New(text), code)))
}

// Transient returns a temporary refusal without effect. The step is tried again within its budget.
func Transient(code, text string) error {
	return worker.NoEffect(worker.Transient(worker.WithCode(errors.New(text), code)))
}

// RetryAfter returns a Transient refusal with the wait that the service asks for.
func RetryAfter(wait time.Duration, code, text string) error {
	return worker.NoEffect(worker.RetryAfter(worker.WithCode(errors.New(text), code), wait))
}

// NotYet returns the error of a service that did nothing because it cannot do the operation yet. The step
// asks again for up to its pollFor, and no failure is counted.
func NotYet(after time.Duration) error { return worker.NotYet(after) }

// InDoubt returns the error of a call that failed after it may have had its effect.
func InDoubt(code, text string) error { return worker.WithCode(errors.New(text), code) }

// Agent is the fake of one agent and its remote service.
type Agent struct {
	w       *Workflow
	name    string
	worker  *worker.Worker
	scripts map[string]*Operation

	now     *Call // the call in progress
	playing *behaviour
	unknown bool // the call has no script
}

// Agent returns an agent that the workflow names. Any other name ends the test.
func (w *Workflow) Agent(name string) *Agent {
	w.t.Helper()
	a := w.agents[name]
	if a == nil {
		w.t.Fatalf("the workflow %s has no agent %q; its agents are %s", w.def.Name, name,
			strings.Join(w.names, ", "))
	}
	return a
}

// operations returns the agent's operations in the workflow and its child workflows, undos included.
func (a *Agent) operations() []string {
	var all []string
	// the loop may go in any order, because the names are sorted below
	for _, def := range a.w.defs {
		for i := range def.Steps {
			s := &def.Steps[i]
			if !slices.Contains(s.AllAgents(), a.name) {
				continue
			}
			all = append(all, s.Operation)
			if s.Undo != nil {
				all = append(all, s.Undo.Operation)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// start gives the agent its worker, with one try per attempt, its own ledger, and no circuit breaker.
func (a *Agent) start() {
	quarantine, err := a.w.queues.Queue(port.Quarantine)
	a.w.must(err)
	a.worker, err = worker.New(worker.Config{
		Agent: a.name, Operations: worker.Operations{worker.AnyOperation: {Run: a.run}},
		Replies: outbox{agent: a}, Quarantine: quarantine, Ledger: memory.NewLedger(), Clock: a.w.clock,
		Retry: worker.Retry{Tries: 1}, Breaker: worker.Breaker{Off: true},
	})
	a.w.must(err)
}

// handle handles one request. The ledger of a plain service may give the reply without a call.
func (a *Agent) handle(ctx context.Context, _ string, batch []port.Delivery) []string {
	a.w.t.Helper()
	a.now, a.playing, a.unknown = nil, nil, false
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

// errNoAnswer is the error after the step's timeout, when a reply no longer counts.
var errNoAnswer = InDoubt("timeout", "the service did not answer within the step's timeout")

// run is the operation of the fake service that the worker calls.
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

// outbox accepts the worker's replies, and sends them as the script states.
type outbox struct {
	port.Queue
	agent *Agent
}

// Send accepts one reply.
func (o outbox) Send(_ context.Context, messages []port.Message) []error {
	reply, ok := messages[0].Value.(*message.Reply)
	if !ok {
		return []error{fmt.Errorf("agent %s: a reply of the type %T", o.agent.name, messages[0].Value)}
	}
	b := o.agent.playing
	switch {
	case o.agent.unknown:
		return []error{nil}
	case b == nil: // no behaviour means that the answer comes from the ledger
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
