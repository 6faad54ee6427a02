package integration

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
)

// inbox takes everything from a queue, as its owner does.
type inbox struct {
	mu     sync.Mutex
	bodies []string
}

func attributeNames(names ...string) []types.QueueAttributeName {
	all := make([]types.QueueAttributeName, len(names))
	for i, n := range names {
		all[i] = types.QueueAttributeName(n)
	}
	return all
}

func newInbox(ctx context.Context, client *sqs.Client, url string) *inbox {
	b := &inbox{}
	go func() {
		for ctx.Err() == nil {
			for _, m := range receive(ctx, client, url, 1) {
				b.mu.Lock()
				b.bodies = append(b.bodies, *m.Body)
				b.mu.Unlock()
				_, _ = client.DeleteMessage(ctx,
					&sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle})
			}
		}
	}()
	return b
}

// receive answers nothing where it fails: who waits for a message says what is missing.
func receive(ctx context.Context, client *sqs.Client, url string, seconds int32) []types.Message {
	out, err := client.ReceiveMessage(wire.WithCallTimeout(ctx, longPoll), &sqs.ReceiveMessageInput{
		QueueUrl: &url, MaxNumberOfMessages: 10, WaitTimeSeconds: seconds,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil {
		return nil
	}
	return out.Messages
}

// all is what has come so far.
func (b *inbox) all() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.bodies...)
}

func text(s *string) string { return aws.ToString(s) }
