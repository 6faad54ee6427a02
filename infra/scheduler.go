package infra

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/stepkeeper/stepkeeper/infra/build"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/incident"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// addScheduler adds the Scheduler's function. Each queue has a separate event source mapping, so that a flood
// of orders does not delay replies.
func (s *Stepkeeper) addScheduler() error {
	archive, err := s.content.archive("scheduler", build.Scheduler, s.content.Workflows)
	if err != nil {
		return err
	}
	environment := s.engineEnvironment()
	if len(s.props.ReplyTo)+len(s.props.ReplyToBuses) > 0 {
		environment[deployment.VarReplyTo] = s.replyToPlaces()
	}
	if len(s.content.Choosable) > 0 {
		environment[deployment.VarCapacity] = s.capacity(sorted(s.content.Choosable), map[string]int{})
	}
	if s.tokenKeys != nil {
		environment[deployment.VarTokenKeys] = s.tokenKeys.SecretFullArn()
	}
	if s.props.FairQueues {
		environment[deployment.VarFairQueues] = str("true")
	}
	f, role := s.addFunction(function{
		id: "Scheduler", archive: archive,
		description: "claims steps in their order, sends requests, takes replies",
		memory:      s.props.Tuning.SchedulerMemory, timeout: s.props.Tuning.SchedulerTimeout,
		environment: environment, access: s.schedulerAccess(), loops: true,
		reserved: s.props.Tuning.ReservedSchedulers,
		vpc:      s.props.VPC, subnets: s.props.Subnets, groups: s.props.SecurityGroups,
	})
	s.publish("scheduler", "Scheduler", f)
	s.scheduler = f
	for _, name := range s.ownQueues() {
		s.addMapping(pascal(name)+"Mapping", s.invoked("scheduler"), s.queues[name])
	}
	for _, agent := range s.agentNames() {
		for _, name := range []string{port.Requests(agent), port.High(port.Requests(agent))} {
			s.senders[name] = append(s.senders[name], role.RoleArn())
		}
	}
	s.senders[port.Quarantine] = append(s.senders[port.Quarantine], role.RoleArn())
	s.senders[port.Tasks] = []*string{role.RoleArn()}
	return nil
}

// capacity adds the capacities of agents to those of other consumers, and returns them as JSON.
func (s *Stepkeeper) capacity(agents []string, capacity map[string]int) *string {
	for _, name := range agents {
		a := s.props.Agents[name]
		capacity[name] = a.taken() // more messages are a backlog (P32, queue time is not a failure)
	}
	return awscdk.Stack_Of(s.Construct).ToJsonString(capacity, nil)
}

// stackName returns the name of the deployment in metrics and alerts.
func (s *Stepkeeper) stackName() *string {
	return str(*awscdk.Stack_Of(s.Construct).StackName() + "/" + pascal(*s.Construct.Node().Id()))
}

func (s *Stepkeeper) engineEnvironment() map[string]*string {
	queues := map[string]*string{ // the functions derive the other URLs from the URL of the intake queue
		port.Intake:     s.queues[port.Intake].queue.QueueUrl(),
		port.Quarantine: s.quarantine.QueueName(),
	}
	for _, name := range s.ownQueues()[1:] {
		queues[name] = s.queues[name].queue.QueueName()
	}
	environment := map[string]*string{
		deployment.VarOrders:      s.orders.TableName(),
		deployment.VarDefinitions: s.definitions.TableName(),
		deployment.VarShards:      jsii.Sprintf("%d", s.props.Shards),
		deployment.VarAlerts:      s.alerts.TopicArn(),
		deployment.VarStack:       s.stackName(),
		deployment.VarQueues:      awscdk.Stack_Of(s.Construct).ToJsonString(queues, nil),
	}
	if s.props.FinishedOrders {
		environment[deployment.VarFinished] = str("true")
	}
	s.traced(environment)
	if s.props.OutcomeMetrics {
		environment[deployment.VarOutcomes] = str("true")
	}
	if s.props.TaskTTL > 0 {
		environment[deployment.VarTaskTTL] = str(s.props.TaskTTL.String())
	}
	if w := s.props.Tuning.AlertWindow; w != incident.DefaultWindow {
		environment[deployment.VarWindow] = str(w.String())
	}
	if again := s.props.Tuning.AlertReminder; again != incident.DefaultReminder {
		environment[deployment.VarReminder] = str(max(again, 0).String())
	}
	return environment
}

func (s *Stepkeeper) traced(environment map[string]*string) {
	if s.props.TracesEndpoint != "" {
		environment[deployment.VarTraces] = str(s.props.TracesEndpoint)
	}
}

// namePeers adds the agents to the Scheduler's environment. Call it after the creation of the agents' roles.
func (s *Stepkeeper) namePeers() {
	s.scheduler.AddEnvironment(str(deployment.VarAgents), s.peers(true), nil)
}

// peers returns the agents with their queues, in the form of deployment.Peers. If senders is true, the result
// includes the IDs of the roles with which the agents send replies. To save space, the result contains the
// common prefix of the queue names only once. CloudFormation may shorten a queue name, so that the prefix is
// missing. The result contains such a name in full.
func (s *Stepkeeper) peers(senders bool) *string {
	stack := awscdk.Stack_Of(s.Construct)
	var start string
	if prefix := s.props.Names.Prefix; prefix != "" {
		start = prefix + "-" + requestsID
	}
	var all []deployment.Peer
	for _, name := range s.agentNames() {
		q := s.queues[port.Requests(name)].queue
		id, _ := stack.Resolve(stack.GetLogicalId(q.Node().DefaultChild().(awscdk.CfnElement))).(string)
		if i := strings.Index(id, requestsID+pascal(name)); start == "" && i >= 0 &&
			!unresolved(*stack.StackName()) {
			start = *stack.StackName() + "-" + id[:i+len(requestsID)]
		}
		p := deployment.Peer{Name: name, Queue: shortened(q, start)}
		if senders {
			p.Senders = s.senderIDs[name]
		}
		if high := s.queues[port.High(port.Requests(name))]; high != nil {
			p.High = shortened(high.queue, start)
		}
		all = append(all, p)
	}
	text := deployment.Peers(start, all)
	return &text
}

func shortened(q awssqs.Queue, start string) string {
	if start == "" {
		return *q.QueueName()
	}
	return *awscdk.Fn_Join(str(deployment.Start), awscdk.Fn_Split(&start, q.QueueName(), nil))
}

const requestsID = "Requests"

// replyToPlaces returns a JSON object with the URLs of the reply-to queues and the ARNs of the reply-to
// buses. If a queue is in the account and Region of the stack, the object contains only the queue's name.
func (s *Stepkeeper) replyToPlaces() *string {
	stack := awscdk.Stack_Of(s.Construct)
	places := map[string]*string{}
	for _, name := range sorted(s.props.ReplyTo) {
		q := s.props.ReplyTo[name]
		places[name] = q.QueueUrl()
		if env := q.Env(); *env.Account == *stack.Account() && *env.Region == *stack.Region() {
			places[name] = q.QueueName()
		}
	}
	for name, bus := range s.props.ReplyToBuses {
		places[name] = bus.EventBusArn()
	}
	return stack.ToJsonString(places, nil)
}
