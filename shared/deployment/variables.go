package deployment

// Names of the variables. Lists are JSON objects, by logical name; but Lambda gives a function 4,096 bytes
// for all of its variables, so that the longest one, VarAgents, has a form of its own.
const (
	// {"intake": "https://sqs…", "replies": …}, "intake-high" too where there are priorities; of the engine,
	// a name stands for a queue beside intake
	VarQueues = "STEPKEEPER_QUEUES"
	// "~=Shop-EngineRequests,payment=~Payment1A2B-X=AROA…": see Peers
	VarAgents = "STEPKEEPER_AGENTS"
	// {"shop": "https://sqs…"}, or its name if it is beside intake; may be absent
	VarReplyTo     = "STEPKEEPER_REPLY_TO"
	VarOrders      = "STEPKEEPER_ORDERS"      // table
	VarDefinitions = "STEPKEEPER_DEFINITIONS" // table
	VarShards      = "STEPKEEPER_SHARDS"      // shards of the index, 1 to 1024
	VarFinished    = "STEPKEEPER_FINISHED"    // "true": finished orders stand in the index
	// time that an ended order is kept, such as "2160h"; if absent, for ever
	VarTaskTTL = "STEPKEEPER_TASK_TTL"
	VarAlerts  = "STEPKEEPER_ALERTS" // ARN of the topic
	// how long an incident gathers orders before their number is published, "15m"; absent: that
	VarWindow = "STEPKEEPER_ALERT_WINDOW"
	// how long after an alert the next one of an incident that lasts, "24h"; absent: that; "0s": none
	VarReminder = "STEPKEEPER_ALERT_AGAIN"
	// "Shop", or "Shop/Engine": the name in metrics, and what --stack is given in the commands of alerts; may
	// be absent but for the Supervisor
	VarStack = "STEPKEEPER_STACK"
	// {"payment": 50}: requests an agent, or messages the Scheduler, takes at a time (P32)
	VarCapacity   = "STEPKEEPER_CAPACITY"
	VarSweepEvery = "STEPKEEPER_SWEEP_EVERY" // interval of the schedule, such as "5m"; if absent, 1m
	VarSweepPages = "STEPKEEPER_SWEEP_PAGES" // limit of index pages in one sweep; if absent, 50
	VarFairQueues = "STEPKEEPER_FAIR_QUEUES" // "true": requests carry the tenant of their order
	VarAgent      = "STEPKEEPER_AGENT"       // the agent's name
	VarLedger     = "STEPKEEPER_LEDGER"      // table, of agents of plain services only (P31)
	// {"TOKEN": {"secret": "arn:…", "field": "token"}}; may be absent
	VarSecrets = "STEPKEEPER_SECRETS"
	// ARN of the secret with the keys of tokens (P39), where a workflow makes some; may be absent
	VarTokenKeys = "STEPKEEPER_TOKEN_KEYS"
	VarWorkflows = "STEPKEEPER_WORKFLOWS" // folder of compiled workflows; absent: beside the binary
	// compiled settings of the HTTP agent; absent: beside the binary
	VarAgentConfig = "STEPKEEPER_AGENT_CONFIG"
)

// Variables of an agent that is a process of its own, in a container or on any machine. It takes its
// queues by their addresses, all three, or looks them up by name.
const (
	VarRequestsURL   = "STEPKEEPER_REQUESTS_URL"   // "https://sqs…", of the agent's own queue
	VarRepliesURL    = "STEPKEEPER_REPLIES_URL"    // "https://sqs…"
	VarQuarantineURL = "STEPKEEPER_QUARANTINE_URL" // "https://sqs…"
	VarQueuePrefix   = "STEPKEEPER_QUEUE_PREFIX"   // before the names that are looked up
	// of a ledger on this machine, instead of VarLedger's table
	VarLedgerFolder = "STEPKEEPER_LEDGER_FOLDER"
)

// Places beside the binary, where no variable says otherwise.
const (
	WorkflowsFolder = "workflows"
	AgentFile       = "agent.json"
)

// SchedulerCapacity stands for the Scheduler among the agents of VarCapacity. No agent may have that name.
const SchedulerCapacity = "scheduler"

// Set by Lambda itself.
const (
	varRoot   = "LAMBDA_TASK_ROOT"
	varStream = "AWS_LAMBDA_LOG_STREAM_NAME"
	varGroup  = "AWS_LAMBDA_LOG_GROUP_NAME"
	varRegion = "AWS_REGION"
)

// VarRuntimeAPI shows that the process runs on Lambda.
const VarRuntimeAPI = "AWS_LAMBDA_RUNTIME_API"
