package aws_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// choosy is an intake queue that refuses some entries of a batch, and throttles one of them once.
type choosy struct {
	port.Queue
	busy  bool
	taken []string
}

// Send refuses entries that contain "refuse-me", as the sender's fault.
func (q *choosy) Send(_ context.Context, messages []port.Message) []error {
	errs := make([]error, len(messages))
	for i, m := range messages {
		body := string(m.Body)
		switch {
		case strings.Contains(body, "refuse-me"):
			errs[i] = fmt.Errorf("queue: %w", &smithy.GenericAPIError{
				Code:    "InvalidMessageContents",
				Message: "no", Fault: smithy.FaultClient,
			})
		case strings.Contains(body, "throttle-me") && !q.busy:
			q.busy = true
			errs[i] = fmt.Errorf("queue: %w: %w", port.ErrUnavailable,
				&smithy.GenericAPIError{Code: "RequestThrottled", Fault: smithy.FaultServer})
		default:
			q.taken = append(q.taken, body)
		}
	}
	return errs
}

// Each answer of a batch belongs to its own order, also after lines that never reach the queue.
func TestAnswersBehindABadLine(t *testing.T) {
	q := &choosy{}
	c := aws.Over(aws.Parts{Queues: queues{q}})
	lines := []string{
		"nonsense", submission("a"), `{"schema":1}`, submission("refuse-me"), submission("b"),
		"[]", submission("throttle-me"), submission("c"),
		strings.Replace(submission("l"), "{}", `"`+strings.Repeat("x", port.MaxOrder)+`"`, 1),
	}
	want := []string{
		"1:  not-json", "2: a accepted", "3:  missing-field",
		"4: refuse-me InvalidMessageContents", "5: b accepted", "6:  not-json", "7: throttle-me accepted",
		"8: c accepted", "9: l too-large",
	}
	var got []string
	err := c.SubmitMany(t.Context(), strings.NewReader(strings.Join(lines, "\n")), func(r client.Result) {
		what := "?"
		var refused *client.Error
		switch {
		case errors.As(r.Err, &refused) && !r.Accepted:
			what = refused.Code
		case r.Err == nil && r.Accepted && r.Queued:
			what = "accepted"
		}
		got = append(got, fmt.Sprintf("%d: %s %s", r.Line, r.OrderID, what))
	})
	a := strings.Join(got, "\n")
	b := strings.Join(want, "\n")
	require.NoError(t, err)
	require.Equal(t, b, a)
	require.Len(t, q.taken, 4)
	_, err = c.Submit(t.Context(), client.Order{ID: "../x", Workflow: "order", Content: 1})
	require.ErrorIs(t, err, client.ErrInvalid, "an ID that is a path")
}

func submission(id string) string {
	return fmt.Sprintf(`{"schema":1,"orderId":%q,"workflow":"order","order":{}}`, id)
}

// queues returns the same queue for every name.
type queues struct{ one port.Queue }

func (q queues) Queue(string) (port.Queue, error) { return q.one, nil }
