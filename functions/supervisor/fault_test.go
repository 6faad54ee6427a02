package supervisor_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/functions/supervisor"
	"github.com/stepkeeper/stepkeeper/internal/actorstest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// watched counts how often the depth of each queue is read, and fails for the queues that a test selects.
type watched struct {
	port.Queues
	depths  map[string]int
	missing string                // not there
	lost    string                // whether it is there is not known
	silent  string                // does not report its depth
	panics  string                // panics instead of reporting its depth
	shown   map[string]port.Depth // depths of queues instead of the true ones

	capacity map[string]int // number of messages that each consumer takes at a time
}

func (q *watched) Queue(name string) (port.Queue, error) {
	switch name {
	case q.missing:
		return nil, fmt.Errorf("queue %q: %w", name, port.ErrNotFound)
	case q.lost:
		return nil, fmt.Errorf("queue %q: %w", name, port.ErrUnavailable)
	}
	inner, err := q.Queues.Queue(name)
	return watchedQueue{inner, q}, err
}

type watchedQueue struct {
	port.Queue
	all *watched
}

func (q watchedQueue) Depth(ctx context.Context) (port.Depth, error) {
	q.all.depths[q.Name()]++
	if q.Name() == q.all.panics {
		panic("a faulty adapter")
	}
	if q.Name() == q.all.silent {
		return port.Depth{}, port.ErrUnavailable
	}
	if shown, ok := q.all.shown[q.Name()]; ok {
		return shown, nil
	}
	return q.Queue.Depth(ctx)
}

// late returns a world with n orders whose steps are overdue by a second, and its watched queues.
func late(t *testing.T, n int, change func(*watched)) (*actorstest.World, *watched) {
	t.Helper()
	q := &watched{depths: map[string]int{}}
	w := begun(t, actorstest.Definition(), n, func(w *actorstest.World) {
		w.Sweeping = func(c *supervisor.Config) {
			q.Queues = c.Queues
			c.Queues = q
			c.Capacity = func(taker string) int { return q.capacity[taker] }
		}
	})
	if change != nil {
		change(q)
	}
	w.Clock.Advance(31 * time.Second)
	return w, q
}

// A request without a queue was never sent, so its step is handed back uncounted. If the depth of a queue cannot
// be read, only the tasks that need it wait for the next sweep.
func TestQueuesThatCannotBeAsked(t *testing.T) {
	for name, c := range map[string]struct {
		change     func(*watched)
		handedBack int
		uncounted  int
		failed     int
	}{
		"all are there":               {nil, 8, 0, 0},
		"the agent's is missing":      {func(q *watched) { q.missing = "requests-agent-a" }, 4, 4, 0},
		"replies are missing":         {func(q *watched) { q.missing = port.Replies }, 8, 0, 0},
		"the agent's is not known":    {func(q *watched) { q.lost = "requests-agent-b" }, 0, 0, 4},
		"the agent's does not report": {func(q *watched) { q.silent = "requests-agent-a" }, 0, 0, 4},
		"the agent's panics":          {func(q *watched) { q.panics = "requests-agent-a" }, 0, 0, 4},
		"another agent's is missing":  {func(q *watched) { q.missing = "requests-agent-c" }, 8, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w, q := late(t, 4, c.change)
			r := sweep(t, w)
			require.Equal(t, c.handedBack, r.HandedBack)
			require.Equal(t, c.failed, r.Failed)
			require.Equal(t, c.uncounted, r.Uncounted)
			require.Equal(t, 4, r.Overdue)
			for name, n := range q.depths {
				if n > 1 && c.failed == 0 {
					t.Errorf("%s was asked %d times in one sweep", name, n)
				}
			}
			if a := w.Task("o-1").Step("a"); c.failed > 0 &&
				(a.State != core.Processing || a.Failures.Do > 0) {
				t.Errorf("half of a decision was stored: %+v", a)
			}
			*q = (watched{Queues: q.Queues, depths: map[string]int{}})
			if c.failed > 0 {
				r := sweep(t, w)
				require.Equal(t, 8, r.HandedBack)
				require.LessOrEqual(t, r.Failed, 0)
			}
		})
	}
	t.Run("the control queue does not report", func(t *testing.T) {
		w, q := late(t, 1, nil)
		sweep(t, w)
		w.Clock.Advance(time.Hour)
		q.silent = port.Control
		r := sweep(t, w)
		require.Equal(t, 1, r.Failed)
		require.LessOrEqual(t, r.Asked, 0)
		q.silent = ""
		q.missing = port.Control // and nothing can be sent to it
		r = sweep(t, w)
		require.Equal(t, 2, r.Asked)
		require.Equal(t, 1, r.Failed)
	})
}

