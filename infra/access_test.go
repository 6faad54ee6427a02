package infra_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"

	"github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/infra"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// statement is one Allow of an identity policy.
type statement struct {
	where, sid         string
	actions, resources []string
}

// allowed lists all Allow statements of identity policies: inline, attached and managed ones.
func allowed(x tmpl) []statement {
	var all []statement
	add := func(id string, document any) {
		for _, s := range list(at(document, "Statement")) {
			if at(s, "Effect") != "Allow" {
				continue
			}
			found := statement{where: plainID(id), sid: fmt.Sprint(at(s, "Sid"))}
			for _, a := range list(at(s, "Action")) {
				found.actions = append(found.actions, fmt.Sprint(a))
			}
			for _, r := range list(at(s, "Resource")) {
				found.resources = append(found.resources, target(r))
			}
			if at(s, "NotAction") != nil || at(s, "NotResource") != nil {
				found.actions = append(found.actions, "*")
				found.resources = append(found.resources, "*")
			}
			all = append(all, found)
		}
	}
	for id, r := range x.Resources {
		switch r.Type {
		case "AWS::IAM::Role":
			for _, p := range list(r.Properties["Policies"]) {
				add(id, at(p, "PolicyDocument"))
			}
		case "AWS::IAM::Policy", "AWS::IAM::ManagedPolicy", "AWS::IAM::UserPolicy", "AWS::IAM::RolePolicy",
			"AWS::IAM::GroupPolicy":
			add(id, r.Properties["PolicyDocument"])
		}
	}
	return all
}

// stackByName is the resource of the test's stack: IAM sees the wildcard itself where a caller names the
// stack.
const stackByName = "arn:AWS::Partition:cloudformation:eu-central-1:123456789012:stack/Test/*"

// loose lists what is wrong with the identity policies of a template (rule 21).
func loose(x tmpl) (problems []string) {
	for _, s := range allowed(x) {
		for _, text := range append(slices.Clone(s.actions), s.resources...) {
			if unrestricted := text == "*" && slices.Equal(s.actions, []string{"cloudwatch:GetMetricData"}) &&
				strings.HasPrefix(s.where, "Operator"); unrestricted {
				continue // it knows no resources
			}
			if byName := strings.HasSuffix(text, "/*") && strings.Count(text, "*") == 1 &&
				strings.Contains(text, ":stack/"); byName &&
				slices.Equal(s.actions, []string{"cloudformation:DescribeStacks"}) {
				continue
			}
			if strings.Contains(text, "*") || strings.Contains(text, "?") {
				problems = append(problems, fmt.Sprintf("%s, %s: wildcard %s", s.where, s.sid, text))
			}
		}
		for _, a := range s.actions {
			switch a {
			case "dynamodb:Scan", "dynamodb:DeleteItem", "dynamodb:BatchWriteItem", "dynamodb:DeleteTable",
				"iam:PassRole":
				problems = append(problems, fmt.Sprintf("%s, %s: no role has %s", s.where, s.sid, a))
			}
		}
		if s.sid == "<nil>" {
			problems = append(problems, fmt.Sprintf("%s: a statement without a Sid, with %v", s.where,
				s.actions))
		}
	}
	for id, r := range x.of("AWS::IAM::Role") {
		if r.Properties["ManagedPolicyArns"] != nil {
			problems = append(problems, id+": managed policies of AWS's")
		}
	}
	slices.Sort(problems)
	return problems
}

func TestNoWildcards(t *testing.T) {
	for name, change := range map[string]func(awscdk.Stack, *infra.Props){
		"default": nil,
		"all options": func(_ awscdk.Stack, p *infra.Props) {
			p.CustomerManagedKey = true
			p.EventBridgeRule = true
			p.FinishedOrders = true
			p.Operators = []string{"arn:aws:iam::123456789012:role/ops"}
		},
		"secrets": withSecrets,
	} {
		x := template(t, change)
		if n := len(allowed(x)); n < 30 {
			t.Errorf("%s: only %d statements were looked at", name, n)
		}
		for _, p := range loose(x) {
			t.Errorf("%s: %s", name, p)
		}
	}
}

