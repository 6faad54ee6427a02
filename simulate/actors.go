package simulate

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/functions/supervisor"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/simulate/internal/model"
	"github.com/stepkeeper/stepkeeper/simulate/internal/workflows"
)

var ctx = context.Background()

// ear listens to what the actors log: a handler that panics has a fault, whatever it did about it.
type ear struct{ w *simulation }

func (e ear) Enabled(_ context.Context, l slog.Level) bool {
	return l >= slog.LevelError
}

func (e ear) Handle(_ context.Context, r slog.Record) error {
	e.w.checks.did("bug")
	if strings.Contains(r.Message, "panicked") {
		text := r.Message
		r.Attrs(func(a slog.Attr) bool {
			text += " " + a.String()
			return true
		})
		e.w.violate("bug", "%s", text)
	}
	return nil
}

func (e ear) WithAttrs([]slog.Attr) slog.Handler { return e }

func (e ear) WithGroup(string) slog.Handler { return e }

func newSimulation(sc Scenario, c Chooser) *simulation {
	w := &simulation{
		sc: sc, chooser: c, def: sc.Definition, queues: map[string]*queue{}, services: map[string]*service{},
		ledgers: map[string]*ledger{}, byID: map[string]*order{}, leases: map[string]lease{},
		traits: map[string]trait{}, outages: map[string]int64{}, expired: map[string]int64{},
		coming: map[string]int64{}, nth: counters.Get().(map[point]int),
		hash: 14695981039346656037, checks: newChecks(), often: &often, newer: sc.newer(),
		defs: sc.definitions(),
	}
	if w.start = noon; sc.Begun != nil {
		w.start = int64(sc.Begun.At)
	}
	w.Cells, w.Ends = map[Cell]int{}, map[core.State]int{}
	w.below = sc.families()
	w.store = &store{w: w, rows: map[string]*row{}, defs: map[string][]byte{}}
	for _, d := range slices.Concat(w.defs[1:], w.below) { // other orders have pinned these
		if data, err := w.encode(d); err == nil {
			w.store.defs[d.Hash] = data
		}
	}
	return w
}

// setUp draws the deployment and its orders.
func (w *simulation) setUp() {
	w.swarm()
	for _, s := range w.allSteps() {
		for _, a := range s.AllAgents() {
			if a != "" && !slices.Contains(w.agents, a) {
				w.agents = append(w.agents, a)
			}
		}
	}
	slices.Sort(w.agents)
	w.embedded = w.choose("world", "embedded", 2, 0.25) == 1
	instances := 1
	if !w.embedded {
		instances += w.choose("world", "instances", 2, 0.5)
	}
	for _, name := range []string{port.Intake, port.Replies, port.Control, port.Quarantine, model.Shop} {
		w.open(name, port.MaxBatch)
	}
	taken := []string{port.Intake, port.Replies, port.Control}
	if len(w.below) > 0 {
		w.open(port.Tasks, port.MaxBatch)
		taken = append(taken, port.Tasks)
	}
	w.room = w.drawRoom()
	for _, a := range w.agents {
		w.character(a)
		w.open(port.Requests(a), 1)
		w.ledgers[a] = &ledger{entries: map[string]port.LedgerEntry{}}
	}
	w.until = faultTime
	if kept := w.kept(); kept > 0 && w.enabled[KeyForgotten] && w.choose("world", "long", 2, 0.5) == 1 {
		w.until, w.long = max(faultTime, 4*kept), true
	}
	for _, a := range w.agents { // its process is away, from the beginning
		if q := w.queues[port.Requests(a)]; w.enabled[Concurrency] && w.choose("away", a, 2, 0.03) == 1 {
			q.stopped = 3_600_000 + w.spread("away-for", a, 5*3_600_000)
			w.until = max(w.until, q.stopped)
		}
	}
	if w.waits = longest(w.defs); w.waits > faultTime/2 {
		w.through = w.choose("world", "through", 2, 0.5) == 1
	}
	w.shards = 1 + w.choose("world", "shards", 3, 0.2)
	w.pages = w.choose("world", "pages", 3, 0.2)
	w.capacity = port.MaxBatch
	if w.choose("world", "capacity", 2, 0.3) == 1 {
		w.capacity = 1
	}
	for i := 1; i <= instances; i++ {
		w.process("scheduler-"+strconv.Itoa(i), aScheduler, "", taken...)
		w.process("supervisor-"+strconv.Itoa(i), aSupervisor, "")
		for _, a := range w.agents {
			w.process(a+"-"+strconv.Itoa(i), anAgent, a, port.Requests(a))
		}
	}
	w.process("application", aClient, "", model.Shop, port.Quarantine)
	for _, p := range w.procs {
		p.boot()
	}
	w.people()
}

