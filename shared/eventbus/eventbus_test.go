package eventbus_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	awsarn "github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/eventbus"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

const arn = "arn:aws:events:eu-central-1:111122223333:event-bus/shop"

// bus accepts every event, except those of orders whose ID begins with a code of an error.
type bus struct {
	calls [][]eventbus.Entry
	fails string // error code of each call; "" if it succeeds
	short bool   // answers for one event less
}

type result struct{ EventId, ErrorCode, ErrorMessage string }

// open returns the bus behind a server.
func (b *bus) open(t *testing.T) *eventbus.Bus {
	t.Helper()
	address, err := awsarn.Parse(arn)
	require.NoError(t, err)
	return eventbus.New(awsstub.Config(t, func(call awsstub.Call) (int, string) {
		require.Equal(t, "events:PutEvents", call.Action)
		if b.fails != "" {
			return http.StatusBadRequest, `{"__type":"` + b.fails + `","message":"why"}`
		}
		var in struct{ Entries []eventbus.Entry }
		require.NoError(t, json.Unmarshal([]byte(call.Body), &in))
		b.calls = append(b.calls, in.Entries)
		var results []result
		for _, e := range in.Entries {
			var status core.Status
			require.NoError(t, json.Unmarshal([]byte(e.Detail), &status))
			code, _, refused := strings.Cut(status.OrderID, ":")
			if !refused {
				results = append(results, result{EventId: "e"})
				continue
			}
			results = append(results, result{ErrorCode: code, ErrorMessage: "why"})
		}
		if b.short {
			results = results[1:]
		}
		text, err := json.Marshal(map[string]any{"Entries": results})
		require.NoError(t, err)
		return http.StatusOK, string(text)
	}), "events", address)
}

func status(id string, bytes int) port.Message {
	return port.Message{Value: &message.Status{Schema: message.Schema, Status: core.Status{
		Kind: core.StatusCompleted, OrderID: id, Seq: 3, Workflow: "order",
		Output: json.RawMessage(`"` + strings.Repeat("x", bytes) + `"`),
	}}}
}

// One event is one status: its kind is the type, and the detail is the message that a queue would get.
func TestEvent(t *testing.T) {
	b := &bus{}
	sent := status("o-1", 3)
	require.NoError(t, b.open(t).Send(t.Context(), []port.Message{sent})[0])
	want, err := sent.Value.Encode()
	require.NoError(t, err)
	if e := b.calls[0][0]; e.EventBusName != arn || e.Source != "stepkeeper" ||
		e.DetailType != "completed" || e.Detail != string(want) || !strings.Contains(e.Detail, `"seq":3`) {
		t.Errorf("%s, %s, %s: %s", e.EventBusName, e.Source, e.DetailType, e.Detail)
	}
}

// A bus is called in its own Region, wherever the functions run.
func TestRegionOfTheBus(t *testing.T) {
	address, err := awsarn.Parse(arn)
	require.NoError(t, err)
	var called []string
	c := awsstub.ConfigAt(t, "")
	c.Region = "eu-west-1"
	c.HTTPClient = &http.Client{Transport: awsstub.Answers(func(c awsstub.Call) (int, string) {
		called = append(called, c.Host)
		return http.StatusOK, `{"Entries":[{"EventId":"e"}]}`
	})}
	b := eventbus.New(c, "events", address)
	require.NoError(t, b.Send(t.Context(), []port.Message{status("o-1", 1)})[0])
	require.Equal(t, []string{"events.eu-central-1.amazonaws.com"}, called)
}

// Entries that the bus refuses are named, so that their orders send them again; the others count as sent.
// Broken by: FailedEntryCount is not looked at.
func TestRefusedEntries(t *testing.T) {
	b := &bus{}
	errs := b.open(t).Send(t.Context(), []port.Message{
		status("o-1", 1),
		status("ThrottlingException:2", 1), status("o-3", 1), status("o-4", 70<<10),
		{Body: []byte("{}")},
	})
	refused := (*eventbus.Refused)(nil)
	require.NoError(t, errs[0])
	require.NoError(t, errs[2])
	require.ErrorIs(t, errs[1], port.ErrUnavailable)
	require.ErrorAs(t, errs[1], &refused)
	require.Equal(t, "ThrottlingException", refused.Code)
	require.ErrorIs(t, errs[3], port.ErrTooLarge)
	require.Error(t, errs[4])
	require.Len(t, b.calls, 1)
	require.Len(t, b.calls[0], 3)
	for _, broken := range []*bus{{fails: "InternalException"}, {short: true}} {
		errs := broken.open(t).Send(t.Context(),
			[]port.Message{status("o-1", 1), status("o-2", 1)})
		for _, err := range errs {
			require.ErrorIs(t, err, port.ErrUnavailable)
			require.ErrorContains(t, err, `bus "events"`)
		}
	}
}

// The code of a refused entry and of a failed call says whether the bus exists, and whether it may be used.
func TestCodesOfTheBus(t *testing.T) {
	for code, want := range map[string]error{
		"ResourceNotFoundException":       port.ErrNotFound,
		"AccessDeniedException":           port.ErrForbidden,
		"NotAuthorizedForSourceException": port.ErrForbidden,
		"UnrecognizedClientException":     port.ErrForbidden,
		"ThrottlingException":             port.ErrUnavailable,
		"InternalFailure":                 port.ErrUnavailable,
	} {
		for name, b := range map[string]*bus{"entry": {}, "call": {fails: code}} {
			t.Run(name+" "+code, func(t *testing.T) {
				err := b.open(t).Send(t.Context(), []port.Message{status(code+":1", 1)})[0]
				for _, sentinel := range []error{port.ErrNotFound, port.ErrForbidden, port.ErrUnavailable} {
					require.Equal(t, errors.Is(want, sentinel), errors.Is(err, sentinel), "%+v", err)
				}
				require.ErrorContains(t, err, code)
			})
		}
	}
}

// A call has at most ten entries of less than 256 KiB together.
func TestCallsStayWithinTheLimits(t *testing.T) {
	for _, c := range []struct{ messages, bytes, calls int }{
		{10, 1, 1},
		{11, 1, 2},
		{4, 63 << 10, 1},
		{5, 63 << 10, 2},
		{0, 1, 0},
	} {
		b := &bus{}
		var messages []port.Message
		for range c.messages {
			messages = append(messages, status("o-1", c.bytes))
		}
		for _, err := range b.open(t).Send(t.Context(), messages) {
			require.NoError(t, err)
		}
		for _, entries := range b.calls {
			size := 0
			for _, e := range entries {
				size += len(e.Detail) + len(e.Source) + len(e.DetailType)
			}
			require.Less(t, size, 256<<10)
			require.LessOrEqual(t, len(entries), 10)
		}
		require.Len(t, b.calls, c.calls, "%+v", c.messages)
	}
}
