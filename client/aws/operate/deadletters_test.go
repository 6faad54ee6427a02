package operate_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/dev/sqsproto"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// withQueues puts queues in memory behind the addresses in the outputs. The keys are the names of the
// outputs.
func withQueues(t *testing.T, c *cloud, names ...string) *memory.Queues {
	t.Helper()
	configs := make([]memory.QueueConfig, len(names))
	for i, name := range names {
		configs[i] = memory.QueueConfig{Name: name}
	}
	queues, err := memory.NewQueues(port.ClockFunc(time.Now), configs)
	require.NoError(t, err)
	c.sqs = sqsproto.New(sqsproto.Config{Queues: queues})
	return queues
}

func put(t *testing.T, queues *memory.Queues, name string, bodies ...string) {
	t.Helper()
	q, err := queues.Queue(name)
	require.NoError(t, err)
	for _, body := range bodies {
		require.NoError(t, q.Send(t.Context(), []port.Message{{Body: []byte(body)}})[0])
	}
}

// held returns the bodies of a queue's messages.
func held(t *testing.T, queues *memory.Queues, name string) (bodies []string) {
	t.Helper()
	q, err := queues.Queue(name)
	require.NoError(t, err)
	all, err := q.Receive(t.Context(), 100, 0, 0)
	for i := range all {
		body, failure := all[i].Bytes()
		bodies = append(bodies, string(body))
		err = errors.Join(err, failure)
	}
	require.NoError(t, err)
	return bodies
}

// reported collects the result that a handling reports for each message, by order ID.
func reported(into map[string]client.Handled) func(client.Handled) error {
	return func(x client.Handled) error {
		into[x.OrderID] = x
		return nil
	}
}

// On a stack, a message that its queue would refuse stays, by what is deployed and may be read. The others go back, with
// their tenant's group if the queues are fair.
func TestRedriveOnAStack(t *testing.T) {
	c, open := stackOf(t)
	delete(c.outputs, "EngineWorkflowOrder")
	c.outputs["EngineWorkflowCharging"] = "hash"
	queues := withQueues(t, c, "EngineRequestsPaymentDeadUrl", "EngineRequestsPaymentUrl",
		"EngineIntakeDeadUrl", "EngineIntakeUrl", "EngineQuarantineUrl", "EngineMissedSweepsUrl")
	put(t, queues, "EngineRequestsPaymentDeadUrl", `{"schema":1,"task":"acme:2","step":"charge","operation":"do"}`)
	submission := `{"schema":%d,"orderId":%q,"workflow":%q,"order":1}`
	put(t, queues, "EngineIntakeDeadUrl", fmt.Sprintf(submission, 1, "known", "charging"),
		fmt.Sprintf(submission, 9, "newer", "charging"), fmt.Sprintf(submission, 1, "unknown", "order"))
	quarantined, err := message.Quarantine(port.Intake, port.Delivery{
		Message: port.Message{Body: []byte(fmt.Sprintf(submission, 9, "later", "charging"))},
	}, "too new", 1).Encode()
	require.NoError(t, err)
	put(t, queues, "EngineQuarantineUrl", string(quarantined))
	put(t, queues, "EngineMissedSweepsUrl", `{"shard":1}`)
	s := open()
	for queue, want := range map[string]map[string]client.HandledResult{
		port.Intake:     {"known": client.Redriven, "newer": client.Redriven, "unknown": client.NotTaken},
		port.Quarantine: {"later": client.NotTaken}, client.MissedSweeps: {"": client.NotTaken},
	} {
		got := map[string]client.Handled{}
		err := s.Redrive(t.Context(), client.Handling{
			Queue: queue, All: true, By: "ada", Reason: "why", Rate: 1000, Record: reported(got),
		})
		require.NoError(t, err, queue)
		require.Len(t, got, len(want), queue)
		for id, result := range want {
			require.Equal(t, result, got[id].Result, queue)
		}
	}
	require.Len(t, held(t, queues, "EngineIntakeUrl"), 2)
	got := map[string]client.Handled{}
	var sent string
	inner := c.sqs
	c.sqs = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "SendMessageBatch") {
			sent = string(body)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		inner.ServeHTTP(w, r)
	})
	put(t, queues, "EngineIntakeDeadUrl", fmt.Sprintf(submission, 1, "acme:3", "charging"))
	err = s.Redrive(t.Context(), client.Handling{
		Queue: port.Intake, All: true, By: "ada", Reason: "why", Rate: 1000, Record: reported(got),
	})
	require.NoError(t, err)
	require.Contains(t, sent, "acme:3")
	require.NotContains(t, sent, "MessageGroupId")
	c.outputs["EngineFairQueues"] = "true"
	require.NoError(t, open().Redrive(t.Context(), client.Handling{
		Queue: "requests-payment", All: true, By: "ada", Reason: "why", Rate: 1000, Record: reported(got),
	}))
	require.Contains(t, sent, `"MessageGroupId":"acme"`, "no tenant is given")
}
