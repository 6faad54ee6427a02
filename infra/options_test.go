package infra_test

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/infra"
	"github.com/stepkeeper/stepkeeper/shared/partition"
)

// The role of an agent's own function may be an operator's too: nothing depends on itself, which CDK finds
// here.
func TestAgentThatOperates(t *testing.T) {
	needNode(t)
	_, stack := newStack("Test")
	p := small(stack)
	f := newFunction(t, stack, "Own")
	p.Agents["payment"] = infra.Agent{Function: f}
	infra.NewStepkeeper(stack, "Engine", p).GrantOperate(f.Role())
	x := read(t, stack)
	same(t, "operator's policies", x.attached(x.id("AWS::IAM::Role", "OwnServiceRole")), "[Operator]")
}

// The outputs have the mapping of each queue, also of as many as a deployment may have.
func TestMappingsAreReported(t *testing.T) {
	all := large(t)
	reported := 0
	for name, o := range all.Outputs {
		if strings.HasPrefix(name, "EngineMappings") {
			text := all.value(o.Value).(string)
			reported += strings.Count(text, "=01234567-89ab-")
			require.LessOrEqual(t, len(text), 1_024, name)
		}
	}
	same(t, "mappings of 20 agents, of two queues for high priority too", reported, 3+20+2)
}

// Rights are granted to nothing of another account: they would have no effect there.
func TestGrantsElsewhere(t *testing.T) {
	needNode(t)
	_, stack := newStack("Test")
	p := small(stack)
	p.Agents["notification"] = infra.Agent{External: true}
	engine := infra.NewStepkeeper(stack, "Engine", p)
	far := awsiam.Role_FromRoleArn(stack, str("Mailer"), str("arn:aws:iam::999999999999:role/mailer"), nil)
	for what, grant := range map[string]func(){
		`GrantAgent: the role of agent "notification"`: func() { engine.GrantAgent("notification", far) },
		"GrantOperate: the role":                       func() { engine.GrantOperate(far) },
		"GrantSubmit: the principal":                   func() { engine.GrantSubmit(far) },
	} {
		require.Contains(t, refusal(grant), what+" is of account 999999999999 and the stack of "+account)
	}
	require.Contains(t, refusal(func() { engine.GrantAgent("payment", newRole(stack, "Other")) }),
		`"payment" is not an external agent`)
	require.NotNil(t, engine.Agent("payment"))
	require.Nil(t, engine.Agent("notification"), "a function of an external agent")
	require.Nil(t, engine.Agent("scheduler"), "a function of no agent")
	require.Nil(t, engine.Requests("missing"), "a queue of no agent")
}

// If the account of the stack is not known at synthesis, principals of two accounts are refused, and one of
// another account is possible.
func TestAccountsWithoutEnv(t *testing.T) {
	needNode(t)
	for _, x := range []struct {
		name, operator  string
		function        bool
		refused, warned string
	}{
		{name: "none"},
		{
			name: "one", operator: "arn:aws:iam::999999999999:role/ops",
			warned: "Operators has arn:aws:iam::999999999999:role/ops of account 999999999999",
		},
		{name: "function", function: true, warned: `agent "shipping" has a Function of account 999999999999`},
		{
			name: "same", operator: "arn:aws:iam::999999999999:role/ops", function: true,
			warned: "of account 999999999999",
		},
		{
			name: "other", operator: "arn:aws:iam::111122223333:role/ops", function: true,
			refused: `agent "shipping" has a Function of account 999999999999, and Operators has ` +
				"arn:aws:iam::111122223333:role/ops of account 111122223333",
		},
	} {
		stack := awscdk.NewStack(awscdk.NewApp(&awscdk.AppProps{AnalyticsReporting: jsii.Bool(false)}), &x.name, nil)
		p := small(stack)
		if x.operator != "" {
			p.Operators = []string{x.operator}
		}
		if x.function {
			p.Agents["shipping"] = foreignFunction(stack)
		}
		reported := refusal(func() { infra.NewStepkeeper(stack, "Engine", p) })
		require.Contains(t, reported, x.refused, x.name)
		require.Equal(t, x.refused == "", reported == "", x.name)
		if warned := strings.Join(warnings(stack), " "); x.refused == "" {
			require.Contains(t, warned, x.warned, x.name)
			require.Equal(t, x.warned != "", strings.Contains(warned, "set StackProps.Env"), x.name)
		}
	}
}

// A stack that does not say where it goes can have a key too, also in a Region whose services have another domain, such
// as amazonaws.com.cn.
func TestKeyAnywhere(t *testing.T) {
	needNode(t)
	stack := awscdk.NewStack(awscdk.NewApp(nil), str("Anywhere"), nil)
	p := small(stack)
	p.CustomerManagedKey = true
	infra.NewStepkeeper(stack, "Engine", p)
	x := read(t, stack)
	var services []string
	for _, s := range list(at(x.of("AWS::KMS::Key")["Key"].Properties, "KeyPolicy", "Statement")) {
		if service := at(s, "Principal", "Service"); service != nil {
			services = append(services, target(service))
		}
	}
	same(t, "services that may use it", services,
		"[cloudwatch.amazonaws.com events.amazonaws.com logs.AWS::Region.AWS::URLSuffix]")
	for id, r := range x.of("AWS::DynamoDB::GlobalTable") {
		same(t, id+": key", at(r.Properties, "SSESpecification", "SSEType"), "KMS")
		same(t, id+": key's ID", target(at(r.Properties, "Replicas", 0, "SSESpecification",
			"KMSMasterKeyId")), "Key")
	}
}

// A key of the deployment lets a principal of another account use it through SQS and DynamoDB only. IAM sees the host
// name of the service there, whose domain is another one in some partitions.
func TestKeyThroughServices(t *testing.T) {
	needNode(t)
	for _, region := range []string{"eu-central-1", "cn-north-1", "us-gov-west-1", "eusc-de-east-1"} {
		stack := awscdk.NewStack(newApp(nil), str("Test"), &awscdk.StackProps{
			Env: &awscdk.Environment{Account: str(account), Region: &region},
		})
		p := shop(stack)
		p.CustomerManagedKey = true
		printerElsewhere(stack, p)
		infra.NewStepkeeper(stack, "Engine", p)
		key := read(t, stack).of("AWS::KMS::Key")["Key"]
		seen := func(service string) bool {
			name := service + "." + region + "." + partition.Of(region).DNS
			for _, s := range list(at(key.Properties, "KeyPolicy", "Statement")) {
				for _, pattern := range list(at(s, "Condition", "StringLike", "kms:ViaService")) {
					if matches, err := path.Match(fmt.Sprint(pattern), name); err == nil && matches {
						return true
					}
				}
			}
			return false
		}
		require.True(t, seen("sqs"), region)
		require.True(t, seen("dynamodb"), region)
		require.False(t, seen("s3"), region)
	}
}
