package sqsproto_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/dev/sqsproto"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// leaving serves a queue whose receiver hangs up at the moment when messages are handed out to it.
type leaving struct {
	port.Queue
	hangUp func()
}

func (q leaving) Receive(ctx context.Context, n int, wait,
	visibility time.Duration,
) ([]port.Delivery, error) {
	deliveries, err := q.Queue.Receive(ctx, n, wait, visibility)
	q.hangUp()
	return deliveries, err
}

// served finds the one queue that it holds.
type served struct{ queue port.Queue }

func (s served) Queue(string) (port.Queue, error) { return s.queue, nil }
func (s served) QueueNames() []string             { return []string{s.queue.Name()} }

// Messages that were handed out to a receiver that has hung up are visible again at once, in their order.
func TestMessagesOfAReceiverThatHungUp(t *testing.T) {
	queues, err := memory.NewQueues(port.ClockFunc(time.Now), []memory.QueueConfig{{Name: "replies"}})
	require.NoError(t, err)
	q, err := queues.Queue("replies")
	require.NoError(t, err)
	for _, err := range q.Send(t.Context(), []port.Message{{Body: []byte("a")}, {Body: []byte("b")}}) {
		require.NoError(t, err)
	}
	ctx, hangUp := context.WithCancel(t.Context())
	body := `{"QueueUrl":"http://x/000000000000/replies","MaxNumberOfMessages":10,"WaitTimeSeconds":20,"VisibilityTimeout":600}`
	r := httptest.NewRequestWithContext(ctx, "POST", "/", strings.NewReader(body))
	r.Header.Set("X-Amz-Target", "AmazonSQS.ReceiveMessage")
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	sqsproto.New(sqsproto.Config{Queues: served{leaving{q, hangUp}}}).ServeHTTP(httptest.NewRecorder(), r)
	again, err := q.Receive(t.Context(), 10, 0, time.Minute)
	require.NoError(t, err)
	require.Len(t, again, 2)
	require.Equal(t, 2, again[0].Received)
	require.Equal(t, 2, again[1].Received)
}

// A receipt handle is accepted for the queue that it was received from, and for no other.
func TestReceiptHandlesBelongToTheirQueue(t *testing.T) {
	r := newRig(t)
	r.send("replies", "a")
	r.send("requests-payment", "b")
	got := r.receive(&sqs.ReceiveMessageInput{QueueUrl: r.queueURL("replies")})
	require.Len(t, got, 1)
	handle := got[0].ReceiptHandle
	other := r.queueURL("requests-payment")
	r.receive(&sqs.ReceiveMessageInput{QueueUrl: other}) // the first message of that queue is in flight too
	_, err := r.sdk.DeleteMessage(r.ctx, &sqs.DeleteMessageInput{QueueUrl: other, ReceiptHandle: handle})
	r.wantCode(err, "ReceiptHandleIsInvalid")
	_, err = r.sdk.ChangeMessageVisibility(r.ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: other, ReceiptHandle: handle, VisibilityTimeout: 1,
	})
	r.wantCode(err, "ReceiptHandleIsInvalid")
	_, err = r.sdk.DeleteMessage(r.ctx, &sqs.DeleteMessageInput{
		QueueUrl:      r.queueURL("replies"),
		ReceiptHandle: handle,
	})
	require.NoError(t, err)
}
