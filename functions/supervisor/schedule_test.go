package supervisor_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/functions/supervisor"
	"github.com/stepkeeper/stepkeeper/internal/actorstest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/schedule"
)

// timed is a world with a workflow that starts by the clock. Orders go to the Scheduler unless lost returns
// an error.
type timed struct {
	*testing.T
	*actorstest.World
	def             *core.Definition
	records         *faultyLedger
	asked           []string          // orders that were submitted, each time
	lost            func(n int) error // error of the n-th submission
	started, missed int               // counts that the sweeps report
}

// faultyLedger is a ledger whose n-th move fails, stored or not.
type faultyLedger struct {
	*memory.Ledger
	moves int
	fail  map[int]bool // failing moves by number; true if the move is stored all the same
	other func()       // happens before the next move
	world *actorstest.World
}

func (l *faultyLedger) Move(ctx context.Context, e port.LedgerEntry) error {
	l.world.Passed(ctx, "Move")
	if l.other != nil {
		l.other()
	}
	l.moves++
	stored, fails := l.fail[l.moves]
	if !fails || stored {
		if err := l.Ledger.Move(ctx, e); err != nil {
			return err
		}
	}
	if fails {
		return port.ErrUnavailable
	}
	return nil
}

func newTimed(t *testing.T, s core.Schedule) *timed {
	t.Helper()
	def := actorstest.Definition()
	def.Schedule = &s
	x := &timed{T: t, def: def, records: &faultyLedger{Ledger: memory.NewLedger(), fail: map[int]bool{}}}
	w := actorstest.New(t, def)
	x.records.world = w
	w.Sweeping = func(c *supervisor.Config) {
		c.Schedules = supervisor.Schedules{
			Current: func() []*core.Definition { return []*core.Definition{x.def} },
			Records: x.records,
			Submit: func(ctx context.Context, orders []message.SubmitOrder) []error {
				w.Passed(ctx, "Submit")
				errs := make([]error, len(orders))
				for i := range orders {
					x.asked = append(x.asked, orders[i].OrderID)
					if x.lost != nil {
						errs[i] = x.lost(len(x.asked))
						if errs[i] != nil {
							continue
						}
					}
					w.Send(port.Intake, &orders[i])
				}
				return errs
			},
		}
	}
	w.Boot()
	x.World = w
	return x
}

// pass moves the clock and sweeps each minute, which takes no order.
func (x *timed) pass(d time.Duration) {
	x.Helper()
	for end := x.Clock.Now().Add(d); x.Clock.Now().Before(end); {
		x.Clock.Advance(time.Minute)
		r, _ := x.Supervisor.Sweep(ctx) // its error is seen in what it leaves undone
		x.started = x.started + r.Started
		x.missed = x.missed + r.Missed
	}
}

func (x *timed) record() schedule.Record {
	x.Helper()
	r, _, err := schedule.Load(ctx, x.records, x.def.Name)
	require.NoError(x, err)
	return r
}

// Drain lets Scheduler and agents do all that is to be done now.
func (x *timed) Drain() {
	for range 6 {
		x.Round()
	}
}

// tasks returns the orders that exist.
func (x *timed) tasks() (ids []string) {
	x.Helper()
	page, err := x.Store.List(ctx, port.Query{Limit: 1000})
	require.NoError(x, err)
	for _, r := range page.Records {
		ids = append(ids, r.ID)
	}
	slices.Sort(ids)
	return ids
}

func (x *timed) want(ids ...string) {
	x.Helper()
	for i := range ids {
		ids[i] = x.def.Name + "-20261121T" + ids[i] + "00Z"
	}
	require.Equal(x, ids, x.tasks())
}

var hourly = core.Schedule{
	Cron: "@hourly", Overlap: core.OverlapSkip, CatchUp: core.Hour,
	Input: []byte(`{"n":1}`),
}