// swarm draws which faults may happen at all, and how often: a run with few kinds of them goes
// deeper than one with all.
func (w *simulation) swarm() {
	rates := [...]float64{0.004, 0.001, 0.01, 0.02, 0.05, 0}
	w.rate = rates[w.unrecorded("rate", len(rates))]
	for f := NoFault + 1; f < faultCount; f++ {
		w.enabled[f] = w.unrecorded("swarm", 2) == 0 && (w.sc.Only == nil || slices.Contains(w.sc.Only, f))
	}
}

// unrecorded is a choice that a tape need not hold: what it leads to stands there by itself.
func (w *simulation) unrecorded(site string, n int) int {
	if _, seeded := w.chooser.(*Seeded); !seeded {
		return 0
	}
	return w.chooser.Choose(Point{Site: site}, n, 1-1/float64(n))
}

func (w *simulation) open(name string, batch int) {
	w.queues[name] = &queue{w: w, name: name, batch: batch, pollAt: -1}
	w.names = append(w.names, name)
}

func (w *simulation) process(name string, r role, agent string, queues ...string) {
	p := &process{w: w, name: name, role: r, agent: agent}
	if r != aClient {
		p.offset = w.skewed(name)
	}
	w.procs = append(w.procs, p)
	for _, q := range queues {
		w.queues[q].consumers = append(w.queues[q].consumers, p)
	}
}

// skew is the most that two clocks may differ by: the least that any agent declares.
func (w *simulation) skew() int64 {
	least := int64(-1)
	for _, a := range w.def.Agents {
		if s := int64(a.ClockSkew); least < 0 || s < least {
			least = s
		}
	}
	return max(least, 0)
}

// skewed draws how far a clock is off: half of the skew at most, in either direction.
func (w *simulation) skewed(name string) int64 {
	const grid = 9
	v := w.choose("skew", name, grid, 0.5)
	if v%2 == 0 {
		v = -v
	}
	return int64(v) * w.skew() / (2 * grid)
}

// boot starts a process anew: it remembers nothing.
func (p *process) boot() {
	w := p.w
	p.up = true
	if w.embedded && p.role != aClient && p.scheduler == nil && w.now > 0 {
		w.trace(p.name, "", "is there again")
	}
	p.scheduler, p.supervisor, p.worker, p.known = nil, nil, nil, nil
	p.equip()
	switch p.role {
	case aScheduler:
		if w.embedded {
			w.invoke(p, "restart", func(iv *invocation) {
				due := w.dueBy(p.Now().AddDate(100, 0, 0))
				_, _ = p.scheduler.Restart(ctx)
				iv.restarted(due)
			})
		}
	case aSupervisor:
		w.planSweep()
	}
	for _, name := range w.names {
		if q := w.queues[name]; slices.Contains(q.consumers, p) {
			q.replan()
		}
	}
}

// equip makes the actor of a process that has none: it is new, or one of a snapshot, with what that one knew.
func (p *process) equip() {
	w := p.w
	switch {
	case p.role == aScheduler && p.scheduler == nil:
		p.waits = &scheduler.Waits{}
		p.waits.Set(p.known)
		p.scheduler = scheduler.New(scheduler.Config{Parts: p.parts(), Waits: p.waits, Pause: w.carriedOn})
	case p.role == aSupervisor && p.supervisor == nil:
		p.supervisor = supervisor.New(supervisor.Config{
			Parts:    p.parts(),
			Interval: 2 * time.Minute, // so that a lease lasts for a minute, past the death of its owner
			Capacity: func(string) int { return w.capacity }, PageSize: w.pages,
		})
	case p.role == anAgent && p.worker == nil:
		p.worker = w.newWorker(p)
	}
}

