package embedded_test

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// total is the sum of a series; false if there is none of that name.
func total(s view.Statistics, kind, of string) (sum int, there bool) {
	for _, x := range s.Series {
		if x.Kind == kind && x.Of == of {
			for _, n := range x.Values {
				if n != nil {
					sum += *n
				}
			}
			return sum, true
		}
	}
	return 0, false
}

// Statistics report what ended in which interval, what is in flight and waits now, and which attempts failed.
func TestStatistics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, "30s")
		w.options.StatisticsEvery = 2 * time.Second // a sample that is late by half of it leaves a gap
		s := w.open()
		defer closeRuntime(t, s)
		read := func() view.Statistics {
			t.Helper()
			x, err := s.Statistics(t.Context())
			require.NoError(t, err)
			return x
		}
		for _, id := range []string{"o-1", "o-2", "o-3"} {
			submit(t, s, id, "")
			wait(t, s, id)
		}
		w.shop.refuse.Store(true)
		submit(t, s, "o-4", "")
		wait(t, s, "o-4")
		eventually(t, "the ends are counted", func() bool {
			x := read()
			done, _ := total(x, view.SeriesEnded, string(core.Processed))
			undone, _ := total(x, view.SeriesEnded, string(core.Compensated))
			return done == 3 && undone == 1
		})
		x := read()
		require.Equal(t, 2*core.Second, x.Interval)
		require.NotZero(t, x.From)
		require.Empty(t, x.Unknown)
		require.NotNil(t, x.Overdue, "%+v", x)
		require.Zero(t, x.Overdue.Orders)
		require.True(t, slices.IsSortedFunc(x.Series,
			func(a, b view.Series) int { return strings.Compare(a.Kind+" "+a.Of, b.Kind+" "+b.Of) }))
		for i := range x.Series {
			require.Len(t, x.Series[i].Values, len(x.Series[0].Values))
		}
		for _, series := range x.Series {
			require.Contains(t, []string{view.SeriesEnded, view.SeriesOrders, view.SeriesWaiting}, series.Kind)
			if series.Kind == view.SeriesWaiting && series.Of != "shop" {
				t.Errorf("requests of %q wait, which is no agent", series.Of)
			}
		}
		for _, want := range [][2]string{
			{view.SeriesOrders, "Error"},
			{view.SeriesOrders, view.OrdersInFlight},
			{view.SeriesWaiting, "shop"},
		} {
			_, there := total(x, want[0], want[1])
			require.True(t, there, "there is no series %q", want)
		}
		if a := x.Agents; len(a) != 1 || a[0].Agent != "shop" || *a[0].Failed != 1 || *a[0].Done < 6 ||
			a[0].Unknown != "" || len(a[0].NotCalled) > 0 {
			t.Errorf("%+v", a)
		}
		w.shop.hang.Store(true)
		submit(t, s, "o-5", "")
		eventually(t, "an order is in flight",
			func() bool { n, _ := total(read(), view.SeriesOrders, view.OrdersInFlight); return n > 0 })
	})
}

// The series are those of the last hour at most, and the agents stand in the order of their names.
func TestStatisticsAreBounded(t *testing.T) {
	w := newFixture(t, "5s")
	w.stopping()
	w.options.StatisticsEvery = time.Millisecond
	for _, name := range []string{"mail", "bank", "post", "depot"} {
		w.options.Operations[name] = worker.Operations{worker.AnyOperation: {Run: w.shop.run}}
	}
	s := w.open()
	defer closeRuntime(t, s)
	submit(t, s, "o-1", "")
	wait(t, s, "o-1")
	var from core.Time
	eventually(t, "the order in Error is counted, and the first intervals are left out", func() bool {
		x, err := s.Statistics(t.Context())
		require.NoError(t, err)
		var names []string
		for _, a := range x.Agents {
			names = append(names, a.Agent)
		}
		require.Equal(t, []string{"bank", "depot", "mail", "post", "shop"}, names)
		from = cmp.Or(from, x.From)
		n, _ := total(x, view.SeriesOrders, string(core.Error))
		return n > 0 && x.From > from
	})
}

// A machine that slept leaves a gap, and not a peak: what ended before it wakes is of no interval.
func TestStatisticsHaveGaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, "30s")
		var offset atomic.Int64
		w.options.Clock = port.ClockFunc(func() time.Time { return time.Now().Add(time.Duration(offset.Load())) })
		w.options.StatisticsEvery = 100 * time.Millisecond
		s := w.open()
		defer closeRuntime(t, s)
		of := func(kind string) []*int {
			x, err := s.Statistics(t.Context())
			if err != nil || len(x.Series) == 0 {
				return nil
			}
			return x.Series[slices.IndexFunc(x.Series, func(x view.Series) bool { return x.Kind == kind })].Values
		}
		values := func() []*int { return of(view.SeriesOrders) }
		eventually(t, "two intervals", func() bool { return len(values()) >= 2 })
		offset.Store(int64(10 * time.Second))
		eventually(t, "it is reported how many ended in an interval, but not in the first one after the gap",
			func() bool {
				ended := of(view.SeriesEnded)
				all := values()
				for i := 51; i < min(len(ended), len(all)); i++ {
					if ended[i] != nil {
						return ended[i-1] == nil && all[i-1] != nil
					}
				}
				return false
			})
		missing := 0
		for _, n := range values() {
			if n == nil {
				missing++
			}
		}
		require.GreaterOrEqual(t, missing, 95)
	})
}

// A clock that was ahead, and a machine that slept for longer than the series last, leave only what was measured since.
func TestStatisticsAfterLeaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, "30s")
		var offset atomic.Int64
		w.options.Clock = port.ClockFunc(func() time.Time { return time.Now().Add(time.Duration(offset.Load())) })
		w.options.StatisticsEvery = 10 * time.Second
		s := w.open()
		defer closeRuntime(t, s)
		for _, leap := range []time.Duration{30 * time.Minute, 0, 1000 * time.Hour} {
			time.Sleep(time.Minute)
			offset.Store(int64(leap))
			time.Sleep(time.Minute)
			x, err := s.Statistics(t.Context())
			require.NoError(t, err)
			require.WithinRange(t, x.From.Std(), w.options.Clock.Now().Add(-time.Hour), w.options.Clock.Now())
		}
	})
}
