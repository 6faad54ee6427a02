package sqsproto_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		r.Fatal(err)
	}
	return out.QueueUrl
}

func (r *rig) send(queue, body string) *sqs.SendMessageOutput {
	r.Helper()
	out, err := r.sdk.SendMessage(r.ctx,
		&sqs.SendMessageInput{QueueUrl: r.queueURL(queue), MessageBody: &body})
	if err != nil {
		r.Fatal(err)
	}
	return out
}

func (r *rig) receive(in *sqs.ReceiveMessageInput) []types.Message {
	r.Helper()
	if in.QueueUrl == nil {
		in.QueueUrl = r.queueURL("replies")
	}
	out, err := r.sdk.ReceiveMessage(r.ctx, in)
	if err != nil {
		r.Fatal(err)
	}
	return out.Messages
}

// wantCode checks the code that the SDK shows to its users.
func (r *rig) wantCode(err error, code string) {
	r.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code {
		r.Errorf("error %v, want %s", err, code)
	}
}

func TestBodiesOfAllShapes(t *testing.T) {
	r := newRig(t)
	for _, body := range []string{
		"x", " ", "\t\r\n", `{"a":"b"}`, "<&>\"'\\/", "grüße 世界 🚀 e\u0301 \u2028",
		strings.Repeat("ä", 30_000), "\ufffd",
	} {
		out := r.send("replies", body)
		got := r.receive(&sqs.ReceiveMessageInput{})
		if len(got) != 1 || *got[0].Body != body || *got[0].MessageId != *out.MessageId {
			t.Fatalf("sent %.40q, received %d: %v", body, len(got), got)
		}
		if _, err := r.sdk.DeleteMessage(r.ctx, &sqs.DeleteMessageInput{
			QueueUrl:      r.queueURL("replies"),
			ReceiptHandle: got[0].ReceiptHandle,
		}); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.receive(&sqs.ReceiveMessageInput{VisibilityTimeout: 0}); len(got) != 0 {
		t.Errorf("%d messages are left", len(got))
	}
}

func TestMessagesThatAreRefused(t *testing.T) {
	r := newRig(t)
	url := *r.queueURL("replies")
	for _, tt := range []struct {
		in   sqs.SendMessageInput
		code string
	}{
		{sqs.SendMessageInput{MessageBody: aws.String("a\x00b")}, "InvalidMessageContents"},
		{sqs.SendMessageInput{MessageBody: aws.String("\uffff")}, "InvalidMessageContents"},
		{sqs.SendMessageInput{MessageBody: aws.String("")}, "MissingParameter"},
		{
			sqs.SendMessageInput{MessageBody: aws.String(strings.Repeat("x", 1<<20+1))},
			"InvalidParameterValue",
		},
		{sqs.SendMessageInput{MessageBody: aws.String("x"), DelaySeconds: 901}, "InvalidParameterValue"},
		{
			sqs.SendMessageInput{
				MessageBody: aws.String("x"),
				MessageAttributes: map[string]types.MessageAttributeValue{
					"AWS.x": {DataType: aws.String("String"), StringValue: aws.String("v")},
				},
			},
			"InvalidParameterValue",
		},
		{sqs.SendMessageInput{
			MessageBody: aws.String("x"),
			MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{
				"AWSTraceHeader": {DataType: aws.String("String")},
			},
		}, "InvalidParameterValue"},
		{
			sqs.SendMessageInput{
				MessageBody: aws.String("x"),
				MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{
					"AWSTraceHeader": {DataType: aws.String("Number"), StringValue: aws.String("1")},
				},
			},
			"InvalidParameterValue",
		},
		{
			sqs.SendMessageInput{
				MessageBody: aws.String("x"),
				MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{
					"Other": {DataType: aws.String("String"), StringValue: aws.String("v")},
				},
			},
			"InvalidParameterValue",
		},
		{sqs.SendMessageInput{
			MessageBody: aws.String("x"),
			MessageAttributes: map[string]types.MessageAttributeValue{
				"a": {DataType: aws.String("String")},
			},
		}, "InvalidParameterValue"},
	} {
		tt.in.QueueUrl = &url
		_, err := r.sdk.SendMessage(r.ctx, &tt.in)
		r.wantCode(err, tt.code)
	}
	_, err := r.sdk.SendMessage(r.ctx,
		&sqs.SendMessageInput{
			QueueUrl:    aws.String(r.url + "/000000000000/none"),
			MessageBody: aws.String("x"),
		})
	var none *types.QueueDoesNotExist
	if !errors.As(err, &none) {
		t.Errorf("unknown queue: %v", err)
	}
	_, err = r.sdk.GetQueueUrl(r.ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("none")})
	r.wantCode(err, "AWS.SimpleQueueService.NonExistentQueue")
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
	if _, err := r.sdk.SendMessage(r.ctx, &sqs.SendMessageInput{
		QueueUrl: &url, MessageBody: aws.String("x"),
		MessageAttributes: attributes, MessageSystemAttributes: trace,
	}); err != nil {
		t.Fatal(err)
	}
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
		if len(got) != 1 {
			t.Fatalf("%d messages", len(got))
		}
		var names []string
		for name, v := range got[0].MessageAttributes {
			names = append(names, name)
			if w := attributes[name]; *v.DataType != *w.DataType ||
				aws.ToString(v.StringValue) != aws.ToString(w.StringValue) ||
				string(v.BinaryValue) != string(w.BinaryValue) {
				t.Errorf("%s: %+v", name, v)
			}
		}
		slices.Sort(names)
		if !slices.Equal(names, tt.want) {
			t.Errorf("asked for %v, got %v", tt.ask, names)
		}
		if v := got[0].Attributes["AWSTraceHeader"]; v != "Root=1-2-3" {
			t.Errorf("trace header %q", v)
		}
		for _, name := range []string{"SentTimestamp", "ApproximateFirstReceiveTimestamp"} {
			var ms int64
			if _, err := fmt.Sscan(got[0].Attributes[name], &ms); err != nil || ms < sent.UnixMilli() ||
				ms > time.Now().UnixMilli() {
				t.Errorf("%s: %q", name, got[0].Attributes[name])
			}
		}
		r.makeVisible(url, got[0].ReceiptHandle)
	}
	got := r.receive(&sqs.ReceiveMessageInput{MessageSystemAttributeNames: []types.MessageSystemAttributeName{
		"ApproximateReceiveCount",
	}})
	if a := got[0].Attributes; len(a) != 1 || a["ApproximateReceiveCount"] != "5" {
		t.Errorf("attributes asked for one by one: %v", a)
	}
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
		if len(got) != 1 {
			t.Fatalf("%d messages", len(got))
		}
		at := got[0].Attributes["ApproximateFirstReceiveTimestamp"]
		if i == 0 {
			first = at
			var ms int64
			if _, err := fmt.Sscan(at, &ms); err != nil || ms < due.UnixMilli() ||
				ms > due.Add(time.Minute).UnixMilli() {
				t.Errorf("first received at %s, not an hour after it was sent, %d", at, due.UnixMilli())
			}
		}
		if at != first {
			t.Errorf("first received at %s, and then at %s", first, at)
		}
		r.makeVisible(*r.queueURL("replies"), got[0].ReceiptHandle)
	}
}