// The report states how long the most overdue task has been due, wherever it is in the index.
func TestOldestOverdue(t *testing.T) {
	for _, first := range []int{0, 1, 2, 3, 4, 5} {
		w := actorstest.New(t, actorstest.Definition()).Boot()
		for i := range 6 {
			if i == 5 { // five at once, one a little later
				w.Clock.Advance(7 * time.Second)
			}
			w.Send(port.Intake, actorstest.Order(fmt.Sprintf("o-%d", (i+first)%6)))
			w.Handle(port.Intake)
		}
		w.Clock.Advance(40 * time.Second)
		r := sweep(t, w)
		require.Equal(t, 6, r.Overdue, "%+v", first)
		require.Equal(t, 17*time.Second, r.OldestOverdue, "%+v", first)
	}
	w := begun(t, actorstest.Definition(), 3, nil)
	r := sweep(t, w)
	require.Zero(t, r.OldestOverdue)
	require.LessOrEqual(t, r.Overdue, 0)
}

// A lease holds for one tick at most, because another process may handle the next tick.
func TestLeaseEndsBeforeTheNextTick(t *testing.T) {
	for _, c := range []struct{ interval, held time.Duration }{
		{0, 30 * time.Second},
		{10 * time.Second, 5 * time.Second},
	} {
		w := begun(t, actorstest.Definition(), 0, func(w *actorstest.World) {
			w.Sweeping = func(s *supervisor.Config) { s.Interval = c.interval }
		})
		sweep(t, w)
		other := w.SupervisorOn(w.Store, "other")
		w.Clock.Advance(c.held - time.Millisecond)
		r, err := other.Sweep(ctx)
		require.NoError(t, err, "%+v", c)
		require.Equal(t, w.Store.Shards(), r.Skipped, "%+v", c)
		require.LessOrEqual(t, r.Shards, 0, "%+v", c)
		w.Clock.Advance(time.Millisecond)
		r, err = other.Sweep(ctx)
		require.NoError(t, err, "%+v", c)
		require.Equal(t, w.Store.Shards(), r.Shards, "%+v", c)
		require.LessOrEqual(t, r.Skipped, 0, "%+v", c)
	}
}

// failing are leases that cannot be taken for one shard.
type failing struct{ name string }

func (l failing) Acquire(_ context.Context, name, _ string, _ time.Time, _ time.Duration) (bool, error) {
	if name == l.name {
		return false, port.ErrUnavailable
	}
	return true, nil
}

