package memory_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

func sorting(t *testing.T) (q port.Queue, send func(group string, high bool, names ...string),
	take func(max int) string,
) {
	t.Helper()
	queues, err := memory.NewQueues(memory.NewClock(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)),
		[]memory.QueueConfig{{Name: "q", Retention: time.Hour}})
	require.NoError(t, err)
	q, err = queues.Queue("q")
	require.NoError(t, err)
	send = func(group string, high bool, names ...string) {
		for _, name := range names {
			require.NoError(t, q.Send(t.Context(), []port.Message{{Body: []byte(name), Group: group, High: high}})[0])
		}
	}
	take = func(max int) string {
		ds, err := q.Receive(t.Context(), max, 0, time.Minute)
		require.NoError(t, err)
		var names []string
		for _, d := range ds {
			names = append(names, string(d.Body))
		}
		return strings.Join(names, " ")
	}
	return q, send, take
}

// P46: messages of high priority come first, but for every tenth batch; a poll that finds nothing is none.
func TestQueuesPutHighPriorityFirst(t *testing.T) {
	_, send, take := sorting(t)
	for range 25 {
		take(1)
	}
	for n := range 30 {
		send("", false, fmt.Sprint("n", n))
		send("", true, fmt.Sprint("h", n))
	}
	for _, want := range []string{"h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8", "n0", "h9"} {
		require.Equal(t, want, take(1))
	}
	got := take(25)
	require.True(t, strings.HasPrefix(got, "h10 h11"), "a large batch holds %s", got)
	require.True(t, strings.HasSuffix(got, "h29 n1 n2 n3 n4 n5"), "a large batch holds %s", got)
	for range 7 {
		take(1)
	}
	send("", true, "late")
	require.Equal(t, "n13 n14", take(2))
}

// P46: within a priority the groups take turns, and each is first in, first out; a message that was returned
// to the queue keeps its group.
func TestQueuesGiveGroupsTurns(t *testing.T) {
	for before := range 3 {
		groupsTakeTurns(t, before)
	}
	_, send, take := sorting(t)
	for n := range 200 { // more groups than keep their memory
		send(fmt.Sprint("g", n), false, fmt.Sprint("x", n), fmt.Sprint("y", n))
	}
	got := take(400)
	require.Equal(t, 399, strings.Count(got, " "))
	require.True(t, strings.HasPrefix(got, "x0 x1 "), "%d of 400: %.60s", strings.Count(got, " ")+1, got)
	require.True(t, strings.HasSuffix(got, " y198 y199"), "%d of 400: %.60s", strings.Count(got, " ")+1, got)
}

// groupsTakeTurns looks at a queue through which so many messages of other groups have gone.
func groupsTakeTurns(t *testing.T, before int) {
	t.Helper()
	q, send, take := sorting(t)
	for n := range before {
		send(fmt.Sprint("before", n), false, "gone")
	}
	take(before + 1)
	send("flood", false, "f0", "f1", "f2", "f3", "f4")
	send("a", false, "a0")
	send("b", false, "b0", "b1")
	require.Equal(t, "f0 a0 b0 f1 b1", take(5), "in turn")
	send("a", false, "a1", "a2")
	ds, err := q.Receive(t.Context(), 1, 0, time.Minute)
	if err != nil || string(ds[0].Body) != "a1" { // whose last turn is the longest ago
		t.Fatalf("%v %v", ds, err)
	}
	require.NoError(t, q.Extend(t.Context(), []port.Extension{{Receipt: ds[0].Receipt}})[0])
	require.Equal(t, "f2 a2 f3 a1 f4", take(9), "after one was returned to the queue")
}

// The oldest message is reported, whatever its priority and group.
func TestQueuesReportTheOldestOfAllGroups(t *testing.T) {
	clock := memory.NewClock(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	queues, err := memory.NewQueues(clock, []memory.QueueConfig{{Name: "q", Retention: time.Hour}})
	require.NoError(t, err)
	q, err := queues.Queue("q")
	require.NoError(t, err)
	for n, m := range []port.Message{{Group: "a"}, {Group: "b"}, {High: true}, {Group: "a"}} {
		m.Body = []byte{byte('0' + n)}
		q.Send(t.Context(), []port.Message{m})
		clock.Advance(time.Minute)
	}
	for _, want := range []port.Depth{{Visible: 4, Oldest: 4 * time.Minute}, {
		Visible: 3, InFlight: 1,
		Oldest: 4 * time.Minute,
	}, {Visible: 2, InFlight: 2, Oldest: 3 * time.Minute}} {
		got, err := q.Depth(t.Context())
		require.NoError(t, err, "%+v", want)
		require.Equal(t, want, got)
		_, err = q.Receive(t.Context(), 1, 0, time.Hour)
		require.NoError(t, err)
	}
	clock.Advance(2 * time.Hour)
	if got, err := q.Depth(t.Context()); err != nil || got.Visible+got.InFlight != 0 && got.Oldest != 0 {
		t.Errorf("after their retention: %+v, %v", got, err)
	}
}
