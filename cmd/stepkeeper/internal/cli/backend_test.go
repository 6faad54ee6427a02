package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/api"
	"github.com/stepkeeper/stepkeeper/dev/api/apitest"
	"github.com/stepkeeper/stepkeeper/internal/stacktest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/schedule"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// backend serves the real HTTP edge and the real client. Only the engine is a fake. An order ends at once, in
// the state of the field "end" of its content. Without this field it never ends.
type backend struct {
	*apitest.Backend // waits for tasks and follows them
	mu               sync.Mutex
	now              time.Time
	order            []string
	tasks            map[string]*protocol.Task
	commands         []message.Control
	damaged          string // ID of an order whose document cannot be read
	refuse           string // reason that every command is refused with
	listed           func() // called at each look at the list
}

func newBackend(now time.Time) *backend {
	return &backend{Backend: apitest.New(), now: now, tasks: map[string]*protocol.Task{}}
}

// put stores a task unchanged.
func (b *backend) put(t *protocol.Task) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tasks[t.OrderID] == nil {
		b.order = append(b.order, t.OrderID)
	}
	b.tasks[t.OrderID] = t
	b.Put(t)
}

func (b *backend) Submit(_ context.Context, orders []message.SubmitOrder) []api.SubmitResult {
	results := make([]api.SubmitResult, len(orders))
	for i, o := range orders {
		results[i] = b.submit(o)
		results[i].Notes = message.Notes(o.Priority)
	}
	return results
}

func (b *backend) submit(o message.SubmitOrder) api.SubmitResult {
	hash := message.ContentHash(o)
	b.mu.Lock()
	old := b.tasks[o.OrderID]
	b.mu.Unlock()
	switch {
	case b.Failing[o.OrderID] != nil:
		return api.SubmitResult{OrderID: o.OrderID, Err: b.Failing[o.OrderID]}
	case o.Workflow != "order":
		return api.SubmitResult{OrderID: o.OrderID, Err: &core.Refusal{
			Code: "unknown-workflow",
			Text: "there is no workflow " + o.Workflow + "; there is order",
		}}
	case old != nil && old.ContentHash != hash:
		return api.SubmitResult{OrderID: o.OrderID, Err: &core.Refusal{
			Code: "other-content",
			Text: "order " + o.OrderID + " is there with other content; give this one an ID of its own",
		}}
	case old != nil:
		return api.SubmitResult{OrderID: o.OrderID, Known: true, State: old.ProcessState}
	}
	t := &protocol.Task{
		OrderID: o.OrderID, Workflow: o.Workflow, ContentHash: hash,
		ProcessState: core.Processing, Created: core.TimeOf(b.now),
		Steps: []protocol.Step{{
			Name: "charge", State: core.Processing, Attempt: 1,
			First: protocol.First{Nth: 1, At: core.TimeOf(b.now)}, Claim: protocol.Claim{At: core.TimeOf(b.now)},
		}},
	}
	for _, end := range []core.State{core.Processed, core.Compensated, core.Error} {
		if strings.Contains(string(o.Order), `"end":"`+string(end)+`"`) {
			t.ProcessState = end
			t.End.At = core.TimeOf(b.now.Add(2 * time.Second))
			t.Steps[0].State = core.Processed
			if end != core.Processed {
				t.Reason.Code = "card-declined"
				t.Reason.Text = "the card was declined"
				t.Reason.Step = "charge"
			}
			if end == core.Error {
				t.Phase = core.Forward
				t.Steps[0].State = core.Failed
			}
		}
	}
	b.put(t)
	return api.SubmitResult{OrderID: o.OrderID, State: t.ProcessState}
}

func (b *backend) Command(_ context.Context, c message.Control) (protocol.Verdict, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tasks[c.OrderID]
	if t == nil && c.Kind() != message.Cancel {
		return protocol.Verdict{}, port.ErrNotFound
	}
	b.commands = append(b.commands, c)
	v := protocol.Verdict{
		ID: c.ID(), Command: string(c.Kind()), Accepted: b.refuse == "", Reason: b.refuse,
		At: core.TimeOf(b.now),
	}
	if number := core.CommandOf(c.Event).Number; t != nil && number >= 0 && number != t.Commands.Number {
		v.Accepted = false
		v.Reason = "the command number is another one now; look at the order again"
	}
	return v, nil
}

func (b *backend) Task(_ context.Context, id string) (*protocol.Task, *core.Definition, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.tasks[id]; t != nil {
		return t, definitionFor(t), nil
	}
	return nil, nil, port.ErrNotFound
}

