package infra

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscodedeploy"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsssm"

	"github.com/stepkeeper/stepkeeper/infra/build"
)

// Props are the properties of a deployment. Workflows and Agents are required. The zero value of every other
// field is its default.
type Props struct {
	// Workflows lists files, and folders from which all *.yaml and *.yml files are taken. They are checked
	// against the agents and Lambda's limits (rule 3), and compiled.
	Workflows []string
	// Agents holds the agents by their names in workflows: small letters, digits and -.
	Agents map[string]Agent
	// ReplyTo holds the applications' own status queues by the logical names that an order may use.
	ReplyTo map[string]awssqs.IQueue
	// ReplyToBuses holds event buses by the logical names that an order may use. A workflow with "events:
	// true" needs one named "events".
	ReplyToBuses map[string]awsevents.IEventBus

	// Profile chooses the defaults of Alarms, SweepInterval, RemovalPolicy and LogRetention; default
	// ProfileProduction. A property that is set keeps its value under every profile.
	Profile Profile
	// Alarms chooses the alarms: AlarmsFull (default), AlarmsEssential or AlarmsNone.
	Alarms AlarmLevel
	// AlarmEmail is subscribed to the topics that the construct makes; "" means no subscriber until you add
	// one.
	AlarmEmail string
	// AlertTopic gets the alerts of orders in Error, instead of a topic that the construct makes.
	AlertTopic awssns.ITopic
	// AlarmTopic gets all alarms, instead of a topic that the construct makes with a key for CloudWatch. If
	// the app imports the topic or its key, their policies have to let CloudWatch publish and use the key.
	AlarmTopic awssns.ITopic
	// RemovalPolicy applies to tables, queues, key and logs; default RETAIN, with deletion protection of the
	// tables. DESTROY is for trials.
	RemovalPolicy awscdk.RemovalPolicy
	// Operators lists ARNs of roles and users of the stack's account that may redrive messages of a
	// dead-letter queue. Apart from them only the functions may send to the internal queues.
	Operators []string

	// Submitters lists ARNs of roles and users of other accounts that may send to the intake queues. Like all
	// applications they may then send orders, cancels and answers with a token. By default other accounts
	// may send nothing. They need sqs:SendMessage in their own account too, and must exist before the
	// deployment.
	Submitters []string

	// SweepInterval is the interval at which the Supervisor looks for overdue work: whole minutes, 1 m
	// (default) to 1 h (rule 16). A longer interval delays the retry of a step whose agent has died.
	SweepInterval time.Duration
	// PagesPerSweep bounds one sweep, in pages of 100 tasks of the index: 1 to 10,000, default 50. The next
	// sweep begins at another shard (rule 17).
	PagesPerSweep int
	// EventBridgeRule uses a rule for the Supervisor's schedule instead of EventBridge Scheduler, which some
	// emulators do not fire.
	EventBridgeRule bool

	// Shards is the number of shards of the index: 2 × index writes per second / 1000, rounded up; default 8
	// (rule 11).
	Shards int
	// FinishedOrders keeps ended orders in the index, for listings. It costs one more write per order.
	FinishedOrders bool
	// TaskTTL is the time after which an ended order is deleted, 1 h to 10 years; 0 means never. A small item
	// of a deleted order remains, so that no other order can run with its ID.
	//
	// It costs one write and one read per order, and one more write for each KiB of an order that is stored
	// apart. Once it was set, do not set it back to 0 but to 10 years, because new orders are compared with
	// the IDs of deleted ones only if TaskTTL is set.
	TaskTTL time.Duration
	// TokenKeys is the secret with the token keys of another stack, for a stack that takes over the tables of
	// that stack. The keys sign the tokens that permit answers. By default a stack whose workflows
	// make tokens has its own secret, with one key that AWS makes.
	TokenKeys awssecretsmanager.ISecret
	// FairQueues puts a MessageGroupId on each request: the tenant of the order, which is the part of its ID
	// before the first colon, as in "acme:1001". Then a flood of one tenant does not delay the others' steps
	// (rule 4). AWS charges more for such requests.
	FairQueues bool
	// Priorities gives orders of high priority their own queues. The keys are "intake" or names of agents.
	// Each value is the part of that queue's MaxConcurrency that is reserved for orders of high priority, 2
	// to MaxConcurrency - 2 (P46, priority changes the order of requests only). There are at most 5 entries,
	// and none for an external agent. An idle queue costs as much as a further agent.
	Priorities map[string]int
	// Replicas lists Regions that get copies of the tables, for disaster recovery only: one Region is active
	// (rule 14). The stack must have an explicit Region. A deployment can add or remove only one replica of
	// existing tables.
	Replicas []Replica
	// Billing bills the table Orders and its index by provisioned capacity; nil means on demand.
	Billing *Provisioned
	// TableClass is the class of new tables; default STANDARD. With STANDARD_INFREQUENT_ACCESS storage costs
	// 60 % less, and reads and writes 25 % more.
	TableClass awsdynamodb.TableClass
	// Tables holds existing tables to use instead of new ones, such as restored ones or replicas.
	Tables Tables
	// State is the result of NewState with the same Props, for a deployment whose tables are in another
	// stack. By default the deployment makes its tables itself.
	State *State
	// DeadLetters gives queues your own dead-letter queues, by the queue's name: "intake", "replies",
	// "control", "requests-<agent>". They must be standard queues of the stack's account and Region, one for
	// each, and keep messages for more than 4 days. The deployment makes all others.
	DeadLetters map[string]awssqs.IQueue
	// Paused deploys everything and starts nothing: the mappings receive no messages, and the schedule does
	// not run. It is for a standby Region (rule 14), and for a stop while tables are restored. It does not
	// stop external agents.
	Paused bool

	// CustomerManagedKey encrypts everything with the deployment's own key instead of the services' keys
	// (rule 22). Key, if set, is used instead of a new key. The policy of an existing key has to let
	// CloudWatch, EventBridge and CloudWatch Logs use it.
	CustomerManagedKey bool
	Key                awskms.IKey
	// Versions publishes a version of a function for each change, and lets mappings and schedule call the
	// alias "live". Code and settings then switch at the same moment. By default mappings and schedule call
	// the function itself, which Lambda updates in two steps. An agent's Function stays as it is, and may be
	// an alias.
	Versions bool
	// Canary lets CodeDeploy shift the calls of each alias to a new version, such as
	// awscodedeploy.LambdaDeploymentConfig_CANARY_10PERCENT_5MINUTES(). It shifts them back if the function's
	// error alarm goes off, and the deployment fails. Canary sets Versions. nil switches at once.
	Canary awscodedeploy.ILambdaDeploymentConfig
	// Names holds names and paths that the rules of an account prescribe.
	Names Names
	// Tags are added to all resources that can have tags, besides the tags of the stack: at most 40, with
	// keys of 1 to 128 characters and values of up to 256.
	Tags map[string]string
	// CodeSigning lets Lambda check who signed the code of the functions that the construct makes; nil means
	// no check. Sign the zips in the pipeline, because the CDK does not.
	CodeSigning awslambda.ICodeSigningConfig
	// X86 builds for x86-64; the default is arm64.
	X86 bool
	// VPC is the network of Scheduler and Supervisor; nil means none. Its subnets need endpoints of DynamoDB,
	// SQS and SNS, and of Secrets Manager if a workflow makes tokens, or a way to the internet. Agents have
	// their own setting Agent.VPC.
	VPC awsec2.IVpc
	// Subnets chooses subnets of VPC; the default is its private ones.
	Subnets *awsec2.SubnetSelection
	// SecurityGroups are the security groups of Scheduler and Supervisor. By default each gets a group that
	// allows all outgoing connections. They need port 443 to the endpoints.
	SecurityGroups []awsec2.ISecurityGroup
	// LogRetention is the retention of all functions' logs; default one month.
	LogRetention awslogs.RetentionDays
	// Dashboard adds a dashboard in CloudWatch with an operator's first questions. AWS bills dashboards:
	// three are free in an account, and each further one costs $3 a month.
	Dashboard bool
	// OutcomeMetrics writes the metrics OrdersEnded and OrderDuration of ended orders, by workflow and state.
	// AWS bills each combination that occurs: up to nine metrics, $2.70 a month, for a workflow.
	OutcomeMetrics bool
	// TracesEndpoint is the address of an OpenTelemetry collector, such as http://10.0.0.5:4318, to which
	// Scheduler, Supervisor and ready agents send spans; "" means none. Each invocation waits up to 500 ms
	// for the collector, and after a failure not at all for a minute. No credentials are sent.
	TracesEndpoint string
	// Tuning holds settings of Scheduler, Supervisor and alarms.
	Tuning Tuning
	// Build builds the functions; nil means build.Go.
	Build build.Builder
}

