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

// Props contains the properties of a deployment. Workflows and Agents are required. For all other fields, the
// zero value means the default.
type Props struct {
	// Workflows lists workflow files, and folders with workflow files (*.yaml and *.yml). Synthesis compiles
	// the workflows. It also checks the workflows against the agents and Lambda's limits (rule 3).
	Workflows []string
	// Agents contains the agents by the names that workflows use: lowercase letters, digits and hyphens.
	Agents map[string]Agent
	// ReplyTo contains the applications' queues for statuses, by the logical name in an order's reply-to.
	ReplyTo map[string]awssqs.IQueue
	// ReplyToBuses contains event buses for statuses, by the logical name in an order's reply-to. A workflow
	// with "events: true" needs a bus with the name "events".
	ReplyToBuses map[string]awsevents.IEventBus

	// Profile selects the defaults of Alarms, SweepInterval, RemovalPolicy and LogRetention (default
	// ProfileProduction).
	Profile Profile
	// Alarms selects the alarms: AlarmsFull, AlarmsEssential or AlarmsNone (default AlarmsFull; with
	// ProfileDev AlarmsNone).
	Alarms AlarmLevel
	// AlarmEmail is an address that the construct subscribes to the topics that it creates (default none).
	AlarmEmail string
	// AlertTopic is your own topic for alerts about orders in Error (default a new topic).
	AlertTopic awssns.ITopic
	// AlarmTopic is your own topic for alarms (default a new topic). If the app imports the topic, the
	// topic's policy must allow CloudWatch to publish. If the app imports the topic's key, the key's policy
	// must allow CloudWatch to use the key.
	AlarmTopic awssns.ITopic
	// RemovalPolicy applies to tables, queues, key and logs (default RETAIN; with ProfileDev DESTROY). With
	// DESTROY, the tables have no deletion protection.
	RemovalPolicy awscdk.RemovalPolicy
	// Operators lists ARNs of roles and users of the stack's account that may redrive dead letters. Most
	// queues accept messages only from the functions, the roles of external agents, and Operators. The intake
	// and control queues accept other senders too.
	Operators []string

	// Submitters lists ARNs of roles and users of other accounts that may send to the intake queues (default
	// none). Submitters may send orders, cancels, and answers with a token. They also need a permission for
	// sqs:SendMessage in their own account, and must exist before the deployment.
	Submitters []string

	// SweepInterval is the time between two sweeps of the Supervisor, in whole minutes from 1 m to 1 h
	// (default 1 m; with ProfileDev 5 m). With a longer interval, the retry of a step whose agent has crashed
	// starts later (rule 16).
	SweepInterval time.Duration
	// PagesPerSweep is the maximum number of index pages in one sweep, 1 to 10,000 (default 50). A page
	// contains 100 tasks. Each sweep begins at a different shard (rule 17).
	PagesPerSweep int
	// EventBridgeRule starts the Supervisor by an EventBridge rule instead of EventBridge Scheduler. Some
	// emulators do not run EventBridge Scheduler.
	EventBridgeRule bool

	// Shards is the number of shards of the index (default 8). The required number is 2 × index writes per
	// second / 1000, rounded up (rule 11).
	Shards int
	// FinishedOrders keeps ended orders in the index, so that listings include them. It costs one additional
	// write per order.
	FinishedOrders bool
	// TaskTTL is the time after which an ended order is deleted, 1 h to 10 years (default 0, which means
	// never). A small item of a deleted order remains, so that no order can use the same ID again.
	//
	// TaskTTL costs one write and one read per order. If the content of an order is stored separately,
	// TaskTTL costs one additional write per KiB of the content.
	//
	// A deployment compares new orders with the IDs of deleted orders only if TaskTTL is set. To stop the
	// deletion of orders, set TaskTTL to 10 years instead of 0.
	TaskTTL time.Duration
	// TokenKeys is the secret with the token keys of a former stack whose tables this stack uses (default a
	// new secret). The keys sign the tokens that permit answers. A stack has a secret only if its workflows
	// create tokens.
	TokenKeys awssecretsmanager.ISecret
	// FairQueues sets the MessageGroupId of each request to the tenant of the order. The tenant is the part
	// of the order ID before the first colon, as in "acme:1001". If one tenant submits many orders, the steps
	// of other tenants are not delayed (rule 4). AWS charges more for messages with a MessageGroupId.
	FairQueues bool
	// Priorities adds separate queues for orders of high priority, for "intake" or for agents. The value is
	// the part of MaxConcurrency that is reserved for orders of high priority, 2 to MaxConcurrency - 2 (P46,
	// priority changes the order of requests only). There can be at most 5 entries. External agents cannot
	// have an entry. An idle additional queue costs as much as an idle additional agent.
	Priorities map[string]int
	// Replicas lists Regions with replicas of the tables, for disaster recovery. Only one Region is active
	// (rule 14). The stack must have an explicit Region. A deployment can add or remove only one replica of
	// an existing table.
	Replicas []Replica
	// Billing sets provisioned capacity for the table Orders and its index (default on-demand capacity).
	Billing *Provisioned
	// TableClass is the class of new tables (default STANDARD). With STANDARD_INFREQUENT_ACCESS, storage
	// costs 60 % less, and reads and writes cost 25 % more.
	TableClass awsdynamodb.TableClass
	// Tables contains existing tables that replace new tables, such as restored tables or replicas.
	Tables Tables
	// State is the result of NewState with the same Props, for a deployment whose tables are in a separate
	// stack. By default, the tables are in the stack of the construct.
	State *State
	// DeadLetters contains your own dead-letter queues, by the source queue: "intake", "replies", "control",
	// "requests-<agent>". Each must be a standard queue of the stack's account and Region, with a retention
	// of 14 days, because SQS counts it from the time at which the message was sent first. Each source queue
	// needs a separate dead-letter queue. The construct creates all other dead-letter queues, and refuses
	// messages from all principals there. For your own queues, do the same: an operator would redrive a message
	// that somebody else has sent to a dead-letter queue.
	DeadLetters map[string]awssqs.IQueue
	// Paused deploys all resources, but disables the event source mappings and the schedule. It is for a
	// standby Region (rule 14). External agents continue to run. To stop a deployment for a short time, such
	// as that of a restore, use `stepkeeper aws pause`.
	Paused bool

	// CustomerManagedKey encrypts all data with a new key of the deployment instead of AWS's keys (rule 22).
	// If Key is set, the deployment uses Key and creates no key. Before you change or remove the key, let all
	// queues get empty, because waiting messages keep the former key. If the app imports Key, the key's policy
	// must allow CloudWatch, EventBridge and CloudWatch Logs to use the key.
	CustomerManagedKey bool
	Key                awskms.IKey
	// Versions publishes a new version of a function for each change, with the alias "live". Mappings and
	// schedule then call the alias, so that code and settings change at the same moment. By default, mappings
	// and schedule call the function itself, and Lambda updates the function's code and settings in two
	// steps. Versions does not change Agent.Function, which may be an alias.
	Versions bool
	// Canary makes CodeDeploy shift the calls of each alias gradually to a new version (default at once). An
	// example is awscodedeploy.LambdaDeploymentConfig_CANARY_10PERCENT_5MINUTES(). If the function's alarm on
	// errors or on returned messages goes off, CodeDeploy shifts the calls back, and the deployment fails.
	// Canary also sets Versions.
	Canary awscodedeploy.ILambdaDeploymentConfig
	// Names contains names and paths of resources, for accounts whose rules prescribe them.
	Names Names
	// Tags contains at most 40 tags for all resources, in addition to the tags of the stack. A key has 1 to
	// 128 characters, and a value has at most 256.
	Tags map[string]string
	// CodeSigning makes Lambda check the signatures of the code of the construct's functions (default no
	// check). The pipeline must sign the archives, because the CDK does not sign them.
	CodeSigning awslambda.ICodeSigningConfig
	// X86 builds the functions for x86-64 (default arm64).
	X86 bool
	// VPC is the network of Scheduler and Supervisor (default none). The subnets need a route to the
	// internet, or endpoints for DynamoDB, SQS and SNS. If a workflow creates tokens, the subnets also need
	// an endpoint for Secrets Manager. Agents have a separate setting, Agent.VPC.
	VPC awsec2.IVpc
	// Subnets selects subnets of VPC (default the private subnets).
	Subnets *awsec2.SubnetSelection
	// SecurityGroups are the security groups of Scheduler and Supervisor (default a new group for each). They
	// must allow connections to the endpoints on port 443. A new group allows all outgoing connections.
	SecurityGroups []awsec2.ISecurityGroup
	// LogRetention is the retention of the logs of all functions (default one month; with ProfileDev one
	// week).
	LogRetention awslogs.RetentionDays
	// Dashboard adds a CloudWatch dashboard for operators. Three dashboards are free in an account. AWS
	// charges $3 a month for each additional dashboard.
	Dashboard bool
	// OutcomeMetrics adds the metrics OrdersEnded and OrderDuration of ended orders, by workflow and state.
	// AWS bills each combination of metric, workflow and state. A workflow has up to nine combinations, which
	// cost $2.70 a month.
	OutcomeMetrics bool
	// TracesEndpoint is the address of an OpenTelemetry collector, such as http://10.0.0.5:4318 (default
	// none). Scheduler, Supervisor and ready-made agents send spans to the collector, without credentials.
	// Each invocation waits at most 500 ms for the collector. For one minute after a failure, invocations do
	// not wait for the collector.
	TracesEndpoint string
	// Tuning contains settings of Scheduler, Supervisor and alarms.
	Tuning Tuning
	// Build builds the functions (default build.Go).
	Build build.Builder
}

