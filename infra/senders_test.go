package infra_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awseventstargets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssnssubscriptions"
	"github.com/aws/jsii-runtime-go"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/infra"
)

// request is who sends to a queue, with the keys of IAM's condition context; a key that is absent is
// absent for IAM too.
type request struct {
	service string // "": no service, but a role or user
	keys    map[string]string
}

func role(arn string) request {
	return request{keys: map[string]string{"aws:PrincipalArn": arn, "aws:PrincipalAccount": strings.Split(arn,
		":")[4], "aws:PrincipalIsAWSService": "false", "aws:SecureTransport": "true"}}
}

func service(name string, keys ...string) request {
	r := request{service: name, keys: map[string]string{
		"aws:PrincipalIsAWSService": "true",
		"aws:SecureTransport":       "true",
	}}
	for i := 0; i < len(keys); i += 2 {
		r.keys[keys[i]] = keys[i+1]
	}
	return r
}

// decide is what a queue's policy says of sqs:SendMessage.
func decide(t *testing.T, policy any, r request) string {
	t.Helper()
	return decideOn(t, policy, "sqs:SendMessage", r)
}

// decideOn is what a resource's policy says of an action, as IAM evaluates it: Deny before Allow, all
// conditions of a statement together; "" is no word, which leaves it to the sender's own policy.
func decideOn(t *testing.T, policy any, action string, r request) string {
	t.Helper()
	answer := ""
	for _, s := range list(at(policy, "Statement")) {
		if !slices.ContainsFunc(list(at(s, "Action")), func(a any) bool {
			return a == action || a == "sqs:*"
		}) || !meant(at(s, "Principal"), r) {
			continue
		}
		fits := true
		conditions, _ := at(s, "Condition").(map[string]any)
		for operator, keys := range conditions {
			for key, values := range keys.(map[string]any) {
				fits = fits && holds(t, operator, r.keys, key, list(values))
			}
		}
		if effect := at(s, "Effect").(string); fits && answer != "Deny" {
			answer = effect
		}
	}
	return answer
}

func meant(principal any, r request) bool {
	if principal == "*" || at(principal, "AWS") == "*" {
		return true
	}
	return r.service != "" && slices.Contains(list(at(principal, "Service")), any(r.service)) ||
		slices.Contains(list(at(principal, "AWS")), any(r.keys["aws:PrincipalArn"]))
}

// holds evaluates one condition. The negated operators hold for a key that is absent, the others do not.
func holds(t *testing.T, operator string, keys map[string]string, key string, values []any) bool {
	t.Helper()
	is, there := keys[key]
	any := slices.ContainsFunc(values, func(v any) bool {
		text := target(v)
		return text == is || strings.HasPrefix(operator, "Arn") && like(text, is)
	})
	switch operator {
	case "StringEquals", "Bool", "ArnEquals", "ArnLike":
		return there && any
	case "BoolIfExists":
		return !there || any
	case "StringNotEquals", "ArnNotEquals", "ArnNotLike":
		return !there || !any
	case "StringEqualsIfExists":
		return !there || any
	case "Null":
		return !there == (values[0] == "true")
	}
	t.Fatalf("this test does not know the operator %s", operator)
	return false
}

