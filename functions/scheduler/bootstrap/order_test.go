package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/cloudtest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/lambdaevent"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// trip has two parallel steps, the second of them slow, and one step after the first.
const trip = `
workflow: trip
steps:
  seat: {agent: inventory, operation: reserve, timeout: 1s, onFailure: undo, undo: release, grade: fenced}
  pay: {agent: payment, operation: charge, timeout: 30s, onFailure: undo, undo: refund, grade: fenced}
  print: {agent: shipping, operation: print, after: [seat], timeout: 5s, onFailure: undo, undo: none, grade: fenced}
`

// pivot has one step, which is a point of no return.
const pivot = `
workflow: pivot
steps:
  pay: {agent: payment, operation: charge, timeout: 1s, onFailure: stop, pointOfNoReturn: true, grade: fenced}
`

// trips is a deployment of the workflows trip and pivot.
type trips struct {
	*cloudtest.Deployment
	t *testing.T
}

func tripping(t *testing.T) *trips {
	t.Helper()
	d := cloudtest.Kept(t, trip, pivot)
	d.Settings[deployment.VarTaskTTL] = "720h"
	return &trips{d, t}
}

// instance starts one process, whose name is the end of its log stream's name.
func (d *trips) instance(name string) lambdaevent.Function {
	d.t.Helper()
	settings := map[string]string{"AWS_LAMBDA_LOG_STREAM_NAME": "2026/11/21/[$LATEST]" + name}
	maps.Copy(settings, d.Settings)
	f, err := newFunction(d.Environment(settings), io.Discard, cloudtest.Quiet)
	require.NoError(d.t, err)
	return f
}

// take passes messages of one queue to an instance, with the SenderId of SQS. It returns the messages that
// come again.
func (d *trips) take(f lambdaevent.Function, queue, sender string, bodies ...string) (again []string) {
	d.t.Helper()
	return d.receive(f, queue, sender, 1, bodies...)
}

// receive is like take, for messages that come for the n-th time.
func (d *trips) receive(f lambdaevent.Function, queue, sender string, n int,
	bodies ...string,
) (again []string) {
	d.t.Helper()
	e := event(queue, bodies...)
	for i := range e.Records {
		e.Records[i].Attributes = map[string]string{
			"SenderId":                sender,
			"ApproximateReceiveCount": strconv.Itoa(n),
		}
	}
	answer, err := f(context.Background(), e)
	require.NoError(d.t, err)
	for _, failed := range answer.BatchItemFailures {
		again = append(again, failed.ItemIdentifier)
	}
	return again
}

func submission(id string) string {
	return fmt.Sprintf(`{"schema":1,"orderId":%q,"workflow":"trip","replyTo":"shop","order":{}}`, id)
}

// reply returns a reply to a step's first attempt.
func reply(step, agent string, outcome core.Outcome) string {
	text, _ := json.Marshal(message.Reply{
		Schema: 1, OrderID: "o-1", Step: step, Agent: agent, Attempt: 1,
		Operation: core.Do, Outcome: outcome,
		Error: &message.ReplyError{Code: "busy", Message: "try later"},
	})
	return string(text)
}

// shown returns the state of an order's step as it is stored, who claimed it, until when it is to be done, and its
// failures.
func (d *trips) shown(id, step string) string {
	d.t.Helper()
	s := d.Step(id, step)
	return fmt.Sprintf("%s %s %s %d", s.State, cmp.Or(s.Claim.By, "-"), cmp.Or(s.CompleteBy.String(), "-"), s.Failures.Do)
}

// What is stored of an order: the state of each step, who claimed it, until when it is to be done, and its failures;
// an ended order has its time to live, in seconds.
func TestWhatIsStoredOfAnOrder(t *testing.T) {
	d := tripping(t)
	one := d.instance("instance-1")
	two := d.instance("instance-2")
	began := time.Now()
	require.Empty(t, d.take(one, "intake", "AIDASHOP", submission("o-1")))
	times := func(step string) string { return strings.Fields(d.shown("o-1", step))[2] }
	runs := func() {
		t.Helper()
		require.Equal(t, "Processing", d.Item("orders", "o-1")["ProcessState"]["S"])
		require.Nil(t, d.Item("orders", "o-1")[ttl], "an order under way would be deleted")
	}
	require.Equal(t, "Processing stance-1 "+times("pay")+" 0", d.shown("o-1", "pay"))
	require.Less(t, times("seat"), times("pay"), "the quick step is to be done before the slow one")
	require.Equal(t, "Pending - - 0", d.shown("o-1", "print"))
	runs()

	d.take(two, "replies", "AROAAGENT:x", reply("seat", "inventory", core.OutcomeDone))
	require.Equal(t, "Processing stance-1 "+times("pay")+" 0", d.shown("o-1", "pay"))
	require.Equal(t, "Processing stance-2 "+times("print")+" 0", d.shown("o-1", "print"))
	require.Equal(t, "Processed - - 0", d.shown("o-1", "seat"))

	d.take(two, "replies", "AROAAGENT:x", reply("pay", "payment", core.OutcomeRetryLater))
	require.Equal(t, "Pending - "+times("pay")+" 1", d.shown("o-1", "pay"))
	runs()

	d.take(one, "replies", "AROAAGENT:x", reply("pay", "payment", core.OutcomeDone),
		reply("print", "shipping", core.OutcomeDone))
	item := d.Item("orders", "o-1")
	require.Equal(t, "Processed", item["ProcessState"]["S"])
	require.Nil(t, item["bucket"])
	expires, err := strconv.ParseInt(fmt.Sprint(item[ttl]["N"]), 10, 64)
	require.NoError(t, err)
	require.InDelta(t, (720 * time.Hour).Seconds(), time.Unix(expires, 0).Sub(began).Seconds(), 3600)
}