// The test above can fail.
func TestWildcardsAreFound(t *testing.T) {
	x := template(t, func(stack awscdk.Stack, _ *infra.Props) {
		role := awsiam.NewRole(stack, str("Planted"), &awsiam.RoleProps{
			AssumedBy: awsiam.NewServicePrincipal(str("lambda.amazonaws.com"), nil),
			ManagedPolicies: &[]awsiam.IManagedPolicy{
				awsiam.ManagedPolicy_FromAwsManagedPolicyName(str("ReadOnlyAccess")),
			},
		})
		queue := awssqs.NewQueue(stack, str("PlantedQueue"), nil)
		for _, s := range [][2]string{
			{"sqs:*", *queue.QueueArn()},
			{"sqs:SendMessage", "*"},
			{"dynamodb:Scan", "arn:aws:dynamodb:eu-central-1:123456789012:table/t/index/*"},
		} {
			role.AddToPolicy(awsiam.NewPolicyStatement(
				&awsiam.PolicyStatementProps{Actions: jsii.Strings(s[0]), Resources: jsii.Strings(s[1])}))
		}
		role.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
			NotActions: jsii.Strings("iam:*"), Resources: &[]*string{queue.QueueArn()},
		}))
	})
	text := strings.Join(loose(x), "\n")
	for _, want := range []string{
		"wildcard sqs:*", "wildcard *", "table/t/index/*",
		"no role has dynamodb:Scan", "Planted: managed policies of AWS's", "without a Sid",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q was not found in\n%s", want, text)
		}
	}
}

// Rule 21, actor by actor: who may what, on what.
func TestWhoMayWhat(t *testing.T) {
	x := template(t, nil)
	got := map[string][]string{}
	for _, s := range allowed(x) {
		for _, r := range s.resources {
			for _, a := range s.actions {
				got[s.where] = append(got[s.where], a+" "+r)
			}
		}
	}
	take := func(queues ...string) (all []string) {
		for _, q := range queues {
			all = append(all, "sqs:ReceiveMessage "+q, "sqs:DeleteMessage "+q, "sqs:GetQueueAttributes "+q)
		}
		return all
	}
	each := func(action string, resources ...string) (all []string) {
		for _, r := range resources {
			all = append(all, action+" "+r)
		}
		return all
	}
	logs := func(id string) []string {
		return []string{"logs:CreateLogStream " + id + "Logs", "logs:PutLogEvents " + id + "Logs"}
	}
	requests := []string{"RequestsInventory", "RequestsNotification", "RequestsPayment", "RequestsShipping"}
	dead := []string{"Quarantine", "MissedSweeps"}
	mapped := []string{}
	for _, queue := range append(requests, "Intake", "Control", "Replies") {
		dead = append(dead, queue+"Dead")
		mapping := queue + "Mapping"
		agent := strings.TrimPrefix(queue, "Requests")
		if agent != queue {
			mapping = "Agent" + agent + "Mapping"
		}
		mapped = append(mapped, "arn:AWS::Partition:lambda:eu-central-1:123456789012:event-source-mapping:"+
			mapping)
	}
	topics := []string{"Alerts", "Alarms"} // one statement is for queues and topics
	const status = "arn:aws:sqs:eu-central-1:123456789012:shop-status"
	want := map[string][]string{
		"SchedulerRole": slices.Concat(take("Intake", "Replies", "Control"),
			each("sqs:ChangeMessageVisibility", "Intake", "Replies", "Control"),
			each("dynamodb:GetItem", "Orders", "Definitions"),
			each("dynamodb:PutItem", "Orders", "Definitions"),
			each("sqs:SendMessage", append(requests, "Control", "Quarantine", status)...),
			each("sns:Publish", "Alerts"), logs("Scheduler")),
		"SupervisorRole": slices.Concat(each("dynamodb:Query", "Orders/index/complete-by"),
			each("dynamodb:GetItem", "Orders", "Definitions"),
			each("dynamodb:PutItem", "Orders"),
			each("sqs:GetQueueAttributes", append([]string{"Replies", "Control"}, requests...)...),
			each("sqs:SendMessage", "Control", "MissedSweeps"),
			each("sns:Publish", "Alerts"), logs("Supervisor")),
		"AgentPaymentRole": slices.Concat(take("RequestsPayment"),
			each("sqs:ChangeMessageVisibility", "RequestsPayment"),
			each("sqs:SendMessage", "Replies", "Quarantine"), logs("AgentPayment")),
		"AgentShippingRole": slices.Concat(take("RequestsShipping"),
			each("sqs:ChangeMessageVisibility", "RequestsShipping"),
			each("sqs:SendMessage", "Replies", "Quarantine"), each("dynamodb:GetItem", "LedgerShipping"),
			each("dynamodb:PutItem", "LedgerShipping"), logs("AgentShipping")),
		"ScheduleRole": {"lambda:InvokeFunction Supervisor", "sqs:SendMessage MissedSweeps"},
		"Operator": slices.Concat(each("sqs:SendMessage", append(requests, "Intake", "Control",
			"Replies")...), each("dynamodb:GetItem", "Orders", "Definitions"),
			each("cloudformation:DescribeStacks", stackByName),
			each("dynamodb:Query", "Orders/index/complete-by"),
			each("sqs:GetQueueAttributes", slices.Concat(requests, []string{"Intake", "Control", "Replies"},
				dead, topics)...),
			each("sns:GetTopicAttributes", slices.Concat(requests, []string{"Intake", "Control", "Replies"},
				dead, topics)...),
			each("lambda:GetEventSourceMapping", mapped...), each("cloudwatch:GetMetricData", "*"),
			each("sqs:ReceiveMessage", dead...), each("sqs:DeleteMessage", dead...),
			each("sqs:ChangeMessageVisibility", dead...), each("sqs:ListMessageMoveTasks", dead...),
			each("sqs:StartMessageMoveTask", dead...), each("sqs:CancelMessageMoveTask", dead...)),
		"Application": slices.Concat(each("sqs:SendMessage", "Intake"),
			each("dynamodb:GetItem", "Orders", "Definitions"),
			each("cloudformation:DescribeStacks", stackByName)),
	}
	for who, may := range want {
		have := slices.Compact(slices.Sorted(slices.Values(got[who])))
		slices.Sort(may)
		if !slices.Equal(have, may) {
			t.Errorf("%s may\n  %s\nand should\n  %s", who, strings.Join(have, "\n  "),
				strings.Join(may, "\n  "))
		}
	}
	same(t, "roles and policies", slices.Sorted(maps.Keys(got)),
		"[AgentInventoryRole AgentNotificationRole AgentPaymentRole AgentShippingRole Application "+
			"Operator ScheduleRole SchedulerRole SupervisorRole]")
}