// Replica is a copy of the tables in another Region.
type Replica struct {
	Region string
	KeyARN string // ARN of a key in Region; required with a customer-managed key and invalid without one
}

// Tables holds ARNs of existing tables in the deployment's account and Region. They must have the same keys
// and index as the construct's own tables. The construct makes and keeps every table that has no ARN here.
type Tables struct {
	Orders, Definitions string
	Ledgers             map[string]string // keys are agents
	// KeyARN is the ARN of the key that encrypts the tables; "" means the deployment's own key.
	KeyARN string
}

// Warm is the throughput that new tables serve from their first second. You may raise it later, but never
// lower it. AWS bills once for the part above its default. Warm does not apply to existing tables.
type Warm struct{ Orders, Index Throughput }

// Throughput is in units per second. In Warm, 0 means AWS's default, which is also the minimum: 4,000 writes
// and 12,000 reads.
type Throughput struct{ Writes, Reads int }

// Tuning holds settings that rarely need a change. docs/how-to/aws-tuning.md explains what each one bounds.
type Tuning struct {
	// Intake, Replies and Control are the mappings of the Scheduler's three queues.
	Intake, Replies, Control Mapping
	// SchedulerMemory and SupervisorMemory are in MB; default 256. Lambda allots CPU in proportion to memory.
	SchedulerMemory, SupervisorMemory int
	// SchedulerTimeout limits one batch, 5 s to 15 m; default 30 s.
	SchedulerTimeout time.Duration
	// MaxReceives is the number of receives after which a message goes to its dead-letter queue, 5 to 1000;
	// default 10 (rule 3).
	MaxReceives int
	// ReservedSchedulers and ReservedSupervisors are reserved concurrencies. 0, the default, means none,
	// because a reservation fails the deployment in a new account (rule 16). The Scheduler's must suffice for
	// its three mappings. Two Supervisors at once do no harm.
	ReservedSchedulers, ReservedSupervisors int
	// SystemLogLevel is the level of Lambda's own log lines; default WARN, which leaves out START, END and
	// REPORT. These lines are the larger part of a healthy function's log. The metrics contain the same
	// facts, except the memory used. INFO logs them.
	SystemLogLevel awslambda.SystemLogLevel
	// Warm prepares new tables for a busy first day.
	Warm Warm
	// OldestMessage is the age of a message in intake or replies that raises an alarm; default 5 m. For
	// control the age is at least 20 m, because messages there are delayed by up to 15 m.
	OldestMessage time.Duration
	// OldestRequest is the age of a message in an agent's queue that raises an alarm; default 15 m. A
	// request may wait long without a failure of its step.
	OldestRequest time.Duration
	// OldestOverdue is the time by which a task must be overdue to raise an alarm; default SweepInterval plus
	// 4 m.
	OldestOverdue time.Duration
	// Thresholds replaces thresholds of alarms. A key is the ID of an alarm without its ending Alarm, such as
	// IntakeAge or PaymentErrors, or an ending of such IDs: Age, Dead, Errors, NotCalled or Throttles.
	Thresholds map[string]Threshold
	// AlertWindow is the time for which orders that stop for the same reason are counted before one alert
	// publishes their number, 1 m to 24 h; default 15 m. The first order raises an alert at once.
	AlertWindow time.Duration
	// AlertReminder is the interval of alerts while orders still wait, 1 h to 30 days; default 24 h. A
	// negative value means no reminders.
	AlertReminder time.Duration
}

