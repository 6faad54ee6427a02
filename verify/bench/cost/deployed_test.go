package cost_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/dev/sqsproto"
	"github.com/stepkeeper/stepkeeper/functions/agent/onlambda"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/functions/supervisor"
	"github.com/stepkeeper/stepkeeper/internal/inprocess"
	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/incident"
	"github.com/stepkeeper/stepkeeper/shared/lambdaevent"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	alerts "github.com/stepkeeper/stepkeeper/shared/sns"
	"github.com/stepkeeper/stepkeeper/shared/sqs"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// saga is the work of one order, as in the bench: four steps in a row, by agents that reply at once.
const saga = `workflow: saga
steps:
  reserve: {agent: AGENT-1, operation: reserve, input: {order: "${ order }"}, timeout: 10s, onFailure: undo, undo: release, grade: idempotent}
  charge: {agent: AGENT-2, operation: charge, after: [reserve], input: {order: "${ order }"}, timeout: 10s, onFailure: undo, undo: refund, grade: idempotent}
  book: {agent: AGENT-3, operation: book, after: [charge], input: {order: "${ order }"}, timeout: 10s, onFailure: undo, undo: unbook, grade: idempotent}
  notify: {agent: AGENT-4, operation: notify, after: [book], input: {order: "${ order }"}, timeout: 10s, onFailure: undo, undo: none, grade: idempotent}
`

// further holds four more steps of the same kind, to measure the cost of a step.
const further = `  pack: {agent: AGENT-1, operation: pack, after: [notify], input: {order: "${ order }"}, timeout: 10s, onFailure: undo, undo: unpack, grade: idempotent}
  label: {agent: AGENT-2, operation: label, after: [pack], input: {order: "${ order }"}, timeout: 10s, onFailure: undo, undo: unlabel, grade: idempotent}
  ship: {agent: AGENT-3, operation: ship, after: [label], input: {order: "${ order }"}, timeout: 10s, onFailure: undo, undo: recall, grade: idempotent}
  thank: {agent: AGENT-4, operation: thank, after: [ship], input: {order: "${ order }"}, timeout: 10s, onFailure: undo, undo: none, grade: idempotent}
`

// part is the workflow of a child order.
const part = `workflow: part
steps:
  pick: {agent: shop-1, operation: pick, input: {item: "${ order }"}, timeout: 10s, onFailure: undo, undo: unpick, grade: idempotent}
`

const (
	application = "shop"     // reply-to of the orders
	instance    = "1f9b27c0" // the end of a log stream's name, as deployed
)

// deployed is a deployment in one process.
type deployed struct {
	options
	steps  *Meter // meter of the deployment's bill
	app    *Meter // meter of the application's own calls
	store  *dynamo.Store
	client *dynamodb.Client // client whose calls are not metered
	tables dynamo.Tables
	ready  *memory.Queues // queues read directly, so that no call is counted

	queues     *sqs.Queues // queues of the actors
	outside    *sqs.Queues // queues of the application
	scheduler  *scheduler.Scheduler
	agents     map[string]lambdaevent.Handle
	logged     *atomic.Int64
	largest    *atomic.Int64 // size of the largest item of a task, in bytes
	supervisor *supervisor.Supervisor
	swept      int
	begun      time.Time
	ahead      atomic.Int64 // lead of the actors' and queues' clock over begun, in nanoseconds
	close      func()
}

// tally counts bytes.
type tally struct{ n *atomic.Int64 }

func (t tally) Write(p []byte) (int, error) { t.n.Add(int64(len(p))); return len(p), nil }