// A fault of one shard is reported and ends no other; a task that cannot be stored, decided or reported
// is left for the next sweep, alone.
func TestFaultsOfOneShardAndOneTask(t *testing.T) {
	t.Run("a lease", func(t *testing.T) {
		w, _ := late(t, 12, nil)
		r, err := w.SupervisorWith(w.Store, failing{"sweep/2"}, "other").Sweep(ctx)
		require.ErrorIs(t, err, port.ErrUnavailable)
		require.ErrorContains(t, err, "shard 2")
		require.Equal(t, w.Store.Shards()-1, r.Shards)
		require.NotZero(t, r.HandedBack)
	})
	t.Run("an index", func(t *testing.T) {
		w, _ := late(t, 12, nil)
		r, err := w.SupervisorOn(&actorstest.Faulty{Store: w.Store, FailDue: func(shard, _ int) error {
			if shard == 1 {
				return actorstest.ErrFailing
			}
			return nil
		}}, "other").Sweep(ctx)
		require.ErrorIs(t, err, port.ErrUnavailable)
		require.ErrorContains(t, err, "shard 1")
		require.NotZero(t, r.HandedBack)
	})
	t.Run("a document that is newer, or does not fit its definition", func(t *testing.T) {
		w, _ := late(t, 3, nil)
		unfit := w.Task("o-2")
		unfit.Steps[0].Name = "another"
		document, err := state.EncodeTask(unfit)
		require.NoError(t, err)
		r, err := w.SupervisorOn(&actorstest.Faulty{Store: w.Store, Instead: map[string]string{
			"o-1": `{"Schema":4}`, "o-2": string(document),
		}}, "other").Sweep(ctx)
		require.NoError(t, err)
		require.Equal(t, 2, r.Failed)
		require.Equal(t, 2, r.HandedBack)
		require.Equal(t, int64(1), w.Task("o-2").Version)
	})
	t.Run("a load", func(t *testing.T) {
		w, _ := late(t, 12, nil)
		r, err := w.SupervisorOn(&actorstest.Faulty{Store: w.Store, FailLoad: actorstest.OnCall(1, actorstest.ErrFailing)},
			"other").Sweep(ctx)
		require.ErrorIs(t, err, port.ErrUnavailable)
		require.NotZero(t, r.HandedBack)
		require.NotEqual(t, 24, r.HandedBack)
	})
	t.Run("one of several loads", func(t *testing.T) {
		w, _ := late(t, 12, nil)
		w.Sweeping = func(c *supervisor.Config) { c.PageSize = 1 }
		r, err := w.SupervisorOn(&actorstest.Faulty{Store: w.Store, Unread: "o-5"}, "other").Sweep(ctx)
		require.ErrorIs(t, err, port.ErrUnavailable)
		require.Equal(t, 1, r.Failed)
		require.Equal(t, 22, r.HandedBack)
	})
	t.Run("the reminders of incidents", func(t *testing.T) {
		w, _ := late(t, 1, nil)
		var log bytes.Buffer
		w.Sweeping = func(c *supervisor.Config) {
			c.Logger = slog.New(slog.NewTextHandler(&log, nil))
			c.Incidents = func(context.Context) (map[string]port.Stopped, error) {
				return nil,
					actorstest.ErrFailing
			}
		}
		r, err := w.SupervisorOn(w.Store, "other").Sweep(ctx)
		require.NoError(t, err)
		require.Equal(t, 2, r.HandedBack)
		require.Contains(t, log.String(), actorstest.ErrFailing.Error())
	})
	t.Run("a document", func(t *testing.T) {
		w, _ := late(t, 12, nil)
		var log bytes.Buffer
		w.Sweeping = func(c *supervisor.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) }
		damaged := map[string]string{"o-5": actorstest.Damaged}
		s := w.SupervisorOn(&actorstest.Faulty{Store: w.Store, Instead: damaged}, "other")
		r, err := s.Sweep(ctx)
		require.NoError(t, err)
		require.Equal(t, 1, r.Damaged)
		require.Equal(t, 22, r.HandedBack)
		require.Equal(t, 12, r.Scanned)
		require.Len(t, w.Alerts, 1)
		require.Equal(t, core.CodeDamaged, w.Alerts[0].Code)
		w.Clock.Advance(time.Minute)
		r, err = s.Sweep(ctx)
		require.NoError(t, err)
		require.Zero(t, r.Damaged)
		w.Clock.Advance(engine.LookAgain)
		r, err = s.Sweep(ctx)
		require.NoError(t, err)
		require.Equal(t, 1, r.Damaged)
		// The document can be read again: the order goes on.
		w.Clock.Advance(2 * engine.LookAgain)
		r = sweep(t, w)
		require.Zero(t, r.Damaged)
		require.Equal(t, 2, r.HandedBack)
		require.Equal(t, 2, strings.Count(log.String(), "the stored order is damaged"))
	})
	t.Run("a commit", func(t *testing.T) {
		for _, c := range []struct {
			err          error
			lost, failed int
		}{{port.ErrConflict, 1, 0}, {port.ErrNotFound, 1, 0}, {actorstest.ErrFailing, 0, 1}} {
			w, _ := late(t, 1, nil)
			r, err := w.SupervisorOn(&actorstest.Faulty{Store: w.Store, FailCommit: actorstest.OnCall(1, c.err)},
				"other").Sweep(ctx)
			require.NoError(t, err)
			require.Equal(t, c.lost, r.Lost, "%+v", c.err)
			require.Equal(t, c.failed, r.Failed, "%+v", c.err)
			require.LessOrEqual(t, r.HandedBack, 0, "%+v", c.err)
			w.Clock.Advance(3 * time.Second)
			require.Empty(t, controls(w), "%v", c.err)
		}
	})
	t.Run("every commit, as on a full disk", func(t *testing.T) {
		w, _ := late(t, 40, nil)
		var log bytes.Buffer
		w.Sweeping = func(c *supervisor.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) }
		full := func(int) error { return actorstest.ErrFailing }
		r, err := w.SupervisorOn(&actorstest.Faulty{Store: w.Store, FailCommit: full}, "other").Sweep(ctx)
		require.NoError(t, err)
		require.Equal(t, 40, r.Failed)
		text := log.String()
		require.Equal(t, 11, strings.Count(text, "left for the next sweep"))
		require.Contains(t, text, "orders=30")
	})
	t.Run("every commit, because the process ends", func(t *testing.T) {
		w, _ := late(t, 40, nil)
		var log bytes.Buffer
		w.Sweeping = func(c *supervisor.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) }
		ctx, cancel := context.WithCancel(ctx)
		ending := func(int) error {
			cancel()
			return context.Canceled
		}
		r, err := w.SupervisorOn(&actorstest.Faulty{Store: w.Store, FailCommit: ending}, "other").Sweep(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.NotZero(t, r.Failed)
		require.Empty(t, log.String())
	})
	t.Run("a definition", func(t *testing.T) {
		w, _ := late(t, 2, nil)
		w.Defs = memory.NewDefinitions()
		w.Def = &core.Definition{Name: w.Def.Name, Hash: "another is deployed"}
		r, err := w.SupervisorOn(w.Store, "other").Sweep(ctx)
		require.NoError(t, err)
		require.Equal(t, 2, r.Damaged)
		require.LessOrEqual(t, r.HandedBack, 0)
	})
	t.Run("a send", func(t *testing.T) {
		w, _ := late(t, 3, nil)
		w.Fail = func(_ string, m port.Message) error {
			if c, ok := m.Value.(*message.Control); ok && c.OrderID == "o-2" {
				return port.ErrUnavailable
			}
			return nil
		}
		r := sweep(t, w)
		require.Equal(t, 1, r.Failed)
		require.Equal(t, 6, r.HandedBack)
		w.Clock.Advance(3 * time.Second)
		require.Len(t, controls(w), 4)
		w.Fail = nil
		w.Clock.Advance(6 * time.Second)
		// the due time that the commit left brings it back
		r = sweep(t, w)
		require.Equal(t, 6, r.Asked)
		require.LessOrEqual(t, r.Failed, 0)
	})
}

