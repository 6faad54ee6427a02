package deployment

// Names of the variables. Most lists are JSON objects with logical names as keys. VarAgents has a shorter
// form, because Lambda limits all variables of a function to 4,096 bytes.
const (
	// VarQueues is {"intake": "https://sqs…", "replies": …}, with "intake-high" if priorities are enabled.
	// For the engine, a value may be the name of a queue in the account and Region of intake.
	VarQueues = "STEPKEEPER_QUEUES"
	// VarAgents is "~=Shop-EngineRequests,payment=~Payment1A2B-X=AROA…", see Peers.
	VarAgents = "STEPKEEPER_AGENTS"
	// VarReplyTo is {"shop": "https://sqs…", "events": "arn:aws:events:…"}. A value may be the name of a
	// queue, as in VarQueues. Optional.
	VarReplyTo     = "STEPKEEPER_REPLY_TO"
	VarOrders      = "STEPKEEPER_ORDERS"      // table
	VarDefinitions = "STEPKEEPER_DEFINITIONS" // table
	VarShards      = "STEPKEEPER_SHARDS"      // shards of the index, 1 to 1024
	VarFinished    = "STEPKEEPER_FINISHED"    // "true" if finished orders are in the index
	// VarTaskTTL is the time for which an ended order is kept, such as "2160h". If absent, orders are kept
	// for ever.
	VarTaskTTL = "STEPKEEPER_TASK_TTL"
	VarAlerts  = "STEPKEEPER_ALERTS" // ARN of the topic
	// VarWindow is the time for which an incident collects orders before their number is published; default
	// "15m".
	VarWindow = "STEPKEEPER_ALERT_WINDOW"
	// VarReminder is the time between alerts of an open incident; default "24h". "0s" means no reminders.
	VarReminder = "STEPKEEPER_ALERT_AGAIN"
	// VarStack is "Shop" or "Shop/Engine": the name in metrics, and the value of --stack in the commands of
	// alerts. Only the Supervisor requires it.
	VarStack = "STEPKEEPER_STACK"
	// VarCapacity is {"payment": 50}: the number of messages that an agent or the Scheduler takes at a time
	// (P32, queue time is not a failure).
	VarCapacity   = "STEPKEEPER_CAPACITY"
	VarSweepEvery = "STEPKEEPER_SWEEP_EVERY" // interval of the schedule, such as "5m"; if absent, 1m
	VarSweepPages = "STEPKEEPER_SWEEP_PAGES" // limit of index pages in one sweep; if absent, 50
	VarFairQueues = "STEPKEEPER_FAIR_QUEUES" // "true" if requests carry the tenant of their order
	VarOutcomes   = "STEPKEEPER_OUTCOMES"    // "true" if metrics count ended orders; requires VarStack
	// VarTraces is the address of a collector of spans. The name is OpenTelemetry's. Optional.
	VarTraces = "OTEL_EXPORTER_OTLP_ENDPOINT"
	VarAgent  = "STEPKEEPER_AGENT" // the agent's name
	// VarLedger names the table, for agents of plain services (P31, a plain service needs a ledger).
	VarLedger = "STEPKEEPER_LEDGER"
	// VarSecrets is {"TOKEN": {"secret": "arn:…", "field": "token"}}. Optional.
	VarSecrets = "STEPKEEPER_SECRETS"
	// VarTokenKeys is the ARN of the secret with the token keys (P39, a token is an answer's permission); set
	// if a workflow makes tokens.
	VarTokenKeys = "STEPKEEPER_TOKEN_KEYS"
	// VarWorkflows is the folder of compiled workflows; default WorkflowsFolder beside the binary.
	VarWorkflows = "STEPKEEPER_WORKFLOWS"
	// VarAgentConfig is the file of the HTTP agent's compiled settings; default AgentFile beside the binary.
	VarAgentConfig = "STEPKEEPER_AGENT_CONFIG"
)

// Variables of an agent that runs as a process, in a container or on any machine. It uses the three addresses
// of its queues, or looks the queues up by name.
const (
	VarRequestsURL   = "STEPKEEPER_REQUESTS_URL"   // "https://sqs…"; queue of the agent's requests
	VarRepliesURL    = "STEPKEEPER_REPLIES_URL"    // "https://sqs…"
	VarQuarantineURL = "STEPKEEPER_QUARANTINE_URL" // "https://sqs…"
	VarQueuePrefix   = "STEPKEEPER_QUEUE_PREFIX"   // prefix of the queue names
	// VarLedgerFolder is the folder of a ledger on this machine, instead of VarLedger's table.
	VarLedgerFolder = "STEPKEEPER_LEDGER_FOLDER"
)

// Default places beside the binary.
const (
	WorkflowsFolder = "workflows"
	AgentFile       = "agent.json"
)

// SchedulerCapacity is the Scheduler's name in VarCapacity. No agent may have that name.
const SchedulerCapacity = "scheduler"

// Variables that Lambda sets.
const (
	varRoot   = "LAMBDA_TASK_ROOT"
	varStream = "AWS_LAMBDA_LOG_STREAM_NAME"
	varGroup  = "AWS_LAMBDA_LOG_GROUP_NAME"
	varRegion = "AWS_REGION"
)

// VarRuntimeAPI shows that the process runs on Lambda.
const VarRuntimeAPI = "AWS_LAMBDA_RUNTIME_API"
