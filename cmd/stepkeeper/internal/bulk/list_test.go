package bulk_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/bulk"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// A plan states for each order what the command would do to it in its present state.
func TestWhatACommandWouldDo(t *testing.T) {
	at := func(step string) *view.TaskError { return &view.TaskError{Step: step, Message: "full"} }
	stopped := client.Task{State: core.Error, Error: at("charge")}
	for want, c := range map[string]struct {
		task   client.Task
		action bulk.Action
	}{
		"what it did would be undone": {stopped, bulk.Action{Command: "undo"}},
		"it would end as it stands":   {stopped, bulk.Action{Command: "close"}},
		"it would stay in Error, with charge stated as happened": {
			stopped, bulk.Action{Command: "resolve", Step: "charge", Fact: core.Happened},
		},
		"it would go on, with another input for charge": {stopped, bulk.Action{Command: "resubmit", Step: "charge"}},
		"it would go on with charge":                    {stopped, bulk.Action{Command: "resubmit"}},
		"its undo would go on": {
			client.Task{State: core.Error, Phase: core.Undoing, Error: at("charge")}, bulk.Action{Command: "resubmit"},
		},
		"it would go on": {client.Task{State: core.Error, Error: at("")}, bulk.Action{Command: "resubmit"}},
		"it would start again from the beginning": {
			client.Task{State: core.Compensated, Error: at("charge")}, bulk.Action{Command: "resubmit"},
		},
	} {
		c.task.Steps = []view.Step{{Name: "charge"}}
		c.task.Accepts = []view.Command{{Command: c.action.Command, Step: c.action.Step, Fact: c.action.Fact}}
		v, err := bulk.Would(t.Context(), nil, &c.task, c.action)
		require.NoError(t, err)
		require.Equal(t, client.Verdict{Command: c.action.Command, Accepted: true, Reason: want}, v)
		c.task.Accepts = []view.Command{{Command: "other"}}
		v, err = bulk.Would(t.Context(), nil, &c.task, c.action)
		require.NoError(t, err)
		require.False(t, v.Accepted)
		require.Equal(t, "it would be refused as the order is now", v.Reason)
	}
}

// A wait is resolved while its order goes forward.
func TestAResolvedWaitWouldEnd(t *testing.T) {
	over := view.Command{Command: "resolve", Step: "nap", Fact: core.Happened}
	v, err := bulk.Would(t.Context(), nil, &client.Task{State: core.Processing, Accepts: []view.Command{over}},
		bulk.Action{Command: "resolve", Step: "nap", Fact: core.Happened})
	require.NoError(t, err)
	require.Equal(t, client.Verdict{Command: "resolve", Accepted: true, Reason: "its wait nap would end"}, v)
}