func TestOrdersStartByTheClock(t *testing.T) {
	x := newTimed(t, hourly)
	x.pass(30 * time.Minute) // it is 10:30: nothing yet, not even for 10:00
	if x.Drain(); len(x.tasks()) > 0 {
		t.Fatalf("%v", x.tasks())
	}
	x.pass(31 * time.Minute)
	x.Drain()
	x.want("1100")
	require.Equal(t, `{"n":1,"scheduledTime":"2026-11-21T11:00:00Z"}`, string(x.Task(x.tasks()[0]).Order))
	x.pass(60 * time.Minute)
	x.Drain()
	x.want("1100", "1200")
	r := x.record()
	require.Equal(t, 2, r.Started)
	require.Zero(t, r.Missed)
	require.Equal(t, core.TimeOf(time.Date(2026, 11, 21, 13, 0, 0, 0, time.UTC)), r.Next)
	require.LessOrEqual(t, r.Starts[1].Late(), core.Minute, "%+v", r)
}

// TestOverlap: an order that has not ended keeps the next from starting, also while it is still in the intake
// queue.
func TestOverlap(t *testing.T) {
	for overlap, want := range map[core.Overlap][]string{
		core.OverlapSkip: {"1100", "1400"}, core.OverlapAllow: {"1100", "1200", "1300", "1400"},
	} {
		s := hourly
		s.Overlap = overlap
		x := newTimed(t, s)
		x.pass(125 * time.Minute) // it is 12:05, and no order was taken
		for x.Handle(port.Intake) > 0 {
		}
		x.pass(60 * time.Minute) // it is 13:05, and the order was taken but has not ended
		x.Drain()
		x.pass(60 * time.Minute)
		x.Drain()
		x.want(want...)
		if r := x.record(); overlap == core.OverlapSkip &&
			(r.Missed != 2 || !strings.Contains(r.Skipped[0].Why, "-20261121T110000Z, has not ended")) {
			t.Errorf("%+v", r.Skipped)
		}
	}
}

// TestOverlapThatCannotBeRead: an order of which it is unknown whether it has ended keeps the next from
// starting.
func TestOverlapThatCannotBeRead(t *testing.T) {
	x := newTimed(t, hourly)
	x.pass(61 * time.Minute)
	x.Drain()
	x.want("1100")
	whole := x.Supervisor
	x.Supervisor = x.SupervisorOn(&actorstest.Faulty{Store: x.World.Store, Unread: x.tasks()[0]}, "half-blind")
	x.pass(60 * time.Minute)
	x.Drain()
	x.want("1100")
	r := x.record()
	require.Equal(t, 1, r.Missed)
	require.Equal(t, "whether the order before, "+x.tasks()[0]+", has ended could not be read", r.Skipped[0].Why)
	x.Supervisor = whole
	x.pass(60 * time.Minute)
	x.Drain()
	x.want("1100", "1300")
}

// TestOutage: no sweep runs for a day. Orders whose time is not older than catchUp start, and the others are
// skipped and counted.
func TestOutage(t *testing.T) {
	s := hourly
	s.Overlap = core.OverlapAllow
	s.CatchUp = 3 * core.Hour
	x := newTimed(t, s)
	x.pass(time.Minute)
	// it is 10:01 on the next day; 23 times have passed since 11:00, and 10:00
	x.Clock.Advance(24 * time.Hour)
	x.pass(time.Minute)
	x.Drain()
	r := x.record()
	require.Equal(t, 3, x.started)
	require.Equal(t, 21, x.missed)
	require.Equal(t, 3, r.Started)
	require.Equal(t, 21, r.Missed)
	require.Len(t, r.Skipped, 20)
	require.Len(t, x.tasks(), 3)
	require.Contains(t, r.Skipped[19].Why, "longer than catchUp")
}

