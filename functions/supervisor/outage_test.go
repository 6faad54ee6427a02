package supervisor_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/supervisor"
	"github.com/stepkeeper/stepkeeper/internal/actorstest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// P32, P27: an attempt that a start of the process or a sleep of the machine has interrupted proves nothing by the age
// of its request, even if the queue is empty. Another attempt counts.
func TestAnInterruptedAttemptIsNotCounted(t *testing.T) {
	const after = 31 * time.Second
	for name, c := range map[string]struct {
		made, swept time.Duration // since the claim
		counts      bool
	}{
		"claimed in these queues":                     {-time.Second, after, true},
		"claimed before these queues":                 {time.Second, after, false},
		"claimed in queues of a clock that was ahead": {time.Hour, after, true},
		"found late, but not by a sleep":              {-time.Second, after + time.Minute - time.Second, true},
		"found after a sleep":                         {-time.Second, 60 * time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := begun(t, actorstest.Definition(), 1, func(w *actorstest.World) {
				w.Sweeping = func(config *supervisor.Config) {
					config.QueuesSince = core.TimeOf(w.Clock.Now().Add(c.made))
				}
			})
			taken(w)
			allowance := w.Task("o-1").Step("a").Claim.Allowance
			w.Clock.Advance(c.swept)
			r := sweep(t, w)
			if c.counts {
				require.Equal(t, []int{2, 0}, []int{r.HandedBack, r.Uncounted})
				return
			}
			require.Equal(t, []int{0, 2}, []int{r.HandedBack, r.Uncounted})
			require.Equal(t, allowance, w.Task("o-1").Step("a").Claim.Allowance)
		})
	}
}

// P45: while an agent does not call an operation, every ten seconds one of the steps that wait for it is woken
// early, and no other step. When the agent calls again, all of them are woken.
func TestOneStepProbesAnOutage(t *testing.T) {
	outage := port.Outage{Agent: "agent-a", Code: core.CodeBreakerOpen}
	woken := 0
	w := actorstest.New(t, actorstest.Definition())
	w.Sweeping = func(c *supervisor.Config) {
		c.Outages = func(context.Context) ([]port.Outage, error) { return []port.Outage{outage}, nil }
		c.Woken = func(_ context.Context, o port.Outage) error {
			require.Equal(t, outage, o)
			woken++
			return nil
		}
	}
	w.Boot()
	for _, id := range []string{"o-1", "o-2", "o-3"} {
		w.Send(port.Intake, actorstest.Order(id))
	}
	for w.Handle(port.Intake) > 0 {
	}
	requests := w.Take("requests-agent-a")
	w.Take("requests-agent-b")
	require.Len(t, requests, 3)
	early := func() (n int) {
		for _, d := range w.Take(port.Control) {
			if wake, ok := d.Value.(*message.Control).Event.(core.Wake); ok && wake.Early {
				require.Equal(t, "a", wake.Step)
				n++
			}
		}
		return n
	}
	sweep(t, w)
	require.Zero(t, early(), "no step waits for the agent")
	for _, d := range requests {
		r := actorstest.Later(d.Value.(*message.Request))
		r.Error.Code = core.CodeBreakerOpen
		w.Send(port.Replies, r)
	}
	for w.Handle(port.Replies) > 0 {
	}
	sweep(t, w)
	require.Zero(t, early(), "within ten seconds")
	for range 3 {
		w.Clock.Advance(10 * time.Second)
		sweep(t, w)
		sweep(t, w)
		require.Equal(t, 1, early())
	}
	w.Clock.Set(w.Clock.Now().Add(-5 * time.Minute))
	sweep(t, w)
	require.Equal(t, 1, early(), "after the clock was set back")
	require.Zero(t, woken)
	w.Clock.Advance(5 * time.Minute)
	outage.Ended = core.TimeOf(w.Clock.Now())
	sweep(t, w)
	require.Equal(t, []int{3, 1}, []int{early(), woken})
}
