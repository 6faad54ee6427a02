package infra_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awseventstargets"
	"github.com/aws/jsii-runtime-go"

	"github.com/stepkeeper/stepkeeper/infra"
)

// ordersFrom is the rule that docs/how-to/aws-queues.md shows.
func ordersFrom(stack awscdk.Stack, bus awsevents.IEventBus, engine *infra.Stepkeeper) {
	awsevents.NewRule(stack, jsii.String("Placed"), &awsevents.RuleProps{
		EventBus:     bus,
		EventPattern: &awsevents.EventPattern{DetailType: jsii.Strings("OrderPlaced")},
		Targets: &[]awsevents.IRuleTarget{awseventstargets.NewSqsQueue(engine.Intake(),
			&awseventstargets.SqsQueueProps{
				Message: awsevents.RuleTargetInput_FromObject(map[string]any{
					"schema": 1, "workflow": "order",
					"orderId": awsevents.EventField_FromPath(jsii.String("$.detail.id")),
					"order":   awsevents.EventField_FromPath(jsii.String("$.detail")),
				}),
			})},
	})
}

// withEvents is the example's workflow, which sends the ends of its orders to the bus.
func withEvents(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("app/order.yaml")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "order.yaml")
	if err := os.WriteFile(name, append([]byte("events: true\n"), text...), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// The Scheduler alone may put events, on the buses of the app alone, and knows them by name; a rule's events
// are submissions, and the intake takes them from that rule.
func TestBuses(t *testing.T) {
	needNode(t)
	_, stack := newStack("Test")
	p := shop(stack)
	p.Workflows = []string{withEvents(t)}
	bus := awsevents.NewEventBus(stack, str("Bus"), nil)
	p.ReplyToBuses = map[string]awsevents.IEventBus{
		"events": bus,
		"audit": awsevents.EventBus_FromEventBusArn(stack, str("Audit"),
			str("arn:aws:events:"+region+":999999999999:event-bus/audit")),
	}
	ordersFrom(stack, bus, infra.NewStepkeeper(stack, "Engine", p))
	x := read(t, stack)
	same(t, "reply-to", target(at(variables(x, "Scheduler"), "STEPKEEPER_REPLY_TO")),
		`{"audit":"arn:aws:events:`+region+`:999999999999:event-bus/audit","events":"Bus","shop":"shop-status"}`)
	same(t, "the Supervisor's reply-to", at(variables(x, "Supervisor"), "STEPKEEPER_REPLY_TO"), nil)
	granted := ""
	for _, s := range allowed(x) {
		if strings.Contains(fmt.Sprint(s.actions), "events:") {
			granted += fmt.Sprintln(s.where, s.actions, s.resources)
		}
	}
	same(t, "granted", granted, "SchedulerRole [events:PutEvents] [arn:aws:events:"+region+
		":999999999999:event-bus/audit Bus]\n")
	for _, problem := range loose(x) {
		t.Error(problem)
	}
	rule := x.of("AWS::Events::Rule")["Placed"].Properties
	same(t, "the rule's bus", target(at(rule, "EventBusName")), "Bus")
	same(t, "message", at(rule, "Targets", 0, "InputTransformer", "InputTemplate"),
		`{"order":<detail>,"orderId":<detail-id>,"schema":1,"workflow":"order"}`)
	same(t, "parts", at(rule, "Targets", 0, "InputTransformer", "InputPathsMap"),
		"map[detail:$.detail detail-id:$.detail.id]")
	for _, q := range x.of("AWS::SQS::QueuePolicy") {
		if policy := q.Properties["PolicyDocument"]; target(at(q.Properties, "Queues", 0)) == "Intake" {
			for of, want := range map[string]string{account: "Allow", "999999999999": "Deny"} {
				same(t, "a rule of account "+of, decide(t, policy, service("events.amazonaws.com",
					"aws:SourceArn", "Placed", "aws:SourceAccount", of)), want)
			}
		}
	}
	text := page(t, "aws-queues.md")
	source := file(t, "infra", "events_test.go")
	_, source, _ = strings.Cut(source, "*infra.Stepkeeper) {\n")
	source, _, _ = strings.Cut(source, "\n}\n")
	if plain := strings.NewReplacer("\t", "", " ", ""); !strings.Contains(plain.Replace(text),
		plain.Replace(source)) {
		t.Errorf("aws-queues.md does not show\n%s", source)
	}
}

// What would drop events silently is refused at synthesis.
func TestEventsNeedABus(t *testing.T) {
	needNode(t)
	_, stack := newStack("Test")
	p := shop(stack)
	p.Workflows = []string{withEvents(t)}
	p.ReplyToBuses = map[string]awsevents.IEventBus{
		"shop": awsevents.NewEventBus(stack, str("Bus"), nil), "control": nil,
	}
	defer func() {
		text := fmt.Sprint(recover())
		for _, want := range []string{
			"workflow order has events: true", `set ReplyToBuses["events"]`,
			`ReplyToBuses "shop" must`, `ReplyToBuses "control" must`,
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not reported in\n%s", want, text)
			}
		}
	}()
	infra.NewStepkeeper(stack, "Engine", p)
}
