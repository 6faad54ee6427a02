package cli

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws/operate"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/internal/stacktest"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

func TestSmoke(t *testing.T) {
	w := stacktest.New(t, stacktest.Memory())
	run := func(args ...string) result {
		return onStack(w, "").run(t, append([]string{"smoke", "--stack", "Shop", "--region", "eu-central-1"},
			args...)...)
	}
	run("--orders", "40").want(t, failure.OK, "40 orders (smoke-", "40 Processed",
		"80 claims of steps, 0 failed", "audit: nothing found")
	file := write(t, "orders.jsonl", `{"end":""}`+"\n"+`{"end":"fail"}`+"\n")
	run("--orders", "10", "--order", file).want(t, failure.NotProcessed, "5 Processed, 5 Compensated",
		"audit: nothing found")
	r := run("--orders", "2", "--workflow", "halt", "--order", file, "--output", "json")
	r.want(t, failure.NotProcessed)
	if d := decodeLines(t, r.out)[0]; d["orders"] != 2.0 || d["ends"].(map[string]any)["Error"] != 1.0 ||
		len(d["problems"].([]any)) != 0 || d["tookMaxSeconds"] == nil {
		t.Errorf("%v", d)
	}
	run("--orders", "1", "--order", write(t, "never.json", `{"end":"never"}`), "--within", "3s").
		want(t, failure.General, "no end within 3s", "1 without an end", "given up after",
			"audit: 1 problem\n")
	r = run("--orders", "5", "--order", write(t, "never.json", `{"end":"never"}`), "--within", "3s",
		"--output", "json")
	var stuck []string
	for _, p := range decodeLines(t, r.out)[0]["problems"].([]any) {
		stuck = append(stuck, p.(map[string]any)["orderId"].(string))
	}
	if len(stuck) != 5 || !slices.IsSorted(stuck) {
		t.Errorf("problems of %q, want the 5 orders one after the other", stuck)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	interrupted := onStack(w, "")
	interrupted.ctx = ctx
	r = interrupted.run(t, "smoke", "--stack", "Shop", "--region", "eu-central-1", "--orders", "1", "--order",
		write(t, "never.json", `{"end":"never"}`))
	if r.want(t, failure.General, "interrupted"); strings.Contains(r.out, "audit") {
		t.Errorf("an audit of orders that were not waited for: %s", r.out)
	}
	run("--orders", "0").want(t, failure.Usage, "out of range")
	run("--within", "0s").want(t, failure.Usage, "out of range")
	run("--workflow", "booking").want(t, failure.Usage, "add --order FILE")
	run("--order", filepath.Join(file, "below")).want(t, failure.Usage, "orders cannot be read")
	run("--order", "no-such.json").want(t, failure.NotFound, "no-such.json")
	run("--order", write(t, "bad.json", "nonsense")).want(t, failure.Usage, "bad.json cannot be used")
	run("--order", write(t, "none.json", "")).want(t, failure.Usage, "holds no orders")
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
		"too little": {operate.Room{Needs: 36, Limit: 10}, nil,
			"may run 36 at a time, and the account allows 10"},
		"reserved": {operate.Room{Needs: 36, Limit: 1000, Shared: 30, Unreserved: 29}, nil,
			"without reserved concurrency may run 30 at a time, and the account leaves them 29 of its 1000"},
		"denied": {operate.Room{}, errors.New("the permission lambda:GetAccountSettings is missing"),
			"not checked whether the functions fit"},
		"enough": {operate.Room{Needs: 36, Limit: 36}, nil, ""},
	} {
		on := onStack(w, "")
		on.room = func() (operate.Room, error) { return c.room, c.err }
		r := on.run(t, "smoke", "--stack", "Shop", "--region", "eu-central-1", "--orders", "1")
		r.want(t, failure.OK, "audit: nothing found", c.want)
		if c.want == "" && strings.Contains(r.err, "fit") {
			t.Errorf("%s: %s", name, r.err)
		}
	}
}

// The audit finds each disagreement.
func TestInconsistent(t *testing.T) {
	step := func(state core.State, first core.Time) client.Step {
		return client.Step{Name: "charge", State: state, FirstAt: first}
	}
	for _, c := range []struct {
		state core.State
		step  client.Step
		ok    bool
	}{
		{core.Processed, step(core.Processed, 5), true},
		{core.Processed, step(core.Skipped, 0), true},
		{core.Processed, step(core.Pending, 0), false},
		{core.Processed, step(core.Failed, 5), false},
		{core.Compensated, step(core.Compensated, 5), true},
		{core.Compensated, step(core.Pending, 0), true},
		{core.Compensated, step(core.Failed, 0), true}, // its input failed: never claimed
		{core.Compensated, step(core.Pending, 5), false},
		{core.Compensated, step(core.Processed, 5), false},
		{core.Cancelled, step(core.UndoWait, 5), false},
		{core.Error, step(core.Failed, 5), true},
		{core.Error, step(core.Compensating, 5), false},
	} {
		task := &client.Task{State: c.state, Created: 1, EndedAt: 9, Steps: []client.Step{c.step}}
		if c.state == core.Error {
			task.Error = &client.TaskError{Message: "declined"}
		}
		if got := inconsistent(task); (len(got) == 0) != c.ok {
			t.Errorf("%s with a step %s: %v", c.state, c.step.State, got)
		}
	}
	if got := inconsistent(&client.Task{State: core.Error, Created: 3, EndedAt: 2}); len(got) != 2 ||
		!strings.Contains(got[1], "without a reason") {
		t.Error(got)
	}
}
