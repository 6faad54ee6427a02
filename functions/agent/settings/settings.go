// Package settings is the content of an agents file: the settings of the ready-made agents. Package agentsfile
// reads the file. Functions on Lambda read the compiled form of the settings. The packages are separate, so that
// these functions contain no YAML parser.
//
// Each agent of a file is one of four kinds. The packages httpagent, awsagent and orderagent describe the
// settings of three kinds. The fourth kind is an external agent, which runs in a separate process:
//
//	agents:
//	  payment:
//	    url: https://payment.example           # an HTTP service, see package httpagent
//	  stock:
//	    aws: {invoke: "arn:aws:lambda:…"}      # services of AWS, see package awsagent
//	  follow-up:
//	    orders: true                           # the agent submits orders; see package orderagent
//	  warehouse:
//	    external: true                         # a separate process serves the queue requests-warehouse
package settings

import (
	"fmt"
	"maps"
	"slices"

	"github.com/stepkeeper/stepkeeper/functions/agent/awsagent"
	"github.com/stepkeeper/stepkeeper/functions/agent/httpagent"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// File is the content of an agents file.
type File struct {
	Agents map[string]Agent `yaml:"agents" json:"agents,omitzero"`
}

// Agent is the entry of one agent.
type Agent struct {
	httpagent.Agent `yaml:",inline"`

	External   bool                 `yaml:"external" json:"external,omitzero"`
	Orders     bool                 `yaml:"orders" json:"orders,omitzero"`
	Batch      int                  `yaml:"batch" json:"batch,omitzero"`
	Operations map[string]Operation `yaml:"operations" json:"operations,omitzero"`
	// AWS call for all operations; Operation.AWS takes precedence
	AWS     *awsagent.Entry `yaml:"aws" json:"aws,omitzero"`
	Retry   worker.Retry    `yaml:"retry" json:"retry,omitzero"`
	Breaker worker.Breaker  `yaml:"breaker" json:"breaker,omitzero"`
}

// Operation is the entry of one operation.
type Operation struct {
	httpagent.Operation `yaml:",inline"`

	AWS *awsagent.Entry `yaml:"aws" json:"aws,omitzero"`
}

// OnAWS reports whether the agent calls services of AWS instead of a URL.
func (a Agent) OnAWS() bool {
	on := a.AWS != nil
	for _, o := range a.Operations {
		on = on || o.AWS != nil
	}
	return on
}

// NeedsAWS reports whether the agent needs credentials of AWS.
func (a Agent) NeedsAWS() bool { return a.OnAWS() || a.Auth != nil && a.Auth.SigV4 != nil }

// HTTP returns the operations of a completed agent that makes HTTP requests.
func (a Agent) HTTP() map[string]httpagent.Operation {
	operations := make(map[string]httpagent.Operation, len(a.Operations))
	for name, o := range a.Operations {
		operations[name] = o.Operation
	}
	return operations
}

// Calls returns the operations of a completed agent that calls services of AWS. It returns none for any other
// agent.
func (a Agent) Calls() map[string]awsagent.Operation {
	operations := map[string]awsagent.Operation{}
	for name, o := range a.Operations {
		if o.AWS == nil {
			continue
		}
		target, err := o.AWS.Target()
		if err == nil {
			operations[name] = awsagent.Operation{Target: target, Output: o.Output, Classify: o.Classify}
		}
	}
	return operations
}

// Target returns the AWS resource that an operation of a completed agent calls. It returns false if the
// operation calls no AWS service.
func (a Agent) Target(operation string) (awsagent.Target, bool) {
	calls := a.Calls()
	o, found := calls[operation]
	if _, own := a.Operations[operation]; !own {
		o, found = calls[worker.AnyOperation]
	}
	return o.Target, found
}

// Region returns the Region of the first operation that calls an AWS service. "" means no such operation.
func (a Agent) Region() string {
	calls := a.Calls()
	names := slices.Sorted(maps.Keys(calls))
	if len(names) == 0 {
		return ""
	}
	return calls[names[0]].Target.Region
}

// Addresses returns the addresses in the settings of a completed agent, by field or operation.
func (a Agent) Addresses() map[string]string {
	all := a.Agent.Addresses()
	for name, call := range a.Calls() {
		all["operation "+name] = call.Target.URL
	}
	return all
}

// CannotKeep returns a problem and a fix if an agent cannot keep the promises of a step, such as the
// step's grade. The problem is "" if the agent can keep the promises, or is not in the file. kept is
// the keyRetention of the agent in the workflow; 0 means no limit.
func (f File) CannotKeep(agent string, s *core.StepDefinition, kept core.Duration) (problem, fix string) {
	a := f.Agents[agent]
	operations := []string{s.Operation}
	if s.Undo != nil {
		operations = append(operations, s.Undo.Operation)
	}
	for _, name := range operations {
		if t, calls := a.Target(name); calls {
			problem, fix = t.CannotKeep(agent, s, kept)
			if problem != "" {
				return fmt.Sprintf("operation %s of agent %s %s", name, agent, problem), fix
			}
		}
	}
	return "", ""
}
