// Package stacktest runs a Stepkeeper deployment in the process, for tests of clients. The deployment has queues
// with the SQS protocol, the real Scheduler, an agent, and a state store that the test chooses. The content
// of an order controls the agent's replies. The deployment has no Supervisor, so a task that needs a sweep
// never continues.
//
// Nothing of it waits for the network, so that a test can run it in virtual time.
package stacktest

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/client/aws/operate"
	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/dev/sqsproto"
	"github.com/stepkeeper/stepkeeper/examples/booking"
	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/internal/inprocess"
	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/sqs"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// Workflows holds the sources of the workflows order, halt, ask, and booking, which `stepkeeper init` writes. If the step charge fails, the workflow
// order undoes the whole order, and halt stops the order in Error. The workflow ask waits for the answers of
// two people. The content {"end": "fail"} makes charge fail permanently. With {"end": "never"}, the agent
// sends no reply for charge.
var Workflows = map[string]string{
	"order": workflowOf("order", "undo"), "halt": workflowOf("halt", "stop"),
	"ask": ask, "booking": bookingWorkflow(),
}

func bookingWorkflow() string {
	text, err := booking.Files.ReadFile("workflows/booking.yaml")
	if err != nil {
		panic(err)
	}
	return string(text)
}

const ask = `workflow: ask
steps:
  approve:
    approval:
      question: '${ "May " + orderId + " go on?" }'
      show: {end: "${ order.end }"}
      answers: [go, halt]
      need: 2
      timeout: 1h
      onTimeout: undo
`

func workflowOf(name, policy string) string {
	return `workflow: ` + name + `
order: {schema: {properties: {end: {type: string}}}}
agents:
  shop: {queueAllowance: 30s}
steps:
  reserve:
    agent: shop
    operation: reserve
    timeout: 30s
    onFailure: ` + policy + `
    undo: release
    grade: fenced
  charge:
    agent: shop
    operation: charge
    after: [reserve]
    input: {end: '${ order.end ?? "" }'}
    timeout: 30s
    retry: {maxFailures: 1}
    onFailure: ` + policy + `
    undo: refund
    grade: fenced
`
}

// Store is a state store that also holds definitions.
type Store interface {
	port.Store
	port.Definitions
}

// Memory returns a Store in memory.
func Memory() Store {
	return struct {
		*memory.Store
		*memory.Definitions
	}{memory.NewStore(4), memory.NewDefinitions()}
}

// Deployment is a running deployment. It stops at the end of the test.
type Deployment struct {
	Parts   operate.Parts // AWS clients and addresses for a client of the deployment
	Handler http.Handler  // serves the queues with the SQS protocol
	Store   Store
	Queues  *memory.Queues
	// Broken makes every charge fail. Held stops the Scheduler and the agent from handling messages.
	Broken, Held atomic.Bool
}

