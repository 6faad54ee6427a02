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

// access is the statements of a policy.
type access []awsiam.PolicyStatement

// allow adds a statement, unless there are no resources.
func (a *access) allow(sid string, actions []string, resources ...*string) {
	if len(resources) > 0 {
		*a = append(*a, allow(sid, actions, resources...))
	}
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
	publish    = []string{"sns:Publish"}
	readSecret = []string{"secretsmanager:GetSecretValue"}
	decrypt    = []string{"kms:Decrypt"}
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

func (s *Stepkeeper) requests(agents ...string) (arns []*string) {
	for _, agent := range agents {
		for _, q := range s.withHigh(port.Requests(agent)) {
			arns = append(arns, q.queue.QueueArn())
		}
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

func (s *Stepkeeper) schedulerAccess() access {
	to := arns(s.queues["control"].queue, s.quarantine)
	if tasks := s.queues[port.Tasks]; tasks != nil {
		to = append(to, tasks.queue.QueueArn())
	}
	var own, statuses []awssqs.IQueue
	for _, name := range s.ownQueues() {
		own = append(own, s.queues[name].queue)
	}
	for _, name := range sorted(s.props.ReplyTo) {
		statuses = append(statuses, s.props.ReplyTo[name])
	}
	var buses []*string
	for _, name := range sorted(s.props.ReplyToBuses) {
		buses = append(buses, s.props.ReplyToBuses[name].EventBusArn())
	}
	var a access
	a.allow("Take", take, arns(own...)...)
	a.allow("Orders", s.orderActions(), s.orders.TableArn())
	a.allow("Definitions", getAndPut, s.definitions.TableArn())
	a.allow("Send", send, append(to, s.requests(s.agentNames()...)...)...)
	a.allow("Alert", publish, s.alerts.TopicArn())
	// If a step can use one of several agents, the Scheduler compares the lengths of the agents' queues (P44,
	// several agents can do one step).
	a.allow("Lengths", attributes, s.requests(sorted(s.content.Choosable)...)...)
	a.allow("AlertKey", useKey, s.alertKey()...)
	if s.tokenKeys != nil {
		a.allow("TokenKeys", readSecret, s.tokenKeys.SecretFullArn())
		if k := s.tokenKeys.EncryptionKey(); k != nil && k != s.key {
			a.allow("TokenKeysKey", decrypt, k.KeyArn())
		}
	}
	a.allow("Status", send, arns(statuses...)...)
	a.allow("StatusKeys", useKey, keysOf(s.props.ReplyTo)...)
	a.allow("StatusEvents", []string{"events:PutEvents"}, buses...)
	a.allow("TablesKey", useKey, s.tablesKey()...)
	return a
}

// ownKey returns the ARN of the deployment's key, if it has one.
func (s *Stepkeeper) ownKey() []*string {
	if s.key == nil {
		return nil
	}
	return []*string{s.key.KeyArn()}
}

func (s *Stepkeeper) tablesKey() []*string {
	if s.props.Tables.KeyARN == "" {
		return nil
	}
	return []*string{str(s.props.Tables.KeyARN)}
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
func (s *Stepkeeper) supervisorAccess() (a access) {
	targets := arns(s.queues["control"].queue)
	if len(s.content.Scheduled) > 0 { // the Supervisor submits the orders of schedules
		targets = append(targets, s.queues["intake"].queue.QueueArn())
	}
	a.allow("Due", query, index(s.orders))
	a.allow("Orders", s.orderActions(), s.orders.TableArn())
	a.allow("Definitions", get, s.definitions.TableArn())
	// The Supervisor reads the number of waiting messages to detect a backlog (P32, queue time is not a
	// failure).
	a.allow("Backlog", attributes, append(arns(s.queues["replies"].queue, s.queues["control"].queue),
		s.requests(s.agentNames()...)...)...)
	a.allow("Send", send, targets...)
	a.allow("Alert", publish, s.alerts.TopicArn())
	a.allow("AlertKey", useKey, s.alertKey()...)
	a.allow("TablesKey", useKey, s.tablesKey()...)
	return a
}

// agentAccess returns an agent's IAM permissions. An agent has no access to the tables Orders and
// Definitions.
func (s *Stepkeeper) agentAccess(name string, agent Agent) (a access) {
	a.allow("Take", take, s.requests(name)...)
	a.allow("Send", send, arns(s.queues["replies"].queue, s.quarantine)...)
	if ledger := s.ledgers[name]; ledger != nil {
		a.allow("Ledger", getAndPut, ledger.TableArn())
		if s.props.Tables.Ledgers[name] != "" {
			a.allow("TablesKey", useKey, s.tablesKey()...)
		}
	}
	if s.content.Checked.Agents[name].Orders {
		a.allow("Submit", send, s.queues[port.Intake].queue.QueueArn())
	}
	s.allowCalls(&a, name)
	a.allowSecrets(agent)
	return a
}

// allowCalls adds the permissions for the AWS services that the agent calls, as configured in the agents
// file. Each permission names the resources of its calls.
func (s *Stepkeeper) allowCalls(a *access, name string) {
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
		a.allow("Call"+verb, []string{action}, *jsii.Strings(slices.Compact(resources[action])...)...)
	}
}

func (a *access) allowSecrets(agent Agent) {
	var secrets, parameters, keys []*string
	for _, variable := range sorted(agent.Secrets) {
		v := agent.Secrets[variable]
		if v.secret != nil {
			secrets = append(secrets, v.secret.SecretFullArn())
		} else {
			parameters = append(parameters, v.parameter.ParameterArn())
		}
		if v.key != nil {
			keys = append(keys, v.key.KeyArn())
		}
	}
	a.allow("Secrets", readSecret, secrets...)
	a.allow("Parameters", []string{"ssm:GetParameter"}, parameters...)
	a.allow("SecretKeys", decrypt, keys...)
}

const metrics = "Metrics"

// vpcAccess returns the permission to manage the network interfaces of a function in a VPC. The resource is
// "*", because the names of the interfaces are unknown and the Describe actions have no resources. Only the
// operators' metrics also have the resource "*".
func vpcAccess() awsiam.PolicyStatement {
	return allow("VpcNetworkInterfaces", []string{
		"ec2:AssignPrivateIpAddresses", "ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface",
		"ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets", "ec2:UnassignPrivateIpAddresses",
	}, str("*"))
}