// Threshold replaces the defaults of an alarm. A zero field keeps its default.
type Threshold struct {
	Value   float64 // threshold in the metric's unit: messages, seconds, failures or throttled requests
	Periods int     // number of periods in a row, 1 to 24
}

// Mapping configures how a function consumes its queue. Partial batch responses are always on (rule 2).
type Mapping struct {
	// messages at once, 1 to 10; default 10 for the Scheduler, 5 for agents (rule 4)
	Batch          int
	Window         time.Duration // longest wait for a full batch, up to 5 m in whole seconds; default 0
	MaxConcurrency int           // functions at the same time, 2 to 1000; default 5 (rule 33)
}

// taken returns how many messages the function takes at a time. If more messages wait, the queue has a
// backlog (P32, queue time is not a failure).
func (m Mapping) taken() int { return m.MaxConcurrency * m.Batch }

// Agent is one remote service. Exactly one of HTTP, Folder, Function and External is set.
type Agent struct {
	// HTTP is the path of an agents file, as for `stepkeeper dev --agents`. The file's entry with the agent's
	// name configures the ready-made agent, for an HTTP service or for services of AWS. The function may call
	// what the entry names, and nothing else. Concurrency and batch in the file do not apply here.
	HTTP string
	// Folder holds a Go main package that calls agent.Serve, or an agent in Python or TypeScript as
	// `stepkeeper agent new` writes it: agent.py with requirements.txt, or src/agent.ts with package.json.
	Folder string
	// Function is your own function, which gets the queue's messages as SQS events. It must be in the stack's
	// account. Timeout must not exceed the function's timeout. A function made in this app gets its settings
	// and permissions. For an imported function you have to add both yourself.
	Function awslambda.IFunction
	// External means that a process outside the stack receives from requests-<name> and sends to replies. It
	// needs permissions for both queues. SenderARNs must contain its role.
	External   bool
	SenderARNs []string
	// Account is the account of an external agent's roles, 12 digits; the default is the stack's. In another
	// account they need permissions there too, and must exist before the deployment. The policies of the
	// agent's queues, of its ledger and of the deployment's key then give the roles in SenderARNs the rights
	// of an agent.
	Account string
	// SenderIDs are the IDs of the roles that the agent replies with: AROA…, as `aws iam get-role` prints
	// them. The Scheduler refuses replies in the agent's name from other roles. Set SenderIDs if the role is
	// not made in this app. Without them the agent's replies are not checked, and synthesis warns.
	SenderIDs []string

	Mapping
	// Timeout limits one batch, 5 s to 15 m; default 1 m. A step's timeout must be at least 3 s shorter (rule
	// 3).
	Timeout time.Duration
	Memory  int // MB; default 128, and 256 for a Folder in Python or TypeScript
	// reserved concurrency, at least MaxConcurrency; 0 means none; invalid with Function
	Reserved    int
	Environment map[string]string // further variables; never secrets
	// Secrets holds the secrets by the variable that refers to them, such as TOKEN in ${env:TOKEN} of an
	// agents file. The function reads them at run time. They are never in the template or in the function's
	// settings.
	Secrets map[string]Secret
	// VPC is the network that the function runs in; nil means none. Subnets and SecurityGroups have the
	// meaning that they have in CDK.
	VPC            awsec2.IVpc
	Subnets        *awsec2.SubnetSelection
	SecurityGroups []awsec2.ISecurityGroup
}

// Secret is the place of a secret. Make it with SecretValue or ParameterValue.
type Secret struct {
	secret    awssecretsmanager.ISecret
	field     string
	parameter awsssm.IParameter
	key       awskms.IKey
}

// SecretValue returns a secret of Secrets Manager, which must have a complete ARN. field names a string in a
// secret that is a JSON object; "" means the whole secret. key is the secret's own key, or nil if it has
// none.
func SecretValue(secret awssecretsmanager.ISecret, field string, key awskms.IKey) Secret {
	return Secret{secret: secret, field: field, key: key}
}

// ParameterValue returns a SecureString of the Parameter Store. key is the parameter's own key, or nil if the
// account's key encrypts it.
func ParameterValue(parameter awsssm.IParameter, key awskms.IKey) Secret {
	return Secret{parameter: parameter, key: key}
}
