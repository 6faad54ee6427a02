package sqsproto_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/dev/sqsproto"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// rig is the official SDK, with its checks of checksums, in front of queues in memory.
type rig struct {
	*testing.T
	ctx    context.Context
	sdk    *sqs.Client
	queues *memory.Queues
	sink   *sink
	url    string
	ahead  atomic.Int64 // ns between the system's clock and the server's
}

// sink is a queue whose messages are handled at once.
type sink struct {
	mu     sync.Mutex
	bodies []string
	errs   []error // for the next messages
}

func (s *sink) take(_ context.Context, bodies [][]byte) []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	errs := make([]error, len(bodies))
	for i, b := range bodies {
		if len(s.errs) > 0 {
			errs[i] = s.errs[0]
			s.errs = s.errs[1:]
		}
		if errs[i] == nil {
			s.bodies = append(s.bodies, string(b))
		}
	}
	return errs
}

type named struct {
	*memory.Queues
	names []string
}

func (n named) QueueNames() []string { return n.names }

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, ctx: t.Context(), sink: &sink{}}
	clock := port.ClockFunc(func() time.Time { return time.Now().Add(time.Duration(r.ahead.Load())) })
	queues, err := memory.NewQueues(clock,
		[]memory.QueueConfig{{Name: "replies"}, {Name: "requests-payment"}})
	require.NoError(t, err)
	server := httptest.NewServer(sqsproto.New(sqsproto.Config{
		Queues: named{queues, []string{"replies", "requests-payment"}},
		Sinks:  map[string]sqsproto.Sink{"intake": r.sink.take},
		Clock:  clock,
	}))
	t.Cleanup(server.Close)
	r.queues = queues
	r.url = server.URL
	r.sdk = sqs.New(sqs.Options{
		Region: "eu-central-1", BaseEndpoint: &server.URL, HTTPClient: server.Client(),
		Credentials: credentials.NewStaticCredentialsProvider("any", "thing", ""),
		Retryer:     aws.NopRetryer{},
	})
	return r
}