func (o options) definition() (*core.Definition, error) {
	text := saga
	if o.eight {
		text += further
	}
	if o.wait > 0 {
		text = strings.Replace(text, "after: [charge]", "after: [pause]", 1) +
			fmt.Sprintf("  pause: {wait: %ds, after: [charge]}\n", o.wait/core.Second)
	}
	for step, asked := range map[string]bool{
		"  agree: {approval: {question: \"Go on?\", answers: ['yes', 'no'], timeout: 1d, onTimeout: " +
			"undo}, after: [charge]}\n": o.answer,
		"  agree: {each: \"${ order.items }\", workflow: part, after: [charge]}\n": o.children,
	} {
		if asked {
			text = strings.Replace(text, "after: [charge]", "after: [agree]", 1) + step
		}
	}
	if o.progress {
		text = strings.Replace(text, "operation: book,", "operation: book, maxDuration: 10m,", 1)
	}
	if o.agents {
		text = strings.ReplaceAll(text, "AGENT-", "shop-")
	} else {
		text = strings.NewReplacer("AGENT-1", "shop-1", "AGENT-2", "shop-1", "AGENT-3", "shop-1", "AGENT-4",
			"shop-1").Replace(text)
	}
	dir, err := os.MkdirTemp("", "stepkeeper-cost-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder; the system removes what is left
	for name, text := range map[string]string{"saga.yaml": text, "part.yaml": part} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	def, problems := source.LoadFile(filepath.Join(dir, "saga.yaml"), source.Options{})
	// a maxDuration longer than a Lambda function runs is a warning, and the agent here replies at once
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return def, nil
}

func newDeployed(ctx context.Context, endpoint string, o options) (*deployed, error) {
	w := &deployed{options: o, begun: time.Now(), steps: &Meter{}, app: &Meter{},
		logged: &atomic.Int64{}, largest: &atomic.Int64{}, agents: map[string]lambdaevent.Handle{}}
	def, err := o.definition()
	if err != nil {
		return nil, err
	}
	names := []string{port.Intake, port.Replies, port.Control, port.Tasks, port.Quarantine}
	for i := range 4 {
		names = append(names, port.Requests(fmt.Sprint("shop-", i+1)))
	}
	if w.ready, err = inprocess.Queues(port.ClockFunc(w.now), []string{application}, names...); err != nil {
		return nil, err
	}
	server := httptest.NewServer(sqsproto.New(sqsproto.Config{Queues: w.ready}))
	w.close = server.Close
	urls := map[string]string{}
	for _, name := range w.ready.QueueNames() {
		urls[name] = server.URL + "/000000000000/" + name
	}
	queueSDK, err := w.metered(ctx, server.URL, w.steps)
	if err != nil {
		return nil, err
	}
	appSDK, err := w.metered(ctx, server.URL, w.app)
	if err != nil {
		return nil, err
	}
	tableSDK, err := w.metered(ctx, endpoint, w.steps)
	if err != nil {
		return nil, err
	}
	w.queues, w.outside = sqs.New(queueSDK, sqs.Config{URLs: urls, ReplyTo: []string{application}}),
		sqs.New(appSDK, sqs.Config{URLs: urls})
	if err := w.open(ctx, endpoint, tableSDK, def); err != nil {
		return nil, err
	}
	return w, w.startAgents(queueSDK, urls)
}

// now returns the time of the actors and queues. It moves in steps only, so that the times in an item, and
// with them its size, do not depend on the speed of this machine.
func (w *deployed) now() time.Time { return w.begun.Add(time.Duration(w.ahead.Load())) }

func (w *deployed) metered(ctx context.Context, endpoint string, m *Meter) (aws.Config, error) {
	c, err := awsclient.Load(ctx, awsclient.Options{Endpoint: endpoint})
	if err == nil && m != nil {
		m.Into(&c)
	}
	return c, err
}

func (w *deployed) log() *slog.Logger {
	return slog.New(slog.NewJSONHandler(tally{w.logged}, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

// open creates the tables and the Scheduler.
func (w *deployed) open(ctx context.Context, endpoint string, sdk aws.Config, def *core.Definition) error {
	plain, err := w.metered(ctx, endpoint, nil)
	if err != nil {
		return err
	}
	w.client = dynamo.NewClient(plain)
	w.measureItems(&sdk)
	prefix := fmt.Sprintf("cost-%d-", time.Now().UnixNano())
	w.tables = dynamo.Tables{Orders: prefix + "Orders", Definitions: prefix + "Definitions"}
	if err := dynamo.CreateTables(wire.WithCallTimeout(ctx, time.Minute), w.client,
		w.tables); err != nil {
		return err
	}
	w.store = dynamo.New(dynamo.NewClient(sdk), w.tables, dynamo.Options{FinishedIndex: w.finished})
	topic := alerts.New(sdk, "arn:aws:sns:us-east-1:000000000000:alerts")
	clock := port.ClockFunc(w.now)
	incidents := incident.New(incident.Config{Records: w.store.Schedules(), Tasks: w.store, Clock: clock,
		Log: w.log(),
		// the publication runs at once, so that its units count for the call that starts it
		Go: func(publication func(context.Context)) { publication(ctx) },
		Publish: func(ctx context.Context, a message.Alert) error {
			return topic.Send(ctx, a.For("Cost", "--stack Cost"))
		}})
	tasks := state.New(state.Config{Store: w.store, Definitions: w.store, Compile: workflow.Decode,
		Encode: workflow.Encode,
		Current: func(name string) *core.Definition {
			if name != def.Name {
				return nil
			}
			return def
		}})
	parts := engine.Parts{
		State: tasks, Queues: w.queues, Alerts: incidents, Leases: w.store, Clock: clock, Name: instance,
		WakeSlack: time.Second, Logger: w.log(),
	}
	w.supervisor = supervisor.New(supervisor.Config{Parts: parts, Incidents: incidents.Sweep})
	w.scheduler = scheduler.New(scheduler.Config{Parts: parts})
	return nil
}

// measureItems records the size of the largest order item that is put into Orders.
func (w *deployed) measureItems(sdk *aws.Config) {
	see := func(item map[string]types.AttributeValue) {
		if _, task := item["Steps"]; task {
			w.largest.Store(max(w.largest.Load(), int64(dynamo.Size(item))))
		}
	}
	sdk.APIOptions = append(sdk.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Items",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
				middleware.InitializeOutput, middleware.Metadata, error) {
				if in, put := in.Parameters.(*dynamodb.PutItemInput); put {
					see(in.Item)
				}
				return next.HandleInitialize(ctx, in)
			}), middleware.After)
	})
}

// startAgents makes the agents as on Lambda.
func (w *deployed) startAgents(sdk aws.Config, urls map[string]string) error {
	for i := range 4 {
		settings := deployment.Agent{Name: fmt.Sprint("shop-", i+1), Queues: urls}
		agent := worker.Config{Agent: settings.Name, Operations: worker.Operations{worker.AnyOperation: {
			Run: func(ctx context.Context, c worker.Call) (any, error) {
				if w.progress && c.Step == "book" {
					if err := worker.Progress(ctx, 50, "half"); err != nil {
						return nil, err
					}
				}
				return json.RawMessage(`{"ok":true}`), nil
			},
		}}}
		replies, err := sqs.New(sdk, sqs.Config{URLs: urls}).Queue(port.Replies)
		if err != nil {
			return err
		}
		agent.Replies = sqs.Gather(replies, time.Minute) // so that a busy machine splits no batch
		engine, err := onlambda.NewWorker(sdk, settings, agent, w.log())
		if err != nil {
			return err
		}
		w.agents[port.Requests(settings.Name)] = onlambda.Handle(
			func(context.Context) (*worker.Worker, error) { return engine, nil }, w.log())
	}
	return nil
}
