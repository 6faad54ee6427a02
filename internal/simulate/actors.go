package simulate

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/functions/supervisor"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/token"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

// Process is one instance of an actor with its own clock.
type Process struct {
	W       *Simulation
	Name    string
	Role    Role
	Agent   string // name of the agent; "" for other roles
	Up      bool
	Offset  int64 // difference between the process's clock and the true time, in milliseconds
	Deploy  int   // 1 if new orders get the newer version of the workflow
	Running []*Invocation

	Scheduler  *scheduler.Scheduler
	Supervisor *supervisor.Supervisor
	Worker     *worker.Worker
	// last queue wait of each agent's requests (P32, queue time is not a failure)
	Waits *scheduler.Waits
	Known map[string]scheduler.QueueTime // queue waits at the end of the last invocation; never changed in place
}

// Now returns the time on the process's clock.
func (p *Process) Now() time.Time { return time.UnixMilli(p.W.Start + p.W.Now + p.Offset).UTC() }

// firstKeys and laterKeys hold keys for tokens. In laterKeys, the second key of firstKeys is the current key
// (P39, a token is an answer's permission).
var (
	firstKeys = token.Fixed(false)
	laterKeys = token.Fixed(true)
)

// ctx is the context of every call of an actor.
var ctx = context.Background()

// ear is the handler of the actors' logs. It reports a violation for a panic, even if the actor has recovered
// from the panic.
type ear struct{ w *Simulation }

func (e ear) Enabled(_ context.Context, l slog.Level) bool {
	return l >= slog.LevelError
}

func (e ear) Handle(_ context.Context, r slog.Record) error {
	e.w.Checks["bug"]++
	if strings.Contains(r.Message, "panicked") {
		text := r.Message
		r.Attrs(func(a slog.Attr) bool {
			text += " " + a.String()
			return true
		})
		e.w.Violate("bug", "%s", text)
	}
	return nil
}

func (e ear) WithAttrs([]slog.Attr) slog.Handler { return e }

func (e ear) WithGroup(string) slog.Handler { return e }

// NewSimulation returns the simulation of a scenario before any choice is made.
func NewSimulation(sc Scenario, c Chooser) *Simulation {
	sc.Prepare()
	w := &Simulation{
		prepared: sc.prepared, Result: Result{Stats: NewStats(), Hash: 14695981039346656037}, Sc: sc, Chooser: c,
		Def: sc.Definition, Start: Noon, Queues: map[string]*Queue{}, Services: map[string]*Remote{},
		Ledgers: map[string]*memory.Ledger{}, ByID: map[string]*Order{}, Leases: memory.NewLeases(),
		Answered: map[string]bool{}, Traits: map[string]Trait{}, Outages: map[string]int64{},
		Expired: map[string]int64{}, Coming: map[string]int64{}, Enabled: map[Fault]bool{},
		Nth:   counters.Get().(map[Occasion]int),
		Store: &Store{Definitions: memory.NewDefinitions(), byID: map[string]*Row{}},
	}
	if sc.Begun != nil {
		w.Start = int64(sc.Begun.At)
	}
	putDefinitions(w, slices.Concat(w.Defs[1:], w.Below)) // these definitions count as pinned by other orders
	return w
}

// putDefinitions stores definitions directly, without a port call.
func putDefinitions(w *Simulation, all []*core.Definition) {
	for _, d := range all {
		if data, err := encode(w, d); err == nil {
			_ = w.Store.PutDefinition(context.Background(), d.Hash, data)
		}
	}
}