// Replica describes replicas of the tables in a second Region.
type Replica struct {
	Region string
	KeyARN string // ARN of a key in Region; required if the deployment has a key, otherwise invalid
}

// Tables contains the ARNs of existing tables. The tables must be in the account and the Region of the stack.
// They must have the same keys and the same index as the construct's tables. The construct creates each table
// that has no ARN in Tables.
type Tables struct {
	Orders, Definitions string
	Ledgers             map[string]string // ledgers by agent
	// KeyARN is the ARN of the key that encrypts the tables. "" means the deployment's own key.
	KeyARN string
}

// Warm is the initial throughput of new tables. You can increase Warm later, but not decrease it. AWS charges
// once for the part above the default. Warm does not apply to existing tables.
type Warm struct{ Orders, Index Throughput }

// Throughput is a number of write units and read units per second. In Warm, 0 means AWS's default, which is
// also the minimum: 4,000 writes and 12,000 reads.
type Throughput struct{ Writes, Reads int }

// Tuning contains settings that rarely need a change. docs/how-to/aws-tuning.md explains the settings.
type Tuning struct {
	// Intake, Replies and Control are the mappings of three of the Scheduler's queues.
	Intake, Replies, Control Mapping
	// SchedulerMemory and SupervisorMemory are the memory of the two functions in MB (default 256 MB). Lambda
	// allots CPU in proportion to memory.
	SchedulerMemory, SupervisorMemory int
	// SchedulerTimeout is the time limit of one batch, 5 s to 15 m (default 30 s).
	SchedulerTimeout time.Duration
	// MaxReceives is the number of receives after which SQS moves a message to a dead-letter queue, 5 to 1000
	// (default 10). See rule 3.
	MaxReceives int
	// ReservedSchedulers and ReservedSupervisors are the reserved concurrencies of the two functions (default
	// none). A deployment with a reservation fails in a new account, because its quota is too small (rule
	// 33). ReservedSchedulers must be at least the sum of MaxConcurrency of Intake, Replies and Control. If a
	// workflow has child orders, the value of Control counts twice, because it is also the value of the queue
	// tasks. Two concurrent executions of the Supervisor do no harm.
	ReservedSchedulers, ReservedSupervisors int
	// SystemLogLevel is the level of Lambda's own log lines (default WARN). WARN omits the lines START, END
	// and REPORT, which are the larger part of a healthy function's log. Lambda's metrics contain the same
	// data, except the memory used. INFO includes the three lines.
	SystemLogLevel awslambda.SystemLogLevel
	// Warm is the initial throughput of new tables, for a busy first day.
	Warm Warm
	// IntakeRetention is the time for which the intake queues keep messages, 1 m to 14 days (default 14 days).
	// SQS deletes an order that the Scheduler does not take in this time, for example in a paused deployment.
	IntakeRetention time.Duration
	// OldestMessage is the age at which a message in the queues intake, replies and control raises an alarm
	// (default 5 m). For the queue control, the age is at least 20 m, because messages in this queue may have
	// a delay of 15 m.
	OldestMessage time.Duration
	// OldestRequest is the age at which a message in an agent's queue raises an alarm (default 15 m). A
	// request may wait for a long time without a failure of its step.
	OldestRequest time.Duration
	// OldestOverdue is the delay at which an overdue task raises an alarm (default SweepInterval plus 4 m).
	OldestOverdue time.Duration
	// Thresholds replaces the thresholds of alarms. A key is the ID of one alarm without the suffix Alarm,
	// such as IntakeAge or PaymentErrors. A key can also be a suffix that several IDs share: Age, Dead,
	// Errors, NotCalled, Returned or Throttles.
	Thresholds map[string]Threshold
	// AlertWindow is the shortest time for which an incident is open, 1 m to 24 h (default 15 m). Its end is not
	// reported earlier, and undone orders of one cause have at most one alert in it.
	AlertWindow time.Duration
	// AlertReminder is the time between two reminders about orders that are still in Error, 1 h to 30 days
	// (default 24 h). A negative value means no reminders.
	AlertReminder time.Duration
}