func (r *rig) makeVisible(url string, receipt *string) {
	r.Helper()
	if _, err := r.sdk.ChangeMessageVisibility(r.ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl:      &url,
		ReceiptHandle: receipt, VisibilityTimeout: 0,
	}); err != nil {
		r.Fatal(err)
	}
}

func TestLongPollWakesUp(t *testing.T) {
	r := newRig(t)
	url := *r.queueURL("replies")
	got := make(chan int, 1)
	go func() {
		out, err := r.sdk.ReceiveMessage(r.ctx, &sqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 20})
		if err != nil {
			t.Error(err)
			got <- -1
			return
		}
		got <- len(out.Messages)
	}()
	begin := time.Now()
	r.send("replies", "wake up")
	if n := <-got; n != 1 || time.Since(begin) > 10*time.Second {
		t.Errorf("%d messages after %v", n, time.Since(begin))
	}
	for _, wait := range []int32{-1, 21} {
		_, err := r.sdk.ReceiveMessage(r.ctx, &sqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: wait})
		r.wantCode(err, "InvalidParameterValue")
	}
	_, err := r.sdk.ReceiveMessage(r.ctx, &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 11})
	r.wantCode(err, "InvalidParameterValue")
}

func TestVisibilityAndReceipts(t *testing.T) {
	r := newRig(t)
	url := *r.queueURL("replies")
	r.send("replies", "x")
	first := r.receive(&sqs.ReceiveMessageInput{VisibilityTimeout: 600})
	if again := r.receive(&sqs.ReceiveMessageInput{}); len(again) != 0 {
		t.Fatal("the message is visible while a receiver has it")
	}
	r.makeVisible(url, first[0].ReceiptHandle)
	second := r.receive(&sqs.ReceiveMessageInput{WaitTimeSeconds: 5})
	if len(second) != 1 {
		t.Fatal("it was returned to the queue and does not come")
	}
	_, err := r.sdk.ChangeMessageVisibility(r.ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl:      &url,
		ReceiptHandle: first[0].ReceiptHandle, VisibilityTimeout: 10,
	})
	r.wantCode(err, "ReceiptHandleIsInvalid")
	_, err = r.sdk.ChangeMessageVisibility(r.ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl:      &url,
		ReceiptHandle: second[0].ReceiptHandle, VisibilityTimeout: 43201,
	})
	r.wantCode(err, "InvalidParameterValue")
	_, err = r.sdk.ReceiveMessage(r.ctx, &sqs.ReceiveMessageInput{QueueUrl: &url, VisibilityTimeout: 43201})
	r.wantCode(err, "InvalidParameterValue")
	_, err = r.sdk.DeleteMessage(r.ctx,
		&sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: aws.String("made-up")})
	r.wantCode(err, "ReceiptHandleIsInvalid")
	for range 2 { // deleting twice is no error
		if _, err := r.sdk.DeleteMessage(r.ctx,
			&sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: second[0].ReceiptHandle}); err != nil {
			t.Error(err)
		}
	}
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
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Successful) != 2 || *out.Successful[0].Id != "a" || *out.Successful[1].Id != "d" {
		t.Errorf("successful: %+v", out.Successful)
	}
	if len(out.Failed) != 2 || *out.Failed[0].Code != "InvalidMessageContents" || !out.Failed[0].SenderFault {
		t.Errorf("failed: %+v", out.Failed)
	}
	_, err = send()
	r.wantCode(err, "AWS.SimpleQueueService.EmptyBatchRequest")
	_, err = send(entry("a", "1"), entry("a", "2"))
	r.wantCode(err, "AWS.SimpleQueueService.BatchEntryIdsNotDistinct")
	_, err = send(entry("a b", "1"))
	r.wantCode(err, "AWS.SimpleQueueService.InvalidBatchEntryId")
	half := strings.Repeat("x", 512<<10)
	if out, err := send(entry("a", half), entry("b", half)); err != nil || len(out.Successful) != 2 {
		t.Errorf("a batch of 1 MiB: %+v %v", out, err)
	}
	_, err = send(entry("a", half), entry("b", half+"x"))
	r.wantCode(err, "AWS.SimpleQueueService.BatchRequestTooLong")
	var eleven []types.SendMessageBatchRequestEntry
	for i := range 11 {
		eleven = append(eleven, entry(fmt.Sprint(i), "x"))
	}
	_, err = send(eleven...)
	r.wantCode(err, "AWS.SimpleQueueService.TooManyEntriesInBatchRequest")

	got := r.receive(&sqs.ReceiveMessageInput{MaxNumberOfMessages: 10})
	got = slices.DeleteFunc(got, func(m types.Message) bool { return *m.Body == half })
	if len(got) != 2 {
		t.Fatalf("%d messages", len(got))
	}
	extended, err := r.sdk.ChangeMessageVisibilityBatch(r.ctx,
		&sqs.ChangeMessageVisibilityBatchInput{
			QueueUrl: &url,
			Entries: []types.ChangeMessageVisibilityBatchRequestEntry{
				{Id: aws.String("1"), ReceiptHandle: got[0].ReceiptHandle, VisibilityTimeout: 100},
				{Id: aws.String("2"), ReceiptHandle: aws.String("made-up"), VisibilityTimeout: 100},
			},
		})
	if err != nil || len(extended.Successful) != 1 || len(extended.Failed) != 1 ||
		*extended.Failed[0].Code != "ReceiptHandleIsInvalid" {
		t.Errorf("extended: %+v %v", extended, err)
	}
	deleted, err := r.sdk.DeleteMessageBatch(r.ctx,
		&sqs.DeleteMessageBatchInput{QueueUrl: &url, Entries: []types.DeleteMessageBatchRequestEntry{
			{Id: aws.String("1"), ReceiptHandle: got[0].ReceiptHandle},
			{Id: aws.String("2"), ReceiptHandle: aws.String("made-up")},
			{Id: aws.String("3"), ReceiptHandle: got[1].ReceiptHandle},
		}})
	if err != nil || len(deleted.Successful) != 2 || len(deleted.Failed) != 1 ||
		*deleted.Failed[0].Id != "2" {
		t.Errorf("deleted: %+v %v", deleted, err)
	}
}

