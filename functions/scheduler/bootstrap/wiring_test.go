package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/cloudtest"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
)

// ordering is a deployment of the order workflow.
func ordering(t *testing.T) *cloudtest.Deployment {
	t.Helper()
	text, err := os.ReadFile("../../../examples/order/order.yaml")
	require.NoError(t, err)
	return cloudtest.New(t, string(text))
}

func event(queue string, bodies ...string) events.SQSEvent {
	var e events.SQSEvent
	for i, body := range bodies {
		e.Records = append(e.Records,
			events.SQSMessage{
				MessageId: fmt.Sprint("m", i), ReceiptHandle: fmt.Sprint("r", i), Body: body,
				EventSourceARN: "arn:aws:sqs:eu-central-1:1:" + queue,
			})
	}
	return e
}

const order = `{"schema":1,"orderId":"o-1","workflow":"order","replyTo":"shop","order":{"items":[{"sku":"a","quantity":1,"unitPrice":1}],"currency":"EUR","payment":{"card":"t"},"customer":{"email":"a@example.com"}}}`

// An order from the intake is stored, its first two requests are sent, and its application is notified. A
// message that cannot be read goes to quarantine and affects no other message.
func TestAnOrderComesIn(t *testing.T) {
	s := ordering(t)
	f, err := newFunction(s.Lookup, io.Discard, cloudtest.Quiet)
	require.NoError(t, err)
	require.Empty(t, s.Calls())
	answer, err := f(context.Background(), event("intake", order, "{poison"))
	require.NoError(t, err)
	require.Empty(t, answer.BatchItemFailures)
	got := strings.Join(s.Calls(), ", ")
	want := "GetItem definitions, PutItem definitions, PutItem orders, SendMessageBatch quarantine, " +
		"SendMessageBatch requests-inventory, SendMessageBatch requests-payment, SendMessageBatch shop"
	require.Equal(t, want, got)
}

// P44: if the deployment states how many requests the agents take at a time, the queue lengths of agents that
// a step may choose are read.
func TestLengthsOfQueues(t *testing.T) {
	const text = "workflow: order\nsteps:\n  pay: {agents: [payment, shipping], operation: charge, timeout: " +
		"2s, onFailure: undo, undo: refund, grade: idempotent}\n"
	for capacity, want := range map[string]int{"": 0, `{"payment":5}`: 2, `{"payment":5,"shipping":5}`: 2} {
		s := cloudtest.New(t, text)
		s.Settings[deployment.VarCapacity] = capacity
		f, err := newFunction(s.Lookup, io.Discard, cloudtest.Quiet)
		require.NoError(t, err)
		for range 3 {
			answer, err := f(context.Background(), event("intake", order))
			require.NoError(t, err)
			require.Empty(t, answer.BatchItemFailures)
		}
		require.Equal(t, want, strings.Count(strings.Join(s.Calls(), ", "), "GetQueueAttributes"), "%v %v", capacity,
			want)
	}
}

// Rule 4: if the deployment is set to do so, requests have the tenant's message group. Status messages and
// quarantined messages do not.
func TestFairQueues(t *testing.T) {
	s := ordering(t)
	s.Settings[deployment.VarFairQueues] = "true"
	groups := map[string]string{} // group of the last message, by queue
	var lock sync.Mutex
	inner := s.Config.Handler
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		var sent struct {
			QueueURL string `json:"QueueUrl"`
			Entries  []struct {
				Group string `json:"MessageGroupId"`
			}
		}
		if err := json.Unmarshal(body, &sent); err == nil && len(sent.Entries) > 0 {
			lock.Lock()
			groups[path.Base(sent.QueueURL)] = sent.Entries[0].Group
			lock.Unlock()
		}
		inner.ServeHTTP(w, r)
	})
	f, err := newFunction(s.Lookup, io.Discard, cloudtest.Quiet)
	require.NoError(t, err)
	answer, err := f(context.Background(), event("intake", strings.Replace(order, "o-1", "acme:1", 1), "{poison"))
	require.NoError(t, err)
	require.Empty(t, answer.BatchItemFailures)
	want := map[string]string{
		"quarantine": "", "requests-inventory": "acme", "requests-payment": "acme",
		"shop": "",
	}
	require.Equal(t, want, groups)
}

