package embedded

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/stepkeeper/stepkeeper/functions/agent/agentsfile"
	"github.com/stepkeeper/stepkeeper/functions/agent/awsagent"
	"github.com/stepkeeper/stepkeeper/functions/agent/httpagent"
	"github.com/stepkeeper/stepkeeper/functions/agent/orderagent"
	"github.com/stepkeeper/stepkeeper/functions/agent/settings"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/functions/supervisor"
	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// agent is an agent that workflows can name. An agent with operations runs in this process. The requests of
// any other agent go to a process of the user, through the agent's queue.
type agent struct {
	settings.Agent
	name       string
	operations worker.Operations // nil if the agent runs in a process of the user
	pump       *worker.Pump
	service    *httpagent.Service // nil if the operations make no HTTP requests
}

// readAgents returns the agents from the agents file, and the agents that are Go functions of this process.
func (s *Runtime) readAgents() ([]*agent, error) {
	var all []*agent
	if s.options.Agents != "" {
		cfg, err := agentsfile.Load(s.options.Agents)
		if err != nil {
			return nil, err
		}
		s.cannotKeep = cfg.CannotKeep
		for name, a := range cfg.Agents {
			made := &agent{name: name, Agent: a}
			if err := made.build(s.clock, intake{s}); err != nil {
				return nil, err
			}
			all = append(all, made)
		}
	}
	for name, ops := range s.options.Operations {
		in := s.options.Inside
		all = append(all, &agent{name: name, operations: ops, Agent: settings.Agent{
			Agent: httpagent.Agent{Concurrency: in.Concurrency}, Retry: in.Retry, Breaker: in.Breaker,
		}})
	}
	for _, a := range all {
		a.Concurrency = cmp.Or(a.Concurrency, settings.DefaultConcurrency)
		a.Batch = cmp.Or(a.Batch, settings.DefaultBatch)
	}
	slices.SortFunc(all, func(a, b *agent) int { return strings.Compare(a.name, b.name) })
	for i := 1; i < len(all); i++ {
		if all[i].name == all[i-1].name {
			return nil, fmt.Errorf("agent %s is given twice: in %s and inside the process", all[i].name,
				s.options.Agents)
		}
	}
	return all, nil
}

func (a *agent) build(clock port.Clock, orders port.Sender) (err error) {
	switch {
	case a.External:
		return nil
	case a.Orders:
		a.operations = orderagent.Operations(orders)
		return nil
	}
	var c aws.Config
	if a.NeedsAWS() { // c gets the credentials of the user, and the endpoint if AWS_ENDPOINT_URL is set
		c, err = awsclient.Load(context.Background(), awsclient.Options{
			Endpoint: os.Getenv("AWS_ENDPOINT_URL"), Region: cmp.Or(a.Region(), a.SigningRegion()),
		})
		if err != nil {
			return fmt.Errorf("agent %s: %w", a.name, err)
		}
	}
	if a.OnAWS() {
		a.operations = awsagent.Operations(a.name, a.Timeout, a.Calls(), c)
		return nil
	}
	a.service, err = httpagent.New(a.name, a.Agent.Agent, a.HTTP(), httpagent.Options{Clock: clock, AWS: c})
	if err != nil {
		return err
	}
	a.operations = a.service.Operations()
	return nil
}

// capacity implements supervisor.Config.Capacity. If the visible and in-flight messages exceed the capacity,
// the queue has a backlog (P32, queue time is not a failure).
func (s *Runtime) capacity(name string) int {
	if name == supervisor.Scheduler {
		return schedulerCapacity
	}
	for _, a := range s.agents {
		if a.name == name {
			return a.Concurrency * a.Batch
		}
	}
	return 0
}

// wireAgents creates a worker and a pump for each agent that this process runs. The pump passes requests from
// the agent's queue to the worker.
func (s *Runtime) wireAgents() error {
	for _, a := range s.agents {
		if a.operations == nil {
			continue
		}
		w, err := worker.New(worker.Config{
			Agent: a.name, Operations: a.operations, Replies: s.queues.ours(port.Replies),
			Quarantine: s.queues.ours(port.Quarantine), Ledger: s.store,
			Clock: s.clock, Log: s.log, Tracer: s.options.Tracer, Retry: a.Retry, Breaker: a.Breaker,
			SendTimeout: -1, // no limit, because sending to a queue in memory does not block
		})
		if err != nil {
			return err
		}
		a.pump = &worker.Pump{
			Queue: s.queues.ours(port.Requests(a.name)), Worker: w,
			Concurrency: a.Concurrency, Batch: a.Batch, Drain: drainTime, Log: s.log,
		}
	}
	return nil
}

func (a *agent) start(ctx context.Context, s *Runtime, all *sync.WaitGroup) {
	if a.pump == nil {
		return
	}
	all.Go(func() {
		port.Always(ctx, s.log, "the agent "+a.name, func() {
			if err := a.pump.Run(ctx); err != nil {
				s.log.Error("agent", "agent", a.name, "error", err)
			}
		})
	})
}

func (a *agent) stats() map[string]int64 {
	if a.pump == nil {
		return nil
	}
	x := a.pump.Worker.Stats()
	return map[string]int64{
		"in-flight": x.InFlight, "done": x.Done, "failed": x.Failed, "retry-later": x.RetryLater,
		"retried":      x.Retried,
		"dropped-late": x.DroppedLate, "in-doubt": x.InDoubt,
	}
}