// inVPC puts the agent payment into a VPC.
func inVPC(stack awscdk.Stack, p *infra.Props) {
	vpc := awsec2.Vpc_FromVpcAttributes(stack, str("Vpc"), &awsec2.VpcAttributes{
		VpcId: str("vpc-0123456789abcdef0"), AvailabilityZones: jsii.Strings("eu-central-1a"),
		PrivateSubnetIds: jsii.Strings("subnet-0123456789abcdef0"),
	})
	a := p.Agents["payment"]
	a.VPC = vpc
	p.Agents["payment"] = a
}

// The only wildcard of a role: a function in a VPC, and nowhere else.
func TestVPC(t *testing.T) {
	x := template(t, inVPC)
	for _, problem := range loose(x) {
		if !strings.HasPrefix(problem, "AgentPaymentRole, VpcNetworkInterfaces:") {
			t.Error(problem)
		}
	}
	same(t, "subnet", at(x.of("AWS::Lambda::Function")["AgentPayment"].Properties, "VpcConfig", "SubnetIds",
		0), "subnet-0123456789abcdef0")
	same(t, "others", x.of("AWS::Lambda::Function")["AgentShipping"].Properties["VpcConfig"], nil)
}

func findings(stack awscdk.Stack) []string {
	awscdk.Aspects_Of(stack).Add(cdknag.NewAwsSolutionsChecks(&cdknag.NagPackProps{
		Verbose: jsii.Bool(true),
		Reports: jsii.Bool(false),
	}), nil)
	a := assertions.Annotations_FromStack(stack)
	pattern := assertions.Match_StringLikeRegexp(str("AwsSolutions-.*"))
	var all []string
	for _, m := range append(*a.FindError(str("*"), pattern), *a.FindWarning(str("*"), pattern)...) {
		text, err := json.Marshal(m)
		if err != nil {
			panic(err)
		}
		all = append(all, string(text))
	}
	return all
}

