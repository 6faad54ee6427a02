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

// outputVersion is the major version of the outputs that this code reads.
const outputVersion = "1"

// Outputs holds the data about a deployed Stepkeeper that programs need.
type Outputs struct {
	Stack, Region               string // names used in messages
	Orders, Definitions         string // tables
	Intake, Control, Quarantine string // addresses of queues
	// address of the queue of replies; "" if the stack does not state it
	Replies  string
	Shards   int  // number of shards of the index
	Finished bool // ended orders are in the index
	// the Scheduler reads commands of applications from the intake queue
	IntakeCommands        bool
	FairQueues            bool   // messages carry the tenant of their order
	Application, Operator string // ARNs of the managed policies; Operator is the first of several
	Concurrency           int    // functions that may run at once; 0 means unknown
	// part of Concurrency that functions without reserved concurrency use
	Shared int
	// release of the functions; the zero value means that the stack is older than this output
	Release  view.Release
	Requests map[string]string // addresses of the request queues, by agent
	// addresses of the queues for orders of high priority, by queue; absent if a queue has none (P46,
	// priority changes the order of requests only)
	High map[string]string
	// UUIDs of the event source mappings, by queue; "" if the agent is external
	Mappings  map[string]string
	Workflows map[string]string // hashes of the definitions, by workflow name as idOf spells it
	Scheduled []string          // names of the workflows that start by the clock
	Paused    bool              // the event source mappings are disabled
	// addresses of the queues with dead letters, by source: "intake", "requests-mail", "quarantine",
	// "missed-sweeps"
	Dead          map[string]string
	SweepInterval time.Duration // time from one sweep to the next
	// name of the deployment in its metrics; "" if the stack is older than this output
	Deployment string
	Scheduler  string // name of the function
}

// ErrNoStack means that no stack with a Stepkeeper has that name.
var ErrNoStack = errors.New("no such stack")

// ReadOutputs reads the outputs of a CloudFormation stack. construct is the ID of the Stepkeeper to read if
// the stack contains several, otherwise "". It returns ErrNoStack if the stack contains no such Stepkeeper.
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
	value := func(name string) string {
		v := values[prefix+name]
		if v == "" {
			missing = append(missing, prefix+name)
		}
		return v
	}
	o := Outputs{
		Orders: value("OrdersTable"), Definitions: value("DefinitionsTable"),
		Intake: value("IntakeUrl"), Control: value("ControlUrl"), Quarantine: value("QuarantineUrl"),
		Finished: value("Finished") == "true", FairQueues: values[prefix+"FairQueues"] == "true",
		// absent from older stacks, whose Scheduler does not read commands from the intake queue
		IntakeCommands: values[prefix+"IntakeCommands"] == "true",
		Application:    value("ApplicationPolicy"), Operator: value("OperatorPolicy"),
	}
	o.Deployment, o.Scheduler = values[prefix+"Deployment"], values[prefix+"SchedulerFunction"]
	o.Replies, o.Paused = values[prefix+"RepliesUrl"], values[prefix+"Paused"] == "true"
	o.readQueues(values, prefix, value)
	every, _ := strconv.Atoi(values[prefix+"SweepSeconds"]) // absent from older stacks
	o.SweepInterval = cmp.Or(time.Duration(every)*time.Second, time.Minute)
	o.Workflows = workflowsOf(values, prefix)
	if names := values[prefix+"Scheduled"]; names != "" {
		o.Scheduled = strings.Split(names, ",")
	}
	o.Concurrency, _ = strconv.Atoi(values[prefix+"Concurrency"]) // absent from older stacks
	o.Shared, _ = strconv.Atoi(values[prefix+"SharedConcurrency"])
	o.Release = view.ReadRelease(values[prefix+"Release"])
	shards := value("Shards")
	if len(missing) > 0 {
		return Outputs{}, fmt.Errorf("its outputs %s are missing; deploy it again",
			strings.Join(missing, ", "))
	}
	if o.Shards, err = strconv.Atoi(shards); err != nil || o.Shards < 1 {
		return Outputs{}, fmt.Errorf("its output %sShards is %.40q; it must be a number from 1; deploy "+
			"the stack again", prefix, shards)
	}
	return o, nil
}

// readQueues reads the queues of the outputs Mappings, Mappings2 …, and their queues of high priority.
func (o *Outputs) readQueues(values map[string]string, prefix string, value func(name string) string) {
	o.Mappings, o.Requests = map[string]string{}, map[string]string{}
	o.Dead, o.High = map[string]string{port.Quarantine: o.Quarantine}, map[string]string{}
	if url := values[prefix+"MissedSweepsUrl"]; url != "" {
		o.Dead[client.MissedSweeps] = url
	}
	entries := value("Mappings")
	for i := 2; entries != ""; i++ {
		for entry := range strings.SplitSeq(entries, ",") {
			queue, uuid, _ := strings.Cut(entry, "=")
			o.Mappings[queue], o.Dead[queue] = uuid, value(idOf(queue)+"DeadUrl")
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

func workflowsOf(values map[string]string, prefix string) map[string]string {
	hashes := map[string]string{}
	for key, hash := range values {
		if name, ok := strings.CutPrefix(key, prefix+"Workflow"); ok {
			hashes[name] = hash
		}
	}
	return hashes
}

// Hash returns the hash of the deployed definition, or "" if the stack has no such workflow.
func (o *Outputs) Hash(workflow string) string { return o.Workflows[idOf(workflow)] }

// Senders returns the policy that allows sending to one of the Scheduler's queues.
func (o *Outputs) Senders(queue string) string {
	if queue == port.Control {
		return o.Operator
	}
	return o.Application
}

// prefixOf returns the construct ID at the start of the output keys, such as of IntakeUrl and Version.
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

// idOf returns a logical name in the spelling of output keys.
func idOf(name string) string {
	if name == port.Tasks { // "Tasks" is the name of another output
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
