package infra

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Rule 21: this file lists the actions of each statement, because CDK's grants allow more actions than
// needed. No role has Scan, DeleteItem or BatchWriteItem. Roles have UpdateItem only if orders expire. An
// Erase needs no DeleteItem, because PutItem overwrites the content (P52, erase removes content, not
// identity).

func allow(sid string, actions []string, resources ...*string) awsiam.PolicyStatement {
	return awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid: str(sid), Effect: awsiam.Effect_ALLOW, Actions: jsii.Strings(actions...), Resources: &resources,
	})
}

var (
	get       = []string{"dynamodb:GetItem"}
	getAndPut = []string{"dynamodb:GetItem", "dynamodb:PutItem"}
	query     = []string{"dynamodb:Query"}
	take      = []string{
		"sqs:ChangeMessageVisibility", "sqs:ReceiveMessage", "sqs:DeleteMessage",
		"sqs:GetQueueAttributes",
	}
	send       = []string{"sqs:SendMessage"}
	attributes = []string{"sqs:GetQueueAttributes"}
	useKey     = []string{"kms:Decrypt", "kms:GenerateDataKey"}
)

func index(t awsdynamodb.ITableV2) *string {
	return awscdk.Fn_Join(str(""), &[]*string{t.TableArn(), str("/index/" + dynamo.IndexName)})
}

func arns(queues ...awssqs.IQueue) []*string {
	all := make([]*string, len(queues))
	for i, q := range queues {
		all[i] = q.QueueArn()
	}
	return all
}

func (s *Stepkeeper) requests(agent string) (arns []*string) {
	for _, q := range s.withHigh(port.Requests(agent)) {
		arns = append(arns, q.queue.QueueArn())
	}
	return arns
}

// orderActions returns the actions that Scheduler and Supervisor need on the table Orders. If orders expire,
// a commit also updates the time to live of an order's content. Large content has an item of its own.
func (s *Stepkeeper) orderActions() []string {
	if s.props.TaskTTL > 0 {
		return append(slices.Clone(getAndPut), "dynamodb:UpdateItem")
	}
	return getAndPut
}

func (s *Stepkeeper) schedulerAccess() []awsiam.PolicyStatement {
	to := arns(s.queues["control"].queue, s.quarantine)
	if tasks := s.queues[port.Tasks]; tasks != nil {
		to = append(to, tasks.queue.QueueArn())
	}
	var own []awssqs.IQueue
	for _, name := range s.ownQueues() {
		own = append(own, s.queues[name].queue)
	}
	for _, agent := range s.agentNames() {
		to = append(to, s.requests(agent)...)
	}
	statements := []awsiam.PolicyStatement{
		allow("Take", take, arns(own...)...),
		allow("Orders", s.orderActions(), s.orders.TableArn()),
		allow("Definitions", getAndPut, s.definitions.TableArn()),
		allow("Send", send, to...),
		allow("Alert", []string{"sns:Publish"}, s.alerts.TopicArn()),
	}
	// If a step can use one of several agents, the Scheduler compares the lengths of the agents' queues (P44,
	// several agents can do one step).
	if agents := sorted(s.content.Choosable); len(agents) > 0 {
		var queues []*string
		for _, agent := range agents {
			queues = append(queues, s.requests(agent)...)
		}
		statements = append(statements, allow("Lengths", attributes, queues...))
	}
	statements = append(append(statements, s.alertKey()...), s.tokenKeysAccess()...)
	if len(s.props.ReplyTo) > 0 {
		var queues []*string
		for _, name := range sorted(s.props.ReplyTo) {
			queues = append(queues, s.props.ReplyTo[name].QueueArn())
		}
		statements = append(statements, allow("Status", send, queues...))
		if keys := keysOf(s.props.ReplyTo); len(keys) > 0 {
			statements = append(statements, allow("StatusKeys", useKey, keys...))
		}
	}
	if names := sorted(s.props.ReplyToBuses); len(names) > 0 {
		var buses []*string
		for _, name := range names {
			buses = append(buses, s.props.ReplyToBuses[name].EventBusArn())
		}
		statements = append(statements, allow("StatusEvents", []string{"events:PutEvents"}, buses...))
	}
	return append(statements, s.tablesKey()...)
}

func (s *Stepkeeper) tablesKey() []awsiam.PolicyStatement {
	if s.props.Tables.KeyARN == "" {
		return nil
	}
	return []awsiam.PolicyStatement{allow("TablesKey", useKey, str(s.props.Tables.KeyARN))}
}

func keysOf(queues map[string]awssqs.IQueue) (keys []*string) {
	for _, name := range sorted(queues) {
		if k := queues[name].EncryptionMasterKey(); k != nil {
			keys = append(keys, k.KeyArn())
		}
	}
	return keys
}