// cdk-nag has nothing to say, and what it was asked to pass over has a reason that a person can
// judge.
func TestNag(t *testing.T) {
	needNode(t)
	for name, change := range map[string]func(*infra.Props){
		"default": func(*infra.Props) {},
		"all options": func(p *infra.Props) {
			p.CustomerManagedKey = true
			p.EventBridgeRule = true
			p.RemovalPolicy = awscdk.RemovalPolicy_DESTROY
		},
		"waiting": func(p *infra.Props) {
			p.Paused = true
			p.Tables = infra.Tables{Orders: tableOf + "Orders", Definitions: tableOf + "Definitions"}
		},
	} {
		_, stack := newStack("Nag")
		p := shop(stack)
		change(p)
		infra.NewStepkeeper(stack, "Engine", p)
		for _, f := range findings(stack) {
			t.Errorf("%s: %s", name, f)
		}
		passed := 0
		for id, r := range read(t, stack).Resources {
			for _, s := range list(at(r.Metadata, "cdk_nag", "rules_to_suppress")) {
				passed++
				if reason := fmt.Sprint(at(s, "reason")); len(reason) < 40 ||
					!strings.HasSuffix(reason, ".") {
					t.Errorf("%s: %s is passed over because of %q", id, at(s, "id"), reason)
				}
			}
		}
		// seven dead-letter queues, quarantine, missed ticks, the policies of operators and applications
		same(t, name+": passed over", passed, 11)
	}
	_, stack := newStack("Planted")
	infra.NewStepkeeper(stack, "Engine", shop(stack))
	awssqs.NewQueue(stack, str("Planted"), nil)
	if f := strings.Join(findings(stack), "\n"); !strings.Contains(f, "AwsSolutions-SQS3") ||
		!strings.Contains(f, "AwsSolutions-SQS4") {
		t.Errorf("a queue without protection is not found: %q", f)
	}
}

// The Supervisor may put orders into the intake queue where a workflow starts by the clock, and only there.
func TestScheduledStarts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nightly.yaml")
	text := "workflow: nightly\nschedule: {cron: \"30 2 * * *\"}\nsteps:\n  pause: {wait: 1m}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	x := template(t, func(_ awscdk.Stack, p *infra.Props) { p.Workflows = append(p.Workflows, file) })
	sends := false
	for _, s := range allowed(x) {
		sends = sends || s.where == "SupervisorRole" && slices.Contains(s.actions, "sqs:SendMessage") &&
			slices.Contains(s.resources, "Intake")
	}
	if !sends {
		t.Error("the Supervisor may not send to the intake queue")
	}
	for key, o := range x.Outputs {
		if strings.HasSuffix(key, "Scheduled") && o.Value == "nightly" {
			return
		}
	}
	t.Errorf("no output names the workflow: %v", x.Outputs)
}

// The Scheduler may ask for the length of an agent's queue where a step can choose that agent, and is given
// the number of requests it takes.
func TestLengthsOfQueues(t *testing.T) {
	file := filepath.Join(t.TempDir(), "paying.yaml")
	text := "workflow: paying\nsteps:\n  pay: {agents: [payment, shipping], operation: charge, timeout: " +
		"2s, onFailure: undo, undo: refund, grade: idempotent, retry: {maxFailures: 9}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	x := template(t, func(_ awscdk.Stack, p *infra.Props) { p.Workflows = append(p.Workflows, file) })
	var asked []string
	for _, s := range allowed(x) {
		if s.where == "SchedulerRole" && slices.Equal(s.actions, []string{"sqs:GetQueueAttributes"}) {
			asked = append(asked, s.resources...)
		}
	}
	slices.Sort(asked)
	if !slices.Equal(asked, []string{"RequestsPayment", "RequestsShipping"}) {
		t.Errorf("it may ask %v", asked)
	}
}

// withTokens adds a workflow that makes tokens.
func withTokens(_ awscdk.Stack, p *infra.Props) {
	p.Workflows = append(p.Workflows, "testdata/linking.yaml")
}

