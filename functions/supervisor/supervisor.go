package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Config configures a Supervisor. State, Queues, Alerts, Leases, Clock and Name are required.
type Config struct {
	engine.Parts
	Schedules Schedules // the zero value means that no workflow starts by the clock
	// Incidents publishes the due alerts, and counts the orders in Error by workflow. It may be nil.
	Incidents func(ctx context.Context) (map[string]port.Stopped, error)
	// Outages returns the operations that agents do not call now, and those that they call again. While an
	// operation is not called, the Supervisor wakes one step that waits for it every ten seconds, so that the
	// first call shows the end of the outage. Then it wakes all steps that wait (P45, "not now" is not a
	// failure), and calls Woken. Both functions may be nil.
	Outages func(ctx context.Context) ([]port.Outage, error)
	Woken   func(ctx context.Context, ended port.Outage) error
	// Capacity returns how many messages a consumer takes at a time, which is concurrency × batch. taker is
	// the name of an agent, or Scheduler. More messages in a queue, visible or in flight, are a backlog (P32,
	// queue time is not a failure). A nil function, or a result below 1, means 10.
	Capacity      func(taker string) int
	PagesPerSweep int // largest number of pages in one sweep; 0 means 50
	PageSize      int // entries of the index per page; 0 means 100
	// Interval is the time between two sweeps; 0 means 1 m. A lease of a shard lasts half of it, so that another
	// process can run the next sweep.
	Interval time.Duration
}

// Supervisor finds overdue work and decides on it. It is safe for concurrent use.
type Supervisor struct {
	cfg    Config
	engine engine.Engine
	log    *slog.Logger
	probed atomic.Int64 // time of the last probes, in nanoseconds
	looked atomic.Int64 // time of the last look at port.DamagedBucket, in nanoseconds since 1970
}

// New returns a Supervisor.
func New(cfg Config) *Supervisor {
	cfg.PagesPerSweep = cmp.Or(cfg.PagesPerSweep, 50)
	cfg.PageSize = cmp.Or(cfg.PageSize, 100)
	cfg.Interval = cmp.Or(cfg.Interval, time.Minute)
	return &Supervisor{cfg: cfg, log: cfg.Logger, engine: engine.Engine{Config: engine.Config{
		Parts: cfg.Parts, Span: "supervisor", Tries: 1, // the next sweep tries again
	}}}
}

// first returns the shard at which a sweep begins. The shard depends only on the clock. A counter in the
// process would not work, because a process on Lambda may run only one sweep.
func (s *Supervisor) first(shards int) int {
	n := s.cfg.Clock.Now().UnixNano() / int64(s.cfg.Interval) % int64(shards)
	return int((n + int64(shards)) % int64(shards)) // clocks of tests may show times before 1970
}

// Report is the result of one sweep.
type Report struct {
	Shards     int  // shards that were swept
	Skipped    int  // shards that another Supervisor has leased
	Scanned    int  // entries of the index
	Overdue    int  // tasks with an overdue part
	HandedBack int  // steps handed back with a counted failure
	Uncounted  int  // steps handed back without a counted failure, because of a backlog (P32)
	Asked      int  // steps whose Wake was sent again
	GivenUp    int  // tasks whose undo was started
	Errors     int  // tasks that entered Error
	Unreported int  // ended tasks whose final status is sent again
	Pushed     int  // due times moved forward (P10, moving a due time is conditional)
	Stale      int  // entries of the index whose task does not exist or is at rest
	Damaged    int  // tasks that cannot be read (P60, a damaged order is set aside)
	Lost       int  // commits for which another writer was faster
	Failed     int  // tasks left for the next sweep because of a fault
	Started    int  // orders started by their schedules
	Missed     int  // scheduled times at which no order started
	Truncated  bool // the sweep ended after PagesPerSweep pages
	// OldestOverdue is how long the most overdue task has been due.
	OldestOverdue time.Duration
	InError       map[string]port.Stopped // orders in Error, by workflow
}

// Sweep processes the due tasks once. Each sweep begins at the next shard. So sweeps that end early skip
// different shards (rule 17 of docs/reference/aws-rules.md). The error joins the errors of schedules, shards
// and unreadable tasks. The Report is valid even with an error.
func (s *Supervisor) Sweep(ctx context.Context) (Report, error) {
	w := sweep{
		Supervisor: s, pages: s.cfg.PagesPerSweep, depths: map[string]port.Depth{},
		look: s.isNext(&s.looked, engine.LookAgain/3),
	}
	shards := s.cfg.State.Port().Shards()
	first := s.first(shards)
	errs := []error{w.schedules(ctx)}
	for i := range shards {
		shard := (first + i) % shards
		if w.pages <= 0 {
			w.report.Truncated = true
			break
		}
		if err := w.shard(ctx, shard); err != nil {
			errs = append(errs, fmt.Errorf("sweep shard %d: %w", shard, err))
		}
		if ctx.Err() != nil {
			errs = append(errs, ctx.Err())
			break
		}
	}
	w.outages(ctx)
	if s.cfg.Incidents != nil && ctx.Err() == nil {
		var err error
		// an error here does not fail the sweep, because the next sweep calls Incidents again
		w.report.InError, err = s.cfg.Incidents(ctx)
		if err != nil {
			s.log.Error("incidents are left for the next sweep", "error", err)
		}
	}
	unnamed := w.report.Failed - maxNamed
	if unnamed > 0 && !errors.Is(ctx.Err(), context.Canceled) {
		s.log.Error("further orders are left for the next sweep", "orders", unnamed)
	}
	return w.report, errors.Join(append(errs, w.unread)...)
}

