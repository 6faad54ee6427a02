package awsagent

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	ebtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/stepkeeper/stepkeeper/functions/agent/httpagent"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/eventbus"
)

var kinds = map[string]runFunc{
	httpagent.Invoke: invoke, httpagent.PutEvents: putEvents, httpagent.Publish: publish,
	httpagent.Send: send, httpagent.StartExecution: start,
}

func invoke(ctx context.Context, o *operation, call worker.Call, payload []byte) (json.RawMessage, error) {
	client, err := json.Marshal(map[string]any{"custom": about(call)})
	if err != nil {
		return nil, err
	}
	out, err := lambda.NewFromConfig(o.aws).Invoke(ctx, &lambda.InvokeInput{
		FunctionName: &o.target.ARN, Payload: payload,
		ClientContext: aws.String(base64.StdEncoding.EncodeToString(client)),
	})
	if err != nil {
		return nil, err
	}
	if out.FunctionError != nil {
		var e struct{ ErrorType, ErrorMessage string }
		_ = json.Unmarshal(out.Payload, &e) // an unreadable payload leaves the fields empty
		return nil, &reported{name: e.ErrorType, text: e.ErrorMessage}
	}
	return orNothing(out.Payload), nil
}

func orNothing(result []byte) json.RawMessage {
	if string(result) == "null" {
		return nil
	}
	return result
}

func putEvents(ctx context.Context, o *operation, call worker.Call, payload []byte) (json.RawMessage, error) {
	put := eventbus.Put(eventbridge.NewFromConfig(o.aws).PutEvents)
	ids, refused, err := put.Entries(ctx, ebtypes.PutEventsRequestEntry{
		EventBusName: &o.target.ARN, Source: aws.String(eventbus.Source + "." + o.agent),
		DetailType: &call.Name, Detail: aws.String(string(payload)),
	})
	if err = errors.Join(append(refused, err)...); err != nil {
		return nil, err
	}
	return json.Marshal(map[string]string{"eventId": ids[0]})
}

func publish(ctx context.Context, o *operation, call worker.Call, payload []byte) (json.RawMessage, error) {
	in := &sns.PublishInput{TopicArn: &o.target.ARN, Message: aws.String(string(payload)),
		MessageAttributes: map[string]snstypes.MessageAttributeValue{}}
	for name, value := range about(call) {
		in.MessageAttributes[name] = snstypes.MessageAttributeValue{DataType: aws.String("String"),
			StringValue: &value}
	}
	if o.target.FIFO {
		in.MessageGroupId, in.MessageDeduplicationId = group(call), aws.String(identity(call))
	}
	out, err := sns.NewFromConfig(o.aws).Publish(ctx, in)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]*string{"messageId": out.MessageId})
}

func group(call worker.Call) *string { return aws.String(label(call.OrderID, 128)) }

func send(ctx context.Context, o *operation, call worker.Call, payload []byte) (json.RawMessage, error) {
	in := &sqs.SendMessageInput{QueueUrl: &o.target.URL, MessageBody: aws.String(string(payload)),
		MessageAttributes: map[string]sqstypes.MessageAttributeValue{}}
	for name, value := range about(call) {
		in.MessageAttributes[name] = sqstypes.MessageAttributeValue{DataType: aws.String("String"),
			StringValue: &value}
	}
	if o.target.FIFO {
		in.MessageGroupId, in.MessageDeduplicationId = group(call), aws.String(identity(call))
	}
	out, err := sqs.NewFromConfig(o.aws).SendMessage(ctx, in)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]*string{"messageId": out.MessageId})
}

func name(call worker.Call) *string {
	return aws.String(label(call.Key, 46) + "-" + identity(call)[:32])
}

func startSync(ctx context.Context, o *operation, call worker.Call, payload []byte) (json.RawMessage, error) {
	client := sfn.NewFromConfig(o.aws, func(s *sfn.Options) {
		if s.BaseEndpoint != nil { // an emulator does not serve the host names that begin with sync-
			s.APIOptions = append(s.APIOptions, noHostPrefix)
		}
	})
	out, err := client.StartSyncExecution(ctx, &sfn.StartSyncExecutionInput{
		StateMachineArn: &o.target.ARN, Name: name(call), Input: aws.String(string(payload)),
	})
	switch {
	case err != nil:
		return nil, err
	case out.Status != sfntypes.SyncExecutionStatusSucceeded:
		return nil, &reported{
			name:   aws.ToString(out.Error),
			text:   aws.ToString(out.Cause),
			status: string(out.Status),
		}
	}
	return orNothing([]byte(aws.ToString(out.Output))), nil
}

func noHostPrefix(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("StepkeeperNoHostPrefix",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
			middleware.InitializeOutput, middleware.Metadata, error) {
			return next.HandleInitialize(smithyhttp.DisableEndpointHostPrefix(ctx, true), in)
		}), middleware.After)
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
	client := sfn.NewFromConfig(o.aws)
	out, found, err := describe(ctx, client, o.target, call)
	if err != nil {
		return nil, err
	}
	if !found {
		_, err = client.StartExecution(ctx, &sfn.StartExecutionInput{
			StateMachineArn: &o.target.ARN, Name: name(call), Input: aws.String(string(payload)),
		})
		if exists := (*sfntypes.ExecutionAlreadyExists)(nil); err == nil || errors.As(err, &exists) {
			return nil, &worker.Failure{Requeue: true, RetryAfter: firstLook, Code: "started",
				Err: errors.New(o.what + " has started an execution, whose end is not known yet")}
		}
		return nil, err
	}
	switch {
	case out.Status == sfntypes.ExecutionStatusSucceeded:
		return orNothing([]byte(aws.ToString(out.Output))), nil
	case runs(out.Status):
		return nil, worker.NotYet(nextLook)
	}
	return nil, &reported{
		name:   aws.ToString(out.Error),
		text:   aws.ToString(out.Cause),
		status: string(out.Status),
		ended:  true,
	}
}

func describe(ctx context.Context, client *sfn.Client, t httpagent.Target, call worker.Call) (
	out *sfn.DescribeExecutionOutput, found bool, err error) {
	arn := t.Execution(*name(call))
	out, err = client.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: &arn})
	if missing := (*sfntypes.ExecutionDoesNotExist)(nil); errors.As(err, &missing) {
		return nil, false, nil
	}
	return out, err == nil, err
}

func runs(status sfntypes.ExecutionStatus) bool {
	return status == sfntypes.ExecutionStatusRunning || status == sfntypes.ExecutionStatusPendingRedrive
}

func machines(agent httpagent.Agent) []httpagent.Target {
	used := map[string]httpagent.Target{}
	for operation := range agent.Operations {
		if t, _ := agent.Target(operation); t.Kind == httpagent.StartExecution && !t.Express {
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
		out, found, err := describe(ctx, sfn.NewFromConfig(c), t, call)
		if err != nil {
			return err
		}
		if found && runs(out.Status) {
			return worker.NotYet(nextLook)
		}
	}
	return nil
}
