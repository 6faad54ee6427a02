package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/stepkeeper/stepkeeper/infra/build"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// addScheduler makes the Scheduler: one function with three mappings, so that a flood of orders
// leaves replies their own share.
func (s *Stepkeeper) addScheduler() error {
	folder, err := s.assets.folder("scheduler", build.Scheduler, s.assets.flows)
	if err != nil {
		return err
	}
	environment := s.engineEnvironment()
	if len(s.props.ReplyTo) > 0 {
		object := map[string]*string{}
		for _, name := range s.replyToNames() {
			object[name] = s.props.ReplyTo[name].QueueUrl()
		}
		environment[deployment.VarReplyTo] = awscdk.Stack_Of(s.Construct).ToJsonString(object, nil)
	}
	if s.props.FairQueues {
		environment[deployment.VarFairQueues] = str("true")
	}
	f, role := s.addFunction(function{
		id: "Scheduler", folder: folder, description: "claims steps in their order, sends requests, takes replies",
		memory: s.props.Tuning.SchedulerMemory, timeout: s.props.Tuning.SchedulerTimeout,
		environment: environment, access: s.schedulerAccess(), loops: true, reserved: s.props.Tuning.ReservedSchedulers,
	})
	s.functions["scheduler"], s.roles["scheduler"] = f, role
	for _, name := range []string{port.Intake, port.Replies, port.Control} {
		s.addMapping(pascal(name)+"Mapping", f, s.queues[name])
	}
	for _, agent := range s.agentNames() {
		s.senders[port.Requests(agent)] = append(s.senders[port.Requests(agent)], role.RoleArn())
	}
	s.senders[port.Quarantine] = append(s.senders[port.Quarantine], role.RoleArn())
	return nil
}

// engineEnvironment is what Scheduler and Supervisor are both told.
func (s *Stepkeeper) engineEnvironment() map[string]*string {
	names := []string{port.Intake, port.Replies, port.Control, port.Quarantine}
	for _, agent := range s.agentNames() {
		names = append(names, port.Requests(agent))
	}
	environment := map[string]*string{
		deployment.VarOrders:      s.orders.TableName(),
		deployment.VarTasks:       s.tasks.TableName(),
		deployment.VarDefinitions: s.definitions.TableName(),
		deployment.VarShards:      jsii.Sprintf("%d", s.props.Shards),
		deployment.VarAlerts:      s.alerts.TopicArn(),
		deployment.VarQueues:      s.urls(names...),
	}
	if s.props.FinishedOrders {
		environment[deployment.VarFinished] = str("true")
	}
	if s.props.TaskTTL > 0 {
		environment[deployment.VarTaskTTL] = str(s.props.TaskTTL.String())
	}
	return environment
}

func (s *Stepkeeper) replyToNames() []string { return sorted(s.props.ReplyTo) }
