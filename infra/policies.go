package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
)

// addPolicies makes the policies for people and programs outside (rule 21); nobody has them until
// you attach them.
func (s *Stepkeeper) addPolicies() {
	s.application = s.policy("Application", "submit orders, follow and cancel them", s.applicationAccess())
	s.operator = s.policy("Operator", "all commands, listings, dead letters", s.operatorAccess())
}

// applicationAccess is all that an application may.
func (s *Stepkeeper) applicationAccess() []awsiam.PolicyStatement {
	statements := []awsiam.PolicyStatement{
		allow("Send", send, arns(s.queues["intake"].queue, s.queues["control"].queue)...),
		allow("Read", get, s.orders.TableArn(), s.tasks.TableArn(), s.definitions.TableArn()),
		allow("Outputs", []string{"cloudformation:DescribeStacks"}, awscdk.Stack_Of(s.Construct).StackId()),
	}
	if s.key != nil {
		statements = append(statements, allow("Key", useKey, s.key.KeyArn()))
	}
	return append(statements, s.tablesKey()...)
}

// operatorAccess is all that an operator may: what an application may, and more.
func (s *Stepkeeper) operatorAccess() []awsiam.PolicyStatement {
	var requests, dead, all []*string
	for _, name := range sorted(s.queues) {
		q := s.queues[name]
		dead, all = append(dead, q.dead.QueueArn()), append(all, q.queue.QueueArn())
	}
	for _, agent := range s.agentNames() {
		requests = append(requests, s.Requests(agent).QueueArn())
	}
	dead = append(dead, s.quarantine.QueueArn(), s.missed.QueueArn())
	return append(s.applicationAccess(),
		allow("List", query, index(s.tasks)),
		allow("Depths", attributes, append(all, dead...)...),
		allow("DeadLetters", []string{
			"sqs:CancelMessageMoveTask", "sqs:DeleteMessage", "sqs:ListMessageMoveTasks", "sqs:ReceiveMessage", "sqs:StartMessageMoveTask",
		}, dead...),
		allow("Redrive", send, append(requests, s.queues["replies"].queue.QueueArn())...),
	)
}

func (s *Stepkeeper) policy(id, what string, statements []awsiam.PolicyStatement) awsiam.ManagedPolicy {
	return awsiam.NewManagedPolicy(s.Construct, str(id), &awsiam.ManagedPolicyProps{
		Description: str("Stepkeeper: " + what), Statements: &statements,
	})
}