// Rules 20, 21 and 29: who may send to which queue; a service of AWS has no account, and names the one
// that it acts for.
func TestQueuePolicies(t *testing.T) {
	const (
		ours   = "arn:aws:sns:" + region + ":" + account + ":orders"
		rule   = "arn:aws:events:" + region + ":" + account + ":rule/nightly"
		others = "arn:aws:sns:" + region + ":999999999999:orders"
	)
	needNode(t)
	_, stack := newStack("Test")
	p := shop(stack)
	p.Operators = []string{"arn:aws:iam::" + account + ":role/ops"}
	p.Priorities = map[string]int{"intake": 2, "payment": 2}
	engine := infra.NewStepkeeper(stack, "Engine", p)
	topic := awssns.Topic_FromTopicArn(stack, str("Orders"), str(ours))
	foreign := awssns.Topic_FromTopicArn(stack, str("Foreign"), str(others))
	for _, from := range []awssns.ITopic{topic, foreign} {
		from.AddSubscription(awssnssubscriptions.NewSqsSubscription(engine.Intake(),
			&awssnssubscriptions.SqsSubscriptionProps{RawMessageDelivery: jsii.Bool(true)}))
	}
	awsevents.NewRule(stack, str("Nightly"), &awsevents.RuleProps{
		Schedule: awsevents.Schedule_Rate(awscdk.Duration_Days(jsii.Number(1))),
		Targets:  &[]awsevents.IRuleTarget{awseventstargets.NewSqsQueue(engine.Intake(), nil)},
	})
	x := read(t, stack)
	policies := map[string]any{}
	for _, q := range x.of("AWS::SQS::QueuePolicy") {
		policies[target(at(q.Properties, "Queues", 0))] = q.Properties["PolicyDocument"]
	}
	var nightly string
	for id, r := range x.Resources {
		if r.Type == "AWS::Events::Rule" && strings.HasPrefix(id, "Nightly") {
			nightly = plainID(id) // as the policy names it
		}
	}
	mine := role("arn:aws:iam::" + account + ":role/web")
	strange := role("arn:aws:iam::999999999999:role/web")
	plain := role("arn:aws:iam::" + account + ":role/web")
	plain.keys["aws:SecureTransport"] = "false"
	sns := service("sns.amazonaws.com", "aws:SourceArn", ours)
	elsewhere := service("sns.amazonaws.com", "aws:SourceArn", others, "aws:SourceAccount", "999999999999")
	for _, c := range []struct {
		queue, who string
		r          request
		want       string
	}{
		{"Intake", "a role of the account", mine, ""},
		{"Intake", "a role of another account", strange, "Deny"},
		{"Intake", "plain HTTP", plain, "Deny"},
		{
			"Intake", "an anonymous request",
			request{keys: map[string]string{"aws:SecureTransport": "true"}},
			"Deny",
		},
		{"Intake", "our topic", sns, "Allow"},
		{"Intake", "another account's topic, though it is subscribed", elsewhere, "Deny"},
		{"Intake", "our rule", service("events.amazonaws.com", "aws:SourceArn", nightly, "aws:SourceAccount",
			account), "Allow"},
		{"Intake", "another rule of ours", service("events.amazonaws.com", "aws:SourceArn", rule,
			"aws:SourceAccount", account), ""},
		{"Intake", "a bucket, whose ARN has no account", service("s3.amazonaws.com", "aws:SourceArn",
			"arn:aws:s3:::uploads", "aws:SourceAccount", account), ""},
		{"Intake", "another account's bucket", service("s3.amazonaws.com", "aws:SourceArn",
			"arn:aws:s3:::uploads", "aws:SourceAccount", "999999999999"), "Deny"},
		{"Intake", "a service that acts for no account", service("sns.amazonaws.com"), "Deny"},
		{"IntakeHigh", "a role of the account", mine, ""},
		{"IntakeHigh", "a role of another account", strange, "Deny"},
		{"RequestsPaymentHigh", "a role of the account", mine, "Deny"},
		{"Intake", "another account's rule", service("events.amazonaws.com", "aws:SourceArn", nightly,
			"aws:SourceAccount", "999999999999"), "Deny"},
		{"Control", "a role of the account", mine, ""},
		{"Control", "a service for us", sns, ""},
		{"Control", "a service for others", elsewhere, "Deny"},
		{"Replies", "an agent", role("AgentPaymentRole:::: "), ""},
		{"Replies", "an operator", role("arn:aws:iam::" + account + ":role/ops"), ""},
		{"Replies", "another role of the account", mine, "Deny"},
		{"Replies", "a service for us", sns, "Deny"},
		{"RequestsPayment", "the Scheduler", role("SchedulerRole:::: "), ""},
		{"RequestsPayment", "an agent", role("AgentPaymentRole:::: "), "Deny"},
		{"RequestsPayment", "a service for us", sns, "Deny"},
		{"Quarantine", "an agent", role("AgentPaymentRole:::: "), ""},
		{"Quarantine", "a service for us", sns, "Deny"},
		{"IntakeDead", "a role of the account", mine, "Deny"},
		{"ControlDead", "an operator", role("arn:aws:iam::" + account + ":role/ops"), "Deny"},
		{"RepliesDead", "an agent", role("AgentPaymentRole:::: "), "Deny"},
		{"RequestsPaymentDead", "the Scheduler", role("SchedulerRole:::: "), "Deny"},
		{"RequestsPaymentDead", "a service for us", sns, "Deny"},
		{"RepliesDead", "another account", strange, "Deny"},
		{"MissedSweeps", "a role of the account", mine, "Deny"},
		{"MissedSweeps", "an operator", role("arn:aws:iam::" + account + ":role/ops"), "Deny"},
		{"MissedSweeps", "the schedule", role("ScheduleRole:::: "), ""},
		{"MissedSweeps", "the Supervisor", role("SupervisorRole:::: "), ""},
		{"MissedSweeps", "a service for us", sns, ""}, // no statement allows it
	} {
		// a role of the template
		if arn, cut := strings.CutSuffix(c.r.keys["aws:PrincipalArn"], ":::: "); cut {
			c.r.keys["aws:PrincipalArn"] = arn
			c.r.keys["aws:PrincipalAccount"] = account
		}
		require.NotNil(t, policies[c.queue], "%s has no policy", c.queue)
		same(t, c.queue+": "+c.who, decide(t, policies[c.queue], c.r), c.want)
	}
}
