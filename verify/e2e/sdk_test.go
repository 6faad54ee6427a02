package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/demo/services"
)

// delivery has a step of an agent outside.
const delivery = `workflow: delivery
grace: 1s
tellAfter: 1s
notify: [started, step-finished]
agents:
  inventory: {queueAllowance: 5s, clockSkew: 100ms}
  courier: {queueAllowance: 5s, clockSkew: 100ms}
steps:
  pick:
    agent: inventory
    operation: reserve
    input: {items: [{sku: MUG, quantity: 1}]}
    timeout: 5s
    onFailure: undo
    undo: release
    grade: fenced
  carry:
    agent: courier
    operation: carry
    after: [pick]
    input: {to: "${ order.to }"}
    timeout: 5s
    retry: {maxFailures: 3, backoff: {initial: 50ms, max: 100ms}}
    onFailure: undo
    undo: bring-back
    grade: fenced
output: {signature: "${ steps.carry.output.signature }"}
`

// deliverySite has the reply-to "web" and the agent courier outside.
func deliverySite(t *testing.T) *site {
	agents := string(services.AgentsFile(newShop(t, 0).URL())) + "  courier: {external: true}\n"
	return newSite(t, agents, map[string]string{"delivery.yaml": delivery}, "--reply-to", "web")
}

// sdk is the official AWS SDK on the process's endpoint.
type sdk struct {
	t *testing.T
	*sqs.Client
	urls sync.Map // of queues, by name
}

func (p *process) sdk() *sdk {
	return &sdk{t: p.t, Client: sqs.New(sqs.Options{
		Region: "eu-central-1", BaseEndpoint: aws.String(p.URL()),
		Credentials: credentials.NewStaticCredentialsProvider("any", "thing", ""),
	})}
}

func (c *sdk) url(ctx context.Context, queue string) (*string, error) {
	if u, ok := c.urls.Load(queue); ok {
		return u.(*string), nil
	}
	out, err := c.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &queue})
	if err != nil {
		return nil, err
	}
	c.urls.Store(queue, out.QueueUrl)
	return out.QueueUrl, nil
}

func (c *sdk) send(ctx context.Context, queue, body string) error {
	u, err := c.url(ctx, queue)
	if err == nil {
		_, err = c.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: u, MessageBody: &body})
	}
	return err
}

// take receives messages and deletes those that handle returns without an error.
func (c *sdk) take(ctx context.Context, queue string, handle func(body string) error) error {
	u, err := c.url(ctx, queue)
	if err != nil {
		return err
	}
	out, err := c.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: u, MaxNumberOfMessages: 10,
		WaitTimeSeconds: 2,
	})
	if err != nil {
		return err
	}
	var done []types.DeleteMessageBatchRequestEntry
	for i, m := range out.Messages {
		if err := handle(*m.Body); err != nil {
			return err
		}
		done = append(done, types.DeleteMessageBatchRequestEntry{
			Id:            aws.String(fmt.Sprint(i)),
			ReceiptHandle: m.ReceiptHandle,
		})
	}
	if len(done) > 0 {
		_, err = c.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: u, Entries: done})
	}
	return err
}

// statuses takes the application's messages until one of that kind has come for the order.
func (c *sdk) statuses(order, until string) []string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	var kinds []string
	for found := false; !found; {
		err := c.take(ctx, "status-web", func(body string) error {
			var s struct{ OrderID, Status string }
			if err := json.Unmarshal([]byte(body), &s); err != nil {
				return err
			}
			if s.OrderID == order {
				kinds = append(kinds, s.Status)
				found = found || s.Status == until
			}
			return nil
		})
		require.NoError(c.t, err)
	}
	return kinds
}

// courier is an agent written with nothing but the SDK and the protocol's JSON; it ends with the test.
func courier(t *testing.T, p *process, answer func(request map[string]any) map[string]any) {
	c := p.sdk()
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() {
		for ctx.Err() == nil {
			err := c.take(ctx, "requests-courier", func(body string) error {
				var request map[string]any
				if err := json.Unmarshal([]byte(body), &request); err != nil {
					return err
				}
				reply := answer(request)
				if reply == nil {
					return nil
				}
				for _, field := range []string{"task", "run", "step", "attempt", "operation"} {
					reply[field] = request[field]
				}
				reply["schema"] = 1
				reply["waited"] = 0
				text, err := json.Marshal(reply)
				if err != nil {
					return err
				}
				return c.send(ctx, "replies", string(text))
			})
			if err != nil && ctx.Err() == nil {
				select {
				case <-p.Running(): // a process that was killed does not answer
					return
				case <-time.After(50 * time.Millisecond):
				}
			}
		}
	})
	t.Cleanup(func() { cancel(); ended.Wait() })
}

// An application and an agent that know nothing but the AWS SDK and an endpoint URL.
func TestSDKApplicationAndAgent(t *testing.T) {
	t.Parallel()
	p := deliverySite(t).start()
	var mu sync.Mutex
	keys := map[string]int{}
	courier(t, p, func(request map[string]any) map[string]any {
		mu.Lock()
		defer mu.Unlock()
		keys[request["key"].(string)]++
		if input, _ := request["input"].(map[string]any); input["to"] == "nowhere" &&
			request["operation"] == "do" {
			return map[string]any{
				"outcome": "failed",
				"error":   map[string]any{"code": "no-address", "message": "no such address"},
			}
		}
		return map[string]any{"outcome": "done", "output": map[string]any{"signature": "Ada"}}
	})
	app := p.sdk()
	send := func(body string) {
		t.Helper()
		require.NoError(t, app.send(t.Context(), "intake", body))
	}

	send(`{"schema":1,"orderId":"d-1","workflow":"delivery","order":{"to":"Ada"},"replyTo":"web"}`)
	kinds := app.statuses("d-1", "completed")
	require.Equal(t, "received", kinds[0])
	require.Len(t, kinds, 5)
	require.Equal(t, `{"signature":"Ada"}`, string(p.end("d-1", "Processed").Output))

	send(`{"schema":1,"orderId":"d-2","workflow":"delivery","order":{"to":"nowhere"},"replyTo":"web"}`)
	app.statuses("d-2", "undone")
	task := p.end("d-2", "Compensated")
	require.NotNil(t, task.Error, "undone because of %+v", task.Error)
	require.Equal(t, "no-address", task.Error.Code)

	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, 1, keys["d-1/0/carry"])
	require.Equal(t, 2, keys["d-2/0/carry"])
}

// Statuses that were not taken outlive a kill; an order whose agent was away goes on when it comes.
func TestSDKAfterKill(t *testing.T) {
	t.Parallel()
	s := deliverySite(t)
	p := s.start()
	err := p.sdk().send(t.Context(), "intake",
		`{"schema":1,"orderId":"k-1","workflow":"delivery","order":{"to":"Ada"},"replyTo":"web"}`)
	require.NoError(t, err)
	eventually(t, "the courier is asked", func() bool {
		task, err := p.client.Get(t.Context(), "k-1")
		return err == nil && task.Steps[1].State == "Processing"
	})
	p.kill()
	p = s.start()
	courier(t, p, func(map[string]any) map[string]any {
		return map[string]any{"outcome": "done", "output": map[string]any{"signature": "Ada"}}
	})
	p.end("k-1", "Processed")
	p.kill() // the last status waits in its queue
	p = s.start()
	kinds := p.sdk().statuses("k-1", "completed")
	require.Equal(t, "received", kinds[0])
}