func (r *rig) queueURL(name string) *string {
	r.Helper()
	out, err := r.sdk.GetQueueUrl(r.ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	require.NoError(r, err)
	return out.QueueUrl
}

func (r *rig) send(queue, body string) *sqs.SendMessageOutput {
	r.Helper()
	out, err := r.sdk.SendMessage(r.ctx,
		&sqs.SendMessageInput{QueueUrl: r.queueURL(queue), MessageBody: &body})
	require.NoError(r, err)
	return out
}

func (r *rig) receive(in *sqs.ReceiveMessageInput) []types.Message {
	r.Helper()
	if in.QueueUrl == nil {
		in.QueueUrl = r.queueURL("replies")
	}
	out, err := r.sdk.ReceiveMessage(r.ctx, in)
	require.NoError(r, err)
	return out.Messages
}

// wantCode checks the code that the SDK shows to its users.
func (r *rig) wantCode(err error, code string) {
	r.Helper()
	var api smithy.APIError
	require.ErrorAs(r, err, &api, code)
	require.Equal(r, code, api.ErrorCode())
}

func TestAttributes(t *testing.T) {
	r := newRig(t)
	url := *r.queueURL("replies")
	attributes := map[string]types.MessageAttributeValue{
		"traceparent": {DataType: aws.String("String"), StringValue: aws.String("00-ä")},
		"n":           {DataType: aws.String("Number.int"), StringValue: aws.String("42")},
		"b":           {DataType: aws.String("Binary"), BinaryValue: []byte{0, 1, 255}},
		"app.one":     {DataType: aws.String("String.json"), StringValue: aws.String("{}")},
	}
	sent := time.Now().Add(-time.Second)
	trace := map[string]types.MessageSystemAttributeValue{"AWSTraceHeader": {
		DataType:    aws.String("String"),
		StringValue: aws.String("Root=1-2-3"),
	}}
	_, err := r.sdk.SendMessage(r.ctx, &sqs.SendMessageInput{
		QueueUrl: &url, MessageBody: aws.String("x"),
		MessageAttributes: attributes, MessageSystemAttributes: trace,
	})
	require.NoError(t, err)
	for _, tt := range []struct {
		ask  []string
		want []string
	}{
		{nil, nil},
		{[]string{"All"}, []string{"app.one", "b", "n", "traceparent"}},
		{[]string{".*"}, []string{"app.one", "b", "n", "traceparent"}},
		{[]string{"app.*", "n", "none"}, []string{"app.one", "n"}},
	} {
		got := r.receive(&sqs.ReceiveMessageInput{
			MessageAttributeNames: tt.ask, VisibilityTimeout: 1,
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
		})
		require.Len(t, got, 1)
		var names []string
		for name, v := range got[0].MessageAttributes {
			names = append(names, name)
			w := attributes[name]
			require.Equal(t, *w.DataType, *v.DataType, name)
			require.Equal(t, aws.ToString(w.StringValue), aws.ToString(v.StringValue), name)
			require.Equal(t, string(w.BinaryValue), string(v.BinaryValue), name)
		}
		slices.Sort(names)
		require.Equal(t, tt.want, names, "%+v", tt.ask)
		require.Equal(t, "Root=1-2-3", got[0].Attributes["AWSTraceHeader"])
		for _, name := range []string{"SentTimestamp", "ApproximateFirstReceiveTimestamp"} {
			var ms int64
			_, err := fmt.Sscan(got[0].Attributes[name], &ms)
			require.NoError(t, err, name)
			require.GreaterOrEqual(t, ms, sent.UnixMilli(), name)
			require.LessOrEqual(t, ms, time.Now().UnixMilli(), name)
		}
		r.makeVisible(url, got[0].ReceiptHandle)
	}
	got := r.receive(&sqs.ReceiveMessageInput{MessageSystemAttributeNames: []types.MessageSystemAttributeName{
		"ApproximateReceiveCount",
	}})
	a := got[0].Attributes
	require.Len(t, a, 1)
	require.Equal(t, "5", a["ApproximateReceiveCount"])
}

// A message says when it was first received, whenever it is received again.
func TestFirstReceived(t *testing.T) {
	r := newRig(t)
	r.send("replies", "x")
	var first string
	for i := range 3 {
		r.ahead.Add(int64(time.Hour))
		due := time.Now().Add(time.Hour)
		got := r.receive(&sqs.ReceiveMessageInput{
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{
				"ApproximateFirstReceiveTimestamp",
			},
		})
		require.Len(t, got, 1)
		at := got[0].Attributes["ApproximateFirstReceiveTimestamp"]
		if i == 0 {
			first = at
			var ms int64
			_, err := fmt.Sscan(at, &ms)
			require.NoError(t, err)
			require.GreaterOrEqual(t, ms, due.UnixMilli())
			require.LessOrEqual(t, ms, due.Add(time.Minute).UnixMilli())
		}
		require.Equal(t, first, at)
		r.makeVisible(*r.queueURL("replies"), got[0].ReceiptHandle)
	}
}

func (r *rig) makeVisible(url string, receipt *string) {
	r.Helper()
	_, err := r.sdk.ChangeMessageVisibility(r.ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl:      &url,
		ReceiptHandle: receipt, VisibilityTimeout: 0,
	})
	require.NoError(r, err)
}