// tokens: a newer version of the program comes with a new key.
func (p *process) tokens(context.Context, bool) (core.Tokens, error) {
	if p.deploy > 0 {
		return model.LaterKeys, nil
	}
	return model.FirstKeys, nil
}

func (p *process) parts() engine.Parts {
	return engine.Parts{
		State: p.state(), Queues: queuesPort{p}, Alerts: alarm{p}, Leases: leases{p}, Clock: p, Name: p.name,
		WakeSlack: time.Second, Logger: slog.New(ear{p.w}), Tokens: p.tokens,
	}
}

func (p *process) state() *state.Store {
	w := p.w
	return state.New(state.Config{
		Store: storePort{p}, Definitions: w.store, Compile: w.compile, Encode: w.encode, Limit: w.room.Limit,
		Current: func(name string) *core.Definition {
			switch {
			case name != w.def.Name:
				return nil
			case p.deploy > 0:
				return w.newer
			}
			return w.def
		},
	})
}

// encode spares the work of writing a definition again: it does not change once it has its hash.
func (w *simulation) encode(d *core.Definition) ([]byte, error) {
	if data := w.sc.forms[d.Hash]; data != nil {
		return data, nil
	}
	return workflow.Encode(d)
}

// compile spares the work of reading a definition again: its bytes are those of its hash.
func (w *simulation) compile(hash string, data []byte) (*core.Definition, error) {
	if d := w.definition(hash); d != nil {
		return d, nil
	}
	return workflow.Decode(hash, data)
}

func (w *simulation) newWorker(p *process) *worker.Worker {
	made, err := worker.New(worker.Config{
		Agent: p.agent, Replies: queuePort{p, w.queues[port.Replies]},
		Quarantine: queuePort{p, w.queues[port.Quarantine]},
		Operations: worker.Operations{worker.AnyOperation: w.operation(p)},
		Ledger:     ledgerPort{p, w.ledgers[p.agent]},
		Clock:      p, Retry: worker.Retry{Tries: 1}, Breaker: worker.Breaker{Off: true},
		Log: slog.New(ear{w}),
	})
	if err != nil {
		panic(fmt.Sprintf("simulate: %v", err)) // the configuration above is complete
	}
	return made
}

// backoff is how long a delivery that is returned to the queue stays hidden. An exploration takes states for
// one that differ in the IDs of messages alone, so that the jitter must not depend on them there.
func (w *simulation) backoff(d port.Delivery) time.Duration {
	if w.driver != nil {
		d.ID = ""
	}
	return d.Backoff(visibility * time.Millisecond)
}

// deliver lets a process handle what it has received, and deletes what it is done with.
func (w *simulation) deliver(p *process, q *queue, letters []*letter) {
	ds := make([]port.Delivery, len(letters))
	for i, l := range letters {
		ds[i] = q.delivery(l)
		if w.tracing {
			w.trace(q.name, p.name, describe(l.message))
		}
	}
	w.invoke(p, q.name, func(iv *invocation) {
		receipts, again := w.handle(iv, q, letters, ds)
		if iv.dead {
			return
		}
		port := queuePort{p, q}
		for _, r := range again {
			_ = port.Extend(ctx, r.receipt, r.after)
		}
		if len(receipts) > 0 {
			port.Delete(ctx, receipts)
		}
	})
}

// carriedOn lets a handler wait before it carries on what came to it without a queue (P12a).
func (w *simulation) carriedOn(_ context.Context, try int) error {
	iv := w.cur
	if iv.pause(int64(1000 * try)); iv.dead || try > 10 {
		return errCut
	}
	for _, s := range iv.sights { // it decides on what came to it again, not on what followed from that
		s.extra, s.refused = nil, nil
	}
	return nil
}

// again is a delivery that comes again after a while.
type again struct {
	receipt string
	after   time.Duration
}

