package bulk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/bulk"
	"github.com/stepkeeper/stepkeeper/dev/api"
	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// A plan states for each order what the command would do to it in its present state.
func TestWhatACommandWouldDo(t *testing.T) {
	stopped := client.Task{State: core.Error, Error: &view.TaskError{Step: "charge"}}
	undoing := client.Task{State: core.Error, Phase: core.Undoing, Error: &view.TaskError{Step: "charge"}}
	for _, c := range []struct {
		task   client.Task
		action bulk.Action
		want   string
	}{
		{stopped, bulk.Action{Command: "undo"}, "what it did would be undone"},
		{stopped, bulk.Action{Command: "cancel"}, "what it did would be undone"},
		{stopped, bulk.Action{Command: "close"}, "it would end as it stands"},
		{
			stopped,
			bulk.Action{Command: "resolve", Step: "charge", Fact: core.Happened},
			"it would stay in Error, with charge stated as happened",
		},
		{
			stopped,
			bulk.Action{Command: "resubmit", Step: "charge"},
			"it would go on, with another input for charge",
		},
		{stopped, bulk.Action{Command: "resubmit"}, "it would go on with charge"},
		{undoing, bulk.Action{Command: "resubmit"}, "its undo would go on"},
		{client.Task{State: core.Error}, bulk.Action{Command: "resubmit"}, "it would go on"},
		{
			client.Task{State: core.Error, Error: &view.TaskError{Message: "full"}},
			bulk.Action{Command: "resubmit"},
			"it would go on",
		},
		{
			client.Task{State: core.Compensated, Error: &view.TaskError{Step: "charge"}},
			bulk.Action{Command: "resubmit"},
			"it would start again from the beginning",
		},
	} {
		c.task.Accepts = []view.Command{{Command: c.action.Command, Step: c.action.Step, Fact: c.action.Fact}}
		v, err := bulk.Would(t.Context(), nil, &c.task, c.action)
		require.NoError(t, err)
		require.True(t, v.Accepted)
		require.Equal(t, c.want, v.Reason)
		require.Equal(t, c.action.Command, v.Command)
		c.task.Accepts = []view.Command{{Command: "other"}}
		v, err = bulk.Would(t.Context(), nil, &c.task, c.action)
		require.NoError(t, err)
		require.False(t, v.Accepted)
		require.Equal(t, "it would be refused as the order is now", v.Reason)
	}
}

