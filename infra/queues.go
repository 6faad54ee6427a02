package infra

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

type queue struct {
	queue   awssqs.Queue
	dead    awssqs.IQueue
	mapping Mapping
	source  awslambda.EventSourceMapping // nil if an external agent receives from the queue
	oldest  time.Duration                // age of a message that raises the alarm
}

// Retention of messages (rule 6). Messages of tasks can be sent again. Dead letters stay as long as SQS allows, so
// that operators have time to find the cause. So do orders in the intake queues, by default, because no other copy
// of an order exists before the Scheduler has stored its task.
const (
	retention    = 4 * 24 * time.Hour
	maxRetention = 14 * 24 * time.Hour
)

func (s *Stepkeeper) addQueues() {
	t := s.props.Tuning
	if t.IntakeRetention < time.Hour {
		s.warn("intake-retention", "Tuning.IntakeRetention is %s: SQS deletes waiting orders before an alarm or a dead "+
			"letter shows them; set at least 1h", t.IntakeRetention)
	}
	s.quarantine = s.deadQueue("Quarantine",
		"it holds messages that cannot be read, and has no consumer")
	s.missed = s.deadQueue("MissedSweeps", "it is itself a dead-letter queue, of the schedule")
	for _, q := range []awssqs.Queue{s.quarantine, s.missed} { // no queue has one of them for its dead letters
		q.Node().DefaultChild().(awssqs.CfnQueue).SetRedriveAllowPolicy(map[string]string{"redrivePermission": "denyAll"})
	}
	s.addShared(port.Intake, port.Intake, t.Intake, t.SchedulerTimeout, t.OldestMessage)
	s.addQueue(port.Replies, t.Replies, t.SchedulerTimeout, t.OldestMessage)
	// SQS includes the delay of a message in its age. Messages of waiting steps have delays of up to 15
	// minutes (rule 5).
	s.addQueue(port.Control, t.Control, t.SchedulerTimeout, max(t.OldestMessage, 20*time.Minute))
	if len(s.content.Children) > 0 {
		s.addQueue(port.Tasks, t.Control, t.SchedulerTimeout, t.OldestMessage)
	}
	for _, name := range s.agentNames() {
		a := s.props.Agents[name]
		s.addShared(name, port.Requests(name), a.Mapping, a.Timeout, t.OldestRequest)
	}
}

// addShared adds a queue. If Props.Priorities has an entry for owner, addShared also adds the queue for high
// priority, with a part of the concurrency (P46, priority changes the order of requests only).
func (s *Stepkeeper) addShared(owner, name string, m Mapping, timeout, oldest time.Duration) {
	if share := s.props.Priorities[owner]; share > 0 {
		high := m
		high.MaxConcurrency = share
		m.MaxConcurrency -= share
		s.addQueue(port.High(name), high, timeout, oldest)
	}
	s.addQueue(name, m, timeout, oldest)
}

func (s *Stepkeeper) withHigh(name string) []*queue {
	if high := s.queues[port.High(name)]; high != nil {
		return []*queue{s.queues[name], high}
	}
	return []*queue{s.queues[name]}
}

func (s *Stepkeeper) ownQueues() []string {
	names := []string{port.Intake, port.Replies, port.Control}
	if s.props.Priorities[port.Intake] > 0 {
		names = append(names, port.High(port.Intake))
	}
	if len(s.content.Children) > 0 {
		names = append(names, port.Tasks)
	}
	return names
}

func (s *Stepkeeper) addQueue(name string, m Mapping, timeout, oldest time.Duration) {
	id := queueID(name)
	dead := s.deadOf(name)
	keep := retention
	if name == port.Intake || name == port.High(port.Intake) {
		keep = s.props.Tuning.IntakeRetention
	}
	props := s.queueProps(keep)
	props.VisibilityTimeout = seconds(visibility(timeout, m.Window))
	props.DeadLetterQueue = &awssqs.DeadLetterQueue{
		Queue:           dead,
		MaxReceiveCount: num(s.props.Tuning.MaxReceives),
	}
	s.queues[name] = &queue{
		queue: awssqs.NewQueue(s.Construct, str(id), props), dead: dead, mapping: m,
		oldest: oldest,
	}
}

// visibility returns the visibility timeout of a queue. Rule 3 states the factor.
func visibility(timeout, window time.Duration) time.Duration { return 6*timeout + window }

func queueID(name string) string {
	if name == port.Tasks {
		return "TaskMessages"
	}
	return pascal(name)
}

func (s *Stepkeeper) deadQueue(id, why string) awssqs.Queue {
	q := awssqs.NewQueue(s.Construct, str(id), s.queueProps(maxRetention))
	Accept(q, "AwsSolutions-SQS3", "A dead-letter queue is asked for. This queue has none: "+why+".")
	return q
}

func (s *Stepkeeper) queueProps(keep time.Duration) *awssqs.QueueProps {
	props := &awssqs.QueueProps{
		Encryption: awssqs.QueueEncryption_SQS_MANAGED, EnforceSSL: jsii.Bool(true),
		RetentionPeriod: seconds(keep), RemovalPolicy: s.removal(),
	}
	if s.key != nil {
		props.Encryption = awssqs.QueueEncryption_KMS
		props.EncryptionMasterKey = s.key
	}
	return props
}

// removal returns the removal policy of queues, logs and secrets. It replaces RETAIN by
// RETAIN_ON_UPDATE_OR_DELETE, so that CloudFormation deletes these resources if the first deployment fails.
// Otherwise the empty resources would stay in the account without a stack.
func (s *Stepkeeper) removal() awscdk.RemovalPolicy {
	if s.props.RemovalPolicy == awscdk.RemovalPolicy_RETAIN {
		return awscdk.RemovalPolicy_RETAIN_ON_UPDATE_OR_DELETE
	}
	return s.props.RemovalPolicy
}

