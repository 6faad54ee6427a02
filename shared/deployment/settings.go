package deployment

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// MaxShards is the maximum number of shards of the index. A sweep needs at least one query for each shard.
const MaxShards = 1024

// Engine holds the settings that the Scheduler and the Supervisor share.
type Engine struct {
	Instance    string            // name of this process
	Orders      string            // name of the table for orders
	Definitions string            // name of the table for definitions
	Shards      int               // number of shards of the index
	Finished    bool              // true if finished orders are in the index
	TaskTTL     time.Duration     // how long an ended task is stored; 0 means for ever
	Queues      map[string]string // queue URLs by logical name
	ReplyTo     map[string]string // URLs of queues and ARNs of event buses, by logical name
	Alerts      string            // ARN of the topic for alerts
	// Priorities is true if orders of high priority have their own queues (P46, priority changes the order of
	// requests only).
	Priorities bool
	Stack      string // value of --stack in the commands of alerts; "" if unknown
	// Window is how long an incident collects orders before its alert. 0 means incident.DefaultWindow.
	Window time.Duration
	// Reminder is the interval between reminders of an open incident. 0 means incident.DefaultReminder. A
	// negative value means no reminders.
	Reminder time.Duration
	Outcomes bool // true if metrics count ended orders
	// Region and LogGroup are the Region and the log group of the function, for the links in alerts. They are
	// "" if unknown.
	Region   string
	LogGroup string
	// Senders maps an agent to the IDs of the roles that may send the agent's replies. A role ID is the part
	// before the ":" in the SenderId of an SQS message. If an agent has no entry, any role may send its
	// replies.
	Senders map[string][]string
}

// Scheduler holds the settings of the Scheduler.
type Scheduler struct {
	Engine
	Workflows string // folder of compiled workflows, *.json
	// FairQueues is true if each request carries the tenant of its order. The tenant is the part of the order
	// ID before the first ":".
	FairQueues bool
	TokenKeys  string // ARN of the secret with the token keys; "" if no workflow makes tokens
	// Capacity is the number of requests that each agent takes at a time. The setting is required only if a
	// step may choose its agent (P44, several agents can do one step).
	Capacity map[string]int
}

// Supervisor holds the settings of the Supervisor.
type Supervisor struct {
	Engine
	// Capacity maps the name of a consumer to the number of messages that it takes at a time (P32, queue time
	// is not a failure).
	Capacity   map[string]int
	SweepEvery time.Duration // interval between sweeps
	Workflows  string        // folder of compiled workflows with schedules; may be absent
	// PagesPerSweep is the maximum number of index pages in one sweep. 0 means the Supervisor's default.
	PagesPerSweep int
}

// Agent holds the settings of an agent.
type Agent struct {
	Name    string
	Stack   string            // name of the deployment in metrics; "" means no metrics
	Queues  map[string]string // URLs of the request queue, the reply queue and the quarantine
	Ledger  string            // name of the ledger table; "" if the agent needs no ledger
	Secrets map[string]Secret // locations of secrets, by the name of the environment variable for the value
	Config  string            // file with the compiled settings of the HTTP agent
}

// Secret is the location of a secret. Exactly one of the fields Secret and Parameter is set.
type Secret struct {
	Secret    string `json:"secret,omitempty"`    // ARN in Secrets Manager
	Field     string `json:"field,omitempty"`     // field of the secret if the secret is a JSON object
	Parameter string `json:"parameter,omitempty"` // name in the Parameter Store
}

// Limits for Engine.Window and Engine.Reminder. A window that is shorter than the interval between sweeps
// ends at the next sweep.
const (
	MinWindow   = time.Minute
	MaxWindow   = 24 * time.Hour
	MinReminder = time.Hour
	MaxReminder = 30 * 24 * time.Hour
)

