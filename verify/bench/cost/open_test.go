package cost_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/functions/supervisor"
	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/dynamo/dynamotest"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/incident"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// With 5,000 open orders and one in Error a sweep reads the one, and pages of a listing that are asked for
// again and again read each order once in a while. docs/explanation/cost.md has these figures.
func TestUnitsWithManyOpenOrders(t *testing.T) {
	c := dynamotest.Config(t, awsclient.Options{})
	client := dynamo.NewClient(c)
	names := dynamotest.Tables(t, client)
	const open = 5_000
	now := time.Now()
	putOpen(t, dynamo.New(client, names.Tables, dynamo.Options{Parallel: 32}), open, now)
	m := &meter{}
	m.into(&c)
	store := dynamo.New(dynamo.NewClient(c), names.Tables, dynamo.Options{})
	s := newSweeper(t, store, &now)
	err := s.incidents.Raise(t.Context(), core.RaiseAlert{
		OrderID: "stopped", Workflow: "order", Step: "pay",
		Code: "declined",
	})
	require.NoError(t, err)
	for range 3 {
		m.take()
		now = now.Add(time.Minute)
		report, err := s.Sweep(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, report.InError["order"].Orders)
		require.Equal(t, dynamo.DefaultShards, report.Shards)
		// A query of each shard for what is due and for what is in Error, a lease for each, the record of
		// incidents, the order.
		writes, reads := m.take()
		require.LessOrEqual(t, writes, float64(8))
		require.LessOrEqual(t, reads, 8*0.5+8*0.5+8+1+1)
	}
	require.Equal(t, 1, s.published)
	list := func(q port.Query) (pages int) {
		q.Limit = 1_000
		for {
			page, err := store.List(t.Context(), q)
			require.NoError(t, err)
			if pages++; page.Next == "" {
				return pages
			}
			q.Cursor = page.Next
		}
	}
	m.take()
	pages := list(port.Query{})
	_, reads := m.take()
	require.Equal(t, 6, pages)
	require.LessOrEqual(t, reads, 0.5*(open+1)+float64(pages)*index)
	m.take()
	for range 10 { // a console, for ten seconds
		now = now.Add(time.Second)
		_, err := store.List(t.Context(), port.Query{Limit: 50})
		require.NoError(t, err)
	}
	_, reads = m.take()
	require.LessOrEqual(t, reads, float64(10*index), "ten more first pages")
}

// index is what a walk through the index of so many orders consumes at most.
const index = 120

// sweeper is a Supervisor on AWS, which looks after incidents too.
type sweeper struct {
	*supervisor.Supervisor
	incidents *incident.Incidents
	published int // number of alerts
}

func newSweeper(t *testing.T, store *dynamo.Store, now *time.Time) *sweeper {
	t.Helper()
	s := &sweeper{}
	clock := port.ClockFunc(func() time.Time { return *now })
	s.incidents = incident.New(incident.Config{
		Records: store.Schedules(), Tasks: store, Clock: clock,
		Log:     slog.New(slog.DiscardHandler),
		Publish: func(context.Context, message.Alert) error { s.published++; return nil },
		Go:      func(publication func(context.Context)) { publication(t.Context()) },
	})
	queues, err := memory.NewQueues(clock, []memory.QueueConfig{{Name: port.Control}})
	require.NoError(t, err)
	s.Supervisor = supervisor.New(supervisor.Config{Incidents: s.incidents.Sweep, Parts: engine.Parts{
		State: state.New(state.Config{
			Store: store, Definitions: store,
			Current: func(string) *core.Definition { return nil },
		}),
		Queues: queues, Alerts: s.incidents, Leases: store, Clock: clock, Name: "sweeping",
		Logger: slog.New(slog.DiscardHandler),
	}})
	return s
}

// putOpen stores orders that are due tomorrow, and one that is in Error.
func putOpen(t *testing.T, store *dynamo.Store, n int, now time.Time) {
	t.Helper()
	writes := make([]port.Write, 0, n+1)
	for i := range n + 1 {
		task := &protocol.Task{
			OrderID: fmt.Sprintf("open-%05d", i), Workflow: "order",
			ProcessState: core.Processing, Version: 1, Created: core.TimeOf(now),
		}
		r := port.Record{Bucket: port.DueBucket, IndexAt: now.Add(24 * time.Hour).Truncate(time.Millisecond)}
		if i == n {
			task.OrderID = "stopped"
			task.ProcessState = core.Error
			task.Reason.Step = "pay"
			task.Reason.Code = "declined"
			task.End.At = core.TimeOf(now)
			r.Bucket = port.AttentionBucket
			r.IndexAt = now.Truncate(time.Millisecond)
		}
		document, err := state.EncodeTask(task)
		require.NoError(t, err)
		r.ID = task.OrderID
		r.Version = 1
		r.State = string(task.ProcessState)
		r.Workflow = "order"
		r.Created = now.Truncate(time.Millisecond)
		r.Document = document
		writes = append(writes, port.Write{Record: r})
	}
	for i, err := range store.Commit(t.Context(), writes) {
		if err != nil {
			t.Fatal(writes[i].Record.ID, err)
		}
	}
}
