package queuetest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/awstest"
	"github.com/stepkeeper/stepkeeper/shared/sqs"
)

// target names what TestSQSService runs against; package awstest lists its values.
const target = "STEPKEEPER_SQS"

// TestSQSService runs in real time on LocalStack, or on SQS itself, which may deliver twice and counts
// roughly.
func TestSQSService(t *testing.T) {
	c := awstest.Config(t, target,
		"TestSQS runs the same contract against the project's own server; `make integration` runs it "+
			"against LocalStack", awsclient.Options{})
	emulated := awstest.Emulated(target)
	o := Options{
		Unit: 3 * time.Second, DeadLetters: true, Once: emulated, LosesPolls: true,
		ExactDepth: emulated, Messages: 200,
	}
	if emulated { // LocalStack 4.14.0 lets an old receipt act, and moves dead letters late
		o.Groups = []string{"names", "send", "receive", "limits", "depth", "together"}
	}
	Run(t, o, func(t *testing.T, queues []Config, replyTo []string) Backends {
		prefix := fmt.Sprintf("stepkeeper-test-%d-", time.Now().UnixNano())
		makeQueues(t, awssqs.NewFromConfig(c), prefix, queues)
		return Backends{Queues: sqs.New(c,
			sqs.Config{LookUp: true, Prefix: prefix, ReplyTo: replyTo})}
	})
}

// makeQueues makes fresh queues, and removes them when the test is over.
func makeQueues(t *testing.T, client *awssqs.Client, prefix string, queues []Config) {
	t.Helper()
	ctx := context.Background()
	for _, q := range queues { // a dead-letter queue stands before its source
		attributes := map[string]string{"VisibilityTimeout": "30"}
		if q.DeadLetter != "" {
			url, err := client.GetQueueUrl(ctx,
				&awssqs.GetQueueUrlInput{QueueName: aws.String(prefix + q.DeadLetter)})
			require.NoError(t, err)
			arn, err := client.GetQueueAttributes(ctx, &awssqs.GetQueueAttributesInput{
				QueueUrl:       url.QueueUrl,
				AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn},
			})
			require.NoError(t, err)
			attributes["RedrivePolicy"] = fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":"%d"}`,
				arn.Attributes["QueueArn"], q.MaxReceives)
		}
		made, err := client.CreateQueue(ctx, &awssqs.CreateQueueInput{
			QueueName:  aws.String(prefix + q.Name),
			Attributes: attributes,
		})
		require.NoError(t, err)
		t.Cleanup(func() {
			if _, err := client.DeleteQueue(ctx,
				&awssqs.DeleteQueueInput{QueueUrl: made.QueueUrl}); err != nil {
				t.Logf("queue %s is left behind: %v", *made.QueueUrl, err)
			}
		})
	}
}