// Threshold replaces the defaults of an alarm. A field with the value 0 means the default.
type Threshold struct {
	Value   float64 // threshold in the metric's unit: messages, seconds, failures or throttled requests
	Periods int     // number of periods beyond the threshold that raise the alarm, 1 to 24
}

// Mapping configures the event source mapping of a function's queue. Partial batch responses are always on
// (rule 2).
type Mapping struct {
	// Batch is the maximum number of messages in one invocation, 1 to 10 (default 10 for the Scheduler, 5 for
	// agents). See rule 4.
	Batch          int
	Window         time.Duration // maximum wait for a full batch, in whole seconds up to 5 m (default 0)
	MaxConcurrency int           // maximum of concurrent invocations, 2 to 1000 (default 5); see rule 33
}

// taken returns the maximum number of messages that the function handles at the same time. A queue with more
// messages has a backlog (P32, queue time is not a failure).
func (m Mapping) taken() int { return m.MaxConcurrency * m.Batch }

// Agent configures the agent of one remote service. Exactly one of the fields HTTP, Folder, Function and
// External must be set.
type Agent struct {
	// HTTP is the path of an agents file, as for `stepkeeper dev --agents`. The file's entry for the agent
	// configures the ready-made agent, which calls an HTTP service or services of AWS. The function has only
	// the permissions for the calls in the entry. Concurrency and batch size in the file have no effect on
	// AWS.
	HTTP string
	// Folder is the folder of an agent's program in Go, Python or TypeScript, as `stepkeeper agent new`
	// writes it. In Go, the folder contains a main package that calls agent.Serve. In Python, it contains
	// agent.py and requirements.txt. In TypeScript, it contains src/agent.ts and package.json.
	Folder string
	// Function is your own function, which receives the queue's messages as SQS events. It must be in the
	// stack's account. Timeout must not exceed the function's timeout. If the app creates the function, the
	// construct adds the required settings and permissions. If the app imports the function, you have to add
	// them.
	Function awslambda.IFunction
	// External means that a process outside the stack is the agent. The process receives messages from the
	// queue requests-<name> and sends replies to the queue replies, and needs permissions for both queues.
	// SenderARNs must contain the process's role.
	External   bool
	SenderARNs []string
	// Account is the account of an external agent's roles, 12 digits (default the stack's account). Roles of
	// a different account must exist before the deployment, and also need permissions in their own account.
	// The stack's policies give the roles in SenderARNs access to the queues, the ledger and the key.
	Account string
	// SenderIDs lists the IDs of the roles with which the agent sends replies: AROA…, as `aws iam get-role`
	// prints them. The Scheduler refuses replies in the agent's name from other roles. If the app creates the
	// role, SenderIDs is not necessary. Otherwise, without SenderIDs, the Scheduler cannot check the agent's
	// replies, and synthesis prints a warning.
	SenderIDs []string

	Mapping
	// Timeout is the time limit of one batch, 5 s to 15 m (default 1 m). A step's timeout must be at least 3
	// s shorter (rule 3).
	Timeout time.Duration
	Memory  int // memory in MB (default 128 MB; for a Folder in Python or TypeScript 256 MB)
	// Reserved is the function's reserved concurrency, at least MaxConcurrency (default none). Reserved is
	// invalid with Function.
	Reserved    int
	Environment map[string]string // additional variables, but no secrets
	// Secrets contains the agent's secrets, by the name of a variable, such as TOKEN for ${env:TOKEN} in an
	// agents file. The function reads the secrets at run time. The template and the function's environment do
	// not contain the secrets.
	Secrets map[string]Secret
	// VPC is the network of the function (default none). Subnets and SecurityGroups have the same meaning as
	// in CDK.
	VPC            awsec2.IVpc
	Subnets        *awsec2.SubnetSelection
	SecurityGroups []awsec2.ISecurityGroup
}

// Secret is a reference to a secret. SecretValue and ParameterValue return references.
type Secret struct {
	secret    awssecretsmanager.ISecret
	field     string
	parameter awsssm.IParameter
	key       awskms.IKey
}

// SecretValue returns a reference to a secret in Secrets Manager. The secret must have a complete ARN. If the
// secret is a JSON object, the argument field can name a string in the object. An empty field means the whole
// secret. The argument key is the secret's own key, or nil if the secret has no own key.
func SecretValue(secret awssecretsmanager.ISecret, field string, key awskms.IKey) Secret {
	return Secret{secret: secret, field: field, key: key}
}

// ParameterValue returns a reference to a SecureString in Parameter Store. The argument key is the
// parameter's own key, or nil if the account's key encrypts the parameter.
func ParameterValue(parameter awsssm.IParameter, key awskms.IKey) Secret {
	return Secret{parameter: parameter, key: key}
}
