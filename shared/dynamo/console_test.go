package dynamo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/dynamo/dynamotest"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

const twoSteps = `workflow: shop
steps:
  reserve: {agent: stock, operation: reserve, timeout: 10s, onFailure: undo, undo: release, grade: idempotent}
  charge: {agent: bank, operation: charge, after: [reserve], timeout: 10s, onFailure: undo, undo: refund, grade: idempotent}
`

// shop is one order that is taken from event to event and stored each time.
type shop struct {
	*testing.T
	def    *core.Definition
	store  *state.Store
	task   *protocol.Task
	now    time.Time
	client *dynamodb.Client
	table  string
}

func newShop(t *testing.T) *shop {
	t.Helper()
	def, problems := source.Parse("shop.yaml", []byte(twoSteps), source.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	client := dynamo.NewClient(dynamotest.Config(t, awsclient.Options{}))
	names := dynamotest.Tables(t, client)
	tables := dynamo.New(client, names.Tables, dynamo.Options{})
	s := state.New(state.Config{
		Store: tables, Definitions: tables, Compile: workflow.Decode,
		Encode:  workflow.Encode,
		Current: func(string) *core.Definition { return def },
	})
	return &shop{T: t, def: def, store: s, now: created, client: client, table: names.Orders}
}

// then decides an event a second later and stores what comes of it.
func (s *shop) then(ev core.Event) {
	s.Helper()
	s.now = s.now.Add(time.Second)
	d, err := protocol.Decide(s.def, []byte(`{}`), s.task, ev,
		protocol.At{Now: core.TimeOf(s.now), By: "scheduler-1"})
	if err != nil {
		s.Fatal(err)
	}
	d.Task.Version++
	change := state.Change{Task: d.Task}
	if s.task == nil {
		change.Order = []byte(`{}`)
	}
	if err := s.store.Commit(context.Background(), []state.Change{change})[0]; err != nil {
		s.Fatal(err)
	}
	s.task = d.Task
}

// shows checks attributes of the item as a plain client reads them, the kind of each as well:
// "S Processing", "N 1", "N a time", "<nil>" for one that is absent. step "": at the top.
func (s *shop) shows(step string, want map[string]string) {
	s.Helper()
	out, err := s.client.GetItem(s.Context(),
		&dynamodb.GetItemInput{
			TableName: &s.table, ConsistentRead: aws.Bool(true),
			Key: map[string]types.AttributeValue{"OrderID": &types.AttributeValueMemberS{Value: "o-1"}},
		})
	if err != nil {
		s.Fatal(err)
	}
	members := out.Item
	if step != "" {
		steps, ok := members["Steps"].(*types.AttributeValueMemberM)
		if !ok {
			s.Fatalf("Steps is %T, want a map", members["Steps"])
		}
		one, ok := steps.Value[step].(*types.AttributeValueMemberM)
		if !ok {
			s.Fatalf("step %s is %T, want a map", step, steps.Value[step])
		}
		members = one.Value
	}
	for name, value := range want {
		if got := inConsole(members[name]); got != value {
			s.Errorf("%s %s is %q, want %q", step, name, got, value)
		}
	}
}

// inConsole is a value as the console shows it.
func inConsole(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberNULL:
		return "NULL"
	case *types.AttributeValueMemberS:
		return "S " + v.Value
	case *types.AttributeValueMemberN:
		if ms, err := strconv.ParseInt(v.Value, 10, 64); err == nil && ms > created.UnixMilli() {
			return "N a time"
		}
		return "N " + v.Value
	}
	return fmt.Sprintf("%T", v)
}

func replyOf(step string, attempt int, outcome core.Outcome) core.Reply {
	return core.Reply{
		Step: step, Attempt: attempt, Operation: core.Do, Outcome: outcome,
		Output: json.RawMessage(`{"ok":true}`),
	}
}

// What the pattern names, read with a plain client: at the top for the order, in Steps for each step.
func TestTheItemInTheConsole(t *testing.T) {
	const at, by, absent = "N a time", "S scheduler-1", "<nil>"
	s := newShop(t)
	s.then(core.Submitted{OrderID: "o-1", Workflow: "shop", ContentHash: "0123"})
	s.shows("", map[string]string{
		"OrderID": "S o-1", "ProcessState": "S Processing", "LockedBy": by,
		"CompleteBy": at, "FailureCount": absent, "Workflow": "S shop", "Version": "N 1", "Order": "S {}",
	})
	s.shows("reserve", map[string]string{
		"ProcessState": "S Processing", "LockedBy": by, "CompleteBy": at,
		"FailureCount": absent, "try": "N 1",
	})
	s.shows("charge", map[string]string{
		"ProcessState": "S Pending", "LockedBy": absent, "CompleteBy": absent,
		"FailureCount": absent,
	})

	s.then(replyOf("reserve", 1, core.OutcomeDone))
	s.shows("reserve", map[string]string{
		"ProcessState": "S Processed", "LockedBy": absent,
		"FailureCount": absent,
	})
	s.shows("charge", map[string]string{"ProcessState": "S Processing", "LockedBy": by, "CompleteBy": at})

	s.now = s.now.Add(10 * time.Minute) // the Supervisor counts a failure and hands the step back (P16)
	s.then(core.Overdue{Step: "charge", Attempt: 1})
	s.shows("charge", map[string]string{
		"ProcessState": "S Pending", "LockedBy": absent, "CompleteBy": at,
		"FailureCount": "N 1",
	})
	s.shows("", map[string]string{
		"ProcessState": "S Processing", "LockedBy": absent, "CompleteBy": absent,
		"FailureCount": "N 1",
	})

	s.now = s.now.Add(time.Hour)
	s.then(core.Wake{Step: "charge", Attempt: 1})
	s.then(replyOf("charge", 2, core.OutcomeDone))
	s.shows("charge", map[string]string{"ProcessState": "S Processed", "FailureCount": "N 1", "try": "N 2"})
	s.shows("", map[string]string{
		"ProcessState": "S Processed", "LockedBy": absent, "CompleteBy": absent,
		"FailureCount": "N 1",
	})
}
