package deployment

// Names of the environment variables. Most variables with several entries are JSON objects. VarAgents has a
// shorter form, because all variables of a Lambda function together must not exceed 4,096 bytes.
const (
	// VarQueues maps logical names to queue URLs, as in {"intake": "https://sqs…", "replies": …}. If intake
	// has a second queue for high priority, VarQueues also contains "intake-high". For the Scheduler and the
	// Supervisor, a value may be the name of a queue in the account and Region of the intake queue.
	VarQueues = "STEPKEEPER_QUEUES"
	// VarAgents is the value that Peers returns, such as
	// "~=Shop-EngineRequests,payment=~Payment1A2B-X=AROA…".
	VarAgents = "STEPKEEPER_AGENTS"
	// VarReplyTo maps logical names to queues and event buses, as in {"shop": "https://sqs…", "events":
	// "arn:aws:events:…"}. A value may be the name of a queue in the account and Region of the intake queue.
	// The variable is optional.
	VarReplyTo     = "STEPKEEPER_REPLY_TO"
	VarOrders      = "STEPKEEPER_ORDERS"      // table for orders
	VarDefinitions = "STEPKEEPER_DEFINITIONS" // table for definitions
	VarShards      = "STEPKEEPER_SHARDS"      // number of shards of the index, 1 to 1024
	VarFinished    = "STEPKEEPER_FINISHED"    // "true" if finished orders are in the index
	// VarTaskTTL is how long an ended order is stored, such as "2160h". Without the variable, an order is
	// stored for ever.
	VarTaskTTL = "STEPKEEPER_TASK_TTL"
	VarAlerts  = "STEPKEEPER_ALERTS" // ARN of the topic for alerts
	// VarWindow is how long an incident collects orders before an alert states their number. The default is
	// "15m".
	VarWindow = "STEPKEEPER_ALERT_WINDOW"
	// VarReminder is the interval between the alerts of an open incident. The default is "24h". The value
	// "0s" means no reminders.
	VarReminder = "STEPKEEPER_ALERT_AGAIN"
	// VarStack is the name of the stack, such as "Shop" or "Shop/Engine". The name is a dimension of the
	// metrics, and the value of --stack in the commands of alerts. The Supervisor requires the variable. The
	// Scheduler requires it only if VarOutcomes is "true".
	VarStack = "STEPKEEPER_STACK"
	// VarCapacity is the number of messages that each agent and the Scheduler take at a time, as in
	// {"payment": 50} (P32, queue time is not a failure).
	VarCapacity   = "STEPKEEPER_CAPACITY"
	VarSweepEvery = "STEPKEEPER_SWEEP_EVERY" // interval between sweeps, such as "5m"; the default is "1m"
	VarSweepPages = "STEPKEEPER_SWEEP_PAGES" // maximum number of index pages in one sweep; the default is 50
	VarFairQueues = "STEPKEEPER_FAIR_QUEUES" // "true" if requests carry the tenant of their order
	VarOutcomes   = "STEPKEEPER_OUTCOMES"    // "true" if metrics count ended orders; requires VarStack
	// VarTraces is the address of a trace collector. OpenTelemetry defines the name. The variable is
	// optional.
	VarTraces = "OTEL_EXPORTER_OTLP_ENDPOINT"
	VarAgent  = "STEPKEEPER_AGENT" // name of the agent
	// VarLedger is the name of the ledger table. Agents of plain services need this table (P31, a plain
	// service needs a ledger).
	VarLedger = "STEPKEEPER_LEDGER"
	// VarSecrets maps the name of an environment variable to the location of a secret, as in {"TOKEN":
	// {"secret": "arn:…", "field": "token"}}. VarSecrets is optional.
	VarSecrets = "STEPKEEPER_SECRETS"
	// VarTokenKeys is the ARN of the secret with the token keys (P39, a token is an answer's permission). It
	// is set only if a workflow makes tokens.
	VarTokenKeys = "STEPKEEPER_TOKEN_KEYS"
	// VarWorkflows is the folder of compiled workflows. The default is WorkflowsFolder beside the binary.
	VarWorkflows = "STEPKEEPER_WORKFLOWS"
	// VarAgentConfig is the file with the compiled settings of the HTTP agent. The default is AgentFile
	// beside the binary.
	VarAgentConfig = "STEPKEEPER_AGENT_CONFIG"
)

// Variables of an agent that runs as a process, in a container or on any machine. Either all three queue URLs
// are set, or the agent finds its queues by name.
const (
	VarRequestsURL   = "STEPKEEPER_REQUESTS_URL"   // URL of the agent's request queue
	VarRepliesURL    = "STEPKEEPER_REPLIES_URL"    // URL of the reply queue
	VarQuarantineURL = "STEPKEEPER_QUARANTINE_URL" // URL of the quarantine
	VarQueuePrefix   = "STEPKEEPER_QUEUE_PREFIX"   // prefix of the queue names
	// VarLedgerFolder is the folder of a ledger on this machine. It replaces VarLedger.
	VarLedgerFolder = "STEPKEEPER_LEDGER_FOLDER"
)

// Default paths of VarWorkflows and VarAgentConfig, relative to the folder of the binary.
const (
	WorkflowsFolder = "workflows"
	AgentFile       = "agent.json"
)

// SchedulerCapacity is the key of the Scheduler in VarCapacity. No agent may have this name.
const SchedulerCapacity = "scheduler"

// Variables that Lambda sets.
const (
	varRoot   = "LAMBDA_TASK_ROOT"
	varStream = "AWS_LAMBDA_LOG_STREAM_NAME"
	varGroup  = "AWS_LAMBDA_LOG_GROUP_NAME"
	varRegion = "AWS_REGION"
)

// VarRuntimeAPI is a variable that Lambda sets. Without it, an agent runs as a process.
const VarRuntimeAPI = "AWS_LAMBDA_RUNTIME_API"
