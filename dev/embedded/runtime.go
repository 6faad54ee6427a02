package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/api"
	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/functions/supervisor"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/incident"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/token"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

const (
	cachedTasks = 20_000
	wakeSlack   = 2 * time.Millisecond
)

type counter = atomic.Int64

// Runtime is the embedded runtime without its HTTP server. It implements api.Backend.
type Runtime struct {
	options   Options
	log       *slog.Logger
	clock     port.Timer
	store     *sqlite.Store
	queues    *queues
	state     *state.Store
	scheduler *scheduler.Scheduler
	sweeper   *supervisor.Supervisor
	incidents *incident.Incidents
	workflows *workflows
	tokens    *token.Keys // keys of the tokens (P39, a token is an answer's permission)
	agents    []*agent
	// cannotKeep returns a problem if an agent of the agents file cannot keep a step's grade
	cannotKeep func(agent string, s *core.StepDefinition, kept core.Duration) (problem, fix string)
	hub        *hub
	metrics    *telemetry
	samples    samples
	counts     sync.Map // counts of messages, as *counter by name and reason
	unsent     sync.Map // time of the last status that could not be sent, as time.Time by receiver
	rejects    atomic.Int64
	ready      atomic.Bool
	unwritable atomic.Bool // the last Health has found that the store cannot write
	// last refusal because of MaxOpen; alertRefusals sets it to nil when fewer orders are active
	refused atomic.Pointer[api.BusyError]

	receiving context.CancelFunc // stops receiving from the queues
	work      context.Context    // context of the running handlers
	working   context.CancelFunc // cancels the context work
	gate      sync.RWMutex       // held for reading during each client's request, see carry
	closed    atomic.Bool        // set by Close when all clients' requests have ended
	handlers  sync.WaitGroup     // consumers of the Scheduler's queues, and pumps
	rest      sync.WaitGroup
}

// Open opens the data folder and emits the effects of running tasks again (P27, the embedded runtime survives
// its queues). Then it starts all actors. When Open returns, orders may be submitted. Open returns
// sqlite.ErrLocked if another process uses the folder.
func Open(ctx context.Context, o Options) (*Runtime, error) {
	o = o.withDefaults()
	s := &Runtime{options: o, log: o.Log, clock: o.Clock, hub: newHub()}
	s.work, s.working = context.WithCancel(context.WithoutCancel(ctx))
	s.metrics = newMetrics(s)
	s.hub.rested = s.metrics.rested
	if err := s.wire(ctx); err != nil {
		s.working()
		if s.store != nil {
			_ = s.store.Close()
		}
		return nil, err
	}
	tasks, err := s.scheduler.Restart(ctx)
	refused := s.store.Writable(ctx)
	switch {
	case refused != nil && ctx.Err() == nil:
		s.working()
		s.rest.Wait() // an alert may still be running
		return nil, errors.Join(refused, s.store.Close())
	case ctx.Err() != nil || errors.Is(err, sqlite.ErrDamaged):
		s.working()
		s.rest.Wait() // an alert may still be running
		_ = s.store.Close()
		return nil, fmt.Errorf("reading the running orders: %w", errors.Join(err, ctx.Err()))
	case err != nil: // an unreadable task must not stop the other tasks
		s.log.Error("some tasks are not taken up again; the Supervisor tries when they are due", "error", err)
	}
	if tasks > 0 {
		s.log.Info("taken up again", "tasks", tasks)
	}
	s.start()
	s.ready.Store(true)
	return s, nil
}

func (s *Runtime) wire(ctx context.Context) (err error) {
	if err := s.options.OnAlert.Check(); err != nil {
		return err
	}
	s.agents, err = s.readAgents()
	if err != nil {
		return err
	}
	s.workflows, err = newWorkflows(s.options.Workflows, s.loadFiles,
		slices.Contains(s.options.ReplyTo, core.Events), s.log)
	if err != nil {
		return err
	}
	durable, statuses := durableQueues(s.agents, s.options.ReplyTo)
	// the check of the file takes longer than all else, so Restart reads the orders meanwhile
	s.store, err = sqlite.OpenForReading(ctx, s.options.Data, sqlite.Options{
		Log: s.log, Clock: s.clock,
		Keep: s.options.Keep, Queues: durable, ReplyTo: statuses, Committed: s.metrics.committed,
	})
	if err != nil {
		return err
	}
	err = token.Exposed(s.options.Data)
	if err != nil {
		if s.workflows.makesTokens() {
			return err
		}
		s.log.Warn("the keys are not safe; no workflow makes tokens now", "error", err)
	}
	s.tokens, err = token.Open(s.options.Data, s.options.NewTokenKey,
		core.TimeOf(s.clock.Now()))
	if err != nil {
		return err
	}
	s.queues, err = newQueues(s.store.Queues(), s.clock, s.agents)
	if err != nil {
		return err
	}
	s.state = state.New(state.Config{
		Store: s.store, Definitions: s.store, Compile: workflow.Decode, Encode: workflow.Encode,
		Current: s.workflows.current, Similar: s.workflows.similar, Broken: s.workflows.broken,
		OnCommit:   s.hub.committed,
		CacheTasks: cachedTasks,
	})
	s.incidents = s.newIncidents()
	s.wireActors()
	return s.wireAgents()
}