func (w *simulation) handle(iv *invocation, q *queue, letters []*letter,
	ds []port.Delivery) (done []string, back []again) {
	p := iv.p
	iv.letters, iv.handed = letters, ds
	switch p.role {
	case anAgent:
		iv.begins(ds[0])
		v := p.worker.Handle(ctx, ds[0])
		iv.ends(v.Delete)
		if v.Delete {
			return []string{ds[0].Receipt}, nil
		}
		if v.After <= 0 {
			v.After = w.backoff(ds[0])
		}
		return nil, []again{{ds[0].Receipt, v.After}}
	case aClient:
		for i := range ds {
			w.received(iv, q, letters[i], ds[i])
			done = append(done, ds[i].Receipt)
		}
		return done, nil
	}
	w.checks.did("4")
	failed := p.scheduler.Handle(ctx, q.name, ds)
	iv.gone = make([]bool, len(ds))
	for i := range ds {
		iv.gone[i] = !slices.Contains(failed, ds[i].Receipt)
		if slices.Contains(failed, ds[i].Receipt) {
			back = append(back, again{ds[i].Receipt, w.backoff(ds[i])})
		} else {
			done = append(done, ds[i].Receipt)
		}
	}
	iv.finished(func(id string) bool {
		for i, l := range letters {
			if aboutOrder(l.message) == id && slices.Contains(failed, ds[i].Receipt) {
				return false
			}
		}
		return true
	})
	return done, back
}

// planSweep plans the Supervisor's next look. Ticks at which nothing is due are left out: they
// would change nothing.
func (w *simulation) planSweep() {
	first, any := w.store.earliest()
	if !any {
		return
	}
	t := max(first.UnixMilli()-w.start, w.now)
	t = (t/tick + 1) * tick
	if w.sweepAt != 0 && w.sweepAt <= t {
		return
	}
	w.sweepAt = t
	w.at(t, func() {
		if w.sweepAt == t {
			w.sweepAt = 0
			w.sweep()
			w.after(tick-1, w.planSweep)
		}
	})
}

func (w *simulation) sweep() {
	var up []*process
	for _, p := range w.procs {
		if p.role == aSupervisor && p.up && p.paused <= w.now {
			up = append(up, p)
		}
	}
	if len(up) == 0 {
		return
	}
	p := up[w.choose("supervisor", "tick", len(up), 0.4)]
	switch w.inject(aSupervisor, callTick, "tick").fault {
	case TickMissed:
		w.trace("world", "", "a tick of the Supervisor is missed")
		return
	case TicksOverlap:
		w.trace("world", "", "two ticks at once")
		clear(w.leases)
		w.invoke(up[len(up)-1], "sweep", sweep)
		clear(w.leases)
	}
	if p.up {
		w.invoke(p, "sweep", sweep)
	}
}

func sweep(iv *invocation) {
	due := iv.w.dueBy(iv.p.Now())
	if r, _ := iv.p.supervisor.Sweep(ctx); !r.Truncated {
		iv.swept(due)
	}
}

// blackout is the death of the one process of embedded mode: all actors with it, and all queues but
// the application's, which is on the disk (P27).
func (w *simulation) blackout(first *process) {
	for _, name := range w.names {
		if q := w.queues[name]; name != model.Shop {
			q.messages, q.dead = nil, nil
		}
	}
	for _, p := range w.procs {
		if p != first && p.role != aClient {
			p.kill()
		}
	}
}

// newer is the workflow as it is deployed later: it differs in what no order notices.
func (sc *Scenario) newer() *core.Definition {
	if sc.later == nil && sc.Definition.Expr != nil {
		d := *sc.Definition
		d.Grace++
		d.Steps = slices.Clone(d.Steps)
		if workflow.Seal(&d) == nil {
			sc.later = &d
		}
	}
	return sc.later
}

// definitions are all that an order of the scenario may pin.
func (sc *Scenario) definitions() []*core.Definition {
	all := []*core.Definition{sc.Definition}
	if sc.newer() != nil {
		all = append(all, sc.later)
		if sc.others == nil && sc.Begun == nil { // which was moved just now
			sc.others = workflows.Variants(sc.Definition)
		}
	}
	return append(all, sc.others...)
}

// definition is the one of that hash, nil where there is none.
func (w *simulation) definition(hash string) *core.Definition {
	for _, d := range w.defs {
		if d.Hash == hash {
			return d
		}
	}
	for _, d := range w.below {
		if d.Hash == hash {
			return d
		}
	}
	return nil
}
