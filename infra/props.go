package infra

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
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

	// AlarmEmail gets alerts and alarms; "" means no subscriber until you add one to the topic.
	AlarmEmail string
	// RemovalPolicy applies to tables, queues, key and logs; default RETAIN, with deletion protection of the
	// tables. DESTROY is for trials.
	RemovalPolicy awscdk.RemovalPolicy
	// Operators lists ARNs of roles and users of the stack's account that may redrive messages of a
	// dead-letter queue. Apart from them only the functions may send to the internal queues.
	Operators []string

	// SweepInterval is the interval at which the Supervisor looks for overdue work: whole minutes, 1 m
	// (default) to 1 h (rule 16). A step whose agent has died is handed back that much later.
	SweepInterval time.Duration
	// PagesPerSweep bounds one sweep, in pages of 100 tasks of the index: 1 to 10,000, default 50. The next
	// sweep continues at another shard (rule 17).
	PagesPerSweep int
	// EventBridgeRule uses a rule for the Supervisor's schedule instead of EventBridge Scheduler, which some
	// emulators do not fire.
	EventBridgeRule bool

	// Shards is the number of shards of the index: 2 × index writes per second / 1000, rounded up; default 8
	// (rule 11).
	Shards int
	// FinishedOrders keeps ended orders in the index, for listings. It costs one more write per order.
	FinishedOrders bool
	// TaskTTL is the time for which an order is kept after its end, 1 h to 10 years. 0 means for ever. A
	// small item of an expired order stays, so that its ID never runs again.
	//
	// It costs one write and one read per order, and one more write for each KiB of an order that is stored
	// apart. To keep orders for ever later, set 10 years, because without TaskTTL new orders do not check the
	// IDs of expired ones.
	TaskTTL time.Duration
	// TokenKeys is the secret of another stack with the keys of the tokens of answers (P39), for a stack that
	// continues with its tables. By default a stack whose workflows make tokens has its own secret, with one
	// key that AWS makes.
	TokenKeys awssecretsmanager.ISecret
	// FairQueues puts a MessageGroupId on each request: the tenant of the order, which is the part of its ID
	// before the first colon, as in "acme:1001". Then a flood of one tenant does not delay the others' steps
	// (rule 4). AWS bills such requests higher.
	FairQueues bool
	// Priorities gives orders of high priority their own queues. The keys are "intake" or names of agents.
	// The values are the number of that queue's MaxConcurrency functions that only these orders use, 2 to
	// MaxConcurrency - 2 (P46). At most 5 entries, and no external agent. An idle queue costs as much as a
	// further agent.
	Priorities map[string]int
	// Replicas lists Regions that get copies of the tables, for disaster recovery only: one Region is active
	// (rule 14). The stack must have an explicit Region. Existing tables gain or lose one replica per
	// deployment.
	Replicas []Replica
	// Tables holds existing tables to use instead of new ones, such as restored ones or replicas.
	Tables Tables
	// Paused deploys everything and starts nothing: the mappings take no message, and the schedule does not
	// tick. It is for a standby Region (rule 14), and for a stop while tables are restored. It does not stop
	// external agents.
	Paused bool

	// CustomerManagedKey encrypts everything with the deployment's own key instead of the services' keys
	// (rule 22). It uses Key if that is set. The policy of an existing key has to let CloudWatch, EventBridge
	// and CloudWatch Logs use it.
	CustomerManagedKey bool
	Key                awskms.IKey
	// X86 builds for x86-64; the default is arm64.
	X86 bool
	// LogRetention is the retention of all functions' logs; default one month.
	LogRetention awslogs.RetentionDays
	// Dashboard adds a dashboard in CloudWatch with an operator's first questions. AWS bills dashboards:
	// three are free in an account, a further one is $3 a month.
	Dashboard bool
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

// Tables are ARNs of tables of the deployment's own account and Region, with the keys and the index
// that the construct's own have. One that is not named is made, or stays.
type Tables struct {
	Orders, Definitions string
	Ledgers             map[string]string // keys are agents
	// KeyARN is of the key that encrypts them, where it is not the deployment's own.
	KeyARN string
}

// Warm is what new tables serve from their first second on. It may be raised later, never lowered,
// and what is above AWS's own is billed once. Not for tables that are there already.
type Warm struct{ Orders, Index Throughput }

// Throughput is in units a second. 0 is AWS's own: 4,000 writes and 12,000 reads, which are also the
// least.
type Throughput struct{ Writes, Reads int }