// SetUp chooses the properties of the deployment and starts its processes and orders.
func SetUp(w *Simulation) {
	swarm(w)
	w.Agents = agents(w)
	w.Embedded = w.Choose("world", "embedded", 2, 0.25) == 1
	instances := 1
	if !w.Embedded {
		instances += w.Choose("world", "instances", 2, 0.5)
	}
	for _, name := range []string{port.Intake, port.Replies, port.Control, port.Quarantine, Shop} {
		open(w, name, port.MaxBatch)
	}
	if slices.ContainsFunc(w.Defs, func(d *core.Definition) bool { return d.Events }) {
		open(w, core.Events, port.MaxBatch)
	}
	taken := []string{port.Intake, port.Replies, port.Control}
	if len(w.Below) > 0 {
		open(w, port.Tasks, port.MaxBatch)
		taken = append(taken, port.Tasks)
	}
	w.Room = drawRoom(w)
	for _, a := range w.Agents {
		character(w, a)
		open(w, port.Requests(a), 1)
		w.Ledgers[a] = memory.NewLedger()
	}
	w.Until = FaultTime
	if kept := w.Kept(); kept > 0 && w.Enabled[KeyForgotten] && w.Choose("world", "long", 2, 0.5) == 1 {
		w.Until = max(FaultTime, 4*kept)
		w.Long = true
	}
	for _, a := range w.Agents { // the agent's process may be absent from the beginning
		if q := w.Queues[port.Requests(a)]; w.Enabled[Concurrency] && w.Choose("away", a, 2, 0.03) == 1 {
			q.Stopped = 3_600_000 + w.Spread("away-for", a, 5*3_600_000)
			w.Until = max(w.Until, q.Stopped)
		}
	}
	w.Waits = longest(w.Defs)
	if w.Waits > FaultTime/2 {
		w.Through = w.Choose("world", "through", 2, 0.5) == 1
	}
	w.Store.Store = memory.NewStore(1 + w.Choose("world", "shards", 3, 0.2))
	w.Pages = w.Choose("world", "pages", 3, 0.2)
	w.Capacity = port.MaxBatch
	if w.Choose("world", "capacity", 2, 0.3) == 1 {
		w.Capacity = 1
	}
	start(w, instances, taken)
	people(w)
}

