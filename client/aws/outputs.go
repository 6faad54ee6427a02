package aws

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

const outputVersion = "1"

// Outputs holds the outputs of a stack that describe a Stepkeeper.
type Outputs struct {
	Stack, Region               string // names for error texts
	Orders, Definitions         string // names of tables
	Intake, Control, Quarantine string // URLs of queues
	// Replies is the URL of the queue for replies. It is "" if the stack does not have this output.
	Replies string
	// Tasks is the URL of the queue for messages between a task and its children. It is "" if no workflow has child
	// orders.
	Tasks    string
	Shards   int  // number of shards of the index
	Finished bool // whether ended orders are in the index
	// IntakeCommands reports whether the Scheduler accepts commands of applications from the intake queue.
	IntakeCommands        bool
	FairQueues            bool   // whether the SQS message group is the order's tenant
	Application, Operator string // ARNs of managed policies; Operator is the first policy for operators
	Concurrency           int    // maximum of concurrent executions; 0 means unknown
	// Shared is the part of Concurrency for functions without reserved concurrency.
	Shared int
	// Release is the release of the functions. It is the zero value if the stack does not have this output.
	Release  view.Release
	Requests map[string]string // URLs of the request queues, by agent
	// High contains the URLs of the queues for high priority, by queue. It has no entry for a queue without a
	// queue for high priority (P46, priority changes the order of requests only).
	High map[string]string
	// Mappings contains the UUIDs of the event source mappings, by queue. The UUID is "" if the agent is
	// external.
	Mappings  map[string]string
	Workflows map[string]string // hashes of definitions; the keys are idOf(workflow)
	Scheduled []string          // names of the workflows that have a schedule
	// Paused reports whether the stack was deployed with its event source mappings and schedule disabled.
	Paused bool
	// Schedule is the name of the schedule that starts the Supervisor, and Rule the name of the rule. A stack
	// has one of the two. An older stack names neither.
	Schedule, Rule string
	// Dead contains the URLs of the queues for dead letters, by source, such as "intake" or "requests-mail".
	// It also contains "quarantine" and, if the stack has this queue, "missed-sweeps".
	Dead          map[string]string
	SweepInterval time.Duration // time from one sweep to the next
	// Deployment is the deployment's name in metrics. It is "" if the stack does not have this output.
	Deployment string
	// Alerts and Alarms are the ARNs of the topics. Alarms is "" if the deployment has no alarms.
	Alerts, Alarms string
}

// ErrNoStack means that no stack with the given name contains a Stepkeeper.
var ErrNoStack = errors.New("no such stack")

// ReadOutputs converts the outputs of a CloudFormation stack. The argument construct is the ID of a
// Stepkeeper in the stack. It may be empty if the stack contains only one Stepkeeper. ReadOutputs returns
// ErrNoStack if the stack does not contain the Stepkeeper.
func ReadOutputs(values map[string]string, construct string) (Outputs, error) {
	prefix, err := prefixOf(values, construct)
	if err != nil {
		return Outputs{}, err
	}
	if v := values[prefix+"Version"]; v != outputVersion {
		return Outputs{}, fmt.Errorf("its outputs are of version %q, this program reads version %s; use the "+
			"stepkeeper that it was deployed with", v, outputVersion)
	}
	var missing []string
	optional := func(name string) string { return values[prefix+name] }
	value := func(name string) string {
		v := optional(name)
		if v == "" {
			missing = append(missing, prefix+name)
		}
		return v
	}
	number := func(name string) int {
		n, err := strconv.Atoi(optional(name))
		if err != nil { // older stacks do not have all outputs
			return 0
		}
		return n
	}
	o := Outputs{
		Orders: value("OrdersTable"), Definitions: value("DefinitionsTable"),
		Intake: value("IntakeUrl"), Control: value("ControlUrl"), Quarantine: value("QuarantineUrl"),
		Replies: optional("RepliesUrl"), Tasks: optional(idOf(port.Tasks) + "Url"),
		Finished: value("Finished") == "true", FairQueues: optional("FairQueues") == "true",
		// The Scheduler of an older stack does not accept commands from the intake queue.
		IntakeCommands: optional("IntakeCommands") == "true", Paused: optional("Paused") == "true",
		Application: value("ApplicationPolicy"), Operator: value("OperatorPolicy"),
		Deployment: optional("Deployment"), Alerts: optional("AlertsTopic"), Alarms: optional("AlarmsTopic"),
		Schedule: optional("ScheduleName"), Rule: optional("RuleName"),
		SweepInterval: cmp.Or(time.Duration(number("SweepSeconds"))*time.Second, time.Minute),
		Concurrency:   number("Concurrency"), Shared: number("SharedConcurrency"), Shards: number("Shards"),
		Release: view.ReadRelease(optional("Release")), Workflows: map[string]string{},
	}
	o.readQueues(values, prefix, value)
	for key, hash := range values {
		if name, ok := strings.CutPrefix(key, prefix+"Workflow"); ok {
			o.Workflows[name] = hash
		}
	}
	if names := optional("Scheduled"); names != "" {
		o.Scheduled = strings.Split(names, ",")
	}
	shards := value("Shards")
	if len(missing) > 0 {
		return Outputs{}, fmt.Errorf("its outputs %s are missing; deploy it again",
			strings.Join(missing, ", "))
	}
	if o.Shards < 1 {
		return Outputs{}, fmt.Errorf("its output %sShards is %.40q; it must be a number from 1; deploy "+
			"the stack again", prefix, shards)
	}
	return o, nil
}