// supervisorAccess returns the Supervisor's IAM permissions. The Supervisor claims no steps and sends no
// requests (P16, the Supervisor hands back and gives up), so it has no permission to send to an agent's
// queue.
func (s *Stepkeeper) supervisorAccess() []awsiam.PolicyStatement {
	// The Supervisor reads the number of waiting messages to detect a backlog (P32, queue time is not a
	// failure).
	waiting := arns(s.queues["replies"].queue, s.queues["control"].queue)
	for _, agent := range s.agentNames() {
		waiting = append(waiting, s.requests(agent)...)
	}
	targets := arns(s.queues["control"].queue)
	if len(s.content.Scheduled) > 0 { // the Supervisor submits the orders of schedules
		targets = append(targets, s.queues["intake"].queue.QueueArn())
	}
	return append([]awsiam.PolicyStatement{
		allow("Due", query, index(s.orders)),
		allow("Orders", s.orderActions(), s.orders.TableArn()),
		allow("Definitions", get, s.definitions.TableArn()),
		allow("Backlog", attributes, waiting...),
		allow("Send", send, targets...),
		allow("Alert", []string{"sns:Publish"}, s.alerts.TopicArn()),
	}, append(s.alertKey(), s.tablesKey()...)...)
}

// agentAccess returns an agent's IAM permissions. An agent has no access to the tables Orders and
// Definitions.
func (s *Stepkeeper) agentAccess(name string, a Agent) []awsiam.PolicyStatement {
	statements := []awsiam.PolicyStatement{
		allow("Take", take, s.requests(name)...),
		allow("Send", send, arns(s.queues["replies"].queue, s.quarantine)...),
	}
	if ledger := s.ledgers[name]; ledger != nil {
		statements = append(statements, allow("Ledger", getAndPut, ledger.TableArn()))
		if s.props.Tables.Ledgers[name] != "" {
			statements = append(statements, s.tablesKey()...)
		}
	}
	if s.content.Checked.Agents[name].Orders {
		statements = append(statements, allow("Submit", send, s.queues[port.Intake].queue.QueueArn()))
	}
	statements = append(statements, s.callAccess(name)...)
	return append(statements, secretAccess(a)...)
}

// callAccess returns the permissions for the AWS services that the agent calls, as configured in the agents
// file. Each permission names the resources of its calls.
func (s *Stepkeeper) callAccess(name string) (statements []awsiam.PolicyStatement) {
	resources := map[string][]string{}
	agent := s.content.Checked.Agents[name]
	for _, call := range agent.Calls() {
		for _, p := range call.Target.Permissions() {
			resources[p.Action] = append(resources[p.Action], p.Resource)
		}
	}
	if api := agent.API(); api != "" {
		stack := awscdk.Stack_Of(s.Construct)
		resources["execute-api:Invoke"] = []string{
			fmt.Sprintf("arn:%s:execute-api:%s:%s:%s/*", *stack.Partition(),
				agent.SigningRegion(), *stack.Account(), api),
		}
	}
	for _, action := range sorted(resources) {
		slices.Sort(resources[action])
		_, verb, _ := strings.Cut(action, ":")
		statements = append(statements, allow("Call"+verb, []string{action},
			*jsii.Strings(slices.Compact(resources[action])...)...))
	}
	return statements
}

func secretAccess(a Agent) (statements []awsiam.PolicyStatement) {
	var secrets, parameters, keys []*string
	for _, variable := range sorted(a.Secrets) {
		v := a.Secrets[variable]
		if v.secret != nil {
			secrets = append(secrets, v.secret.SecretFullArn())
		} else {
			parameters = append(parameters, v.parameter.ParameterArn())
		}
		if v.key != nil {
			keys = append(keys, v.key.KeyArn())
		}
	}
	if len(secrets) > 0 {
		statements = append(statements, allow("Secrets", []string{"secretsmanager:GetSecretValue"},
			secrets...))
	}
	if len(parameters) > 0 {
		statements = append(statements, allow("Parameters", []string{"ssm:GetParameter"}, parameters...))
	}
	if len(keys) > 0 {
		statements = append(statements, allow("SecretKeys", []string{"kms:Decrypt"}, keys...))
	}
	return statements
}

// readMetrics returns an operator's permission to read metrics. IAM cannot restrict cloudwatch:GetMetricData,
// so the permission covers all metrics of the account.
func readMetrics() awsiam.PolicyStatement {
	return allow(metrics, []string{"cloudwatch:GetMetricData"}, str("*"))
}

const metrics = "Metrics"

// vpcAccess returns the permission to manage the network interfaces of a function in a VPC. The resource is
// "*", because the names of the interfaces are unknown and the Describe actions have no resources. Only
// readMetrics also has the resource "*".
func vpcAccess() awsiam.PolicyStatement {
	return allow("VpcNetworkInterfaces", []string{
		"ec2:AssignPrivateIpAddresses", "ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface",
		"ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets", "ec2:UnassignPrivateIpAddresses",
	}, str("*"))
}