func TestBatches(t *testing.T) {
	r := newRig(t)
	url := *r.queueURL("replies")
	entry := func(id, body string) types.SendMessageBatchRequestEntry {
		return types.SendMessageBatchRequestEntry{Id: &id, MessageBody: &body}
	}
	send := func(entries ...types.SendMessageBatchRequestEntry) (*sqs.SendMessageBatchOutput, error) {
		return r.sdk.SendMessageBatch(r.ctx, &sqs.SendMessageBatchInput{
			QueueUrl: &url,
			Entries:  append([]types.SendMessageBatchRequestEntry{}, entries...),
		})
	}
	out, err := send(entry("a", "1"), entry("b", "\x01"), entry("c", "\ufffe"),
		entry("d", "ä"))
	require.NoError(t, err)
	require.Len(t, out.Successful, 2)
	require.Equal(t, "a", *out.Successful[0].Id)
	require.Equal(t, "d", *out.Successful[1].Id)
	require.Len(t, out.Failed, 2)
	require.Equal(t, "InvalidMessageContents", *out.Failed[0].Code)
	require.True(t, out.Failed[0].SenderFault, "failed: %+v", out.Failed)
	half := strings.Repeat("x", 512<<10)
	out, err = send(entry("a", half), entry("b", half))
	require.NoError(t, err)
	require.Len(t, out.Successful, 2)
	_, err = send(entry("a", half), entry("b", half+"x"))
	r.wantCode(err, "AWS.SimpleQueueService.BatchRequestTooLong")
	got := r.receive(&sqs.ReceiveMessageInput{MaxNumberOfMessages: 10})
	got = slices.DeleteFunc(got, func(m types.Message) bool { return *m.Body == half })
	require.Len(t, got, 2)
	extended, err := r.sdk.ChangeMessageVisibilityBatch(r.ctx,
		&sqs.ChangeMessageVisibilityBatchInput{
			QueueUrl: &url,
			Entries: []types.ChangeMessageVisibilityBatchRequestEntry{
				{Id: aws.String("1"), ReceiptHandle: got[0].ReceiptHandle, VisibilityTimeout: 100},
				{Id: aws.String("2"), ReceiptHandle: aws.String("made-up"), VisibilityTimeout: 100},
			},
		})
	require.NoError(t, err)
	require.Len(t, extended.Successful, 1)
	require.Len(t, extended.Failed, 1)
	require.Equal(t, "ReceiptHandleIsInvalid", *extended.Failed[0].Code)
	deleted, err := r.sdk.DeleteMessageBatch(r.ctx,
		&sqs.DeleteMessageBatchInput{QueueUrl: &url, Entries: []types.DeleteMessageBatchRequestEntry{
			{Id: aws.String("1"), ReceiptHandle: got[0].ReceiptHandle},
			{Id: aws.String("2"), ReceiptHandle: aws.String("made-up")},
			{Id: aws.String("3"), ReceiptHandle: got[1].ReceiptHandle},
		}})
	require.NoError(t, err)
	require.Len(t, deleted.Successful, 2)
	require.Len(t, deleted.Failed, 1)
	require.Equal(t, "2", *deleted.Failed[0].Id)
}

func TestQueuesAndTheirAttributes(t *testing.T) {
	r := newRig(t)
	out, err := r.sdk.ListQueues(r.ctx, &sqs.ListQueuesInput{})
	id, there := awsmiddleware.GetRequestIDMetadata(out.ResultMetadata)
	require.True(t, there, "the request ID is %q", id)
	require.Len(t, id, 36)
	want := []string{
		r.url + "/000000000000/intake", r.url + "/000000000000/replies",
		r.url + "/000000000000/requests-payment",
	}
	require.NoError(t, err)
	require.Equal(t, want, out.QueueUrls)
	var paged []string
	_, err = r.sdk.ListQueues(r.ctx, &sqs.ListQueuesInput{NextToken: aws.String("!")})
	r.wantCode(err, "InvalidParameterValue")
	for p := sqs.NewListQueuesPaginator(r.sdk, &sqs.ListQueuesInput{
		MaxResults:      aws.Int32(1),
		QueueNamePrefix: aws.String("re"),
	}); p.HasMorePages(); {
		page, err := p.NextPage(r.ctx)
		require.NoError(t, err)
		paged = append(paged, page.QueueUrls...)
	}
	require.Equal(t, want[1:], paged, "pages")
	r.send("replies", "1")
	r.send("replies", "2")
	r.receive(&sqs.ReceiveMessageInput{})
	_, err = r.sdk.SendMessage(r.ctx, &sqs.SendMessageInput{
		QueueUrl:    &want[1],
		MessageBody: aws.String("3"), DelaySeconds: 900,
	})
	require.NoError(t, err)
	for url, wanted := range map[string]map[string]string{
		want[0]: {
			"QueueArn": "arn:aws:sqs:local:000000000000:intake", "ApproximateNumberOfMessages": "0",
			"ApproximateNumberOfMessagesNotVisible": "0", "ApproximateNumberOfMessagesDelayed": "0",
			"MaximumMessageSize": "1048576", "VisibilityTimeout": "30", "DelaySeconds": "0",
			"ReceiveMessageWaitTimeSeconds": "0",
		},
		want[1]: {
			"QueueArn": "arn:aws:sqs:local:000000000000:replies", "ApproximateNumberOfMessages": "1",
			"ApproximateNumberOfMessagesNotVisible": "1", "ApproximateNumberOfMessagesDelayed": "1",
			"MaximumMessageSize": "1048576", "VisibilityTimeout": "30", "DelaySeconds": "0",
			"ReceiveMessageWaitTimeSeconds": "0",
		},
	} {
		out, err := r.sdk.GetQueueAttributes(r.ctx,
			&sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{"All"}})
		require.NoError(t, err)
		require.Equal(t, wanted, out.Attributes)
	}
	kms, err := r.sdk.GetQueueAttributes(r.ctx, &sqs.GetQueueAttributesInput{
		QueueUrl:       &want[1],
		AttributeNames: []types.QueueAttributeName{"KmsMasterKeyId", "FifoQueue", "DelaySeconds"},
	})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"DelaySeconds": "0"}, kms.Attributes, "an attribute that the queue lacks")
	_, err = r.sdk.GetQueueAttributes(r.ctx, &sqs.GetQueueAttributesInput{
		QueueUrl:       &want[1],
		AttributeNames: []types.QueueAttributeName{"Colour"},
	})
	r.wantCode(err, "InvalidAttributeName")
	_, err = r.sdk.PurgeQueue(r.ctx, &sqs.PurgeQueueInput{QueueUrl: &want[1]})
	r.wantCode(err, "AWS.SimpleQueueService.UnsupportedOperation")
}

