package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/agentsfile"
	"github.com/stepkeeper/stepkeeper/functions/agent/awsagent"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// waits is a state machine that ends after a second with the key that it got.
const waits = `{"StartAt":"Wait","States":{"Wait":{"Type":"Wait","Seconds":1,"Next":"End"},
	"End":{"Type":"Pass","Parameters":{"key.$":"$.idempotencyKey"},"End":true}}}`

// must returns a value that a call to prepare a test has returned.
func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

// Each call of an agents file, at a resource of the emulator that was there before.
func TestCallsOfAWS(t *testing.T) {
	s := on(t, localstack)
	name := fmt.Sprintf("calls-%d", time.Now().UnixNano())
	queue := *must[*sqs.CreateQueueOutput](t)(s.sqs.CreateQueue(t.Context(), &sqs.CreateQueueInput{
		QueueName: aws.String(name + ".fifo"), Attributes: map[string]string{"FifoQueue": "true"},
	})).QueueUrl
	topic := *must[*sns.CreateTopicOutput](t)(s.sns.CreateTopic(t.Context(),
		&sns.CreateTopicInput{Name: &name})).TopicArn
	events := eventbridge.NewFromConfig(s.config)
	executions := sfn.NewFromConfig(s.config)
	bus := *must[*eventbridge.CreateEventBusOutput](t)(events.CreateEventBus(t.Context(),
		&eventbridge.CreateEventBusInput{Name: &name})).EventBusArn
	machine := func(kind sfntypes.StateMachineType) string {
		return *must[*sfn.CreateStateMachineOutput](t)(executions.CreateStateMachine(t.Context(),
			&sfn.CreateStateMachineInput{
				Name: aws.String(name + string(kind)), Type: kind,
				Definition: aws.String(waits), RoleArn: aws.String("arn:aws:iam::000000000000:role/existing"),
			})).StateMachineArn
	}
	for call, want := range map[string]string{
		"{send: '" + queue + "'}":                                       `"messageId"`,
		"{publish: '" + topic + "'}":                                    `"messageId"`,
		"{putEvents: '" + bus + "'}":                                    `"eventId"`,
		"{startExecution: '" + machine("EXPRESS") + "', express: true}": `"key"`,
		"{startExecution: '" + machine("STANDARD") + "'}":               `"key"`,
	} {
		file, err := agentsfile.Parse([]byte("agents: {stock: {aws: "+call+"}}"), os.LookupEnv)
		require.NoError(t, err)
		operations := awsagent.Operations("stock", 0, file.Agents["stock"].Calls(), s.config)
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		out, polls := s.polled(ctx, operations[worker.AnyOperation], name)
		cancel()
		require.Contains(t, out, want, call)
		require.Equal(t, polls > 0, strings.Contains(call, "STANDARD"), call)
	}
}

// polled calls an operation until it is done, as the step of an order does.
func (s *site) polled(ctx context.Context, o worker.Operation, key string) (text string, polls int) {
	for {
		out, err := o.Run(
			ctx,
			worker.Call{
				OrderID: "o-1", Step: "call", Attempt: 1 + polls, Operation: core.Do,
				Name: "call", Grade: core.Idempotent, Key: key, Input: []byte(`{"a":1}`),
			},
		)
		var f *worker.Failure
		if !errors.As(err, &f) || !f.Requeue && f.Code != core.CodeNotYet || ctx.Err() != nil {
			return fmt.Sprintf("%s %v", out, err), polls
		}
		polls++
		select {
		case <-ctx.Done():
		case <-time.After(look):
		}
	}
}
