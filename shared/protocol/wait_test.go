package protocol_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// P34: the value of until is read as a time. If it is not a time, or too far ahead, the step fails before its
// claim, and its policy applies.
func TestUntil(t *testing.T) {
	year := noon.Add(366 * core.Day)
	for value, want := range map[string]string{
		`"2026-11-21T11:00:00Z"`:               "Processed: w Processed/1",
		`"2026-11-21T12:00:10+00:00"`:          "Processing: w Waiting/1",
		fmt.Sprintf("%q", year.String()):       "Processing: w Waiting/1",
		fmt.Sprintf("%q", (year + 1).String()): "Compensated: w Failed/0",
		`"2026-11-21t11:00:00z"`:               "Processed: w Processed/1",
		`"2026-11-21T23:59:60Z"`:               "Processing: w Waiting/1",
		`"1970-01-01T00:00:00Z"`:               "Processed: w Processed/1",
		`"1969-07-20T20:17:40+00:00"`:          "Processed: w Processed/1",
		`"0001-01-01T00:00:00Z"`:               "Processed: w Processed/1",
		`"9999-12-31T23:59:59.999Z"`:           "Compensated: w Failed/0",
		`"10s"`:                                "Processing: w Waiting/1",
		`"1.5h"`:                               "Processing: w Waiting/1",
		`"0s"`:                                 "Processed: w Processed/1",
		`"366d"`:                               "Processing: w Waiting/1",
		`"366d1ms"`:                            "Compensated: w Failed/0",
		`"999999999d"`:                         "Compensated: w Failed/0",
		`"-1s"`:                                "Compensated: w Failed/0",
		`"soon"`:                               "Compensated: w Failed/0", `""`: "Compensated: w Failed/0",
		`null`: "Compensated: w Failed/0", `17`: "Compensated: w Failed/0",
	} {
		w := waitStep("w", 0)
		w.Input = json.RawMessage(`"template"`)
		def := workflow(w)
		def.Expr = &expressions{input: map[int]func(core.Environment) (json.RawMessage, error){
			0: func(core.Environment) (json.RawMessage, error) { return json.RawMessage(value), nil },
		}}
		d := newDesk(t, def)
		d.decide(d.submit)
		require.Equal(t, want, states(d.task), value)
	}
}

// P34, P49: a wait shows the time at which it ends, or has ended. A move does not change that time, and does
// not change what is shown.
func TestAMovedWaitShowsWhatCounts(t *testing.T) {
	waiting := func(until string, spread core.Duration) *core.Definition {
		w := waitStep("w", 0)
		w.Input = json.RawMessage(fmt.Sprintf("%q", until))
		w.Wait.Spread = spread
		def := then(workflow(w))
		def.Hash = fmt.Sprint(until, spread)
		def.Expr = &expressions{input: map[int]func(core.Environment) (json.RawMessage, error){
			0: func(core.Environment) (json.RawMessage, error) {
				return json.RawMessage(fmt.Sprintf("%q", until)), nil
			},
		}}
		return def
	}
	const first, second = "2026-11-21T14:00:00Z", "2026-11-22T14:00:00Z"
	for _, x := range []struct {
		name, until string
		spread      core.Duration // spread of the new definition; the old one has 10 minutes
		stored      bool          // shows the stored time instead of the expression's
	}{
		{"the same until and spread", first, 10 * core.Minute, false},
		{"another until", second, 10 * core.Minute, true},
		{"another spread", first, 20 * core.Minute, true},
	} {
		for _, state := range []core.State{core.Waiting, core.Processed} {
			d := newDesk(t, waiting(first, 10*core.Minute))
			d.decide(d.submit)
			want := first
			if x.stored {
				want = d.task.Step("w").Wait.At.String()
			}
			if state == core.Processed {
				d.wait(3 * core.Hour)
				d.decide(core.Wake{Step: "w", Attempt: 1})
			}
			to := waiting(x.until, x.spread)
			to.Hash += " moved"
			d.decide(core.Command{Name: core.Move, ID: "m", To: &core.Target{Definition: to}})
			s := d.task.Step("w")
			require.Equal(t, to.Hash, d.task.Definition, x.name)
			require.Equal(t, state, s.State, x.name)
			shown, err := protocol.InputOf(to, d.order, d.task, 0)
			require.NoError(t, err, x.name)
			require.Equal(t, fmt.Sprintf("%q", want), string(shown), x.name)
		}
	}
}

// P34: the share of the spread differs by order, lies within it, and is the same each time.
func TestSpread(t *testing.T) {
	const spread = 10 * core.Minute
	least := spread
	most := core.Duration(0)
	for n := range 200 {
		w := waitStep("w", core.Minute)
		w.Wait.Spread = spread
		var wakeAt [2]core.Time
		for k := range wakeAt {
			d := newDesk(t, workflow(w))
			d.submit.OrderID = fmt.Sprintf("order-%d", n)
			d.decide(d.submit)
			wakeAt[k] = d.task.Step("w").Wait.At
		}
		share := wakeAt[0].Sub(noon.Add(core.Minute))
		least = min(least, share)
		most = max(most, share)
		require.Equal(t, wakeAt[1], wakeAt[0], "%+v", n)
		require.GreaterOrEqual(t, share, core.Duration(0), n)
		require.LessOrEqual(t, share, spread, n)
	}
	require.LessOrEqual(t, least, spread/20, "200 shares lie between %s and %s of %s", least, most, spread)
	require.GreaterOrEqual(t, most, spread-spread/20, "200 shares lie between %s and %s of %s", least, most, spread)
}

// A task counts as only waiting if each of its due times is the end of a wait.
func TestTasksThatOnlyWait(t *testing.T) {
	for _, c := range []struct {
		task core.State
		wait core.State // state of the first step
		call core.State // state of the second step
		want bool
	}{
		{core.Processing, core.Waiting, core.Processed, true},
		{core.Compensating, core.Waiting, core.Compensated, true},
		{core.Processing, core.Waiting, core.Processing, false},
		{core.Processing, core.Waiting, core.Pending, false}, // handed back: it was attempted
		{core.Compensating, core.Waiting, core.UndoWait, false},
		{core.Compensating, core.Waiting, core.Failed, false},
		{core.Processing, core.Processed, core.Processing, false},
		{core.Processing, core.Processed, core.Processed, false},
		{core.Error, core.Waiting, core.Failed, false},
		{core.Processed, core.Processed, core.Processed, false},
	} {
		task := &protocol.Task{ProcessState: c.task, Steps: []protocol.Step{
			{Name: "w", First: protocol.First{Nth: 1}, State: c.wait},
			{Name: "a", First: protocol.First{Nth: 2}, State: c.call},
			{Name: "later", State: core.Pending},
		}}
		require.Equal(t, c.want, protocol.OnlyWaits(task), "%+v", c.task)
	}
}