// wireActors makes the Scheduler and the Supervisor.
func (s *Runtime) wireActors() {
	parts := engine.Parts{
		State: s.state, Queues: s.queues, Alerts: s.incidents, Leases: memory.NewLeases(), Clock: s.clock,
		Name: instanceName(), WakeSlack: wakeSlack, LongestWait: s.options.LongestWait,
		Logger: s.log, Count: s.count, Tracer: s.options.Tracer,
		Tokens:     func(context.Context, bool) (core.Tokens, error) { return s.tokens, nil },
		FairQueues: true, QueuesSince: core.TimeOf(s.clock.Now()),
	}
	s.scheduler = scheduler.New(scheduler.Config{
		Priorities: true, Parts: parts, Replied: s.replied, Restarted: s.hub.restarted, Capacity: s.capacity,
		Pause: func(ctx context.Context, try int) error {
			return port.Sleep(ctx, min(20*time.Millisecond<<min(max(try-1, 0), 10), 5*time.Second))
		},
	})
	s.sweeper = supervisor.New(supervisor.Config{
		Parts: parts, Capacity: s.capacity,
		Interval: s.options.SweepEvery,
		Outages:  s.incidents.Outages, Woken: s.incidents.Woken,
		Schedules: supervisor.Schedules{
			Current: s.workflows.scheduled, Records: s.store,
			Submit: s.startScheduled,
		},
	})
}

func instanceName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "dev"
	}
	return fmt.Sprintf("%.20s-%d", host, os.Getpid())
}

func (s *Runtime) start() {
	receiving, stopReceiving := context.WithCancel(context.Background())
	s.receiving = stopReceiving
	work := s.work
	s.samples.add(newSample(s.clock.Now()), s.options.StatisticsEvery)
	for _, name := range []string{port.Replies, port.Control, port.Tasks} {
		p := &consumer{queue: s.queues.ours(name), handle: s.scheduler.Handle, clock: s.clock, log: s.log}
		for range schedulerCapacity / batchOf(name) {
			s.handlers.Go(func() {
				port.Always(receiving, s.log, "the Scheduler", func() { p.run(receiving, work) })
			})
		}
	}
	for _, a := range s.agents {
		a.start(receiving, s, &s.handlers)
	}
	for what, run := range map[string]func(context.Context){
		"the Supervisor": s.sweep, "the statistics": s.sampleAlways, "the watch of alerts": s.watch,
		"the removal of expired orders": s.expire, "the watch of workflow files": s.workflows.watch,
	} {
		s.rest.Go(func() { port.Always(work, s.log, what, func() { run(work) }) })
	}
}

func (s *Runtime) sweep(ctx context.Context) {
	every(ctx, s.options.SweepEvery, func() {
		began := time.Now()
		r, err := s.sweeper.Sweep(ctx)
		s.metrics.sweep(r, began, time.Now(), err)
		s.alertRefusals(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.Error("a sweep failed, and the next one tries again", "error", err)
		}
	})
}

func every(ctx context.Context, interval time.Duration, f func()) {
	for tick := time.NewTicker(interval); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f()
		}
	}
}

const (
	expireEvery = 10 * time.Second
	expirePause = 10 * time.Millisecond // pause between two batches, so that other writers can work
)

// expire removes expired records in batches. The caches need no update, because package state caches no task
// at rest.
func (s *Runtime) expire(ctx context.Context) {
	for ctx.Err() == nil {
		x, err := s.store.Expire(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			s.log.Error("cannot remove what has expired; trying again", "error", err)
			_ = port.Sleep(ctx, expireEvery)
		case x.More:
			_ = port.Sleep(ctx, expirePause)
		default:
			_ = port.Sleep(ctx, expireEvery)
		}
	}
}

// drainTime is the time that running handlers get to finish. It is a part of the 5 s after a SIGTERM.
const drainTime = 1500 * time.Millisecond

// Close stops receiving messages, and closes the store. Running handlers and clients' requests have drainTime
// to finish before Close cancels their contexts. At the next start, the runtime sends the messages of the
// queues in memory again.
func (s *Runtime) Close() error {
	s.ready.Store(false)
	s.receiving()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = port.Guard(s.log, "the end", func() error {
			s.handlers.Wait()
			s.gate.Lock()
			defer s.gate.Unlock()
			s.closed.Store(true)
			return nil
		})
	}()
	select {
	case <-done:
	case <-time.After(drainTime):
	}
	s.working()
	<-done
	s.rest.Wait()
	for _, a := range s.agents {
		if a.service != nil {
			a.service.Close()
		}
	}
	return s.store.Close()
}

// count counts an event, such as a refused message, for Health and the metrics.
func (s *Runtime) count(what, why string) {
	key := what
	if why != "" {
		key += ": " + why
	}
	c, ok := s.counts.Load(key)
	if !ok {
		c, _ = s.counts.LoadOrStore(key, &counter{})
	}
	c.(*counter).Add(1)
	if what == engine.StatusNotSent {
		s.unsent.Store(why, s.clock.Now())
	}
}

// replied implements scheduler.Config.Replied.
func (s *Runtime) replied(ctx context.Context, r scheduler.Replied) {
	s.metrics.replied(r.Agent, r.Name, r.Reply)
	s.incidents.Replied(ctx, r.Agent, r.Name, r.Reply, r.Uncalled)
}