// nameSenders sets the policies of the queues. A policy refuses all other senders, even if their roles permit
// the call (rules 20, 21):
//
//   - Dead-letter queues accept no principal. SQS moves messages there by itself, without a permission. An
//     operator would redrive a message that somebody else has planted there. A template cannot name the source
//     queues in RedriveAllowPolicy: each refers to its dead-letter queue, and CloudFormation generates its name.
//   - The queue of missed sweeps accepts what starts the Supervisor.
//   - Intake queues accept principals of the stack's account, and Submitters.
//   - The control queue accepts principals of the stack's account.
//   - Each other queue accepts only the senders that its policy lists.
func (s *Stepkeeper) nameSenders() {
	for _, name := range sorted(s.queues) {
		q := s.queues[name].queue
		if dead, made := s.queues[name].dead.(awssqs.Queue); made && s.props.DeadLetters[name] == nil {
			refuse(dead, "OnlySQS", nil)
		}
		switch name {
		case port.Intake, port.High(port.Intake):
			s.onlyThisAccount(q, s.props.Submitters)
		case port.Control:
			s.onlyThisAccount(q, nil)
		default:
			s.onlyFrom(name, q)
		}
	}
	s.onlyFrom(port.Quarantine, s.quarantine)
	starters := knownSenders(s.senders[missedSweeps])
	starters["BoolIfExists"] = map[string]any{"aws:PrincipalIsAWSService": "false"} // a rule is a service
	refuse(s.missed, "OnlyKnownSenders", starters)
	s.allowAccounts()
}

// onlyThisAccount refuses principals of other accounts, except those in the argument except. It also refuses
// AWS services that act for other accounts. A service has no account (rule 29). Its request contains the
// account or the resource for which the service acts.
func (s *Stepkeeper) onlyThisAccount(q awssqs.Queue, except []string) {
	account := awscdk.Stack_Of(s.Construct).Account()
	ours := awscdk.Fn_Join(str(""), &[]*string{str("arn:*:*:*:"), account, str(":*")})
	others := map[string]any{
		"StringNotEquals": map[string]any{"aws:PrincipalAccount": account},
		// Anonymous requests do not have this condition key.
		"BoolIfExists": map[string]any{"aws:PrincipalIsAWSService": "false"},
	}
	if len(except) > 0 {
		others["ArnNotEquals"] = map[string]any{"aws:PrincipalArn": except}
	}
	refuse(q, "OnlyFromThisAccount", others)
	refuse(q, "OnlyServicesForThisAccount", map[string]any{
		"Bool":            map[string]any{"aws:PrincipalIsAWSService": "true"},
		"StringNotEquals": map[string]any{"aws:SourceAccount": account},
		"ArnNotLike":      map[string]any{"aws:SourceArn": ours},
	})
}

func (s *Stepkeeper) onlyFrom(name string, q awssqs.Queue) {
	for _, arn := range s.props.Operators {
		// Operators need not redrive messages between tasks, because a task sends lost messages again (P41,
		// parent and child talk by messages).
		if name != port.Tasks {
			s.senders[name] = append(s.senders[name], str(arn))
		}
	}
	s.refusals[name] = refuse(q, "OnlyKnownSenders", knownSenders(s.senders[name]))
}

func (s *Stepkeeper) allowSender(name string, arn *string) {
	s.senders[name] = append(s.senders[name], arn)
	for operator, condition := range knownSenders(s.senders[name]) {
		s.refusals[name].AddCondition(&operator, condition)
	}
}

func knownSenders(arns []*string) map[string]any {
	return map[string]any{"ArnNotEquals": map[string]any{"aws:PrincipalArn": arns}}
}

// missedSweeps is the key in senders of the queue for sweeps that the schedule could not start.
const missedSweeps = "missed-sweeps"

// refuse denies sqs:SendMessage to all principals that meet the conditions. nil means all principals.
func refuse(q awssqs.Queue, sid string, conditions map[string]any) awsiam.PolicyStatement {
	props := &awsiam.PolicyStatementProps{
		Sid: str(sid), Effect: awsiam.Effect_DENY, Principals: &[]awsiam.IPrincipal{awsiam.NewAnyPrincipal()},
		Actions: jsii.Strings("sqs:SendMessage"), Resources: &[]*string{q.QueueArn()},
	}
	if conditions != nil {
		props.Conditions = &conditions
	}
	statement := awsiam.NewPolicyStatement(props)
	q.AddToResourcePolicy(statement)
	return statement
}

func (s *Stepkeeper) urls(names ...string) *string {
	object := map[string]*string{}
	for _, name := range names {
		if name == port.Quarantine {
			object[name] = s.quarantine.QueueUrl()
			continue
		}
		object[name] = s.queues[name].queue.QueueUrl()
	}
	return awscdk.Stack_Of(s.Construct).ToJsonString(object, nil)
}

func seconds(d time.Duration) awscdk.Duration {
	return awscdk.Duration_Seconds(jsii.Number(d.Seconds()))
}

// pascal converts a logical name to a construct ID: requests-credit-check becomes RequestsCreditCheck.
func pascal(name string) string {
	var id []byte
	upper := true
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '-':
			upper = true
			continue
		case upper && c >= 'a' && c <= 'z':
			c -= 'a' - 'A'
		}
		upper = false
		id = append(id, c)
	}
	return string(id)
}