// TestNoStartIsLostOrDoubled: each write of the record and each submission fails once, stored or not.
func TestNoStartIsLostOrDoubled(t *testing.T) {
	for n := 1; n <= 5; n++ {
		for _, what := range []string{"not stored", "stored", "submission lost", "submission unheard"} {
			x := newTimed(t, hourly)
			switch what {
			case "not stored", "stored":
				x.records.fail[n] = what == "stored"
			default:
				x.lost = func(k int) error {
					if k != n {
						return nil
					}
					if what == "submission unheard" {
						x.Send(port.Intake, &message.SubmitOrder{
							Schema: 1, OrderID: x.asked[k-1],
							Workflow: x.def.Name,
							Order: must(schedule.Order(&hourly,
								core.TimeOf(x.Clock.Now().Truncate(time.Hour)))),
						})
					}
					return port.ErrUnavailable
				}
			}
			for range 2 * 60 {
				x.pass(time.Minute)
				x.Drain()
			}
			x.pass(2 * time.Minute)
			x.Drain()
			got := fmt.Sprint(x.tasks())
			require.Equal(t, 1, strings.Count(got, "T110000Z"), what)
			require.Equal(t, 1, strings.Count(got, "T120000Z"), what)
			require.Len(t, x.tasks(), 2, what)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestAClockThatWasAhead: a clock that was a year ahead once starts its orders early, and stops no later one.
// What started early does not start again (P14, submit creates once).
func TestAClockThatWasAhead(t *testing.T) {
	s := hourly
	s.Overlap = core.OverlapAllow
	x := newTimed(t, s)
	x.pass(time.Minute)
	const year = 365 * 24 * time.Hour
	x.Clock.Advance(year + time.Hour)
	x.pass(time.Minute)
	x.Drain()
	x.Clock.Set(x.Clock.Now().Add(-year - time.Hour))
	began := len(x.tasks())
	x.pass(2*time.Hour + time.Minute)
	x.Drain()
	r := x.record()
	require.Len(t, x.tasks(), began+2)
	require.False(t, x.Clock.Now().Add(time.Hour).Before(r.Next.Std()))
	p := x.record()
	require.Contains(t, p.Problem(core.TimeOf(x.Clock.Now())), "a clock was ahead")
	require.Empty(t, p.Problem(core.TimeOf(x.Clock.Now().Add(48*time.Hour))))
}

// TestChangedSchedule: a new expression counts from the time of its deployment. A schedule whose record cannot
// be read begins anew.
func TestChangedSchedule(t *testing.T) {
	x := newTimed(t, hourly)
	x.pass(30 * time.Minute)
	s := hourly
	s.Cron = "45 * * * *"
	def := *x.def
	def.Schedule = &s
	x.def = &def
	x.pass(20 * time.Minute)
	x.Drain()
	x.want("1045")
	require.NoError(t,
		x.records.Ledger.Move(ctx, port.LedgerEntry{Key: "#schedule/" + x.def.Name, Output: []byte("{"), Version: int64(x.records.moves)}))
	x.records.moves++
	_, err := x.Supervisor.Sweep(ctx)
	require.NoError(t, err)
	p := x.record()
	require.Contains(t, p.Problem(core.TimeOf(x.Clock.Now())), "begins anew")
	x.pass(time.Hour)
	x.Drain()
	x.want("1045", "1145")
}

// TestScheduleThatCannotBeKept: each sweep reports why, and starts nothing.
func TestScheduleThatCannotBeKept(t *testing.T) {
	for want, change := range map[string]func(*timed){
		"cron":                      func(x *timed) { x.def.Schedule.Cron = "soon" },
		"no JSON object":            func(x *timed) { x.def.Schedule.Input = []byte("[]") },
		port.ErrUnavailable.Error(): func(x *timed) { x.records.fail[x.records.moves+1] = false },
	} {
		s := hourly
		s.Overlap = core.OverlapAllow
		x := newTimed(t, s)
		x.pass(time.Hour)
		change(x)
		x.Clock.Advance(61 * time.Minute)
		_, err := x.Supervisor.Sweep(ctx)
		require.ErrorContains(t, err, want)
		require.LessOrEqual(t, len(x.asked), 1, want)
	}
}

// TestOnlyOneOfTwoSupervisorsStarts: a Supervisor does not send an order that another one has stored
// meanwhile.
func TestOnlyOneOfTwoSupervisorsStarts(t *testing.T) {
	x := newTimed(t, hourly)
	x.pass(59 * time.Minute)
	x.Clock.Advance(2 * time.Minute)
	x.records.other = func() { // it comes between the read and the write
		x.records.other = nil
		_, err := x.SupervisorOn(x.Store, "another").Sweep(ctx)
		require.NoError(t, err)
	}
	_, err := x.Supervisor.Sweep(ctx)
	require.NoError(t, err)
	require.Len(t, x.asked, 1)
}