// A context that ends is the sweep's error, and no further shard is begun.
func TestSweepEndsWithItsContext(t *testing.T) {
	w, _ := late(t, 3, nil)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	leases := &noted{}
	_, err := w.SupervisorWith(w.Store, leases, "other").Sweep(ended)
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, leases.asked, 1)
}

// Decisions are counted by their effect.
func TestReportCountsWhatWasDone(t *testing.T) {
	give := func(change func(*core.Definition)) (*actorstest.World, supervisor.Report) {
		def := actorstest.Definition()
		if change != nil {
			change(def)
		}
		w := begun(t, def, 1, nil)
		w.Clock.Advance(31 * time.Second)
		return w, sweep(t, w)
	}
	w, r := give(func(d *core.Definition) { d.Steps[0].Retry.MaxFailures = 1 })
	require.Equal(t, 1, r.GivenUp)
	require.LessOrEqual(t, r.HandedBack, 0)
	require.LessOrEqual(t, r.Errors, 0)
	require.Equal(t, core.Compensating, w.Task("o-1").ProcessState)
	_, r = give(func(d *core.Definition) { d.Steps[1].Retry.MaxFailures = 1 })
	require.Equal(t, 1, r.GivenUp)
	require.Equal(t, 1, r.HandedBack)
	require.LessOrEqual(t, r.Errors, 0)
	_, r = give(func(d *core.Definition) {
		d.Steps[0].Retry.MaxFailures = 1
		d.Steps[0].OnFailure = core.OnFailureStop
	})
	require.Equal(t, 1, r.Errors)
	require.LessOrEqual(t, r.GivenUp, 0)
	require.LessOrEqual(t, r.HandedBack, 0)
	w, _ = give(func(d *core.Definition) { d.Steps[0].Retry.MaxFailures = 1 })
	w.Clock.Advance(6 * time.Second)
	w.Handle(port.Control) // the undo of a, and of b, is asked for
	taken(w)
	w.Clock.Advance(31 * time.Second)
	r = sweep(t, w)
	require.Equal(t, 1, r.HandedBack)
	require.LessOrEqual(t, r.Uncounted, 0)
	require.Equal(t, 1, w.Task("o-1").Step("b").Failures.Undo+w.Task("o-1").Step("a").Failures.Undo)
}