// P46: an order of high priority comes from a separate queue, and its requests go to the agents' queues for
// high priority. The application gets no message that the priority has no effect.
func TestPriorities(t *testing.T) {
	for _, queues := range []string{"intake-high", "requests-inventory-high"} {
		s := ordering(t)
		s.Settings[deployment.VarQueues] = s.Queues("intake", "replies", "control", "quarantine",
			"requests-inventory", "requests-payment", "requests-shipping", "requests-notification", queues)
		f, err := newFunction(s.Lookup, io.Discard, cloudtest.Quiet)
		require.NoError(t, err)
		from := "intake"
		high := "requests-inventory-high"
		normal := "requests-inventory"
		if queues == "intake-high" {
			from, high, normal = queues, normal, high
		}
		s.Fail("dynamodb:PutItem")
		important := strings.Replace(order, `"schema":1,`, `"schema":1,"priority":"high",`, 1)
		answer, err := f(context.Background(), event(from, important))
		require.NoError(t, err)
		require.Len(t, answer.BatchItemFailures, 1)
		back := s.Extended()
		require.Len(t, back, 1)
		require.Equal(t, from, back[0].Queue)
		s.Allow("dynamodb:PutItem")
		answer, err = f(context.Background(), event(from, important))
		require.NoError(t, err)
		require.Empty(t, answer.BatchItemFailures)
		require.Len(t, s.Sent(high), 1, queues)
		require.Empty(t, s.Sent(normal), queues)
		require.Len(t, s.Sent("requests-payment"), 1, queues)
		reported := strings.Join(s.Sent("shop"), " ")
		require.NotEmpty(t, reported)
		require.NotContains(t, reported, "has no effect")
	}
}

// A message that could not be handled because of a fault of AWS comes again, and so does one from a queue
// outside the deployment.
func TestGivenBack(t *testing.T) {
	s := ordering(t)
	f, err := newFunction(s.Lookup, io.Discard, cloudtest.Quiet)
	require.NoError(t, err)
	s.Fail("dynamodb:PutItem")
	for queue, n := range map[string]int{"intake": 1, "foreign": 1} {
		answer, err := f(context.Background(), event(queue, order))
		require.NoError(t, err, queue)
		require.Len(t, answer.BatchItemFailures, n, queue)
		require.Equal(t, "m0", answer.BatchItemFailures[0].ItemIdentifier, queue)
		back := s.Extended() // visibility is never changed in a foreign queue
		if queue != "intake" {
			require.Empty(t, back, queue)
			continue
		}
		require.Len(t, back, 1, queue)
		require.Equal(t, "r0", back[0].Receipt, queue)
		s := back[0].Seconds
		require.GreaterOrEqual(t, s, 2, queue)
		require.LessOrEqual(t, s, 3, queue)
	}
	s.Settings[deployment.VarTokenKeys] = "arn:keys" // P39
	f, err = newFunction(s.Lookup, io.Discard, cloudtest.Quiet)
	require.NoError(t, err)
	_ = s.Calls()
	answer, err := f(context.Background(), event("intake", order))
	got := strings.Join(s.Calls(), ", ")
	require.NoError(t, err)
	require.Len(t, answer.BatchItemFailures, 1)
	require.Equal(t, "ChangeMessageVisibilityBatch intake, GetSecretValue arn:keys", got)
	answer, err = f(context.Background(), events.SQSEvent{})
	text, _ := json.Marshal(answer)
	require.NoError(t, err)
	require.Equal(t, `{"batchItemFailures":[]}`, string(text))
}

// One error reports every fault of the deployment's settings.
func TestCannotStart(t *testing.T) {
	root := t.TempDir()
	_, err := newFunction(func(name string) (string, bool) {
		return map[string]string{"LAMBDA_TASK_ROOT": root}[name], name == "LAMBDA_TASK_ROOT"
	}, io.Discard, cloudtest.Quiet)
	for _, want := range []string{
		"STEPKEEPER_QUEUES", "STEPKEEPER_ORDERS", "AWS_REGION",
		"no compiled workflow",
	} {
		require.ErrorContains(t, err, want)
	}
	s := ordering(t)
	bad := filepath.Join(s.Settings["LAMBDA_TASK_ROOT"], deployment.WorkflowsFolder, "bad.json")
	require.NoError(t, os.WriteFile(bad, []byte("{"), 0o600))
	_, err = newFunction(s.Lookup, io.Discard, cloudtest.Quiet)
	require.ErrorContains(t, err, "bad.json")
}
