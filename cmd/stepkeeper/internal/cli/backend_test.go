package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
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
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// backend serves the real HTTP edge and the real client. Only the engine is a fake. An order ends at once, in
// the state of the field "end" of its content. Without this field it never ends.
type backend struct {
	*apitest.Backend
	now    time.Time
	refuse string // reason that every command is refused with
	mu     sync.Mutex
	listed func() // called at each look at the list
}

func newBackend(now time.Time) *backend {
	b := &backend{Backend: apitest.New(), now: now}
	b.Verdict = func(c message.Control) (protocol.Verdict, error) {
		return protocol.Verdict{
			ID: c.ID(), Command: string(c.Kind()), Accepted: b.refuse == "", Reason: b.refuse, At: core.TimeOf(now),
		}, nil
	}
	return b
}

func (b *backend) Submit(ctx context.Context, orders []message.SubmitOrder) []api.SubmitResult {
	results := b.Backend.Submit(ctx, orders)
	for i, o := range orders {
		var content struct{ End core.State }
		_ = json.Unmarshal(o.Order, &content) // any other content has no end
		if content.End != "" && results[i].Err == nil && !results[i].Known {
			b.Change(o.OrderID, func(t *protocol.Task) { ended(t, content.End) })
			results[i].State = content.End
		}
	}
	return results
}

func ended(t *protocol.Task, state core.State) {
	t.ProcessState = state
	t.End.At = t.Created.Add(2 * core.Second)
	t.Steps[0].State = core.Processed
	if state != core.Processed {
		t.Reason = protocol.Reason{Code: "card-declined", Text: "the card was declined", Step: "charge"}
	}
	if state == core.Error {
		t.Phase = core.Forward
		t.Steps[0].State = core.Failed
	}
}

func (b *backend) Command(ctx context.Context, c message.Control) (protocol.Verdict, error) {
	t, _, err := b.Task(ctx, c.OrderID)
	if err != nil && c.Kind() != message.Cancel {
		return protocol.Verdict{}, err
	}
	v, err := b.Backend.Command(ctx, c)
	if number := core.CommandOf(c.Event).Number; t != nil && number >= 0 && number != t.Commands.Number {
		v.Accepted = false
		v.Reason = "the command number is another one now; look at the order again"
	}
	return v, err
}

func (b *backend) Task(ctx context.Context, id string) (*protocol.Task, *core.Definition, error) {
	t, _, err := b.Backend.Task(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	return t, definitionFor(t), nil
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

func (b *backend) Order(ctx context.Context, t *protocol.Task) (json.RawMessage, error) {
	if t.OrderID == "stopped" {
		return []byte(`{"zone": "z-1"}`), nil
	}
	return b.Backend.Order(ctx, t)
}

func (b *backend) List(ctx context.Context, q port.Query) (orders []view.Summary, next string, err error) {
	b.mu.Lock()
	listed := b.listed
	b.mu.Unlock()
	if listed != nil {
		listed()
	}
	return b.Backend.List(ctx, q)
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