func (r *reader) engine() Engine {
	e := Engine{
		Instance:    r.instance(),
		Orders:      r.required(VarOrders),
		Definitions: r.required(VarDefinitions),
		Shards:      r.whole(VarShards, 1, MaxShards),
		Senders:     map[string][]string{},
		Finished:    r.truth(VarFinished),
		TaskTTL:     r.duration(VarTaskTTL, time.Hour, 10*365*24*time.Hour),
		Alerts:      r.required(VarAlerts),
		Stack:       r.optional(VarStack),
		Window:      r.duration(VarWindow, MinWindow, MaxWindow),
		Reminder:    r.duration(VarReminder, 0, MaxReminder),
		Region:      r.optional(varRegion),
		LogGroup:    r.optional(varGroup),
	}
	if e.Reminder == 0 && r.optional(VarReminder) != "" {
		e.Reminder = -1
	}
	e.Outcomes = r.truth(VarOutcomes)
	if e.Outcomes {
		r.required(VarStack) // The stack is a dimension of the metrics.
	}
	e.Queues = r.urls(VarQueues, true, "", port.Intake, port.Replies, port.Control, port.Quarantine)
	e.ReplyTo = r.urls(VarReplyTo, false, e.Queues[port.Intake])
	for _, p := range r.peers() {
		requests := port.Requests(p.Name)
		e.Queues[requests] = r.place(VarAgents, requests, p.Queue, e.Queues[port.Intake])
		if p.High != "" {
			e.Queues[port.High(requests)] = r.place(VarAgents, port.High(requests), p.High,
				e.Queues[port.Intake])
		}
		if len(p.Senders) > 0 {
			e.Senders[p.Name] = p.Senders
		}
	}
	for name := range e.Queues {
		e.Priorities = e.Priorities || e.Queues[port.High(name)] != ""
	}
	for _, name := range slices.Sorted(maps.Keys(e.ReplyTo)) {
		if e.Queues[name] != "" { // Without this check, an order could send its status to an internal queue.
			r.wrong(VarReplyTo, "has %q, which is the name of a queue of the deployment's own", name)
		}
	}
	return e
}

// ReadScheduler reads the settings of the Scheduler. The error lists all problems.
func ReadScheduler(lookup Lookup) (Scheduler, error) {
	r := &reader{lookup: lookup}
	s := Scheduler{
		Engine: r.engine(), Workflows: r.beside(VarWorkflows, WorkflowsFolder),
		FairQueues: r.truth(VarFairQueues), TokenKeys: r.optional(VarTokenKeys),
	}
	r.object(VarCapacity, false, &s.Capacity)
	return s, r.err()
}

// MaxSweepPages is the maximum number of index pages in one sweep.
const MaxSweepPages = 10_000

// Limits for the interval between sweeps. EventBridge allows no interval below one minute (rule 16 in
// docs/reference/aws-rules.md). An overdue task waits until the next sweep, so a long interval means a long
// delay.
const (
	MinSweepEvery = time.Minute
	MaxSweepEvery = time.Hour
)

// ReadSupervisor reads the settings of the Supervisor. The error lists all problems.
func ReadSupervisor(lookup Lookup) (Supervisor, error) {
	r := &reader{lookup: lookup}
	r.required(VarStack) // The stack is a dimension of the metrics.
	s := Supervisor{
		Engine:     r.engine(),
		SweepEvery: cmp.Or(r.duration(VarSweepEvery, MinSweepEvery, MaxSweepEvery), MinSweepEvery),
	}
	if r.optional(VarWorkflows) != "" || r.optional(varRoot) != "" {
		s.Workflows = r.beside(VarWorkflows, WorkflowsFolder)
	}
	if r.optional(VarSweepPages) != "" {
		s.PagesPerSweep = r.whole(VarSweepPages, 1, MaxSweepPages)
	}
	r.object(VarCapacity, false, &s.Capacity)
	return s, r.err()
}

// ReadAgent reads the settings of an agent. If config is true, ReadAgent also reads the location of the HTTP
// agent's settings file. The error lists all problems.
func ReadAgent(lookup Lookup, config bool) (Agent, error) {
	r := &reader{lookup: lookup}
	a := Agent{Name: r.required(VarAgent), Stack: r.optional(VarStack), Ledger: r.ledger()}
	needed := []string{port.Replies, port.Quarantine}
	if a.Name != "" {
		needed = append(needed, port.Requests(a.Name))
	}
	a.Queues = r.urls(VarQueues, true, "", needed...)
	a.Secrets = r.secrets()
	if config {
		a.Config = r.beside(VarAgentConfig, AgentFile)
	}
	return a, r.err()
}