// agents returns the sorted names of all agents.
func agents(w *Simulation) (all []string) {
	for _, s := range w.AllSteps() {
		all = append(all, s.AllAgents()...)
		if s.Remind != nil {
			all = append(all, s.Remind.Agent)
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(name string) bool { return name == "" })
}

// start starts the application and the given number of instances of each actor. The parameter taken lists the
// queues that the Schedulers consume.
func start(w *Simulation, instances int, taken []string) {
	for i := 1; i <= instances; i++ {
		process(w, "scheduler-"+strconv.Itoa(i), AScheduler, "", taken...)
		process(w, "supervisor-"+strconv.Itoa(i), ASupervisor, "")
		for _, a := range w.Agents {
			process(w, a+"-"+strconv.Itoa(i), AnAgent, a, port.Requests(a))
		}
	}
	received := []string{Shop, port.Quarantine}
	if w.Queues[core.Events] != nil {
		received = append(received, core.Events)
	}
	process(w, "application", AClient, "", received...)
	for _, p := range w.Procs {
		boot(p)
	}
}

// swarm chooses the kinds of faults that may occur, and their rate. A run with few kinds of faults can reach
// states that a run with all kinds does not reach.
func swarm(w *Simulation) {
	rates := [...]float64{0.004, 0.001, 0.01, 0.02, 0.05, 0}
	w.Rate = rates[unrecorded(w, "rate", len(rates))]
	for _, f := range Faults() {
		w.Enabled[f] = unrecorded(w, "swarm", 2) == 0 && (w.Sc.Only == nil || slices.Contains(w.Sc.Only, f))
	}
}

// unrecorded makes a choice that the tape does not record. The tape is the record of a run's choices. It
// contains the faults themselves, so it does not need this choice. The result is 0 for every Chooser except
// Seeded.
func unrecorded(w *Simulation, site string, n int) int {
	if _, seeded := w.Chooser.(*Seeded); !seeded {
		return 0
	}
	return w.Chooser.Choose(Point{Site: site}, n, 1-1/float64(n))
}

func open(w *Simulation, name string, batch int) {
	w.Queues[name] = &Queue{W: w, Name: name, Batch: batch, PollAt: -1}
	w.Names = append(w.Names, name)
}

func process(w *Simulation, name string, r Role, agent string, queues ...string) {
	p := &Process{W: w, Name: name, Role: r, Agent: agent}
	if r != AClient {
		p.Offset = skewed(w, name)
	}
	w.Procs = append(w.Procs, p)
	for _, q := range queues {
		w.Queues[q].Consumers = append(w.Queues[q].Consumers, p)
	}
}

// skewed chooses the offset of a process's clock. The offset is at most half of the clock skew, and may be
// negative.
func skewed(w *Simulation, name string) int64 {
	const grid = 9
	v := w.Choose("skew", name, grid, 0.5)
	if v%2 == 0 {
		v = -v
	}
	return int64(v) * w.Skew() / (2 * grid)
}

// boot starts a process with a new actor, which has no state of an earlier actor.
func boot(p *Process) {
	w := p.W
	p.Up = true
	if w.Embedded && p.Role != AClient && p.Scheduler == nil && w.Now > 0 {
		w.Trace(p.Name, "", "is there again")
	}
	p.Known = nil
	switch p.Role {
	case AScheduler:
		p.Waits = &scheduler.Waits{}
		p.Scheduler = scheduler.New(scheduler.Config{
			Parts: parts(p), Waits: p.Waits,
			Pause: func(_ context.Context, try int) error { return carriedOn(w, try) },
		})
		if w.Embedded {
			invoke(w, p, func(*Invocation) {
				_, _ = p.Scheduler.Restart(ctx)
			})
		}
	case ASupervisor:
		p.Supervisor = supervisor.New(supervisor.Config{
			Parts:    parts(p),
			Interval: 2 * time.Minute, // half of this time is the length of a lease
			Capacity: func(string) int { return w.Capacity }, PageSize: w.Pages,
		})
		planSweep(w)
	case AnAgent:
		p.Worker = newWorker(w, p)
	}
	for _, name := range w.Names {
		if q := w.Queues[name]; slices.Contains(q.Consumers, p) {
			replan(q)
		}
	}
}

func parts(p *Process) engine.Parts {
	return engine.Parts{
		State: stateOf(p), Queues: queuesPort{p}, Alerts: alarm{p}, Leases: leases{p}, Clock: p, Name: p.Name,
		WakeSlack: time.Second, Logger: slog.New(ear{p.W}),
		Tokens: func(context.Context, bool) (core.Tokens, error) { // newer versions have a newer token key
			if p.Deploy > 0 {
				return laterKeys, nil
			}
			return firstKeys, nil
		},
	}
}

func stateOf(p *Process) *state.Store {
	w := p.W
	return state.New(state.Config{
		Store: storePort{w.Store, p}, Definitions: w.Store,
		Compile: func(hash string, data []byte) (*core.Definition, error) { return compile(w, hash, data) },
		Encode:  func(d *core.Definition) ([]byte, error) { return encode(w, d) }, Limit: w.Room.Limit,
		Current: func(name string) *core.Definition {
			switch {
			case name != w.Def.Name:
				return nil
			case p.Deploy > 0:
				return w.Newer()
			}
			return w.Def
		},
	})
}

// encode returns the cached encoding of a definition if the scenario has one. The cache is valid because a
// definition never changes after it has a hash.
func encode(w *Simulation, d *core.Definition) ([]byte, error) {
	if data := w.Forms[d.Hash]; data != nil {
		return data, nil
	}
	return workflow.Encode(d)
}

// compile returns the known definition with the hash. It decodes data only if the definition is unknown.
func compile(w *Simulation, hash string, data []byte) (*core.Definition, error) {
	if d := w.Definition(hash); d != nil {
		return d, nil
	}
	return workflow.Decode(hash, data)
}

func newWorker(w *Simulation, p *Process) *worker.Worker {
	made, err := worker.New(worker.Config{
		Agent: p.Agent, Replies: queuePort{p, w.Queues[port.Replies]},
		Quarantine: queuePort{p, w.Queues[port.Quarantine]},
		Operations: worker.Operations{worker.AnyOperation: operation(w, p)},
		Ledger:     ledgerPort{p, w.Ledgers[p.Agent]},
		Clock:      p, Retry: worker.Retry{Tries: 1}, Breaker: worker.Breaker{Off: true},
		Log: slog.New(ear{w}),
	})
	if err != nil {
		panic(fmt.Sprintf("simulate: %v", err)) // this cannot happen, because the configuration is complete
	}
	return made
}

// deliver lets a process handle a batch of messages.
func deliver(w *Simulation, p *Process, q *Queue, letters []*Letter) {
	ds := make([]port.Delivery, len(letters))
	for i, l := range letters {
		ds[i] = q.Delivery(l)
		if w.Tracing {
			w.Trace(q.Name, p.Name, Describe(l.Message))
		}
	}
	invoke(w, p, func(iv *Invocation) { handle(w, iv, q, letters, ds) })
}

// carriedOn pauses before the Scheduler repeats a call that came without a queue (P12a, who emits again). It
// returns an error after ten tries.
func carriedOn(w *Simulation, try int) error {
	iv := w.Cur
	if pauseFor(iv, int64(1000*try)); iv.Dead || try > 10 {
		return ErrCut
	}
	return nil
}

func handle(w *Simulation, iv *Invocation, q *Queue, letters []*Letter, ds []port.Delivery) {
	p := iv.P
	iv.Letters = letters
	queue := queuePort{p, q}
	var failed []string
	switch p.Role {
	case AnAgent:
		begins(iv, ds[0])
		v := p.Worker.Handle(ctx, ds[0])
		ends(iv, v.Delete)
		switch {
		case v.Delete:
		case v.After > 0:
			_ = queue.hide(ds[0].Receipt, v.After)
			return
		default:
			failed = []string{ds[0].Receipt}
		}
	case AClient:
		for i := range ds {
			received(w, q, ds[i])
		}
	default:
		w.Checks["4"]++
		failed = p.Scheduler.Handle(ctx, q.Name, ds)
		if iv.Dead { // the queue delivers the messages again
			return
		}
		for i := range ds {
			if !slices.Contains(failed, ds[i].Receipt) {
				taken(w, letters[i].Message)
			}
		}
	}
	_ = port.Finish(ctx, queue, ds, failed, Visibility*time.Millisecond)
}

// planSweep schedules the Supervisor's next sweep for the earliest due time. Sweeps at which no task is due
// are omitted, because they would change nothing.
func planSweep(w *Simulation) {
	first, any := earliest(w.Store)
	if !any {
		return
	}
	t := max(first.UnixMilli()-w.Start, w.Now)
	t = (t/Tick + 1) * Tick
	if w.SweepAt != 0 && w.SweepAt <= t {
		return
	}
	w.SweepAt = t
	w.At(t, func() {
		if w.SweepAt == t {
			w.SweepAt = 0
			tick(w)
			w.After(Tick-1, func() { planSweep(w) })
		}
	})
}

func tick(w *Simulation) {
	var up []*Process
	for _, p := range w.Procs {
		if p.Role == ASupervisor && p.Up {
			up = append(up, p)
		}
	}
	if len(up) == 0 {
		return
	}
	p := up[w.Choose("supervisor", "tick", len(up), 0.4)]
	switch inject(w, ASupervisor, CallTick, "tick").Fault {
	case TickMissed:
		w.Trace("world", "", "a tick of the Supervisor is missed")
		return
	case TicksOverlap:
		w.Trace("world", "", "two ticks at once")
		w.Leases = memory.NewLeases()
		invoke(w, up[len(up)-1], sweep)
		w.Leases = memory.NewLeases()
	}
	if p.Up {
		invoke(w, p, sweep)
	}
}

func sweep(iv *Invocation) { _, _ = iv.P.Supervisor.Sweep(ctx) }

// blackout ends the single process of embedded mode, and with it all actors (P27, the embedded runtime
// survives its queues). All queues are lost, except the queues of statuses, which are on the disk.
func blackout(w *Simulation, first *Process) {
	for _, name := range w.Names {
		if q := w.Queues[name]; name != Shop && name != core.Events {
			q.Messages = nil
			q.Dead = nil
		}
	}
	for _, p := range w.Procs {
		if p != first && p.Role != AClient {
			kill(p)
		}
	}
}
