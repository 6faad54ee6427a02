package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/stretchr/testify/require"
)

// makeBus makes an event bus, before anything of Stepkeeper is deployed.
func (s *site) makeBus(ctx context.Context, name string) error {
	made, err := eventbridge.NewFromConfig(s.config).CreateEventBus(ctx,
		&eventbridge.CreateEventBusInput{Name: &name})
	if err == nil {
		s.bus = *made.EventBusArn
	}
	return err
}

// arnOf returns the ARN of a queue.
func (s *site) arnOf(t *testing.T, url string) string {
	t.Helper()
	return must[*sqs.GetQueueAttributesOutput](t)(s.sqs.GetQueueAttributes(t.Context(),
		&sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []sqstypes.QueueAttributeName{
			sqstypes.QueueAttributeNameQueueArn,
		}})).Attributes["QueueArn"]
}

// rule sends events of the bus to a queue.
func (s *site) rule(t *testing.T, name, pattern, queue string, transform *types.InputTransformer) {
	t.Helper()
	client := eventbridge.NewFromConfig(s.config)
	name = s.assembly.Stack + name
	must[*eventbridge.PutRuleOutput](t)(client.PutRule(t.Context(), &eventbridge.PutRuleInput{
		Name:         &name,
		EventBusName: &s.bus, EventPattern: &pattern,
	}))
	out := must[*eventbridge.PutTargetsOutput](t)(client.PutTargets(t.Context(), &eventbridge.PutTargetsInput{
		Rule: &name, EventBusName: &s.bus, Targets: []types.Target{{
			Id: aws.String("queue"), Arn: &queue,
			InputTransformer: transform,
		}},
	}))
	require.LessOrEqual(t, out.FailedEntryCount, int32(0))
}

// An event on a bus starts an order by a rule, as docs/how-to/aws-queues.md says, and the end of the order
// comes back on the bus: one of a workflow with events: true, and one whose reply-to is the bus.
func TestBusStartsAnOrderAndGetsItsEnd(t *testing.T) {
	s := on(t, localstack)
	ends := *must[*sqs.CreateQueueOutput](t)(s.sqs.CreateQueue(t.Context(), &sqs.CreateQueueInput{
		QueueName: aws.String(s.assembly.Stack + "-ends"),
	})).QueueUrl
	s.rule(t, "Ends", `{"source":["stepkeeper"],"detail-type":["completed"]}`, s.arnOf(t, ends), nil)
	s.rule(t, "Placed", `{"detail-type":["OrderPlaced"]}`, s.arnOf(t, s.url(t, "Intake")),
		&types.InputTransformer{
			InputPathsMap: map[string]string{"id": "$.detail.id", "detail": "$.detail"},
			InputTemplate: aws.String(`{"schema":1,"workflow":"publishing","orderId":<id>,"order":<detail>}`),
		})
	placed := fmt.Sprintf("placed-%d", time.Now().UnixNano())
	named := s.newOrder(t, "calm")
	must[*eventbridge.PutEventsOutput](t)(eventbridge.NewFromConfig(s.config).PutEvents(t.Context(),
		&eventbridge.PutEventsInput{Entries: []types.PutEventsRequestEntry{{
			EventBusName: &s.bus,
			Source:       aws.String("shop"), DetailType: aws.String("OrderPlaced"),
			Detail: aws.String(fmt.Sprintf(`{"id":%q,"items":[{"sku":"MUG-01"}]}`, placed)),
		}}}))
	named.body = strings.Replace(named.body, `"replyTo":"shop"`, `"replyTo":"events"`, 1)
	named.submit()
	wanted := map[string]bool{placed: true, named.id: true}
	for limit := time.Now().Add(soon); len(wanted) > 0 && time.Now().Before(limit); {
		got := must[*sqs.ReceiveMessageOutput](t)(s.sqs.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: &ends, WaitTimeSeconds: 5, MaxNumberOfMessages: 10,
		}))
		for _, m := range got.Messages {
			var event struct{ Detail status }
			require.NoError(t, json.Unmarshal([]byte(*m.Body), &event))
			require.NotZero(t, event.Detail.Seq)
			delete(wanted, event.Detail.OrderID)
		}
	}
	require.Empty(t, wanted)
}
