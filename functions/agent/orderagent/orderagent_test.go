package orderagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/orderagent"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// intake answers each message with its error, and keeps the messages.
type intake struct {
	err  error
	sent []string
}

func (*intake) Name() string { return port.Intake }

func (q *intake) Send(_ context.Context, messages []port.Message) []error {
	for _, m := range messages {
		body, err := m.Bytes()
		if err != nil {
			return []error{err}
		}
		q.sent = append(q.sent, string(body))
	}
	return []error{q.err}
}

func call(op core.Operation, workflow, input string) worker.Call {
	return worker.Call{
		OrderID: "o:1", Step: "survey", Operation: op, Name: workflow, Key: "o:1/0/survey",
		Input: json.RawMessage(input),
	}
}

func run(q *intake, c worker.Call) (string, error) {
	out, err := orderagent.Operations(q)[worker.AnyOperation].Run(context.Background(), c)
	text, _ := json.Marshal(out)
	return string(text), err
}

func TestADoSubmitsOneOrder(t *testing.T) {
	var q intake
	out, err := run(&q, call(core.Do, "survey", `{"n":1}`))
	require.NoError(t, err)
	again, err := run(&q, call(core.Do, "survey", `{"n":1}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"orderId":"`+orderagent.ID("o:1/0/survey")+`"}`, out)
	require.Equal(t, out, again)
	submitted, err := message.DecodeSubmit([]byte(q.sent[0]))
	require.NoError(t, err)
	require.Equal(t, "survey", submitted.Workflow)
	require.JSONEq(t, `{"n":1}`, string(submitted.Order))
	require.Equal(t, q.sent[0], q.sent[1])
}

func TestAnUndoCancelsTheOrder(t *testing.T) {
	var q intake
	_, err := run(&q, call(core.UndoOp, "cancel", ""))
	require.NoError(t, err)
	_, control, err := message.IntakeOf(port.Delivery{Message: port.Message{Body: []byte(q.sent[0])}})
	require.NoError(t, err)
	require.Equal(t, orderagent.ID("o:1/0/survey"), control.OrderID)
	require.IsType(t, core.Command{Name: core.Cancel}, control.Event)
}

func TestWithoutAnInputTheOrderIsEmpty(t *testing.T) {
	var q intake
	_, err := run(&q, call(core.Do, "survey", ""))
	require.NoError(t, err)
	require.Contains(t, q.sent[0], `"order":{}`)
}

func TestWhatFailsForGood(t *testing.T) {
	for name, c := range map[string]struct {
		call worker.Call
		err  error
		code string
	}{
		"no workflow's name": {call(core.Do, "Not A Name", "{}"), nil, "invalid-field"},
		"null":               {call(core.Do, "survey", "null"), nil, "missing-field"},
		"refused":            {call(core.Do, "survey", "{}"), &core.Refusal{Code: "unknown-workflow"}, "unknown-workflow"},
		"too large":          {call(core.Do, "survey", "{}"), port.ErrTooLarge, "too-large"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := run(&intake{err: c.err}, c.call)
			var failure *worker.Failure
			require.ErrorAs(t, err, &failure)
			require.True(t, failure.Permanent)
			require.True(t, failure.NoEffect)
			require.Equal(t, c.code, failure.Code)
		})
	}
}

// A queue that cannot be reached is asked again.
func TestWhatCanSucceedLater(t *testing.T) {
	_, err := run(&intake{err: port.ErrUnavailable}, call(core.Do, "survey", "{}"))
	var failure *worker.Failure
	require.ErrorIs(t, err, port.ErrUnavailable)
	require.False(t, errors.As(err, &failure) && failure.Permanent)
}

// Keys that differ never give one ID, and every ID is one that a new order may have.
func TestIDs(t *testing.T) {
	seen := map[string]string{}
	for _, key := range []string{
		"a/0/s", "a.0/0/s", "a/0.0/s", "a~b/0/s", "a.b/0/s", "acme:1/12/step-1",
		strings.Repeat("x", 128) + "/0/s", strings.Repeat("x", 128) + "/0/t",
	} {
		id := orderagent.ID(key)
		require.Empty(t, seen[id], key)
		seen[id] = key
		o := message.SubmitOrder{Schema: message.Schema, OrderID: id, Workflow: "w", Order: json.RawMessage(`{}`)}
		require.NoError(t, o.Check(), key)
	}
}
