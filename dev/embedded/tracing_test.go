package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

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
	require.NoError(t, s.Submit(t.Context(), []message.SubmitOrder{order(t, "o-1", "")})[0].Err)
	for run := range 2 {
		task, err := s.Wait(t.Context(), "o-1", func(x *protocol.Task) bool {
			return x.Run == run && x.ProcessState == core.Compensated && x.End.ResendAt == 0
		})
		require.NoError(t, err)
		if run == 1 {
			break
		}
		accepted(t, s, "o-1", core.Command{
			Name:   core.Resubmit,
			ID:     "r-1",
			Number: task.Commands.Number,
		})
	}
	require.NoError(t, s.Close())
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
			require.NotZero(t, x.Attempt, "%+v", x)
			require.True(t, strings.HasPrefix(x.Trace, "00-"), "%+v", x)
			require.NotEqual(t, core.Trace("o-1", 0), x.Trace, "%+v", x)
		}
	}
	for _, want := range []string{"0 Processing", "0 Compensating", "0 Compensated", "1 Compensated"} {
		require.Contains(t, states, want)
	}
	require.GreaterOrEqual(t, len(steps), 3)
	require.Regexp(t, `^shop\..* first $`, steps[0])
	require.Regexp(t, ` second .`, steps[1])
	for _, h := range handed {
		require.Equal(t, (&span{}).Traceparent(), h)
	}
}