// A refused move lists all differences, also if the server's reason is cut after the first of them. A reason
// that is not a difference stays.
func TestWhyAMoveWouldBeRefused(t *testing.T) {
	plan := view.Plan{Differences: []protocol.Difference{
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
}

// A plan gives the reason for which an order takes no command.
func TestWhyACommandWouldBeRefused(t *testing.T) {
	child := &view.Parent{OrderID: "p", Step: "all", Index: 2}
	undo := view.Command{Command: "undo"}
	for _, c := range []struct {
		task   client.Task
		action bulk.Action
		want   string
	}{
		{client.Task{State: core.Error, Parent: child}, bulk.Action{Command: "undo"}, "it is a child order"},
		{
			client.Task{State: core.Processing, Parent: child},
			bulk.Action{Command: "cancel"},
			"it is a child order",
		},
		{
			client.Task{State: core.Compensated, Parent: child},
			bulk.Action{Command: "resubmit"},
			"it is a child order",
		},
		{
			client.Task{State: core.Processing},
			bulk.Action{Command: "undo"},
			"only an order in Error takes undo; this one is Processing",
		},
		{
			client.Task{State: core.Processed},
			bulk.Action{Command: "resolve", Step: "a"},
			"only an order in Error takes resolve; this one is Processed",
		},
		{
			client.Task{State: core.Processing, Parent: child},
			bulk.Action{Command: "close"},
			"only an order in Error takes close; this one is Processing",
		},
		{
			client.Task{State: core.Closed},
			bulk.Action{Command: "resubmit"},
			"only an order in Error, or a Compensated one, takes resubmit; this one is Closed",
		},
		{
			client.Task{State: core.Error, AcceptsLater: []view.LaterCommand{{Command: undo}}},
			bulk.Action{Command: "undo"},
			"a call may still take effect",
		},
	} {
		v, err := bulk.Would(t.Context(), nil, &c.task, c.action)
		require.NoError(t, err)
		require.False(t, v.Accepted)
		require.True(t, strings.HasPrefix(v.Reason, c.want), v.Reason)
	}
}

// A command that does not exist is not sent.
func TestAnUnknownCommandIsNotSent(t *testing.T) {
	_, err := (&bulk.Action{Command: "renew"}).Send(t.Context(), nil, "o-1", 0, "c-1")
	require.ErrorIs(t, err, client.ErrInvalid)
	require.ErrorContains(t, err, `no command "renew"`)
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

// A list has all orders that match, not only those of the first page, oldest first.
func TestSelectReadsEveryPage(t *testing.T) {
	pages := map[string]view.Page{
		"":  {Orders: []view.Summary{{OrderID: "o-5"}, {OrderID: "o-4"}}, Next: "b"},
		"b": {Orders: []view.Summary{{OrderID: "o-3"}, {OrderID: "o-2"}}, Next: "c"},
		"c": {Orders: []view.Summary{{OrderID: "o-1"}}},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if id, one := strings.CutPrefix(r.URL.Path, "/v1/orders/"); one {
			_ = json.NewEncoder(w).Encode(view.Task{OrderID: id})
			return
		}
		_ = json.NewEncoder(w).Encode(pages[r.URL.Query().Get("cursor")])
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL)
	require.NoError(t, err)
	orders, err := bulk.Select(t.Context(), c, bulk.Where{"state": "error"}, bulk.Action{Command: "close"}, bulk.Unseen)
	require.NoError(t, err)
	var ids []string
	for _, o := range orders {
		ids = append(ids, o.OrderID)
	}
	require.Equal(t, []string{"o-1", "o-2", "o-3", "o-4", "o-5"}, ids)
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
			fmt.Fprint(w, `{"accepted":false,"reason":"it has ended"}`)
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

// flows holds a workflow whose call is refused until its service is fixed, and workflows that are its
// parents.
var flows = map[string]string{
	"one": `workflow: one
steps:
  charge: {agent: shop, operation: charge, input: {n: 1}, timeout: 1s, onFailure: stop, undo: refund, grade: fenced}
`,
	"many": `workflow: many
steps:
  all: {each: "${ order.items }", workflow: one, input: {n: "${ item }"}}
  ship: {agent: shop, operation: ship, input: {n: 1}, timeout: 1s, grade: fenced, undo: none, after: [all], onFailure: undo}
`,
	"nested": `workflow: nested
steps:
  inner: {each: "${ order.items }", workflow: many, input: {items: [1]}}
`,
}

// site is a server with a service that refuses the calls of some operations.
type site struct {
	*testing.T
	client  *client.Client
	refuses atomic.Pointer[string]
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{T: t}
	dir := t.TempDir()
	for name, text := range flows {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o600))
	}
	run := func(_ context.Context, c worker.Call) (any, error) {
		if c.Name == *s.refuses.Load() {
			return nil, worker.Permanent(errors.New("no"))
		}
		return nil, nil
	}
	s.refusing("charge")
	r, err := embedded.Open(t.Context(), embedded.Options{
		Data: t.TempDir(), Workflows: dir, SweepEvery: 50 * time.Millisecond,
		Log:        slog.New(slog.DiscardHandler),
		Operations: map[string]worker.Operations{"shop": {worker.AnyOperation: {Run: run}}},
	})
	require.NoError(t, err)
	server := httptest.NewServer(api.New(api.Config{Backend: r}))
	t.Cleanup(func() {
		server.Close()
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	s.client, err = client.New(server.URL)
	require.NoError(t, err)
	return s
}

func (s *site) refusing(operation string) { s.refuses.Store(&operation) }

func (s *site) submit(workflow, id string) {
	s.Helper()
	o := client.Order{ID: id, Workflow: workflow, Content: map[string]any{"items": []int{7}}}
	_, err := s.client.Submit(s.Context(), o)
	require.NoError(s, err)
}

// until waits until an order exists and is in the state.
func (s *site) until(id string, state core.State) {
	s.Helper()
	for {
		o, err := s.client.Get(s.Context(), id)
		if err == nil && o.State == state {
			return
		}
		if err != nil {
			require.ErrorIs(s, err, client.ErrNotFound)
		}
		select {
		case <-s.Context().Done():
			s.Fatal("the test has ended before ", id, " is ", state)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// run lists the orders in Error, sends the command, and returns the plan and the result for each order.
func (s *site) run(a bulk.Action) (plan []bulk.Order, r bulk.Report) {
	s.Helper()
	a.By = "ada"
	a.Reason = "fixed"
	where := bulk.Where{"state": "error"}
	plan, err := bulk.Select(s.Context(), s.client, where, a, bulk.Unseen)
	require.NoError(s, err)
	file := filepath.Join(s.TempDir(), "list.jsonl")
	pace := bulk.Pace{Rate: 1000, StopAt: 1, Patience: 60}
	name := "bulk-" + a.Command + "-20260301-120000"
	require.NoError(s, bulk.Create(file, bulk.Header{
		Bulk: name, Action: a, Where: where, Made: time.Now(),
		Pace: pace,
	}, plan))
	l, err := bulk.Open(file)
	require.NoError(s, err)
	r, err = l.Run(s.Context(), s.client, nil)
	require.NoError(s, errors.Join(err, l.Close()))
	return plan, r
}

// For each kind of order: a command that the plan shows as accepted is accepted, and a resubmit works for all
// of them.
func TestEveryKindOfOrder(t *testing.T) {
	long := strings.Repeat("x", 128)
	for _, command := range []string{"resubmit", "undo", "cancel", "close", "move"} {
		s := newSite(t)
		kinds := []string{"o.1_a-Z", "tenant:7", long, "p~all~0", "nested~inner~0~all~0", "again~all~0.1"}
		s.refusing("ship")
		s.submit("many", "again")
		s.until("again", core.Compensated)
		s.refusing("charge")
		v, err := s.client.Resubmit(t.Context(), "again")
		require.NoError(t, err)
		require.True(t, v.Accepted, command)
		for _, id := range kinds[:3] {
			s.submit("one", id)
		}
		s.submit("many", "p")
		s.submit("nested", "nested")
		for _, id := range kinds {
			s.until(id, core.Error)
		}
		s.refusing("")
		a := bulk.Action{Command: command}
		if command == "move" {
			a.Definition = "latest"
		}
		plan, r := s.run(a)
		accepted := 0
		for _, o := range plan {
			if o.Result != bulk.Refused {
				accepted++
			}
		}
		require.Len(t, plan, len(kinds), command)
		require.Len(t, r.Fixed, accepted, command)
		require.Empty(t, slices.Concat(r.Unknown, r.NotSent, r.Again), command)
		if command == "resubmit" {
			require.Equal(t, len(kinds), accepted, command)
		}
	}
}
