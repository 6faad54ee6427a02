package cost_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stepkeeper/stepkeeper/internal/cost"
	"github.com/stepkeeper/stepkeeper/internal/inprocess"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// options describes one shape.
type options struct {
	// orders to measure, and the messages in a batch of the Scheduler and of an agent
	orders, scheduler, agent int
	reported                 bool          // the orders name a reply-to
	finished                 bool          // finished orders are in the index
	agents                   bool          // each step has its own agent instead of one for all
	eight                    bool          // eight steps instead of four
	wait                     core.Duration // length of a wait after the second step; 0 means no wait
	answer                   bool          // a step after the second one is an approval
	children                 bool          // a step after the second one has a child order for each item
	progress                 bool          // the third step reports its progress
}

// body is an order of about 300 bytes, as in the bench.
const body = `{"customer":{"id":"c-48213","name":"Ada Example","email":"ada@example.org","country":"PT"},"currency":"EUR","items":[{"sku":"chair-oak","quantity":2,"unitPrice":7999,"physical":true},{"sku":"lamp-brass","quantity":1,"unitPrice":2450,"physical":true}],"payment":{"card":"tok_visa"},"note":"leave at the door"}`

// visibility is longer than any operation here.
const visibility = time.Minute

// passed is the time that the actors take to process their queues once.
const passed = 137 * time.Millisecond

// answered is the time that a person takes to answer.
const answered = 6 * time.Hour

// measuring is one measurement in progress.
type measuring struct {
	*deployed
	invocations map[string]int
	took        map[string]time.Duration
	returned    int // messages that were returned to their queue
}

// measure runs the orders to their ends and returns the consumption of one of them.
func measure(ctx context.Context, endpoint string, o options) (cost.Shape, error) {
	w, err := newDeployed(ctx, endpoint, o)
	if err != nil {
		return cost.Shape{}, err
	}
	defer w.close()
	m := &measuring{deployed: w, invocations: map[string]int{}, took: map[string]time.Duration{}}
	// The first order does work that later ones do not, so it is not measured.
	if err := m.pass(ctx, 1); err != nil {
		return cost.Shape{}, err
	}
	w.steps.Reset()
	w.app.Reset()
	w.logged.Store(0)
	clear(m.invocations)
	clear(m.took)
	passes, each := 1, o.orders
	if o.scheduler == 1 {
		passes, each = o.orders, 1
	}
	for range passes {
		if err := m.pass(ctx, each); err != nil {
			return cost.Shape{}, err
		}
	}
	return m.shape(float64(o.orders)), nil
}

// sweep returns the consumption of the Supervisor's sweep of an empty index.
func sweep(ctx context.Context, endpoint string) (cost.Shape, error) {
	w, err := newDeployed(ctx, endpoint, options{})
	if err != nil {
		return cost.Shape{}, err
	}
	defer w.close()
	const sweeps = 10
	for range sweeps + 1 {
		if _, err := w.supervisor.Sweep(ctx); err != nil {
			return cost.Shape{}, err
		}
		if w.swept++; w.swept == 1 { // the first one creates the leases
			w.steps.Reset()
		}
	}
	return cost.Shape{Lines: lines(w.steps, sweeps, w.tables, false)}, nil
}

// pass submits orders and lets every actor work until all have ended.
func (m *measuring) pass(ctx context.Context, orders int) error {
	var ids []string
	var messages []port.Message
	replyTo := ""
	if m.reported {
		replyTo = fmt.Sprintf(`,"replyTo":%q`, application)
	}
	for range orders {
		id := uuid.NewString()
		ids = append(ids, id)
		messages = append(messages,
			port.Message{Body: fmt.Appendf(nil, `{"schema":1,"orderId":%q,"workflow":"saga","order":%s%s}`,
				id, body, replyTo)})
	}
	intake, err := m.outside.Queue(port.Intake)
	if err != nil {
		return err
	}
	for batch := range slices.Chunk(messages, max(1, m.options.scheduler)) {
		if err := errors.Join(intake.Send(ctx, batch)...); err != nil {
			return err
		}
	}
	if err := m.work(ctx); err != nil {
		return err
	}
	if m.answer {
		// the later a step ends, the more digits its times have in the item, which is close to 1 KiB
		m.ahead.Add(int64(answered))
		if err := m.answerAll(ctx, ids); err != nil {
			return err
		}
	}
	if m.wait > 0 {
		m.ahead.Add(int64(m.wait.Std() + 2*time.Second))
		if m.wait.Std() > port.MaxDelay { // no message waits that long, so a sweep finds them
			if _, err := m.supervisor.Sweep(ctx); err != nil {
				return err
			}
		}
		if err := m.work(ctx); err != nil {
			return err
		}
	}
	return m.ended(ctx, ids)
}

