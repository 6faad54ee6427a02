package settings

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/stepkeeper/stepkeeper/functions/agent/awsagent"
	"github.com/stepkeeper/stepkeeper/functions/agent/httpagent"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Defaults of an agent.
const (
	DefaultConcurrency = 10
	DefaultBatch       = 5
)

// Variables are the variables that a file refers to.
type Variables = httpagent.Variables

// Complete checks a file as it was read, and fills in the defaults and the values of variables. The error lists every
// problem.
func Complete(f File, v Variables) (File, error) {
	compiled, err := Encode(f)
	if err == nil {
		f, err = Decode(compiled) // a copy
	}
	if err != nil {
		return File{}, err
	}
	var p problems
	if len(f.Agents) == 0 {
		p.add(`it has no agents; write "agents:" and below it a name with a url`)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Agents)) {
		a := f.Agents[name]
		p.of(fmt.Sprintf("agent %q", name), a.complete(name, v))
		f.Agents[name] = a
	}
	if err := errors.Join(p...); err != nil {
		return File{}, err
	}
	return f, nil
}

// WithoutSecrets returns variables whose values lookup returns, but for the secrets with these names.
func WithoutSecrets(secrets []string, lookup func(name string) (string, bool)) Variables {
	unknown := func(name string) bool { return slices.Contains(secrets, name) }
	return Variables{Lookup: lookup, Unknown: unknown, Secrets: true}
}

type problems []error

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Errorf(format, args...)) }

func (p *problems) of(where string, all []error) {
	for _, err := range all {
		p.add("%s: %w", where, err)
	}
}

func (a *Agent) complete(name string, v Variables) (p problems) {
	if !message.IsAgent(name) {
		p.add("the name must be small letters, digits and -, at most 40, a letter first")
	}
	calls := !a.URL.IsZero() || a.AWS != nil || a.Auth != nil || !a.Proxy.IsZero() || len(a.Operations) > 0 ||
		len(a.Headers) > 0 || len(a.Classify) > 0
	switch {
	case a.External && !reflect.DeepEqual(*a, Agent{External: true}):
		p.add("external means that another process serves %s; no other field has a meaning then", port.Requests(name))
	case a.Orders && calls:
		p.add("orders means that the agent submits orders; url, aws, auth, proxy, headers, operations and classify " +
			"have no meaning then")
	}
	if a.External {
		return p
	}
	p = append(p, a.fill(v)...)
	a.Concurrency = cmp.Or(a.Concurrency, DefaultConcurrency)
	a.Batch = cmp.Or(a.Batch, DefaultBatch)
	if a.Concurrency < 1 || a.Concurrency > 10_000 {
		p.add("concurrency is %d; 1 to 10000 are possible", a.Concurrency)
	}
	if a.Batch < 1 || a.Batch > port.MaxBatch {
		p.add("batch is %d; 1 to %d are possible", a.Batch, port.MaxBatch)
	}
	if a.Timeout < 0 {
		p.add("timeout is %s; it must be positive", a.Timeout)
	}
	if err := worker.Validate(a.Retry, a.Breaker); err != nil {
		p = append(p, err)
	}
	switch {
	case a.Orders:
		return p
	case a.OnAWS():
		p = append(p, a.checkAWS()...)
	default:
		p = append(p, a.Agent.Complete()...)
	}
	return append(p, a.completeOperations()...)
}

func (a *Agent) fill(v Variables) (p problems) {
	p = a.Agent.Fill(v)
	fill := func(value, example string) (string, error) {
		if v.Secrets {
			example = ""
		}
		filled, _, err := v.Fill(value, example)
		return filled, err
	}
	if err := a.AWS.Fill(fill); err != nil {
		p = append(p, err)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Operations)) {
		if err := a.Operations[name].AWS.Fill(fill); err != nil {
			p.add("operation %q: %w", name, err)
		}
	}
	return p
}

// checkAWS checks the settings of an agent that calls services of AWS.
func (a *Agent) checkAWS() (p problems) {
	if a.Auth != nil || !a.Proxy.IsZero() {
		p.add("auth and proxy are for HTTP services; leave them out")
	}
	if !a.URL.IsZero() || len(a.Headers) > 0 || a.Insecure || len(a.Allow.Hosts) > 0 || a.Allow.Loopback ||
		a.Allow.PrivateAddresses || a.MaxResponse != 0 {
		p.add(
			"aws means that a service of AWS is called; url, headers, insecure, allow and maxResponse have " +
				"no meaning then",
		)
	}
	return append(p, awsagent.CheckClasses(a.Classify)...)
}

func (a *Agent) completeOperations() (p problems) {
	onAWS := a.OnAWS()
	if len(a.Operations) == 0 {
		a.Operations = map[string]Operation{worker.AnyOperation: {}}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Operations)) {
		o := a.Operations[name]
		var own problems
		if name != worker.AnyOperation && !httpagent.IsOperation(name) {
			own.add("the name must be letters, digits, -, _ and ., at most 80")
		}
		if onAWS {
			own = append(own, o.completeAWS(a)...)
		} else {
			own = append(own, o.Operation.Complete(a.Classify)...)
		}
		p.of(fmt.Sprintf("operation %.90q", name), own)
		a.Operations[name] = o
	}
	return p
}

func (o *Operation) completeAWS(a *Agent) (p problems) {
	if o.Method != "" || o.Path != "" || o.Check != nil {
		p.add("method, path and check are for HTTP services; leave them out")
	}
	if o.Output != "" && o.Output != "json" && o.Output != "ignore" {
		p.add("output is %.40q; it must be json or ignore", o.Output)
	}
	if o.AWS == nil {
		o.AWS = a.AWS
	}
	if o.AWS == nil {
		p.add("neither it nor its agent has aws; write aws: {invoke: ARN} or another call")
	} else if _, err := o.AWS.Target(); err != nil {
		p.add("aws: %w", err)
	}
	p = append(p, awsagent.CheckClasses(o.Classify)...)
	o.Classify = o.Classify.Over(a.Classify)
	return p
}
