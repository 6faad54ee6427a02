package cdkapp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// DeadLetter puts a message into a dead-letter queue as SQS itself does. A dead-letter queue of a deployment
// accepts no principal, not even an administrator. So DeadLetter sends the message to a queue of its own, which
// has the same dead-letter queue, receives the message until SQS moves it, and deletes the queue.
func DeadLetter(ctx context.Context, c aws.Config, dead, body string) (err error) {
	queues := sqs.NewFromConfig(c)
	is, err := queues.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl:       &dead,
		AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn},
	})
	if err != nil {
		return err
	}
	made, err := queues.CreateQueue(ctx, &sqs.CreateQueueInput{
		QueueName: aws.String("stepkeeper-dead-letter-" + strconv.FormatInt(time.Now().UnixNano(), 36)),
		Attributes: map[string]string{"VisibilityTimeout": "0", "RedrivePolicy": fmt.Sprintf(
			`{"deadLetterTargetArn":%q,"maxReceiveCount":"1"}`, is.Attributes["QueueArn"])},
	})
	if err != nil {
		return err
	}
	url := made.QueueUrl
	defer func() {
		_, failed := queues.DeleteQueue(context.WithoutCancel(ctx), &sqs.DeleteQueueInput{QueueUrl: url})
		err = errors.Join(err, failed)
	}()
	if _, err := queues.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: url, MessageBody: &body}); err != nil {
		return err
	}
	received := false
	for empty := 0; empty < 10; { // the response with the message may have been lost
		got, err := queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url, WaitTimeSeconds: 1})
		if err != nil || received && len(got.Messages) == 0 { // the receive after the permitted one moves it
			return err
		}
		if len(got.Messages) == 0 {
			empty++
		} else {
			received = true
		}
		if err := port.Sleep(ctx, pause); err != nil {
			return err
		}
	}
	return nil
}