// answerAll is the application, which answers the question of each order.
func (m *measuring) answerAll(ctx context.Context, ids []string) error {
	control, err := m.outside.Queue(port.Control)
	if err != nil {
		return err
	}
	var answers []port.Message
	for _, id := range ids {
		answers = append(answers,
			port.Message{Body: fmt.Appendf(nil,
				`{"schema":1,"kind":"answer","task":%q,"id":%q,"step":"agree","round":1,"by":"ann","value":"yes"}`, id, uuid.NewString())})
	}
	for batch := range slices.Chunk(answers, max(1, m.options.scheduler)) {
		if err := errors.Join(control.Send(ctx, batch)...); err != nil {
			return err
		}
	}
	return m.work(ctx)
}

// work lets every actor work until nothing is left to do now.
func (m *measuring) work(ctx context.Context) error {
	for worked := true; worked; {
		worked = false
		for _, name := range m.ready.QueueNames() {
			some, err := m.drain(ctx, name)
			if err != nil {
				return err
			}
			worked = worked || some
		}
		m.ahead.Add(int64(passed))
	}
	return nil
}

// drain acts as a Lambda event source mapping, or the application, until the queue is empty: it receives a
// batch, lets the actor handle it, and deletes it. It does not poll an empty queue, because idle polls are
// counted separately.
func (m *measuring) drain(ctx context.Context, name string) (some bool, err error) {
	inside, err := m.ready.Queue(name)
	if err != nil {
		return false, err
	}
	queues, size := m.queues, m.options.scheduler
	if name == application {
		queues = m.outside
	}
	if strings.HasPrefix(name, "requests-") {
		size = m.options.agent
	}
	q, err := queues.Queue(name)
	if err != nil {
		return false, err
	}
	mapping := inprocess.Mapping{Queue: q, Batch: size, Visibility: visibility, Handle: m.handler(name)}
	for {
		depth, err := inside.Depth(ctx)
		if err != nil || depth.Visible == 0 {
			return some, err
		}
		if _, err := mapping.Step(ctx, 0); err != nil {
			return some, err
		}
		if m.returned > 0 {
			return some, fmt.Errorf("queue %s: %d messages were returned to the queue", name, m.returned)
		}
		some = true
	}
}

// handler returns the function that the queue's mapping invokes.
func (m *measuring) handler(name string) func(context.Context, string, []port.Delivery) []string {
	invoke := func(function string, handle func() int) []string {
		start := time.Now()
		m.returned += handle()
		m.took[function] += time.Since(start)
		m.invocations[function]++
		return nil
	}
	return func(ctx context.Context, _ string, batch []port.Delivery) []string {
		switch name {
		case port.Intake, port.Replies, port.Control, port.Tasks:
			return invoke("scheduler", func() int {
				return len(m.deployed.scheduler.Handle(ctx, name, batch))
			})
		case application, port.Quarantine:
			return nil
		}
		return invoke("agent", func() int { return len(m.agents[name](ctx, name, batch)) })
	}
}

// ended checks that the orders are processed, and that their ends were reported if requested.
func (m *measuring) ended(ctx context.Context, ids []string) error {
	records, errs := dynamo.New(m.client, m.tables, dynamo.Options{}).Load(ctx, ids)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, id := range ids {
		r := records[i]
		if r == nil || r.State != "Processed" || r.Bucket != port.NoBucket {
			return fmt.Errorf("order %s has not ended well and reported: %+v", id, r)
		}
	}
	return nil
}

// shape divides the counts by the number of orders.
func (m *measuring) shape(orders float64) cost.Shape {
	s := cost.Shape{Orders: int(orders), SchedulerBatch: m.options.scheduler, AgentBatch: m.options.agent,
		ItemBytes: int(m.largest.Load()),
		LogBytes:  float64(m.logged.Load()) / orders, Invocations: map[string]float64{},
		Milliseconds: map[string]float64{}}
	for name, n := range m.invocations {
		s.Invocations[name] = float64(n) / orders
		s.Milliseconds[name] = round(float64(m.took[name].Microseconds()) / 1000 / float64(n))
	}
	s.Lines = append(lines(m.steps, orders, m.tables, false), lines(m.app, orders, m.tables, true)...)
	return s
}

func lines(from *Meter, orders float64, tables dynamo.Tables, application bool) []cost.Line {
	var all []cost.Line
	for _, l := range from.Lines() {
		for _, name := range []struct{ table, shown string }{{tables.Orders, "Orders"},
			{tables.Definitions, "Definitions"}} {
			if l.Resource == name.table {
				l.Resource = name.shown
			}
		}
		all = append(all, cost.Line{Service: l.Service, Operation: l.Operation, Resource: l.Resource,
			Application: application,
			Calls:       l.Calls / orders, Requests: l.Requests / orders, WRU: l.Writes / orders,
			IndexWRU: l.IndexWrites / orders,
			RRU:      l.Reads / orders, IndexRRU: l.IndexReads / orders})
	}
	return all
}

func round(x float64) float64 { return float64(int(x*100+0.5)) / 100 }