// P39: where a workflow makes tokens there is a secret with their keys, which the Scheduler alone reads.
func TestTokenKeys(t *testing.T) {
	readers := func(x tmpl, of string) (who []string) {
		for _, s := range allowed(x) {
			if slices.Contains(s.actions, "secretsmanager:GetSecretValue") &&
				slices.Contains(s.resources, of) {
				who = append(who, s.where)
			}
		}
		return who
	}
	x := template(t, withTokens)
	same(t, "readers", readers(x, "TokenKeys"), []string{"SchedulerRole"})
	same(t, "secrets", len(x.of("AWS::SecretsManager::Secret")), 1)
	same(t, "output", target(x.Outputs["EngineTokenKeysSecret"].Value), "TokenKeys")
	if _, made := template(t, nil).of("AWS::SecretsManager::Secret")["TokenKeys"]; made {
		t.Error("a deployment without tokens has keys for them")
	}
	const arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:keys-AbCdEf"
	x = template(t, func(stack awscdk.Stack, p *infra.Props) {
		withTokens(stack, p)
		p.TokenKeys = awssecretsmanager.Secret_FromSecretCompleteArn(stack, jsii.String("Keys"),
			jsii.String(arn))
	})
	same(t, "readers of a secret that was there", readers(x, arn), []string{"SchedulerRole"})
	same(t, "secrets of its own", len(x.of("AWS::SecretsManager::Secret")), 0)
}

// P41: where a workflow has child orders there is a queue between tasks, which the Scheduler alone writes and
// reads.
func TestChildOrders(t *testing.T) {
	dir := t.TempDir()
	parent := filepath.Join(dir, "family.yaml")
	child := filepath.Join(dir, "leaf.yaml")
	for file, text := range map[string]string{
		parent: "workflow: family\nsteps:\n  all: {each: \"${ order.items }\", workflow: leaf}\n",
		child: "workflow: leaf\nsteps:\n  pay: {agent: payment, operation: charge, timeout: 2s, " +
			"onFailure: undo, undo: refund, grade: idempotent, retry: {maxFailures: 9}}\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	families := func(_ awscdk.Stack, p *infra.Props) { p.Workflows = append(p.Workflows, parent, child) }
	x := template(t, families)
	// All queues of the Scheduler share its reserved concurrency.
	most := 0.0
	for _, m := range x.of("AWS::Lambda::EventSourceMapping") {
		if target(m.Properties["FunctionName"]) == "Scheduler" {
			most += at(m.Properties, "ScalingConfig", "MaximumConcurrency").(float64)
		}
	}
	same(t, "functions of the Scheduler that may run at once", most, 20)
	refuses(t, map[string]func(awscdk.Stack, *infra.Props){
		"Tuning.ReservedSchedulers is 19; 20 to 1000 are possible": func(stack awscdk.Stack, p *infra.Props) {
			families(stack, p)
			p.Tuning.ReservedSchedulers = 19
		},
	})
	rights := map[string][]string{}
	for _, s := range allowed(x) {
		if slices.Contains(s.resources, "TaskMessages") &&
			slices.ContainsFunc(s.actions, func(a string) bool { return strings.HasPrefix(a, "sqs:") }) {
			rights[s.where] = append(rights[s.where], s.actions...)
		}
	}
	t.Logf("%v", rights)
	for where, actions := range rights {
		for _, action := range actions {
			if where != "SchedulerRole" && strings.HasPrefix(action, "sqs:") && action != "sqs:GetQueueAttributes" {
				t.Errorf("%s may %s on the queue between tasks", where, action)
			}
		}
	}
	for _, action := range []string{
		"sqs:SendMessage", "sqs:ReceiveMessage", "sqs:DeleteMessage",
		"sqs:ChangeMessageVisibility",
	} {
		if !slices.Contains(rights["SchedulerRole"], action) {
			t.Errorf("the Scheduler may not %s on the queue between tasks", action)
		}
	}
	mappings := 0
	for _, m := range x.of("AWS::Lambda::EventSourceMapping") {
		if target(m.Properties["EventSourceArn"]) == "TaskMessages" {
			mappings++
		}
	}
	same(t, "mappings of the queue between tasks", mappings, 1)
	values := map[string]string{}
	for name, o := range x.Outputs {
		values[name] = target(o.Value)
	}
	if outputs, err := aws.ReadOutputs(values, ""); err != nil || outputs.Dead[port.Tasks] == "" {
		t.Errorf("the command line reads %v, %v", outputs.Dead, err)
	}
	if _, made := template(t, nil).of("AWS::SQS::Queue")["TaskMessages"]; made {
		t.Error("a deployment without children has a queue between tasks")
	}
}
