package infra

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awseventstargets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsscheduler"
	"github.com/aws/jsii-runtime-go"

	"github.com/stepkeeper/stepkeeper/infra/build"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Limits for the invocations by the schedule (rule 16). An invocation goes to the queue MissedSweeps if it
// does not start in time, or if all its attempts fail. The next invocation does the same work.
//
// Lambda starts the second attempt one minute after the first one has failed, and the third attempt two minutes
// after the second one. It starts no attempt for an event that is older than attemptsAge, so attemptsAge covers
// these waits and three attempts.
const (
	tickRetries = 2
	sweepTime   = time.Minute // time limit of one attempt
	attemptsAge = (1+2)*time.Minute + (1+tickRetries)*sweepTime
)

func (s *Stepkeeper) addSupervisor() error {
	archive, err := s.content.archive("supervisor", build.Supervisor, s.content.Scheduled)
	if err != nil {
		return err
	}
	environment := s.engineEnvironment()
	environment[deployment.VarCapacity] = s.capacity(s.agentNames(), map[string]int{
		deployment.SchedulerCapacity: min(s.queues[port.Replies].mapping.taken(),
			s.queues[port.Control].mapping.taken()),
	})
	environment[deployment.VarAgents] = s.peers(false)
	if s.props.SweepInterval > deployment.MinSweepEvery {
		environment[deployment.VarSweepEvery] = str(s.props.SweepInterval.String())
	}
	if s.props.PagesPerSweep > 0 {
		environment[deployment.VarSweepPages] = jsii.Sprintf("%d", s.props.PagesPerSweep)
	}
	// Lambda uses the function's role to send failed invocations to the queue MissedSweeps.
	access := s.supervisorAccess()
	access.allow("Missed", send, s.missed.QueueArn())
	f, role := s.addFunction(function{
		id: "Supervisor", archive: archive, description: "hands back what is overdue, asks, alerts",
		memory: s.props.Tuning.SupervisorMemory, timeout: sweepTime, environment: environment,
		access: access, reserved: s.props.Tuning.ReservedSupervisors,
		vpc: s.props.VPC, subnets: s.props.Subnets, groups: s.props.SecurityGroups,
	})
	s.publish("supervisor", "Supervisor", f)
	s.senders[missedSweeps] = append(s.senders[missedSweeps], role.RoleArn())
	target := s.invoked("supervisor")
	invocations := awslambda.NewCfnEventInvokeConfig(s.Construct, str("SupervisorInvocations"),
		&awslambda.CfnEventInvokeConfigProps{
			FunctionName: f.FunctionName(), Qualifier: str("$LATEST"),
			MaximumEventAgeInSeconds: num(int(max(attemptsAge, s.props.SweepInterval).Seconds())),
			MaximumRetryAttempts:     num(tickRetries),
			DestinationConfig: &awslambda.CfnEventInvokeConfig_DestinationConfigProperty{
				OnFailure: &awslambda.CfnEventInvokeConfig_OnFailureProperty{
					Destination: s.missed.QueueArn(),
				},
			},
		})
	if s.props.Versions {
		invocations.SetQualifier(str(liveAlias))
		invocations.Node().AddDependency(target)
	}
	if s.props.EventBridgeRule {
		s.addRule(target)
	} else {
		s.addSchedule(target)
	}
	return nil
}

func (s *Stepkeeper) addSchedule(f awslambda.IFunction) {
	var statements access
	statements.allow("Sweep", []string{"lambda:InvokeFunction"}, f.FunctionArn())
	statements.allow("Missed", send, s.missed.QueueArn())
	statements.allow("Key", useKey, s.ownKey()...)
	ours := s.fromThisAccount()
	role := s.role("ScheduleRole", awsiam.NewServicePrincipal(str("scheduler.amazonaws.com"),
		&awsiam.ServicePrincipalOpts{Conditions: &ours}), "the Supervisor's schedule", statements...)
	s.senders[missedSweeps] = append(s.senders[missedSweeps], role.RoleArn())
	state := "ENABLED"
	if s.props.Paused {
		state = "DISABLED"
	}
	made := awsscheduler.NewCfnSchedule(s.Construct, str("Schedule"), &awsscheduler.CfnScheduleProps{
		Description:        str("Stepkeeper: the Supervisor's sweeps"),
		ScheduleExpression: s.sweepRate().ExpressionString(),
		State:              str(state),
		FlexibleTimeWindow: &awsscheduler.CfnSchedule_FlexibleTimeWindowProperty{Mode: str("OFF")},
		Target: &awsscheduler.CfnSchedule_TargetProperty{
			Arn: f.FunctionArn(), RoleArn: role.RoleArn(), Input: str(`{"from":"schedule"}`),
			RetryPolicy: &awsscheduler.CfnSchedule_RetryPolicyProperty{
				MaximumEventAgeInSeconds: num(int(s.props.SweepInterval.Seconds())),
				MaximumRetryAttempts:     num(tickRetries),
			},
			DeadLetterConfig: &awsscheduler.CfnSchedule_DeadLetterConfigProperty{Arn: s.missed.QueueArn()},
		},
	})
	s.output("ScheduleName", *made.Ref(), "schedule of the Supervisor")
}

func (s *Stepkeeper) sweepRate() awsevents.Schedule {
	return awsevents.Schedule_Rate(seconds(s.props.SweepInterval))
}

func (s *Stepkeeper) addRule(f awslambda.IFunction) {
	made := awsevents.NewRule(s.Construct, str("Rule"), &awsevents.RuleProps{
		Description: str("Stepkeeper: the Supervisor's sweeps"),
		Schedule:    s.sweepRate(),
		Enabled:     jsii.Bool(!s.props.Paused),
		Targets: &[]awsevents.IRuleTarget{awseventstargets.NewLambdaFunction(f,
			&awseventstargets.LambdaFunctionProps{
				DeadLetterQueue: s.missed, MaxEventAge: seconds(s.props.SweepInterval),
				RetryAttempts: num(tickRetries),
				Event:         awsevents.RuleTargetInput_FromObject(map[string]string{"from": "rule"}),
			})},
	})
	s.output("RuleName", *made.RuleName(), "rule that starts the Supervisor")
}
