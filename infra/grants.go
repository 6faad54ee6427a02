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

// GrantSubmit allows a role or user of the app to submit, follow and cancel orders, and to answer a step with
// a token. GrantSubmit panics if the principal belongs to a different account than the stack. The other Grant
// methods also panic in this case.
//
// If the app does not create the principal, attach the policy that Application returns instead. A program
// that answers without a token needs Control().GrantSendMessages(role) in addition. With that grant, the
// program can send every command.
func (s *Stepkeeper) GrantSubmit(to awsiam.IGrantable) {
	if account := to.GrantPrincipal().PrincipalAccount(); account != nil {
		s.refuseElsewhere("GrantSubmit: the principal", *account,
			"name it in Props.Submitters, or let applications assume a role of the stack's account")
	}
	grant(to, s.applicationAccess())
}

// GrantOperate gives a role of the stack's account all permissions of an operator, including the redrive of
// dead letters. If the app does not create the role, attach the policies that Operator returns instead, and
// add the role to Props.Operators.
func (s *Stepkeeper) GrantOperate(role awsiam.IRole) {
	s.refuseElsewhere("GrantOperate: the role", *role.Env().Account, operatorAccount)
	// Inline policies would exceed the size limit of a role. The policies must refer to the role, not the
	// role to the policies. They already refer to the event source mappings, and so to the functions and
	// their roles. Otherwise the role of an agent's function could depend on itself.
	for _, policy := range s.operator {
		policy.AttachToRole(role)
	}
	grant(role, access{allow("OwnRights", ownRights, role.RoleArn())})
	for _, queue := range sorted(s.refusals) {
		s.allowSender(queue, role.RoleArn())
	}
}

// GrantAgent allows the role of an external agent to receive requests and to send replies. It panics if the
// agent is not external, because the construct already gives all other agents their permissions. If the app
// does not create the role, add the role to Agent.SenderARNs, and let the owner of the role grant the
// permissions.
func (s *Stepkeeper) GrantAgent(agent string, role awsiam.IRole) {
	a, there := s.props.Agents[agent]
	if !there || !a.External {
		panic(fmt.Errorf("stepkeeper %s: GrantAgent: %q is not an external agent; set External in Agents",
			*s.Construct.Node().Id(), agent))
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

// AllowLoop sets RecursiveLoop: Allow on a function of the app. Call it for a function that receives statuses
// and sends orders or commands in response. By default, Lambda stops such a function after about 16 rounds
// and drops the status. With RecursiveLoop: Allow, the function itself must end the loop.
//
// AllowLoop panics if the app does not create the function. In this case, set RecursiveLoop where the
// function is created. The functions of agents already have this setting.
func (s *Stepkeeper) AllowLoop(f awslambda.IFunction) {
	if own, made := behind(f).(awslambda.Function); !made || !allowLoop(own) {
		panic(fmt.Errorf(
			"stepkeeper %s: AllowLoop: the function was made elsewhere; set RecursiveLoop: Allow there",
			*s.Construct.Node().Id()))
	}
}

func (s *Stepkeeper) refuseElsewhere(what, account, advice string) {
	if own := *awscdk.Stack_Of(s.Construct).Account(); elsewhere(own, account) {
		panic(fmt.Errorf("stepkeeper %s: %s is of account %s and the stack of %s; %s",
			*s.Construct.Node().Id(), what, account, own, advice))
	}
}

func grant(to awsiam.IGrantable, statements access) {
	for _, statement := range statements {
		to.GrantPrincipal().AddToPrincipalPolicy(statement)
	}
}

// Scheduler returns the role of the Scheduler, which sends statuses. If a reply-to queue belongs to a
// different stack or account, the policies of the queue and of its key may have to allow this role.
func (s *Stepkeeper) Scheduler() awsiam.IGrantable { return s.scheduler.Role() }

// Agent returns the function of an agent. An app can give the function additional permissions, as in
// table.GrantReadData(engine.Agent("shipping")). Agent returns nil for an external agent and for an unknown
// name.
func (s *Stepkeeper) Agent(name string) awslambda.IFunction {
	if _, there := s.props.Agents[name]; !there {
		return nil
	}
	return s.functions[name]
}

// Intake returns the queue to which applications send their orders.
func (s *Stepkeeper) Intake() awssqs.IQueue { return s.queues[port.Intake].queue }

// Control returns the queue for commands of operators, and for answers without a token. A principal that may
// send to this queue may send every command.
func (s *Stepkeeper) Control() awssqs.IQueue { return s.queues[port.Control].queue }

// Requests returns the request queue of an agent, or nil for an unknown name.
func (s *Stepkeeper) Requests(agent string) awssqs.IQueue {
	if q := s.queues[port.Requests(agent)]; q != nil {
		return q.queue
	}
	return nil
}

// Replies returns the queue to which external agents send their replies.
func (s *Stepkeeper) Replies() awssqs.IQueue { return s.queues[port.Replies].queue }

// Quarantine returns the queue for unreadable and forbidden messages.
func (s *Stepkeeper) Quarantine() awssqs.IQueue { return s.quarantine }

// Alarms returns the topic for alarms, or nil if the deployment has no alarms.
func (s *Stepkeeper) Alarms() awssns.ITopic { return s.alarms }

// Alerts returns the topic for alerts about orders in Error.
func (s *Stepkeeper) Alerts() awssns.ITopic { return s.alerts }

// Application returns the managed policy for roles of applications. The policy allows them to submit, follow
// and cancel orders, and to answer with a token.
func (s *Stepkeeper) Application() awsiam.IManagedPolicy { return s.application }

// Operator returns the managed policies for operators. The policies allow all commands, listings, and access
// to dead letters. An operator needs every policy of the list. The permissions are divided, because a single
// policy could exceed IAM's size limit.
func (s *Stepkeeper) Operator() []awsiam.IManagedPolicy {
	all := make([]awsiam.IManagedPolicy, len(s.operator))
	for i, policy := range s.operator {
		all[i] = policy
	}
	return all
}
