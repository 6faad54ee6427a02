package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/stepkeeper/stepkeeper/functions/agent/httpagent"
	"github.com/stepkeeper/stepkeeper/functions/agent/httpagent/agentsfile"
	"github.com/stepkeeper/stepkeeper/infra/build"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// function is one of ours, with what stands beside its binary, its environment, and its work.
type function struct {
	name, pkg   string
	files       map[string][]byte
	environment map[string]string
	event       func(n int) any // the n-th batch of work
}

func functionsOf(world *stubs) ([]function, error) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return nil, fmt.Errorf("run it inside the module: %w", err)
	}
	file := filepath.Join(strings.TrimSpace(string(root)), "workflows", "order.yaml")
	d, problems := source.LoadFile(file, source.Options{})
	if err := problems.Err(); err != nil {
		return nil, err
	}
	flow, err := workflow.Encode(d)
	if err != nil {
		return nil, err
	}
	raw, err := agentsfile.Read([]byte("agents: {payment: {url: " + world.address() + "/service}}"))
	if err != nil {
		return nil, err
	}
	settings, err := httpagent.Encode(raw)
	if err != nil {
		return nil, err
	}
	engine := map[string]string{
		deployment.VarOrders: "orders", deployment.VarTasks: "tasks", deployment.VarDefinitions: "definitions", deployment.VarShards: "8",
		deployment.VarAlerts: "arn:aws:sns:eu-central-1:1:alerts", deployment.VarQueues: world.queues(), deployment.VarName: "measured",
	}
	return []function{
		{"scheduler", build.Scheduler, map[string][]byte{"workflows/order.json": flow}, engine, func(n int) any { return batch("intake", 10, n, order) }},
		{"agent", build.HTTPAgent, map[string][]byte{deployment.AgentFile: settings},
			map[string]string{deployment.VarAgent: "payment", deployment.VarQueues: world.queues()},
			func(n int) any { return batch("requests-payment", 5, n, request) }},
		{"agent in Go", "github.com/stepkeeper/stepkeeper/examples/agent-go", nil,
			map[string]string{deployment.VarAgent: "coats", deployment.VarQueues: world.queues(), deployment.VarLedger: "ledger"},
			func(n int) any { return batch("requests-coats", 5, n, coat) }},
		{"supervisor", build.Supervisor, nil, engine, func(int) any { return map[string]string{"from": "schedule"} }},
	}, nil
}

// batch is a full batch of one queue.
func batch(queue string, size, n int, body func(id string) any) events.SQSEvent {
	var e events.SQSEvent
	for i := range size {
		id := fmt.Sprintf("o-%d-%d-%d", os.Getpid(), n, i)
		text, err := json.Marshal(body(id))
		if err != nil {
			panic(err) // of our own types
		}
		e.Records = append(e.Records, events.SQSMessage{
			MessageId: id, ReceiptHandle: id, Body: string(text), EventSource: "aws:sqs", EventSourceARN: "arn:aws:sqs:eu-central-1:1:" + queue,
			Attributes: map[string]string{"ApproximateReceiveCount": "1", "SentTimestamp": "1795230000000"},
		})
	}
	return e
}

func order(id string) any {
	return message.SubmitOrder{Schema: message.Schema, OrderID: id, Workflow: "order", Order: json.RawMessage(
		`{"items":[{"sku":"a","quantity":2,"unitPrice":990,"physical":true}],"currency":"EUR","payment":{"card":"tok"},"shipTo":{"country":"DE"},"customer":{"email":"a@example.com"}}`)}
}

func request(id string) any {
	return message.Request{Schema: message.Schema, SendRequest: core.SendRequest{
		Agent: "payment", OrderID: id, Step: "charge-payment", Attempt: 1, Operation: core.Do, Name: "charge", Grade: core.Idempotent,
		Key: id + "/0/charge-payment", Timeout: 10 * core.Second, StopBy: farFuture, CompleteBy: farFuture, Input: json.RawMessage(`{"amount":1980}`),
	}}
}

// coat is a request of the example that an author's own agent is measured by.
func coat(id string) any {
	return message.Request{Schema: message.Schema, SendRequest: core.SendRequest{
		Agent: "coats", OrderID: id, Step: "hang", Attempt: 1, Operation: core.Do, Name: "hang", Grade: core.Idempotent,
		Key: id + "/0/hang", Timeout: 10 * core.Second, StopBy: farFuture, CompleteBy: farFuture, Input: json.RawMessage(`{"coat":"red"}`),
	}}
}

// farFuture is in the year 2100.
const farFuture = core.Time(4_102_444_800_000)