func TestQueuesAndTheirAttributes(t *testing.T) {
	r := newRig(t)
	out, err := r.sdk.ListQueues(r.ctx, &sqs.ListQueuesInput{})
	if id, there := awsmiddleware.GetRequestIDMetadata(out.ResultMetadata); !there || len(id) != 36 {
		t.Errorf("the request ID is %q", id)
	}
	want := []string{
		r.url + "/000000000000/intake", r.url + "/000000000000/replies",
		r.url + "/000000000000/requests-payment",
	}
	if err != nil || !slices.Equal(out.QueueUrls, want) {
		t.Errorf("%v %v", out, err)
	}
	var paged []string
	_, err = r.sdk.ListQueues(r.ctx, &sqs.ListQueuesInput{NextToken: aws.String("!")})
	r.wantCode(err, "InvalidParameterValue")
	for p := sqs.NewListQueuesPaginator(r.sdk, &sqs.ListQueuesInput{
		MaxResults:      aws.Int32(1),
		QueueNamePrefix: aws.String("re"),
	}); p.HasMorePages(); {
		page, err := p.NextPage(r.ctx)
		if err != nil {
			t.Fatal(err)
		}
		paged = append(paged, page.QueueUrls...)
	}
	if !slices.Equal(paged, want[1:]) {
		t.Errorf("pages: %v", paged)
	}
	r.send("replies", "1")
	r.send("replies", "2")
	r.receive(&sqs.ReceiveMessageInput{})
	if _, err := r.sdk.SendMessage(r.ctx, &sqs.SendMessageInput{
		QueueUrl:    &want[1],
		MessageBody: aws.String("3"), DelaySeconds: 900,
	}); err != nil {
		t.Fatal(err)
	}
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
		if err != nil || !maps.Equal(out.Attributes, wanted) {
			t.Errorf("%v %v", out, err)
		}
	}
	_, err = r.sdk.GetQueueAttributes(r.ctx, &sqs.GetQueueAttributesInput{
		QueueUrl:       &want[1],
		AttributeNames: []types.QueueAttributeName{"Colour"},
	})
	r.wantCode(err, "InvalidAttributeName")
	_, err = r.sdk.PurgeQueue(r.ctx, &sqs.PurgeQueueInput{QueueUrl: &want[1]})
	r.wantCode(err, "AWS.SimpleQueueService.UnsupportedOperation")
}

