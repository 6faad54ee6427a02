package examples_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

const regions, customers = 50, 100

// nightlyBank has 50 regions of 100 customers each, and counts how often each customer's day was closed.
func nightlyBank(t *testing.T, refused func(customer string) bool) (*workflowtest.Workflow, map[string]int) {
	w := workflowtest.New(t, "nightly/nightly.yaml")
	closed := map[string]int{}
	w.Agent("directory").On("regions").Func(func(workflowtest.Call) (any, error) {
		var all []string
		for n := range regions {
			all = append(all, fmt.Sprintf("r%d", n))
		}
		return map[string]any{"regions": all}, nil
	})
	w.Agent("directory").On("customers").Func(func(c workflowtest.Call) (any, error) {
		var in struct{ Region string }
		if err := c.Into(&in); err != nil {
			return nil, err
		}
		var all []string
		for n := range customers {
			all = append(all, fmt.Sprintf("%s-c%d", in.Region, n))
		}
		return map[string]any{"customers": all}, nil
	})
	w.Agent("ledger").On("close-day").Func(func(c workflowtest.Call) (any, error) {
		var in struct{ Customer string }
		if err := c.Into(&in); err != nil {
			return nil, err
		}
		if refused(in.Customer) {
			return nil, workflowtest.Permanent("locked", "the account is locked")
		}
		closed[in.Customer]++
		return nil, nil
	})
	w.Agent("ledger").On("reopen").Return(nil)
	return w, closed
}

// 5,000 customers in two levels: each day is closed once, and those that fail are reported and found.
func TestFiveThousandCustomers(t *testing.T) {
	if testing.Short() {
		t.Skip("5,051 orders")
	}
	began := time.Now()
	w, closed := nightlyBank(t, func(c string) bool { return c == "r7-c3" || c == "r7-c4" || c == "r30-c99" })
	run := w.Submit(map[string]any{})
	run.UntilEnd(time.Hour)
	run.ExpectProcessed()
	run.ExpectOutput(map[string]any{"regions": regions, "failed": 3})
	require.Len(t, closed, regions*customers-3)
	for customer, times := range closed {
		if times != 1 {
			t.Errorf("the day of %s was closed %d times", customer, times)
		}
	}
	locked := run.Child("regions", 7).Child("customers", 3)
	locked.ExpectCompensated()
	task := locked.Task()
	require.NotNil(t, task.Error, "%+v", task.Error)
	require.Equal(t, "locked", task.Error.Code)
	document, err := json.Marshal(run.Task())
	require.NoError(t, err)
	t.Logf("%d orders in %.1f s; the whole run as JSON has %d bytes", 1+regions+regions*customers,
		time.Since(began).Seconds(), len(document))
}

// A region with more than five failures stops for the operator; the run waits for it, and names it.
func TestARegionThatFails(t *testing.T) {
	w, _ := nightlyBank(t, func(c string) bool { return len(c) == len("r7-c3") && c[:3] == "r7-" })
	run := w.Submit(map[string]any{})
	w.Advance(time.Hour)
	run.Child("regions", 7).ExpectError("customers")
	regions := run.Step("regions").Children
	require.NotNil(t, regions, "the run shows %+v", regions)
	require.Equal(t, []string{"order-1~regions~7"}, regions.Stopped)
}