// readQueues reads the queues in the outputs Mappings, Mappings2 and so on, and the queues for high priority
// in the output Priorities.
func (o *Outputs) readQueues(values map[string]string, prefix string, value func(name string) string) {
	o.Mappings = map[string]string{}
	o.Requests = map[string]string{}
	o.Dead = map[string]string{port.Quarantine: o.Quarantine}
	o.High = map[string]string{}
	if url := values[prefix+"MissedSweepsUrl"]; url != "" {
		o.Dead[client.MissedSweeps] = url
	}
	entries := value("Mappings")
	for i := 2; entries != ""; i++ {
		for entry := range strings.SplitSeq(entries, ",") {
			queue, uuid, _ := strings.Cut(entry, "=")
			o.Mappings[queue] = uuid
			o.Dead[queue] = value(idOf(queue) + "DeadUrl")
			if agent, requests := strings.CutPrefix(queue, port.Requests("")); requests {
				o.Requests[agent] = value(idOf(queue) + "Url")
			}
		}
		entries = values[fmt.Sprintf("%sMappings%d", prefix, i)]
	}
	for name := range strings.SplitSeq(values[prefix+"Priorities"], ",") {
		queue := name
		if name != port.Intake {
			queue = port.Requests(name)
			delete(o.Requests, port.High(name))
		}
		if name != "" {
			o.High[queue] = value(idOf(port.High(queue)) + "Url")
		}
	}
}

// Hash returns the hash of the workflow's deployed definition, or "" if the stack does not have the workflow.
func (o *Outputs) Hash(workflow string) string { return o.Workflows[idOf(workflow)] }

// Senders returns the ARN of the policy that allows a caller to send to the given queue of the Scheduler.
func (o *Outputs) Senders(queue string) string {
	if queue == port.Control {
		return o.Operator
	}
	return o.Application
}

// prefixOf returns the construct ID that begins all output keys, such as Shop in ShopIntakeUrl.
func prefixOf(values map[string]string, construct string) (string, error) {
	var found []string
	for key := range values {
		if prefix, ok := strings.CutSuffix(key, "IntakeUrl"); ok && values[prefix+"Version"] != "" {
			found = append(found, prefix)
		}
	}
	slices.Sort(found)
	switch {
	case len(found) == 0:
		return "", fmt.Errorf("%w: the stack has no outputs of a Stepkeeper", ErrNoStack)
	case construct != "" && slices.Contains(found, construct):
		return construct, nil
	case construct != "":
		return "", fmt.Errorf("%w: it holds no Stepkeeper %q; it holds %s", ErrNoStack, construct,
			strings.Join(found, ", "))
	case len(found) > 1:
		return "", fmt.Errorf("the stack holds several Stepkeepers: name one as STACK/%s",
			strings.Join(found, ", STACK/"))
	}
	return found[0], nil
}

// idOf converts a logical name to its spelling in output keys: requests-mail becomes RequestsMail.
func idOf(name string) string {
	if name == port.Tasks {
		return "TaskMessages"
	}
	var b strings.Builder
	for _, word := range strings.Split(name, "-") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}
