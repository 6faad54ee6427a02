package infra

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// GrantSubmit lets a role or user of the app submit orders, follow and cancel them, and answer a step with a
// token. It panics for a principal of another account, as the other grants do.
//
// For a principal from outside the app attach the policy of Application instead. A program that answers
// without a token, in the name of a person or another system, needs engine.Control().GrantSendMessages(role).
// With that it can send every command.
func (s *Stepkeeper) GrantSubmit(to awsiam.IGrantable) {
	if account := to.GrantPrincipal().PrincipalAccount(); account != nil {
		s.refuseElsewhere("GrantSubmit: the principal", *account,
			"name it in Props.Submitters, or let applications assume a role of the stack's account")
	}
	grant(to, s.applicationAccess())
}

// GrantOperate gives a role of the stack's account all rights of an operator, including the redrive of dead
// letters. For a principal from outside the app attach the policies of Operator instead, and add it to
// Props.Operators.
func (s *Stepkeeper) GrantOperate(role awsiam.IRole) {
	s.refuseElsewhere("GrantOperate: the role", *role.Env().Account, operatorAccount)
	// As inline statements the policies would exceed the limit of a role. The role refers to the policies,
	// not the policies to the role: they name the mappings, and so the role of an agent's function would
	// depend on itself.
	for _, policy := range s.operator {
		policy.AttachToRole(role)
	}
	grant(role, []awsiam.PolicyStatement{ownRights(role.RoleArn())})
	for _, queue := range sorted(s.refusals) {
		s.allowSender(queue, role.RoleArn())
	}
}

// GrantAgent lets the role of an external agent take its requests and reply. It panics for an agent that is
// not external, because such an agent already has its rights. A role from outside the app needs an entry in
// Agent.SenderARNs, and its owner grants it the rights.
func (s *Stepkeeper) GrantAgent(agent string, role awsiam.IRole) {
	a, there := s.props.Agents[agent]
	if !there || !a.External {
		panic(fmt.Errorf("stepkeeper %s: GrantAgent: %q is no external agent of it", *s.Construct.Node().Id(),
			agent))
	}
	s.refuseElsewhere(fmt.Sprintf("GrantAgent: the role of agent %q", agent), *role.Env().Account,
		sameAccount)
	grant(role, s.roleAccess(agent, a))
	if own, made := role.(awsiam.Role); made && (len(a.SenderARNs) == 0 || len(a.SenderIDs) > 0) {
		s.senderIDs[agent] = append(s.senderIDs[agent], *own.RoleId())
		s.namePeers()
	}
	for _, queue := range []string{port.Replies, port.Quarantine} {
		s.allowSender(queue, role.RoleArn())
	}
}

// AllowLoop sets RecursiveLoop: Allow on a function of the app that receives statuses and sends orders or
// commands in return. Otherwise Lambda stops such a function after about 16 rounds, and drops the status. The
// function must then ensure itself that its orders end.
//
// AllowLoop panics for a function from outside the app: set the property where the function is made. The
// functions of agents have this setting already.
func (s *Stepkeeper) AllowLoop(f awslambda.IFunction) {
	if own, made := behind(f).(awslambda.Function); !made || !allowLoop(own) {
		panic(fmt.Errorf(
			"stepkeeper %s: AllowLoop: the function was made elsewhere; set RecursiveLoop: Allow there",
			*s.Construct.Node().Id()))
	}
}

// refuseElsewhere panics if the receiver of rights certainly belongs to another account.
func (s *Stepkeeper) refuseElsewhere(what, account, advice string) {
	if own := *awscdk.Stack_Of(s.Construct).Account(); elsewhere(own, account) {
		panic(fmt.Errorf("stepkeeper %s: %s is of account %s and the stack of %s; %s",
			*s.Construct.Node().Id(), what, account, own, advice))
	}
}

func grant(to awsiam.IGrantable, statements []awsiam.PolicyStatement) {
	for _, statement := range statements {
		to.GrantPrincipal().AddToPrincipalPolicy(statement)
	}
}

// Scheduler returns the sender of statuses. The policy of a reply-to queue in another stack or account, or of
// its key, may have to name it.
func (s *Stepkeeper) Scheduler() awsiam.IGrantable { return s.roles["scheduler"] }

// Agent returns the function of an agent, for further grants, such as
// table.GrantReadData(engine.Agent("shipping")). It returns nil for an external agent, and for an unknown
// name.
func (s *Stepkeeper) Agent(name string) awslambda.IFunction {
	if _, there := s.props.Agents[name]; !there {
		return nil
	}
	return s.functions[name]
}

// Intake returns the queue to which applications send their orders.
func (s *Stepkeeper) Intake() awssqs.IQueue { return s.queues[port.Intake].queue }

// Control returns the queue for the operator's commands: undo, resubmit, resolve, close, move, answers
// without a token. A sender may send all of these commands.
func (s *Stepkeeper) Control() awssqs.IQueue { return s.queues[port.Control].queue }

// Requests returns the queue of an agent, or nil for an unknown name.
func (s *Stepkeeper) Requests(agent string) awssqs.IQueue {
	if q := s.queues[port.Requests(agent)]; q != nil {
		return q.queue
	}
	return nil
}

// Replies returns the queue to which external agents send their replies.
func (s *Stepkeeper) Replies() awssqs.IQueue { return s.queues[port.Replies].queue }

// Quarantine returns the queue for unreadable messages.
func (s *Stepkeeper) Quarantine() awssqs.IQueue { return s.quarantine }

// Alarms returns the topic of alarms. It returns nil if there are none.
func (s *Stepkeeper) Alarms() awssns.ITopic { return s.alarms }

// Alerts returns the topic of alerts of orders in Error.
func (s *Stepkeeper) Alerts() awssns.ITopic { return s.alerts }

// Application returns the policy for roles of applications: submit, follow, cancel, answer with a token.
func (s *Stepkeeper) Application() awsiam.IManagedPolicy { return s.application }

// Operator returns the policies for people: all commands, listings, dead-letter queues. An operator needs all
// of them. There are several if one would exceed IAM's limit.
func (s *Stepkeeper) Operator() []awsiam.IManagedPolicy {
	all := make([]awsiam.IManagedPolicy, len(s.operator))
	for i, policy := range s.operator {
		all[i] = policy
	}
	return all
}