// Tuning has good defaults. See docs/how-to/aws-tuning.md for what each figure bounds.
type Tuning struct {
	// Intake, Replies and Control are the three mappings of the Scheduler.
	Intake, Replies, Control Mapping
	// SchedulerMemory and SupervisorMemory in MB; default 256. Memory is also the share of a CPU.
	SchedulerMemory, SupervisorMemory int
	// SchedulerTimeout of one batch, 5 s to 15 m; default 30 s.
	SchedulerTimeout time.Duration
	// MaxReceives before a message goes to its dead-letter queue, 5 to 1000; default 10 (rule 3).
	MaxReceives int
	// ReservedSchedulers and ReservedSupervisors are reserved concurrencies; 0 means none, because in a new
	// account they fail the deploy (rule 16). The Scheduler's must carry its three mappings. Two
	// Supervisors at once do no harm.
	ReservedSchedulers, ReservedSupervisors int
	// SystemLogLevel of Lambda's own lines; default WARN, which leaves START, END and REPORT out. They
	// are the larger part of a healthy function's log, and what they say is in its metrics too, but
	// for the memory used: INFO brings them back.
	SystemLogLevel awslambda.SystemLogLevel
	// Warm is for a busy first day.
	Warm Warm
	// OldestMessage is the age of a message in intake or replies that alarms; default 5 m. In control it is
	// 20 m at least, because a message that waits there for a step is delayed by up to 15 m.
	OldestMessage time.Duration
	// OldestRequest is the same for the agents' queues; default 15 m: a flood may wait (P32).
	OldestRequest time.Duration
	// OldestOverdue is the age of the most overdue task that alarms; default 4 m and SweepInterval.
	OldestOverdue time.Duration
	// AlertWindow is how long orders that stop for the same reason are gathered before their number is
	// published, 1 m to 24 h; default 15 m. The first one is published at once.
	AlertWindow time.Duration
	// AlertReminder is how long after an alert the next one while orders still wait, 1 h to 30 days; default
	// 24 h. Negative: none.
	AlertReminder time.Duration
}

// Mapping is between a queue and the function that takes from it. Partial batches are always on
// (rule 2).
type Mapping struct {
	// messages at once, 1 to 10; default 10 for the Scheduler, 5 for agents (rule 4)
	Batch          int
	Window         time.Duration // wait for a fuller batch, up to 5 m in whole seconds; default 0
	MaxConcurrency int           // functions at the same time, 2 to 1000; default 5 (rule 33)
}

// taken is how many messages are taken at a time; more that wait are a backlog (P32).
func (m Mapping) taken() int { return m.MaxConcurrency * m.Batch }

// Agent is one remote service. Exactly one of HTTP, Folder, Function and External is set.
type Agent struct {
	// HTTP is a file of agents, YAML, as `stepkeeper dev --agents` reads it; the entry of the
	// agent's name is deployed as the ready HTTP agent. Concurrency and batch of the file do not
	// apply here.
	HTTP string
	// Folder holds a Go main package that calls agent.Serve.
	Folder string
	// Function is one of your own that takes the queue as SQS events. A function made in this app
	// gets its settings and permissions; of an imported one you have to see to both. Timeout must
	// not be more than the function's. It must be of the stack's account.
	Function awslambda.IFunction
	// External: a process elsewhere takes requests-<name> and sends to replies. It needs
	// permission to do so, and its role, which must be of the stack's account, among SenderARNs.
	External   bool
	SenderARNs []string
	// SenderIDs are the IDs of the roles that it replies with, AROA…, as `aws iam get-role` answers them.
	// Replies in its name from another agent's role are refused. Needed where the role is not made in
	// this app; without them its replies are not checked, and synthesis warns.
	SenderIDs []string

	Mapping
	// Timeout limits one batch, 5 s to 15 m; default 1 m. A step's timeout must be at least 3 s shorter (rule
	// 3).
	Timeout     time.Duration
	Memory      int               // MB; default 128
	Reserved    int               // concurrency, at least MaxConcurrency; 0 means none. Not for Function
	Environment map[string]string // further variables; never secrets
	// Secrets by the variable that stands for them, as in ${env:TOKEN} of an agents file. They are
	// read at run time and never stand in the template or in the function's settings.
	Secrets map[string]Secret
	// VPC that the function runs in; nil means none. Subnets and SecurityGroups as CDK has them.
	VPC            awsec2.IVpc
	Subnets        *awsec2.SubnetSelection
	SecurityGroups []awsec2.ISecurityGroup
}

// Secret is where a secret is kept; make it with SecretValue or ParameterValue.
type Secret struct {
	secret    awssecretsmanager.ISecret
	field     string
	parameter awsssm.IParameter
	key       awskms.IKey
}

// SecretValue is a secret of Secrets Manager, known by its complete ARN. field names a text in a
// secret that is a JSON object, "" is the whole. key is the secret's own, nil where it has none.
func SecretValue(secret awssecretsmanager.ISecret, field string, key awskms.IKey) Secret {
	return Secret{secret: secret, field: field, key: key}
}

// ParameterValue is a SecureString of the Parameter Store. key is the parameter's own, nil where it
// is encrypted with the account's.
func ParameterValue(parameter awsssm.IParameter, key awskms.IKey) Secret {
	return Secret{parameter: parameter, key: key}
}
