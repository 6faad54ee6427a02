package infra

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/stepkeeper/stepkeeper/shared/view"
)

// OutputVersion is the major version of the stack's outputs. Package client/aws reads the outputs.
const OutputVersion = "1"

// addOutputs adds the outputs that clients read from the stack. The key of an output consists of the
// construct's ID and a name, as in ShopIntakeUrl. Some names contain the name of an agent or a workflow, for
// example:
//
//   - Requests<Agent>Url is the URL of an agent's request queue.
//   - Agent<Agent>Function is the name of an agent's function.
//   - Ledger<Agent>Table is the name of an external agent's ledger.
//   - Workflow<Workflow> is the hash of a workflow.
func (s *Stepkeeper) addOutputs() {
	s.output("Version", OutputVersion, "version of these outputs")
	s.output("Deployment", *s.stackName(), "dimension of its metrics")
	s.output("OrdersTable", *s.orders.TableName(), "state store")
	s.output("DefinitionsTable", *s.definitions.TableName(), "compiled workflows")
	s.output("Shards", *jsii.Sprintf("%d", s.props.Shards), "shards of the index")
	s.output("Finished", *jsii.Sprintf("%t", s.props.FinishedOrders), "whether ended orders are in the index")
	s.output("FairQueues", *jsii.Sprintf("%t", s.props.FairQueues),
		"whether messages carry the tenant of their order")
	s.output("IntakeCommands", "true", "whether the intake queue takes cancels, and answers with a token")
	s.output("Concurrency", strconv.Itoa(s.concurrency+1),
		"functions that may run at once: of all mappings, and the Supervisor")
	s.output("SharedConcurrency", strconv.Itoa(s.sharedConcurrency()),
		"of these, functions without reserved concurrency")
	s.output("Release", view.Built().String(), "what the functions were built from")
	s.output("SweepSeconds", strconv.Itoa(int(s.props.SweepInterval.Seconds())),
		"from one sweep of the Supervisor to the next")
	s.output("Paused", *jsii.Sprintf("%t", s.props.Paused), "whether it was deployed with Paused")
	for _, name := range sorted(s.content.Hashes) {
		s.output("Workflow"+pascal(name), s.content.Hashes[name], name)
	}
	if len(s.props.Priorities) > 0 {
		s.output("Priorities", strings.Join(sorted(s.props.Priorities), ","),
			"queues that have another beside them for high priority")
	}
	if len(s.content.Clocked) > 0 {
		slices.Sort(s.content.Clocked)
		s.output("Scheduled", strings.Join(s.content.Clocked, ","), "workflows that start by the clock")
	}
	for _, name := range s.agentNames() {
		if f := s.functions[name]; f != nil {
			s.output("Agent"+pascal(name)+"Function", *f.FunctionName(), name)
		} else if ledger := s.ledgers[name]; ledger != nil {
			s.output("Ledger"+pascal(name)+"Table", *ledger.TableName(), name)
		}
	}
	for _, name := range sorted(s.queues) {
		q := s.queues[name]
		s.output(queueID(name)+"Url", *q.queue.QueueUrl(), name)
		s.output(queueID(name)+"DeadUrl", *q.dead.QueueUrl(), "dead letters of "+name)
	}
	s.exportMappings()
	s.output("QuarantineUrl", *s.quarantine.QueueUrl(), "quarantine")
	s.output("MissedSweepsUrl", *s.missed.QueueUrl(), "queue of the sweeps that failed or did not start")
	s.output("AlertsTopic", *s.alerts.TopicArn(), "alerts of orders in Error")
	if s.alarms != nil {
		s.output("AlarmsTopic", *s.alarms.TopicArn(), "alarms")
	}
	s.output("SupervisorFunction", *s.functions["supervisor"].FunctionName(), "Supervisor")
	s.output("SchedulerFunction", *s.functions["scheduler"].FunctionName(), "Scheduler")
	if s.key != nil {
		s.output("KeyArn", *s.key.KeyArn(), "the key that encrypts everything")
	}
	if s.tokenKeys != nil {
		s.output("TokenKeysSecret", *s.tokenKeys.SecretFullArn(), "keys of the tokens that answer a step")
	}
	s.exportPolicies()
}

func (s *Stepkeeper) exportPolicies() {
	s.output("ApplicationPolicy", *s.application.ManagedPolicyArn(), "attach to roles of applications")
	for i, policy := range s.operator {
		s.output(numbered("OperatorPolicy", i), *policy.ManagedPolicyArn(), "attach to roles of operators")
	}
}

// numbered returns the name of the element i of a list: Mappings, Mappings2 and so on.
func numbered(name string, i int) string {
	if i == 0 {
		return name
	}
	return name + strconv.Itoa(i+1)
}

// sharedConcurrency returns the maximum number of concurrent executions of all functions without reserved
// concurrency. It does not count functions that the app provides, because their reserved concurrency is
// unknown.
func (s *Stepkeeper) sharedConcurrency() (n int) {
	t := s.props.Tuning
	if t.ReservedSupervisors == 0 {
		n++
	}
	for _, name := range s.ownQueues() {
		if t.ReservedSchedulers == 0 {
			n += s.queues[name].mapping.MaxConcurrency
		}
	}
	for _, a := range s.props.Agents {
		if a.Reserved == 0 && a.Function == nil && !a.External {
			n += a.MaxConcurrency
		}
	}
	return n
}

const mappingsSize = 1_000

// exportMappings adds the outputs Mappings, Mappings2 and so on, with the IDs of the event source mappings.
// Each entry has the form QUEUE=ID, with the logical name of the queue. The ID is empty for the queue of an
// external agent.
func (s *Stepkeeper) exportMappings() {
	const id = "=01234567-89ab-cdef-0123-456789abcdef,"
	outputs := [][]string{nil}
	size := 0
	for _, name := range sorted(s.queues) {
		size += len(name) + len(id)
		if size > mappingsSize {
			outputs = append(outputs, nil)
			size = len(name) + len(id)
		}
		entry := name + "="
		if source := s.queues[name].source; source != nil {
			entry += *source.EventSourceMappingId()
		}
		last := &outputs[len(outputs)-1]
		*last = append(*last, entry)
	}
	for i, entries := range outputs {
		s.output(numbered("Mappings", i), strings.Join(entries, ","), "event source mappings of the queues")
	}
}

func (s *Stepkeeper) output(name, value, description string) {
	o := awscdk.NewCfnOutput(s.Construct, str("Output"+name),
		&awscdk.CfnOutputProps{Value: &value, Description: &description})
	o.OverrideLogicalId(str(pascal(*s.Construct.Node().Id()) + name))
}

func alike(hashes map[string]string) error {
	var failed []error
	ids := map[string]string{}
	for _, name := range sorted(hashes) {
		if other, taken := ids[pascal(name)]; taken {
			failed = append(failed, fmt.Errorf("workflows %s and %s: their names are too much alike, both "+
				"would own the output Workflow%s; rename one of them", other, name, pascal(name)))
		}
		ids[pascal(name)] = name
	}
	return errors.Join(failed...)
}