// probeEvery is the shortest time between two probes of an outage.
const probeEvery = 10 * time.Second

// outages wakes one step of each operation that is not called now, and all steps of an operation that is called
// again. It logs an error with the probes, because it may run very often.
func (w *sweep) outages(ctx context.Context) {
	if w.cfg.Outages == nil || ctx.Err() != nil {
		return
	}
	probes := w.isNext(&w.probed, probeEvery)
	all, err := w.cfg.Outages(ctx)
	for _, o := range all {
		if o.Ended == 0 && !probes {
			continue
		}
		err = errors.Join(err, w.outage(ctx, o))
	}
	if err != nil && probes {
		w.log.Warn("not all steps that wait for agents were woken; the next sweep tries again", "error", err)
	}
}

func (w *sweep) outage(ctx context.Context, o port.Outage) error {
	most := 1
	if o.Ended != 0 {
		most = math.MaxInt
	}
	woken, err := w.engine.WakeUncalled(ctx, o.Agent, o.Operation, most)
	w.report.Asked += woken
	if err != nil || o.Ended == 0 {
		return err
	}
	w.log.Info("an agent calls its service again", "agent", o.Agent, "operation", o.Operation, "since", o.Since,
		"woken", woken)
	return w.cfg.Woken(ctx, o)
}

// Scheduler is the Scheduler's name in calls of Capacity. A deployed agent cannot have this name.
const Scheduler = "scheduler"

// isNext reports whether something was last done at least an interval ago, and marks it as done now. The argument at
// is the time of the last, in nanoseconds since 1970.
func (s *Supervisor) isNext(at *atomic.Int64, interval time.Duration) bool {
	now := s.cfg.Clock.Now()
	last := at.Load()
	return !port.Recent(time.Unix(0, last), now, interval) && at.CompareAndSwap(last, now.UnixNano())
}

type sweep struct {
	*Supervisor
	// look means that the sweep also looks at port.DamagedBucket. The first sweep of a process does, because the
	// process may run another program. Further looks are rare, because most deployments have no damaged task.
	look   bool
	report Report
	pages  int
	depths map[string]port.Depth // depth of each queue, read once per sweep
	unread error                 // error of the last read that failed
}

// maxNamed is the number of orders that a sweep names in the log as left for the next one. A fault of the store or
// of a queue affects all due orders in each sweep, and the log may be on the same full disk as the store.
const maxNamed = 10

func (w *sweep) shard(ctx context.Context, shard int) error {
	now := w.cfg.Clock.Now()
	ours, err := w.cfg.Leases.Acquire(ctx, port.SweepLease(shard), w.cfg.Name, now, w.cfg.Interval/2)
	if err != nil {
		return err
	}
	if !ours {
		w.report.Skipped++
		return nil
	}
	w.report.Shards++
	if err := w.bucket(ctx, port.DueBucket, shard, now); err != nil || !w.look {
		return err
	}
	return w.bucket(ctx, port.DamagedBucket, shard, now)
}

func (w *sweep) bucket(ctx context.Context, bucket port.Bucket, shard int, now time.Time) error {
	var after *port.Due
	for w.pages > 0 {
		due, err := w.cfg.State.Port().Due(ctx, bucket, shard, now, after, w.cfg.PageSize)
		if err != nil {
			return err
		}
		if len(due) > 0 {
			w.pages--
			w.page(ctx, due, bucket == port.DamagedBucket)
		}
		if len(due) < w.cfg.PageSize {
			return nil
		}
		after = &due[len(due)-1]
	}
	w.report.Truncated = true
	return nil
}

// page processes the due tasks in one page of the index, and counts the results. If another writer was
// faster, the task needs no more work in this sweep. After any other failure, the task stays due for the next
// sweep (P9, tasks not at rest are due).
func (w *sweep) page(ctx context.Context, due []port.Due, aside bool) {
	w.report.Scanned += len(due)
	jobs := make([]*engine.Job, len(due))
	for i := range due {
		jobs[i] = &engine.Job{ID: due[i].ID, Aside: aside}
	}
	loaded := w.engine.Load(ctx, jobs)
	for _, j := range jobs {
		if errors.Is(j.Err(), port.ErrUnavailable) {
			w.unread = j.Err()
		}
	}
	var ready []*engine.Job
	for _, j := range loaded {
		err := port.Guard(w.log, "looking for what is overdue", func() error { return w.events(ctx, j) })
		if err != nil { // an error, even after a panic, concerns only this task
			j.Fail(err)
			continue
		}
		ready = append(ready, j)
	}
	w.engine.Decide(ctx, ready)
	w.engine.Deliver(ctx, jobs)
	for _, j := range jobs {
		if j.Stored() {
			w.tally(j)
		}
		switch err := j.Err(); {
		case err == nil:
		case errors.Is(err, engine.ErrLost) &&
			(errors.Is(err, port.ErrConflict) || errors.Is(err, port.ErrNotFound)):
			w.report.Lost++
		default:
			w.fault(ctx, j.ID, err)
		}
	}
}

// fault logs nothing if the sweep was cancelled: the process ends, and the next one sweeps.
func (w *sweep) fault(ctx context.Context, id string, err error) {
	w.report.Failed++
	if w.report.Failed <= maxNamed && !errors.Is(ctx.Err(), context.Canceled) {
		w.log.Error("left for the next sweep", "order", id, "error", err)
	}
}
