package cli

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws/operate"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/internal/stacktest"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// smoked calls `stepkeeper doctor --smoke` over a stack of its own.
func smoked(t *testing.T, args ...string) result {
	t.Helper()
	return smokedBy(t, onStack(stacktest.New(t, stacktest.Memory()), ""), args...)
}

func smokedBy(t *testing.T, c call, args ...string) result {
	t.Helper()
	return c.run(t, append([]string{"doctor", "--smoke", "--stack", "Shop", "--region", "eu-central-1"}, args...)...)
}

func TestSmoke(t *testing.T) {
	never := write(t, "never.json", `{"end":"never"}`)
	half := write(t, "orders.jsonl", `{"end":""}`+"\n"+`{"end":"fail"}`+"\n")
	for name, test := range map[string]func(t *testing.T){
		"all orders are processed": func(t *testing.T) {
			smoked(t, "--orders", "40").want(t, failure.OK, "40 orders (smoke-", "40 Processed",
				"80 claims of steps, 0 failed", "audit: nothing found")
		},
		"half of the orders are undone": func(t *testing.T) {
			smoked(t, "--orders", "10", "--order", half).want(t, failure.NotProcessed,
				"5 Processed, 5 Compensated", "audit: nothing found")
		},
		"an order stops, as JSON": func(t *testing.T) {
			r := smoked(t, "--orders", "2", "--workflow", "halt", "--order", half, "--output", "json")
			r.want(t, failure.NotProcessed)
			report := decodeLines(t, r.out)[0]
			require.EqualValues(t, 2, report["orders"])
			require.Equal(t, map[string]any{"Processed": 1.0, "Error": 1.0}, report["ends"])
			require.Empty(t, report["problems"])
			require.Contains(t, report, "tookMaxSeconds")
		},
		"an order without an end": func(t *testing.T) {
			smoked(t, "--orders", "1", "--order", never, "--timeout", "3s").want(t, failure.General,
				"no end within 3s", "1 without an end", "given up after", "audit: 1 problem\n")
		},
		"orders without an end are reported one after the other": func(t *testing.T) {
			r := smoked(t, "--orders", "5", "--order", never, "--timeout", "3s", "--output", "json")
			var stuck []string
			for _, p := range decodeLines(t, r.out)[0]["problems"].([]any) {
				stuck = append(stuck, p.(map[string]any)["orderId"].(string))
			}
			require.Len(t, stuck, 5)
			require.IsIncreasing(t, stuck)
		},
		"an interrupted test audits nothing": func(t *testing.T) {
			c := onStack(stacktest.New(t, stacktest.Memory()), "")
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			interrupted, interrupt := context.WithCancel(t.Context())
			context.AfterFunc(ctx, interrupt)
			c.ctx = interrupted
			r := smokedBy(t, c, "--orders", "1", "--order", never)
			r.want(t, failure.General, "interrupted")
			require.NotContains(t, r.out, "audit")
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
}

// Before the first order, smoke reports whether the functions fit into the account. If the account cannot be
// read, smoke sends its orders all the same.
func TestSmokeReportsRoom(t *testing.T) {
	w := stacktest.New(t, stacktest.Memory())
	for name, c := range map[string]struct {
		room operate.Room
		err  error
		want string
	}{
		"too little": {
			operate.Room{Needs: 36, Limit: 10},
			nil,
			"may run 36 at a time, and the account allows 10",
		},
		"denied": {
			operate.Room{},
			errors.New("the permission lambda:GetAccountSettings is missing"),
			"not checked whether the functions fit",
		},
	} {
		t.Run(name, func(t *testing.T) {
			on := onStack(w, "")
			on.room = func() (operate.Room, error) { return c.room, c.err }
			r := smokedBy(t, on, "--orders", "1")
			r.want(t, failure.OK, "audit: nothing found", c.want)
			r = smokedBy(t, on, "--orders", "1", "--output", "json")
			require.Contains(t, decodeLines(t, r.err)[0]["warning"], c.want)
		})
	}
}

// The audit finds each disagreement between the state of an order and those of its steps.
func TestInconsistent(t *testing.T) {
	step := func(state core.State, first core.Time) client.Step {
		return client.Step{Name: "charge", State: state, FirstAt: first}
	}
	for name, c := range map[string]struct {
		state core.State
		step  client.Step
		ok    bool
	}{
		"processed, and its step too":                      {core.Processed, step(core.Processed, 5), true},
		"processed, and its step was skipped":              {core.Processed, step(core.Skipped, 0), true},
		"processed before its step":                        {core.Processed, step(core.Pending, 0), false},
		"processed though its step failed":                 {core.Processed, step(core.Failed, 5), false},
		"compensated, and its step too":                    {core.Compensated, step(core.Compensated, 5), true},
		"compensated before its step was claimed":          {core.Compensated, step(core.Pending, 0), true},
		"compensated, and the input of its step failed":    {core.Compensated, step(core.Failed, 0), true},
		"compensated, and its step is to be claimed again": {core.Compensated, step(core.Pending, 5), false},
		"compensated, and its step is not undone":          {core.Compensated, step(core.Processed, 5), false},
		"cancelled, and its step waits for its undo":       {core.Cancelled, step(core.UndoWait, 5), false},
		"stopped by its step":                              {core.Error, step(core.Failed, 5), true},
		"stopped while its step is being undone":           {core.Error, step(core.Compensating, 5), false},
	} {
		t.Run(name, func(t *testing.T) {
			task := &client.Task{State: c.state, Created: 1, EndedAt: 9, Steps: []client.Step{c.step}}
			if c.state == core.Error {
				task.Error = &client.TaskError{Message: "declined"}
			}
			require.Equal(t, c.ok, len(inconsistent(task)) == 0, "%v", inconsistent(task))
		})
	}
	t.Run("an end before the beginning, and no reason", func(t *testing.T) {
		got := inconsistent(&client.Task{State: core.Error, Created: 3, EndedAt: 2})
		require.Len(t, got, 2)
		require.Contains(t, got[1], "without a reason")
	})
}