// ReadSecrets reads the locations of an agent's secrets. The error lists all problems.
func ReadSecrets(lookup Lookup) (map[string]Secret, error) {
	r := &reader{lookup: lookup}
	secrets := r.secrets()
	return secrets, r.err()
}

func (r *reader) secrets() (secrets map[string]Secret) {
	r.object(VarSecrets, false, &secrets)
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		if s := secrets[name]; (s.Secret == "") == (s.Parameter == "") || s.Field != "" && s.Secret == "" {
			r.wrong(VarSecrets,
				"has %q, which must name either a secret, perhaps with a field, or a parameter", name)
		}
	}
	return secrets
}

// Process holds the settings of an agent that runs as a process.
type Process struct {
	// Queues contains the URLs of the request queue, the reply queue and the quarantine. If Queues is nil,
	// the agent finds its queues by name.
	Queues       map[string]string
	Prefix       string // prefix of the queue names
	Ledger       string // name of the ledger table
	LedgerFolder string // folder of a ledger on this machine; "" if Ledger is set
}

// ReadProcess reads the settings of an agent that runs as a process. The error lists all problems.
func ReadProcess(lookup Lookup, agent string) (Process, error) {
	r := &reader{lookup: lookup, process: true}
	p := Process{
		Prefix: r.optional(VarQueuePrefix), Ledger: r.ledger(),
		LedgerFolder: r.optional(VarLedgerFolder),
	}
	variables := map[string]string{
		VarRequestsURL: port.Requests(agent), VarRepliesURL: port.Replies,
		VarQuarantineURL: port.Quarantine,
	}
	for variable, queue := range variables {
		if url := r.optional(variable); url != "" {
			if p.Queues == nil {
				p.Queues = map[string]string{}
			}
			p.Queues[queue] = url
		}
	}
	for _, variable := range slices.Sorted(maps.Keys(variables)) {
		switch url := p.Queues[variables[variable]]; {
		case p.Queues == nil:
		case url == "":
			r.wrong(variable, "is not set, and others are; the address of the queue %s belongs there, from "+
				"the outputs of the stack", variables[variable])
		case !isURL(url):
			r.wrong(variable, "is %.200q; it must be the URL of the queue %s", url, variables[variable])
		}
	}
	if p.Queues != nil && p.Prefix != "" {
		r.wrong(VarQueuePrefix,
			"is set, and so are addresses of queues, which need no names; leave one of them out")
	}
	if p.Ledger != "" && p.LedgerFolder != "" {
		r.wrong(VarLedgerFolder, "is set, and so is %s; there is one ledger, leave one of them out",
			VarLedger)
	}
	return p, r.err()
}

// QueueOf returns the logical name of the queue with the given ARN. It returns an error if urls does not
// contain the queue.
func QueueOf(urls map[string]string, arn string) (string, error) {
	name := arn[strings.LastIndexByte(arn, ':')+1:]
	for logical, url := range urls {
		if name != "" && url[strings.LastIndexByte(url, '/')+1:] == name {
			return logical, nil
		}
	}
	return "", fmt.Errorf("an event came from queue %q, which is not in %s; correct the event source "+
		"mapping: %w", arn, VarQueues, port.ErrNotFound)
}

// Collector returns the URL of the trace collector for spans. endpoint is the value of VarTraces.
func Collector(endpoint string) (*url.URL, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil,
			fmt.Errorf("the address of the collector is %.200q; it must be a URL like http://127.0.0.1:4318",
				endpoint)
	}
	if u.User != nil {
		return nil, errors.New("the address of the collector has a user or a password, which are not sent; " +
			"remove them")
	}
	return u.JoinPath("v1", "traces"), nil
}
