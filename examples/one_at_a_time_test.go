package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

// hall has a register with one holder for each machine.
func hall(t *testing.T) (*workflowtest.Workflow, map[string]string) {
	w := workflowtest.New(t, "one-at-a-time/one-at-a-time.yaml").AllowUnscripted()
	holders := map[string]string{}
	type grant struct{ Machine, By string }
	w.Agent("register").On("take").Func(func(c workflowtest.Call) (any, error) {
		var in grant
		err := c.Into(&in)
		if holder := holders[in.Machine]; holder != "" && holder != in.By {
			return nil, workflowtest.NotYet(time.Second)
		}
		holders[in.Machine] = in.By
		return nil, err
	})
	w.Agent("register").On("give-back").Func(func(c workflowtest.Call) (any, error) {
		var in grant
		err := c.Into(&in)
		if holders[in.Machine] == in.By {
			delete(holders, in.Machine)
		}
		return nil, err
	})
	w.Agent("machine").On("cut").Return(nil).After(10 * time.Second)
	return w, holders
}

// Three orders for one machine work one after the other, and one for another machine beside them.
func TestOnlyOneWorks(t *testing.T) {
	w, holders := hall(t)
	var runs []*workflowtest.Run
	for _, machine := range []string{"saw", "saw", "saw", "drill"} {
		runs = append(runs, w.Submit(map[string]any{"machine": machine}))
	}
	var cuts []time.Time
	for _, run := range runs {
		run.UntilEnd(10 * time.Minute)
		run.ExpectProcessed()
		cuts = append(cuts, run.Calls("machine.cut")[0].At)
	}
	require.GreaterOrEqual(t, cuts[1].Sub(cuts[0]), 10*time.Second)
	require.GreaterOrEqual(t, cuts[2].Sub(cuts[1]).Abs(), 10*time.Second)
	require.Zero(t, cuts[3].Sub(cuts[0]))
	require.Empty(t, holders)
}

// An order that fails while it has the machine gives it back.
func TestAFailureGivesTheMachineBack(t *testing.T) {
	w, holders := hall(t)
	w.Agent("machine").On("cut").Fail(workflowtest.Permanent("blunt", "the saw is blunt"))
	w.Submit(map[string]any{"machine": "saw"}).UntilEnd(time.Hour).ExpectCompensated()
	require.Empty(t, holders)
}

// One that waits for the machine can be cancelled, and takes nothing from who has it.
func TestACancelWhileItWaits(t *testing.T) {
	w, holders := hall(t)
	holders["saw"] = "somebody else"
	run := w.Submit(map[string]any{"machine": "saw"})
	w.Advance(time.Hour)
	require.True(t, run.Cancel().Accepted)
	run.UntilEnd(time.Hour)
	run.ExpectCancelled()
	run.ExpectCalls("machine.cut", 0)
	require.Equal(t, "somebody else", holders["saw"])
}