// The log line of a sweep reports everything that happened, and nothing else.
func TestReportInOneLine(t *testing.T) {
	for want, r := range map[string]supervisor.Report{
		"0 scanned in 0 shards": {},
		"7 scanned in 4 shards, 1 shards of others, 2 overdue, 3 handed back, 4 handed back uncounted, 5 " +
			"asked again, 6 given up, 8 in Error, " +
			"9 to be reported, 10 pushed, 14 started by the clock, 15 scheduled times skipped, 11 stale, " +
			"12 lost to another writer, 13 failed, the oldest by 1.235s": {
			Shards: 4, Skipped: 1, Scanned: 7, Overdue: 2, HandedBack: 3, Uncounted: 4, Asked: 5, GivenUp: 6,
			Errors: 8, Unreported: 9, Pushed: 10,
			Started: 14, Missed: 15, Stale: 11, Lost: 12, Failed: 13, Truncated: true,
			OldestOverdue: 1234567 * time.Microsecond,
		},
	} {
		require.Equal(t, want, r.String(), want)
	}
}

// Rule 17: a sweep reads 50 pages of 100 by default, and reports where it was cut short.
func TestBoundsOfASweep(t *testing.T) {
	w, _ := late(t, 1, nil)
	var asked []int
	store := &actorstest.Faulty{Store: w.Store, FailDue: func(_, limit int) error {
		asked = append(asked, limit)
		return nil
	}}
	r, err := w.SupervisorWith(store, failing{}, "other").Sweep(ctx)
	require.NoError(t, err)
	require.Len(t, asked, 2*w.Store.Shards())
	require.Equal(t, 100, asked[0])
	require.False(t, r.Truncated)

	w = begun(t, actorstest.Definition(), 60, func(w *actorstest.World) {
		w.Sweeping = func(c *supervisor.Config) { c.PageSize = 1 }
	})
	w.Clock.Advance(31 * time.Second)
	r = sweep(t, w)
	require.Equal(t, 50, r.Scanned)
	require.True(t, r.Truncated, "%s, truncated %t", r, r.Truncated)
	r = sweep(t, w)
	require.Equal(t, 10, r.Scanned)
	require.False(t, r.Truncated, "%s, truncated %t", r, r.Truncated)
}

// Rule 17: a page that is not full counts as a page too. The shards after the last page are left, and no
// lease of them is taken.
func TestAPageThatIsNotFullCounts(t *testing.T) {
	w := begun(t, actorstest.Definition(), 60, func(w *actorstest.World) {
		w.Sweeping = func(c *supervisor.Config) { c.PagesPerSweep = 1 }
	})
	w.Clock.Advance(31 * time.Second)
	if r := sweep(t, w); !r.Truncated || r.Shards != 1 || r.Scanned == 0 || r.Scanned == 60 {
		t.Errorf("%s, truncated %t", r, r.Truncated)
	}
}

// Rule 17: also a clock that stands before 1970 names a shard.
func TestSweepBeforeTheEpoch(t *testing.T) {
	w := begun(t, actorstest.Definition(), 0, nil)
	for _, year := range []int{1969, 1950} {
		w.Clock.Set(time.Date(year, 12, 31, 23, 58, 30, 0, time.UTC))
		require.Equal(t, w.Store.Shards(), sweep(t, w).Shards, "%v", year)
	}
}
