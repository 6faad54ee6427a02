package infra

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

func (s *Stepkeeper) addPolicies() {
	s.application = s.policy("Application", "submit orders, follow, cancel and answer them",
		s.applicationAccess())
	Accept(s.application, "AwsSolutions-IAM5", stackByName)
	for i, statements := range s.split(s.operatorAccess()) {
		policy := s.policy(numbered("Operator", i), "all commands, listings, dead letters", statements)
		var reasons []string
		for _, statement := range statements {
			if reason := wildcards[*statement.Sid()]; reason != "" {
				reasons = append(reasons, reason)
			}
		}
		if len(reasons) > 0 {
			Accept(policy, "AwsSolutions-IAM5", strings.Join(reasons, " "))
		}
		s.operator = append(s.operator, policy)
	}
}

var wildcards = map[string]string{
	metrics: "CloudWatch knows no resources of metrics: cloudwatch:GetMetricData is allowed on all " +
		"or none.",
	stackOutputs: stackByName,
}

const stackByName = "IAM sees a stack that is asked for by its name as stack/NAME/*: the ARN ends with " +
	"the wildcard of AWS itself."

// Sizes in characters. IAM's limit for a managed policy is 6,144 (rule 28). The longest generated ARN of a
// queue or a table has about 120 characters. Both constants include a reserve.
const (
	policySize = 6_000
	arnSize    = 130
)

// split divides the statements into policies of at most policySize characters. If a statement does not fit
// into one policy, split divides its resources. It never replaces resources by a wildcard.
func (s *Stepkeeper) split(statements []awsiam.PolicyStatement) [][]awsiam.PolicyStatement {
	var policies [][]awsiam.PolicyStatement
	room := 0
	for _, statement := range statements {
		actions := texts(statement.Actions())
		resources := *statement.Resources()
		frame := len(strings.Join(actions, `","`)) + len(*statement.Sid()) + 80
		for len(resources) > 0 {
			if room < frame+arnSize {
				policies = append(policies, nil)
				room = policySize
			}
			room -= frame
			n := 0
			for n < len(resources) && room >= s.sizeOfARN(resources[n]) {
				room -= s.sizeOfARN(resources[n])
				n++
			}
			last := &policies[len(policies)-1]
			*last = append(*last, allow(*statement.Sid(), actions, resources[:n]...))
			resources = resources[n:]
		}
	}
	return policies
}

// sizeOfARN returns the estimated length of an ARN in this stack. CloudFormation generates the name of a
// resource from the name of the stack, the ID of the resource, and random characters.
func (s *Stepkeeper) sizeOfARN(arn *string) int {
	stack := awscdk.Stack_Of(s.Construct)
	resolved, _ := stack.Resolve(arn).(map[string]any)
	id := resolved["Ref"]
	if get, _ := resolved["Fn::GetAtt"].([]any); len(get) == 2 {
		id = get[0]
	}
	if id == nil || unresolved(*stack.StackName()) {
		return max(arnSize, len(*arn)) // that of an operator can have a long path
	}
	const longest, separators, random = 80, 2, 13
	start := len(*stack.StackName()) + separators + random
	if prefix := s.props.Names.Prefix; prefix != "" {
		start = len(prefix) + 1
	}
	return arnSize - longest + min(longest, start+len(fmt.Sprint(id)))
}

func texts(list *[]*string) []string {
	all := make([]string, len(*list))
	for i, text := range *list {
		all[i] = *text
	}
	return all
}

func (s *Stepkeeper) applicationAccess() (a access) {
	var to []*string
	// The Scheduler executes every command in the control queue, so applications may not send to the control
	// queue.
	for _, q := range s.withHigh(port.Intake) {
		to = append(to, q.queue.QueueArn())
	}
	a.allow("Send", send, to...)
	a.allow("Read", get, s.orders.TableArn(), s.definitions.TableArn())
	a.allow(stackOutputs, []string{"cloudformation:DescribeStacks"}, s.stackARN())
	a.allow("Key", useKey, s.ownKey()...)
	a.allow("TablesKey", useKey, s.tablesKey()...)
	return a
}

const stackOutputs = "Outputs"

// stackARN returns a pattern that matches the stack in IAM. IAM sees a request by stack name as stack/NAME/*,
// and a request by ARN as stack/NAME/UUID.
func (s *Stepkeeper) stackARN() *string {
	stack := awscdk.Stack_Of(s.Construct)
	return stack.FormatArn(&awscdk.ArnComponents{
		Service: str("cloudformation"), Resource: str("stack"), ResourceName: str(*stack.StackName() + "/*"),
	})
}

func (s *Stepkeeper) operatorAccess() access {
	var dead, all, mappings []*string
	for _, name := range sorted(s.queues) {
		q := s.queues[name]
		dead = append(dead, q.dead.QueueArn())
		all = append(all, q.queue.QueueArn())
		if q.source != nil {
			mappings = append(mappings, q.source.EventSourceMappingArn())
		}
	}
	dead = append(dead, s.quarantine.QueueArn(), s.missed.QueueArn())
	a := s.applicationAccess()
	a.allow("OwnRights", ownRights, *jsii.Strings(s.props.Operators...)...)
	a.allow("DeadLetterKeys", useKey, keysOf(s.props.DeadLetters)...)
	a.allow("Command", send, s.queues[port.Control].queue.QueueArn())
	a.allow("List", query, index(s.orders))
	// The attributes of a topic contain the number of its subscribers. One statement is shorter than two.
	a.allow("Depths", append(slices.Clone(attributes), "sns:GetTopicAttributes"),
		slices.Concat(all, dead, s.topics())...)
	// Operators may not list mappings, because IAM cannot restrict lambda:ListEventSourceMappings to
	// resources.
	a.allow("Mappings", []string{"lambda:GetEventSourceMapping"}, mappings...)
	a.allow("DeadLetters", []string{
		"sqs:CancelMessageMoveTask", "sqs:ChangeMessageVisibility", "sqs:DeleteMessage",
		"sqs:ListMessageMoveTasks", "sqs:ReceiveMessage", "sqs:StartMessageMoveTask",
	}, dead...)
	// IAM cannot restrict cloudwatch:GetMetricData, so the permission covers all metrics of the account.
	a.allow(metrics, []string{"cloudwatch:GetMetricData"}, str("*"))
	a.allow("Redrive", send, append(s.requests(s.agentNames()...), s.queues[port.Replies].queue.QueueArn())...)
	return a
}

// ownRights allow operators to read their own roles and permissions from IAM. `stepkeeper doctor` needs these
// permissions.
var ownRights = []string{"iam:GetRole", "iam:SimulatePrincipalPolicy"}

func (s *Stepkeeper) policy(id, what string, statements []awsiam.PolicyStatement) awsiam.ManagedPolicy {
	return awsiam.NewManagedPolicy(s.Construct, str(id), &awsiam.ManagedPolicyProps{
		Description: str("Stepkeeper: " + what), Statements: &statements,
	})
}