const ttl = "expiresAt"

// P3: SQS reports which role sent a reply, and the deployment states which role each agent has.
func TestReplyOfAnotherRole(t *testing.T) {
	d := tripping(t)
	d.Settings[deployment.VarAgents] = deployment.Peers("", []deployment.Peer{
		{Name: "inventory", Queue: d.URL + "/1/requests-inventory", Senders: []string{"AROAINVENTORY"}},
		{Name: "payment", Queue: d.URL + "/1/requests-payment", Senders: []string{"AROAPAYMENT"}},
	})
	f := d.instance("instance-1")
	d.take(f, "intake", "AIDASHOP", submission("o-1"))
	state := func() string { return d.shown("o-1", "seat")[:10] }
	require.Empty(t, d.take(f, "replies", "AROAPAYMENT:function", reply("seat", "inventory", core.OutcomeDone)))
	require.Equal(t, "Processing", state())
	quarantined := d.Sent("quarantine")
	require.Len(t, quarantined, 1)
	require.Contains(t, quarantined[0], "AROAPAYMENT")
	require.Empty(t, d.take(f, "replies", "AROAINVENTORY:function", reply("seat", "inventory", core.OutcomeDone)))
	require.Equal(t, "Processed ", state())
}

// An order that stops raises an alert with everything that is known about it, and with the commands that it
// accepts, for this stack.
func TestAlertOfADeployment(t *testing.T) {
	d := tripping(t)
	d.Settings["AWS_LAMBDA_LOG_GROUP_NAME"] = "/shop/Scheduler"
	f := d.instance("instance-1")
	d.take(f, "intake", "AIDASHOP", strings.Replace(submission("o-1"), "trip", "pivot", 1))
	began := core.TimeOf(time.Now())
	d.take(f, "replies", "AROAAGENT:x", reply("pay", "payment", core.OutcomeFailed))
	published := d.Published()
	require.Len(t, published, 1)
	var byProtocol struct{ Default, Email string }
	var got message.Alert
	require.NoError(t, json.Unmarshal([]byte(published[0]), &byProtocol))
	require.NoError(t, json.Unmarshal([]byte(byProtocol.Default), &got))
	require.GreaterOrEqual(t, got.At, began)
	const logs = "https://eu-central-1.console.aws.amazon.com/cloudwatch/home?region=eu-central-1#logsV2:log-groups/log-group/$252Fshop$252FScheduler/log-events$3FfilterPattern$3D$2522o-1$2522"
	require.Equal(t, []any{message.AlertFirst, "Shop/Engine", 1, logs},
		[]any{got.Kind, got.Deployment, got.Orders, got.Logs})
	require.Equal(t, "pay busy try later", got.Step+" "+got.Code+" "+got.Message)
	commands := []string{
		"stepkeeper --stack Shop/Engine show o-1",
		"stepkeeper --stack Shop/Engine resubmit o-1", "stepkeeper --stack Shop/Engine resolve o-1 pay happened",
		"stepkeeper --stack Shop/Engine resolve o-1 pay not-happened",
	}
	require.Equal(t, commands, got.Commands)
	for _, want := range append(commands, "pivot", "phase    forward", "code     busy") {
		require.Contains(t, byProtocol.Email, want)
	}
}

// The definition of a workflow is written once. Another process finds it there, and makes no write that would
// be refused.
func TestDefinitionIsWrittenOnce(t *testing.T) {
	d := tripping(t)
	delete(d.Settings, deployment.VarTaskTTL) // a create would look for a tombstone
	put := func(id string) bool {
		d.Calls()
		require.Empty(t, d.take(d.instance("instance-1"), "intake", "AIDASHOP", submission(id)))
		return slices.Contains(d.Calls(), "PutItem definitions")
	}
	require.True(t, put("o-1"), "the first process has to write the definition, and the second must not")
	require.False(t, put("o-2"), "the first process has to write the definition, and the second must not")
	d.Fail("dynamodb:GetItem") // it cannot look
	require.True(t, put("o-3"), "a process that cannot look has to write it")
}

// While SNS takes no alert, the requests of other orders of the same batch are sent. The invocation stays for
// the alert only when its work is done.
func TestAlertThatHangsDelaysNoOrder(t *testing.T) {
	d := tripping(t)
	f := d.instance("instance-1")
	d.take(f, "intake", "AIDASHOP", strings.Replace(submission("o-1"), "trip", "pivot", 1), submission("o-2"))
	end := d.Hang("sns:Publish")
	defer end()
	again := make(chan int, 1)
	go func() {
		// the limit of a publication is longer
		ctx, cancel := context.WithTimeout(context.Background(), 9*time.Second)
		defer cancel()
		answer, err := f(ctx, event("replies", reply("pay", "payment", core.OutcomeFailed),
			strings.Replace(reply("seat", "inventory", core.OutcomeDone), "o-1", "o-2", 1)))
		if err != nil {
			t.Error(err)
		}
		again <- len(answer.BatchItemFailures)
	}()
	for len(d.Sent("requests-shipping")) == 0 {
		select {
		case n := <-again:
			t.Fatalf("the function ended without a request, %d messages come again", n)
		case <-time.After(time.Millisecond):
		}
	}
	end()
	require.LessOrEqual(t, <-again, 0)
	require.Len(t, d.Published(), 1)
}
