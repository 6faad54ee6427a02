package examples_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

// nightlyBank has regions of 100 customers each. It counts how often each customer's day was closed, except for the
// locked ones.
func nightlyBank(t *testing.T, regions int, locked ...string) (*workflowtest.Workflow, map[string]int) {
	w := workflowtest.New(t, "nightly/nightly.yaml").AllowUnscripted()
	numbered := func(n int, prefix string) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprint(prefix, i))
		}
		return all
	}
	closed := map[string]int{}
	w.Agent("directory").On("regions").Return(map[string]any{"regions": numbered(regions, "r")})
	w.Agent("directory").On("customers").Func(func(c workflowtest.Call) (any, error) {
		var in struct{ Region string }
		err := c.Into(&in)
		return map[string]any{"customers": numbered(100, in.Region+"-c")}, err
	})
	w.Agent("ledger").On("close-day").Func(func(c workflowtest.Call) (any, error) {
		var in struct{ Customer string }
		err := c.Into(&in)
		if slices.Contains(locked, in.Customer) {
			return nil, workflowtest.Permanent("locked", "the account is locked")
		}
		closed[in.Customer]++
		return nil, err
	})
	return w, closed
}

// 5,000 customers in two levels: each day is closed once, and those that fail are reported and found.
func TestFiveThousandCustomers(t *testing.T) {
	if testing.Short() {
		t.Skip("5,051 orders")
	}
	w, closed := nightlyBank(t, 50, "r7-c3", "r7-c4", "r30-c99")
	run := w.Submit(map[string]any{}).UntilEnd(time.Hour)
	run.ExpectProcessed()
	run.ExpectOutput(map[string]any{"regions": 50, "failed": 3})
	require.Len(t, closed, 50*100-3)
	for customer, times := range closed {
		require.Equal(t, 1, times, customer)
	}
	locked := run.Child("regions", 7).Child("customers", 3)
	locked.ExpectCompensated()
	require.Equal(t, "locked", locked.Task().Error.Code)
}

// A region with more than five failures stops for the operator; the run waits for it, and names it.
func TestARegionThatFails(t *testing.T) {
	w, _ := nightlyBank(t, 2, "r0-c1", "r0-c2", "r0-c3", "r0-c4", "r0-c5",
		"r1-c1", "r1-c2", "r1-c3", "r1-c4", "r1-c5", "r1-c6")
	run := w.Submit(map[string]any{})
	w.Advance(time.Hour)
	run.Child("regions", 0).ExpectProcessed()
	run.Child("regions", 1).ExpectError("customers")
	require.Equal(t, []string{"order-1~regions~1"}, run.Step("regions").Children.Stopped)
}
