package awsagent

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go/encoding/httpbinding"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/direct"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/eventbus"
)

var runs = map[string]runFunc{
	Invoke: invoke, PutEvents: putEvents, Publish: publish, Send: send, StartExecution: start,
}

func invoke(ctx context.Context, o *operation, call worker.Call, payload []byte) (json.RawMessage, error) {
	client, err := json.Marshal(map[string]any{"custom": about(call)})
	if err != nil {
		return nil, err
	}
	out, err := direct.New(o.aws, direct.Lambda).Do(ctx, direct.Request{
		Operation: "Invoke",
		Path:      "/2015-03-31/functions/" + httpbinding.EscapePath(o.config.Target.ARN, true) + "/invocations",
		Body:      payload, Header: http.Header{
			"Content-Type":         {"application/octet-stream"},
			"X-Amz-Client-Context": {base64.StdEncoding.EncodeToString(client)},
		},
	})
	if err != nil {
		return nil, err
	}
	if out.Header.Get("X-Amz-Function-Error") != "" {
		var e struct{ ErrorType, ErrorMessage string }
		_ = json.Unmarshal(out.Body, &e) // an unreadable payload leaves the fields empty
		return nil, &reported{name: e.ErrorType, text: e.ErrorMessage}
	}
	return orNothing(out.Body), nil
}

func orNothing(result []byte) json.RawMessage {
	if string(result) == "null" {
		return nil
	}
	return result
}

func putEvents(ctx context.Context, o *operation, call worker.Call, payload []byte) (json.RawMessage, error) {
	ids, refused, err := eventbus.Put(ctx, direct.New(o.aws, direct.EventBridge), eventbus.Entry{
		EventBusName: o.config.Target.ARN, Source: eventbus.Source + "." + o.agent, DetailType: call.Name,
		Detail: string(payload),
	})
	err = errors.Join(append(refused, err)...)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]string{"eventId": ids[0]})
}

func publish(ctx context.Context, o *operation, call worker.Call, payload []byte) (json.RawMessage, error) {
	in := url.Values{"TopicArn": {o.config.Target.ARN}, "Message": {string(payload)}}
	n := 0
	for name, value := range about(call) {
		n++
		entry := fmt.Sprintf("MessageAttributes.entry.%d.", n)
		in.Set(entry+"Name", name)
		in.Set(entry+"Value.DataType", "String")
		in.Set(entry+"Value.StringValue", value)
	}
	if o.config.Target.FIFO {
		in.Set("MessageGroupId", *group(call))
		in.Set("MessageDeduplicationId", identity(call))
	}
	var out struct {
		ID string `xml:"PublishResult>MessageId"`
	}
	if err := direct.New(o.aws, direct.SNS).Query(ctx, "Publish", in, &out); err != nil {
		return nil, err
	}
	return json.Marshal(map[string]string{"messageId": out.ID})
}

func group(call worker.Call) *string { return aws.String(label(call.OrderID, 128)) }

func send(ctx context.Context, o *operation, call worker.Call, payload []byte) (json.RawMessage, error) {
	in := &sqs.SendMessageInput{
		QueueUrl: &o.config.Target.URL, MessageBody: aws.String(string(payload)),
		MessageAttributes: map[string]sqstypes.MessageAttributeValue{},
	}
	for name, value := range about(call) {
		in.MessageAttributes[name] = sqstypes.MessageAttributeValue{
			DataType:    aws.String("String"),
			StringValue: &value,
		}
	}
	if o.config.Target.FIFO {
		in.MessageGroupId = group(call)
		in.MessageDeduplicationId = aws.String(identity(call))
	}
	out, err := sqs.NewFromConfig(o.aws).SendMessage(ctx, in)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]*string{"messageId": out.MessageId})
}

func name(call worker.Call) string { return label(call.Key, 46) + "-" + identity(call)[:32] }

// execution is the answer of Step Functions about an execution.
type execution struct{ Status, Output, Error, Cause string }

const succeeded = "SUCCEEDED"

func startSync(ctx context.Context, o *operation, call worker.Call, payload []byte) (json.RawMessage, error) {
	var out execution
	err := direct.New(o.aws, direct.SyncExecutions).JSON(ctx, "StartSyncExecution", o.input(call, payload), &out)
	switch {
	case err != nil:
		return nil, err
	case out.Status != succeeded:
		return nil, &reported{name: out.Error, text: out.Cause, status: out.Status}
	}
	return orNothing([]byte(out.Output)), nil
}

// input returns what starts an execution.
func (o *operation) input(call worker.Call, payload []byte) map[string]string {
	return map[string]string{"stateMachineArn": o.config.Target.ARN, "name": name(call), "input": string(payload)}
}

const (
	firstLook = time.Second     // wait after the start of the execution
	nextLook  = 5 * time.Second // wait after each later read
)

// start starts the call's execution if it does not exist. Otherwise start reads the state of the execution.
func start(ctx context.Context, o *operation, call worker.Call, payload []byte) (json.RawMessage, error) {
	if call.Grade == core.Plain || call.PointOfNoReturn {
		return nil, worker.NoEffect(
			worker.Permanent(errors.New(o.what + " was not called: a standard execution is " +
				"polled, and a plain step or a point of no return cannot be; let a function do this step")),
		)
	}
	client := direct.New(o.aws, direct.StepFunctions)
	out, found, err := describe(ctx, client, o.config.Target, call)
	if err != nil {
		return nil, err
	}
	if !found {
		err = client.JSON(ctx, "StartExecution", o.input(call, payload), nil)
		if err == nil || direct.Code(err) == "ExecutionAlreadyExists" {
			return nil, &worker.Failure{
				Requeue: true, RetryAfter: firstLook, Code: "started",
				Err: errors.New(o.what + " has started an execution, whose end is not known yet"),
			}
		}
		return nil, err
	}
	switch {
	case out.Status == succeeded:
		return orNothing([]byte(out.Output)), nil
	case out.runs():
		return nil, worker.NotYet(nextLook)
	}
	return nil, &reported{name: out.Error, text: out.Cause, status: out.Status, ended: true}
}

func describe(ctx context.Context, client *direct.Client, t Target, call worker.Call) (
	out execution, found bool, err error,
) {
	err = client.JSON(ctx, "DescribeExecution",
		map[string]string{"executionArn": t.Execution(name(call))}, &out)
	if direct.Code(err) == "ExecutionDoesNotExist" {
		return out, false, nil
	}
	return out, err == nil, err
}

func (e execution) runs() bool { return e.Status == "RUNNING" || e.Status == "PENDING_REDRIVE" }

func machines(configs map[string]Operation) []Target {
	used := map[string]Target{}
	for _, config := range configs {
		if t := config.Target; t.Kind == StartExecution && !t.Express {
			used[t.ARN] = t
		}
	}
	return slices.Collect(maps.Values(used))
}

// quiet returns worker.NotYet if the do of the step has started an execution that still runs. Such an
// execution could have effects after the undo (P21, an undo waits for quiet).
func (o *operation) quiet(ctx context.Context, call worker.Call) error {
	call.Operation = core.Do
	for _, t := range o.machines {
		c := o.aws
		c.Region = t.Region
		out, found, err := describe(ctx, direct.New(c, direct.StepFunctions), t, call)
		if err != nil {
			return err
		}
		if found && out.runs() {
			return worker.NotYet(nextLook)
		}
	}
	return nil
}