// definitionFor returns an invented definition for a task.
func definitionFor(t *protocol.Task) *core.Definition {
	d := &core.Definition{
		Name: t.Workflow, HopBudget: 100,
		Agents: map[string]core.AgentDefinition{"payment": {}},
	}
	for _, s := range t.Steps {
		switch {
		case s.Name == "bought":
			d.Steps = append(d.Steps, core.StepDefinition{
				Name: s.Name, Timeout: core.Day,
				Answer: &core.Answer{Event: "customer-bought", OnTimeout: core.OnFailureStop},
			})
			continue
		case s.Children != nil:
			d.Steps = append(d.Steps, core.StepDefinition{Name: s.Name, Each: &core.Each{
				Workflow: core.BlockName(t.Workflow, s.Name), Concurrency: 1,
				Repeat: &core.Repeat{Until: "result.done", AtMost: 5},
			}})
			continue
		case s.Answers != nil:
			d.Steps = append(d.Steps, core.StepDefinition{
				Name: s.Name, Timeout: core.Day,
				Answer: &core.Answer{Values: []string{"yes", "no"}, OnTimeout: core.OnFailureStop},
			})
			continue
		}
		d.Steps = append(d.Steps, core.StepDefinition{
			Name: s.Name, Agent: "payment", Operation: s.Name,
			Grade:   core.Idempotent,
			Timeout: core.Second, OnFailure: core.OnFailureStop, Retry: core.Retry{MaxFailures: 1},
			Undo: &core.Undo{Operation: "undo", Timeout: core.Second, Retry: core.Retry{MaxFailures: 1}},
		})
	}
	d.Link()
	return d
}

func (b *backend) Order(_ context.Context, t *protocol.Task) (json.RawMessage, error) {
	if t.OrderID == "stopped" {
		return []byte(`{"zone": "z-1"}`), nil
	}
	return nil, port.ErrNotFound
}

func (b *backend) List(_ context.Context, q port.Query) (orders []view.Summary, next string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.listed != nil {
		b.listed()
	}
	skip := q.Cursor != ""
	for _, id := range slices.Backward(b.order) {
		t := b.tasks[id]
		if skip {
			skip = id != q.Cursor
			continue
		}
		if q.Damaged && b.damaged != id || q.State != "" && string(t.ProcessState) != q.State || q.Workflow != "" &&
			t.Workflow != q.Workflow ||
			!q.Before.IsZero() && !t.Created.Std().Before(q.Before) {
			continue
		}
		if len(orders) == q.Limit {
			return orders, orders[len(orders)-1].OrderID, nil
		}
		orders = append(orders, view.SummaryOf(t))
		if b.damaged == id {
			orders[len(orders)-1] = view.Listed(&port.Record{
				ID: id, Workflow: t.Workflow,
				State: string(t.ProcessState), Created: t.Created.Std(),
			})
		}
	}
	return orders, "", nil
}

// Target finds no definition.
func (b *backend) Target(context.Context, string, string) (core.Target, error) {
	return core.Target{Absent: "no such definition"}, nil
}

func (b *backend) Health(context.Context) api.Health { return api.Health{Ready: true} }
func (b *backend) Schedules(context.Context) ([]schedule.Record, error) {
	return []schedule.Record{
		{
			Workflow: "nightly", Cron: "30 2 * * *", Zone: "Europe/Berlin", Next: 1_800_000_000_000, Started: 3,
			Starts: []schedule.Start{{
				At: 1_799_900_000_000, OrderID: "nightly-20270114T204640Z",
				Decided: 1_799_900_030_000, Sent: true,
			}},
			Missed: 1, Skipped: []schedule.Skip{{
				At:  1_799_800_000_000,
				Why: "the order before, nightly-x, has not ended",
			}},
		},
		{Workflow: "weekly", Cron: "@weekly"},
	}, nil
}

func (b *backend) Workflows(context.Context) []view.WorkflowInfo {
	return []view.WorkflowInfo{
		{Name: "order", Hash: "0123456789abcdef0123456789abcdef"},
		{
			Name:     "provision",
			Problems: []string{"provision.yaml:3:1: steps is empty; fix: define at least one"},
		},
	}
}

// edge returns the real edge over the fake.
func (b *backend) edge() http.Handler {
	return api.New(api.Config{
		Backend: b, Version: "test",
		Clock: port.ClockFunc(func() time.Time { return b.now }),
	})
}

// serve starts the edge on a port.
func serve(t *testing.T, b *backend) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(b.edge())
	t.Cleanup(s.Close)
	return s
}

// inProcess returns a call whose server is the edge, without a network, so that the call can run in virtual time.
func inProcess(t *testing.T, b *backend) call {
	t.Helper()
	return call{via: stacktest.Transport(t, b.edge())}
}

var _ api.Backend = (*backend)(nil)