// New starts a deployment that uses the store.
func New(t testing.TB, store Store) *Deployment {
	t.Helper()
	clock := port.ClockFunc(time.Now)
	queues, err := inprocess.Queues(clock, nil, port.Intake, port.Replies, port.Control, port.Quarantine,
		port.Requests("shop"), port.Requests("seats"), port.Requests("payments"))
	if err != nil {
		t.Fatal(err)
	}
	w := &Deployment{Store: store, Queues: queues}
	w.Handler = sqsproto.New(sqsproto.Config{Queues: queues})
	pipes := Transport(t, w.Handler)
	c, err := awsclient.Load(t.Context(), awsclient.Options{
		Endpoint: endpoint,
		Wrap:     func(http.RoundTripper) http.RoundTripper { return pipes },
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Parts = operate.Parts{Parts: aws.Parts{
		Outputs: aws.Outputs{
			Stack: "Shop", Region: "us-east-1", Orders: "orders", Definitions: "definitions",
			Intake: w.Address(port.Intake), Control: w.Address(port.Control),
			Quarantine: w.Address(port.Quarantine),
			Shards:     store.Shards(), Finished: true, IntakeCommands: true,
			Application: "arn:aws:iam::1:policy/App", Operator: "arn:aws:iam::1:policy/Op",
		},
		Tasks: store, Definitions: store, Poll: 2 * time.Millisecond,
		Queues: sqs.New(c, sqs.Config{URLs: map[string]string{
			port.Intake:  w.Address(port.Intake),
			port.Control: w.Address(port.Control),
		}}),
	}}
	w.run(t, clock)
	return w
}

// Address returns the address of a queue.
func (w *Deployment) Address(queue string) string { return endpoint + "/000000000000/" + queue }

// endpoint is the address of the queues for the clients of a deployment. Nothing listens there.
const endpoint = "http://127.0.0.1:9"

// Client returns a client of the deployment.
func (w *Deployment) Client(opts ...client.Option) *client.Client {
	return operate.Over(w.Parts, opts...)
}

func (w *Deployment) run(t testing.TB, clock port.Clock) {
	current := map[string]*core.Definition{}
	for name, text := range Workflows {
		d, problems := source.Parse(name+".yaml", []byte(text), source.Options{})
		if d == nil || problems.Err() != nil {
			t.Fatal(problems)
		}
		current[name] = d
	}
	s := scheduler.New(scheduler.Config{Parts: engine.Parts{
		State: state.New(state.Config{
			Store: w.Store, Definitions: w.Store, Compile: workflow.Decode,
			Encode:  workflow.Encode,
			Current: func(name string) *core.Definition { return current[name] },
		}),
		Queues: w.Queues, Alerts: silent{}, Clock: clock, Name: "test", WakeSlack: 10 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, name := range []string{port.Intake, port.Replies, port.Control} {
		running.Go(func() { w.consume(ctx, name, s.Handle) })
	}
	for _, agent := range []string{"shop", "seats", "payments"} {
		running.Go(func() { w.consume(ctx, port.Requests(agent), w.answer) })
	}
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
}

func (w *Deployment) consume(ctx context.Context, name string,
	handle func(context.Context, string, []port.Delivery) []string,
) {
	q, err := w.Queues.Queue(name)
	if err != nil {
		panic(err)
	}
	m := inprocess.Mapping{
		Queue: q, Batch: port.MaxBatch, Visibility: time.Minute,
		Handle: func(ctx context.Context, name string, batch []port.Delivery) []string {
			for w.Held.Load() && ctx.Err() == nil { // Receive may have started before Held was set
				time.Sleep(time.Millisecond)
			}
			return handle(ctx, name, batch)
		},
	}
	for ctx.Err() == nil {
		_, _ = m.Step(ctx, 20*time.Millisecond)
	}
}

func (w *Deployment) answer(ctx context.Context, _ string, batch []port.Delivery) []string {
	replies, err := w.Queues.Queue(port.Replies)
	if err != nil {
		panic(err)
	}
	for i := range batch {
		r, err := message.Of[message.Request](batch[i])
		if err != nil {
			panic(err)
		}
		if reply := w.reply(r); reply != nil {
			replies.Send(ctx, []port.Message{{Value: reply}})
		}
	}
	return nil
}

func (w *Deployment) reply(r *message.Request) *message.Reply {
	reply := &message.Reply{
		Schema: message.Schema, OrderID: r.OrderID, Run: r.Run, Step: r.Step,
		Agent: r.Agent, Attempt: r.Attempt,
		Operation: r.Operation, Outcome: core.OutcomeDone, Output: json.RawMessage(`{"ok":true}`),
	}
	var in struct{ End string }
	_ = json.Unmarshal(r.Input, &in) // an error leaves End empty
	switch {
	case r.Operation == core.UndoOp || r.Step != "charge":
	case in.End == "never":
		return nil
	case in.End == "fail" || w.Broken.Load():
		reply.Outcome = core.OutcomeFailed
		reply.Output = nil
		reply.Error = &message.ReplyError{Code: "card-declined", Message: "the card was declined"}
	}
	return reply
}

type silent struct{}

func (silent) Raise(context.Context, core.RaiseAlert) error { return nil }