// A refused move lists all differences, also if the server's reason is cut after the first of them. A reason
// that is not a difference stays.
func TestWhatAMoveWouldDo(t *testing.T) {
	plan := view.Plan{OrderID: "o", Differences: []protocol.Difference{
		{Step: "charge", What: "it is removed", Refused: true},
		{Step: "ship", What: "it is new"},
		{Step: "pack", What: "its agent is another one", Refused: true},
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(plan)
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL)
	require.NoError(t, err)
	for reason, want := range map[string]string{
		"the order cannot go on: step charge: it is removed; st…": "the definitions differ: step charge: it is " +
			"removed (refused); step ship: it is new (allowed); step pack: its agent is another one (refused)",
		"a step is in flight": "a step is in flight",
	} {
		plan.Reason = reason
		v, err := bulk.Would(t.Context(), c, &client.Task{OrderID: "o"}, bulk.Action{Command: "move"})
		require.NoError(t, err, reason)
		require.False(t, v.Accepted, reason)
		require.Equal(t, want, v.Reason, reason)
	}
	plan = view.Plan{OrderID: "o", Accepted: true}
	v, err := bulk.Would(t.Context(), c, &client.Task{OrderID: "o"}, bulk.Action{Command: "move"})
	require.NoError(t, err)
	require.Equal(t, "its steps would stay as they are: the definitions do not differ", v.Reason)
}

// A plan gives the reason for which an order takes no command.
func TestWhyACommandWouldBeRefused(t *testing.T) {
	child := &view.Parent{OrderID: "p", Step: "all", Index: 2}
	later := []view.LaterCommand{{Command: view.Command{Command: "undo"}}}
	for _, c := range []struct {
		task          client.Task
		command, want string
	}{
		{client.Task{State: core.Error, Parent: child}, "undo", "it is a child order"},
		{client.Task{State: core.Processing, Parent: child}, "cancel", "it is a child order"},
		{client.Task{State: core.Compensated, Parent: child}, "resubmit", "it is a child order"},
		{client.Task{State: core.Processing}, "undo", "only an order in Error takes undo; this one is Processing"},
		{client.Task{State: core.Processed}, "resolve", "only an order in Error takes resolve; this one is Processed"},
		{client.Task{State: core.Processing, Parent: child}, "close", "only an order in Error takes close; this one is Processing"},
		{client.Task{State: core.Closed}, "resubmit", "only an order in Error, or a Compensated one, takes resubmit; this one is Closed"},
		{client.Task{State: core.Error, AcceptsLater: later}, "undo", "a call may still take effect"},
	} {
		v, err := bulk.Would(t.Context(), nil, &c.task, bulk.Action{Command: c.command})
		require.NoError(t, err)
		require.False(t, v.Accepted)
		require.True(t, strings.HasPrefix(v.Reason, c.want), v.Reason)
	}
}

// A plan says that an order lacks the step of a command.
func TestACommandToAStepThatIsNotThere(t *testing.T) {
	v, err := bulk.Would(t.Context(), nil, &client.Task{State: core.Error, Steps: []view.Step{{Name: "charge"}}},
		bulk.Action{Command: "resolve", Step: "chrge", Fact: core.Happened})
	require.NoError(t, err)
	require.Equal(t, client.Verdict{Command: "resolve", Reason: "it has no step chrge"}, v)
}

// Orders with the same outcome are one group. The groups of refused orders come last. Both kinds are sorted
// by text.
func TestGroupsOfAPlan(t *testing.T) {
	got := ""
	for _, g := range bulk.Groups([]bulk.Order{
		{OrderID: "a", Would: "no", Result: bulk.Refused},
		{OrderID: "b", Would: "on with z"},
		{OrderID: "c", Would: "on with y"},
		{OrderID: "d", Would: "on with z"},
		{OrderID: "e", Would: "no"},
		{OrderID: "f", Would: "never", Result: bulk.Refused},
	}) {
		got += fmt.Sprintln(g.Would, g.Refused, g.IDs)
	}
	want := "no false [e]\non with y false [c]\non with z false [b d]\nnever " +
		"true [f]\nno true [a]\n"
	require.Equal(t, want, got)
}

// A server that cannot be reached gets no more commands. Single commands without a reply stop nothing.
func TestAServerThatIsAwayGetsNoMoreCommands(t *testing.T) {
	for name, c := range map[string]struct {
		lost    func(n int64) bool
		stopped string
	}{
		"away":         {func(int64) bool { return true }, "5 commands in a row got no response"},
		"now and then": {func(n int64) bool { return n%6 == 0 }, ""},
	} {
		var n atomic.Int64
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if c.lost(n.Add(1)) {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"id":"c","accepted":false,"reason":"it has ended"}`)
		}))
		defer s.Close()
		at, err := client.New(s.URL)
		require.NoError(t, err)
		orders := make([]bulk.Order, 60)
		for i := range orders {
			orders[i].OrderID = fmt.Sprint("o-", i)
		}
		file := filepath.Join(t.TempDir(), "list.jsonl")
		header := bulk.Header{
			Bulk: "b", Action: bulk.Action{Command: "undo", By: "ada", Reason: "why"},
			Where: bulk.Where{"step": "charge"}, Made: time.Now(),
			Pace: bulk.Pace{Rate: 1000, StopAt: 1, Patience: 0.1},
		}
		require.NoError(t, bulk.Create(file, header, orders))
		l, err := bulk.Open(file)
		require.NoError(t, err)
		r, err := l.Run(t.Context(), at, nil)
		require.NoError(t, errors.Join(err, l.Close()))
		lost := 10
		if c.stopped != "" {
			lost = 60 - len(r.NotSent)
		}
		require.Equal(t, c.stopped, r.Stopped, name)
		require.Equal(t, c.stopped != "", len(r.NotSent) > 0, name)
		require.Len(t, r.Unknown, lost, name)
		require.Equal(t, 60, len(r.Refused)+len(r.Unknown)+len(r.NotSent), name)
	}
}

// An order that goes on after a resubmit is fixed once it is past the step at which it stopped, however long it waits
// for something else then.
func TestAnOrderIsFixedOnceItIsPastItsStep(t *testing.T) {
	for name, c := range map[string]struct {
		stoppedAt string
		state     core.State
		want      bulk.Result
	}{
		"the step is done":                        {"charge", core.Processed, bulk.Fixed},
		"the undo of a step that lost a race":     {"charge", core.Compensated, bulk.Fixed},
		"the step is skipped":                     {"charge", core.Skipped, bulk.Fixed},
		"no step: the order was past its time":    {"", core.Waiting, bulk.Fixed},
		"the step is still being done":            {"charge", core.Processing, bulk.Unknown},
		"the step waits before its next attempt":  {"charge", core.Pending, bulk.Unknown},
		"the undo of the step is still attempted": {"charge", core.Compensating, bulk.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				var doc any = client.Verdict{ID: "c", Accepted: true}
				if r.Method == http.MethodGet {
					doc = view.Task{
						OrderID: "o", State: core.Processing, Command: 1,
						Steps: []view.Step{{Name: "charge", State: c.state}, {Name: "approve", State: core.Waiting}},
					}
				}
				_ = json.NewEncoder(w).Encode(doc)
			}))
			t.Cleanup(s.Close)
			at, err := client.New(s.URL)
			require.NoError(t, err)
			file := filepath.Join(t.TempDir(), "list.jsonl")
			require.NoError(t, bulk.Create(file, bulk.Header{
				Bulk: "b", Action: bulk.Action{Command: "resubmit", By: "ada", Reason: "why"},
				Where: bulk.Where{"workflow": "order"}, Made: time.Now(), Pace: bulk.Pace{Rate: 1000, StopAt: 1, Patience: 0.1},
			}, []bulk.Order{{OrderID: "o", Step: c.stoppedAt}}))
			l, err := bulk.Open(file)
			require.NoError(t, err)
			report, err := l.Run(t.Context(), at, nil)
			require.NoError(t, errors.Join(err, l.Close()))
			require.Equal(t, c.want == bulk.Fixed, len(report.Fixed) == 1)
			require.Equal(t, c.want == bulk.Unknown, len(report.Unknown) == 1)
		})
	}
}
