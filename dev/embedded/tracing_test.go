package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

var errSecret = errors.New("the card of Ada is blocked")

// tracer records the spans of handlings.
type tracer struct {
	mu    sync.Mutex
	spans []span
}

type span struct {
	*tracer
	port.Span
	name, err string
}

func (t *tracer) Begin(ctx context.Context, name string) (context.Context, port.Handling) {
	return ctx, &span{tracer: t, name: name}
}

func (s *span) Traceparent() string { return "00-11111111111111111111111111111111-2222222222222222-01" }

func (s *span) End(of port.Span, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Span = of
	if err != nil {
		s.err = err.Error()
	}
	s.tracer.spans = append(s.tracer.spans, *s)
}

// Every handling has a span that is linked with its order: of the Scheduler with the state that it led to, of
// an agent with the step, and the code of its failure. Services are handed the agent's.
func TestSpans(t *testing.T) {
	w := newFixture(t, "5s")
	traced := &tracer{}
	w.options.Tracer = traced
	var handed []string
	w.options.Operations = map[string]worker.Operations{
		"shop": {worker.AnyOperation: {Run: func(_ context.Context, c worker.Call) (any, error) {
			traced.mu.Lock()
			defer traced.mu.Unlock()
			handed = append(handed, c.Trace)
			if c.Step == "second" && c.Operation == core.Do {
				return nil, worker.Permanent(errSecret)
			}
			return nil, nil
		}}},
	}
	s := w.open()
	if r := s.Submit(t.Context(), []message.SubmitOrder{order(t, "o-1", "")})[0]; r.Err != nil {
		t.Fatal(r.Err)
	}
	for run := range 2 {
		task, err := s.Wait(t.Context(), "o-1", func(x *protocol.Task) bool {
			return x.Run == run && x.ProcessState == core.Compensated && x.End.ResendAt == 0
		})
		if err != nil {
			t.Fatal(err)
		}
		if run == 1 {
			break
		}
		if v, err := s.Command(t.Context(), message.Control{OrderID: "o-1", Event: core.Command{
			Name:   core.Resubmit,
			ID:     "r-1",
			Number: task.Commands.Number,
		}}); err != nil || !v.Accepted {
			t.Fatal(v, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var states, steps []string
	for _, x := range traced.spans {
		if x.OrderID != "o-1" || x.name == "scheduler" && x.Trace != core.Trace("o-1", x.Run) ||
			strings.Contains(x.err, errSecret.Error()) {
			t.Errorf("%+v", x)
		}
		switch x.name {
		case "scheduler":
			states = append(states, fmt.Sprintf("%d %s", x.Run, x.State))
		default:
			steps = append(steps, x.name+" "+x.Step+" "+x.err)
			if x.Attempt == 0 || !strings.HasPrefix(x.Trace, "00-") || x.Trace == core.Trace("o-1", 0) {
				t.Errorf("%+v", x)
			}
		}
	}
	for _, want := range []string{"0 Processing", "0 Compensating", "0 Compensated", "1 Compensated"} {
		if !slices.Contains(states, want) {
			t.Errorf("states %q lack %s", states, want)
		}
	}
	if len(steps) < 3 {
		t.Fatalf("steps %q", steps)
	}
	for _, field := range []struct {
		name      string
		got, want any
	}{
		{`steps[0] begins with "shop."`, strings.HasPrefix(steps[0], "shop."), true},
		{`steps[0] ends with " first "`, strings.HasSuffix(steps[0], " first "), true},
		{`steps[1] contains " second "`, strings.Contains(steps[1], " second "), true},
		{`steps[1] ends with " second "`, strings.HasSuffix(steps[1], " second "), false},
	} {
		if field.got != field.want {
			t.Errorf("%s is %v, want %v: steps %q", field.name, field.got, field.want, steps)
		}
	}
	for _, h := range handed {
		if h != (&span{}).Traceparent() {
			t.Errorf("a service is handed %q", h)
		}
	}
}