func TestDelayedMessageKeepsIDAndAttributes(t *testing.T) {
	r := newRig(t)
	url := *r.queueURL("replies")
	out, err := r.sdk.SendMessage(r.ctx, &sqs.SendMessageInput{
		QueueUrl: &url, MessageBody: aws.String("x"),
		DelaySeconds: 900, MessageAttributes: map[string]types.MessageAttributeValue{
			"n": {DataType: aws.String("Number"), StringValue: aws.String("42")},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.ahead.Store(int64(901 * time.Second))
	got := r.receive(&sqs.ReceiveMessageInput{MessageAttributeNames: []string{"All"}})
	if len(got) != 1 || *got[0].MessageId != *out.MessageId ||
		aws.ToString(got[0].MessageAttributes["n"].StringValue) != "42" {
		t.Errorf("sent %s, received %+v", *out.MessageId, got)
	}
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
	if err != nil || len(out.Successful) != 1 || len(out.Failed) != 4 {
		t.Fatalf("%+v %v", out, err)
	}
	for _, f := range out.Failed {
		want := map[string]string{
			"1": "ServiceUnavailable", "2": "RequestThrottled",
			"3": "InvalidParameterValue", "4": "InternalError",
		}[*f.Id]
		if *f.Code != want || f.SenderFault != (*f.Id == "3") {
			t.Errorf("entry %s: %s %v", *f.Id, *f.Code, f.SenderFault)
		}
	}
	if !slices.Equal(r.sink.bodies, []string{"order 1", "order 2"}) {
		t.Errorf("handled: %v", r.sink.bodies)
	}
	if got := r.receive(&sqs.ReceiveMessageInput{QueueUrl: &url}); len(got) != 0 {
		t.Error("an intake message was received")
	}
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
		if err != nil {
			t.Errorf("after two times %v: %v", fail, err)
		}
	}
}