func TestSinkIsHandledAtOnce(t *testing.T) {
	r := newRig(t)
	url := *r.queueURL("intake")
	r.send("intake", "order 1")
	r.sink.errs = []error{
		nil, fmt.Errorf("disk full: %w", port.ErrUnavailable),
		throttled{},
		errors.New("not foreseen"),
	}
	var entries []types.SendMessageBatchRequestEntry
	for _, i := range []int{3, 0, 1, 2, 4} { // the one that is refused at once stands before the others
		entries = append(entries, types.SendMessageBatchRequestEntry{
			Id:          aws.String(fmt.Sprint(i)),
			MessageBody: aws.String(fmt.Sprint("order ", i+2)),
		})
	}
	entries[0].DelaySeconds = 5
	out, err := r.sdk.SendMessageBatch(r.ctx, &sqs.SendMessageBatchInput{QueueUrl: &url, Entries: entries})
	require.NoError(t, err)
	require.Len(t, out.Successful, 1)
	require.Len(t, out.Failed, 4)
	for _, f := range out.Failed {
		want := map[string]string{
			"1": "ServiceUnavailable", "2": "RequestThrottled",
			"3": "InvalidParameterValue", "4": "InternalError",
		}[*f.Id]
		require.Equal(t, want, *f.Code, *f.Id)
		require.Equal(t, *f.Id == "3", f.SenderFault, *f.Id)
	}
	require.Equal(t, []string{"order 1", "order 2"}, r.sink.bodies, "handled")
	require.Empty(t, r.receive(&sqs.ReceiveMessageInput{QueueUrl: &url}))
}

type throttled struct{}

func (throttled) Error() string   { return "busy" }
func (throttled) Throttled() bool { return true }

// TestSDKRetriesWhatMayPass: busy and unavailable are what the SDK's own retries are for.
func TestSDKRetriesWhatMayPass(t *testing.T) {
	r := newRig(t)
	url := *r.queueURL("intake")
	for _, fail := range []error{throttled{}, fmt.Errorf("disk full: %w", port.ErrUnavailable)} {
		r.sink.errs = []error{fail, fail}
		_, err := r.sdk.SendMessage(r.ctx,
			&sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x")}, func(o *sqs.Options) {
				o.Retryer = retry.NewStandard(
					func(so *retry.StandardOptions) { so.MaxBackoff = time.Millisecond })
			})
		require.NoError(t, err, "%v", fail)
	}
}
