package memory_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

var start = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func newQueues(t *testing.T, clock port.Timer) *memory.Queues {
	t.Helper()
	queues, err := memory.NewQueues(clock, nil)
	require.NoError(t, err)
	return queues
}

func queue(t *testing.T, queues port.Queues, name string) port.Queue {
	t.Helper()
	q, err := queues.Queue(name)
	require.NoError(t, err)
	return q
}

func send(t *testing.T, q port.Queue, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		require.NoError(t, q.Send(t.Context(), []port.Message{{Body: []byte(body)}})[0])
	}
}

func receive(t *testing.T, q port.Queue, visibility time.Duration) []port.Delivery {
	t.Helper()
	got, err := q.Receive(t.Context(), port.MaxBatch, 0, visibility)
	require.NoError(t, err)
	return got
}

func TestConfigurationIsChecked(t *testing.T) {
	for name, c := range map[string]struct {
		configs []memory.QueueConfig
		replyTo string
		want    string
	}{
		"a queue without a name": {configs: []memory.QueueConfig{{}}, want: "without a name"},
		"a queue twice": {
			configs: []memory.QueueConfig{{Name: "a"}, {Name: "a"}},
			want:    "twice",
		},
		"dead letters to nowhere": {
			configs: []memory.QueueConfig{{Name: "a", MaxReceives: 1}},
			want:    "dead-letter",
		},
		"a negative limit": {
			configs: []memory.QueueConfig{{Name: "a", Retention: -1}},
			want:    "negative",
		},
		"a reply-to that is no queue": {
			configs: []memory.QueueConfig{{Name: "a"}}, replyTo: "b",
			want: "reply-to",
		},
	} {
		var replyTo []string
		if c.replyTo != "" {
			replyTo = append(replyTo, c.replyTo)
		}
		_, err := memory.NewQueues(memory.NewClock(start), c.configs, replyTo...)
		require.ErrorContains(t, err, c.want, name)
	}
}

// full is a queue that takes nothing while it is set.
type full struct {
	port.Queue
	set bool
}

func (f *full) Send(ctx context.Context, messages []port.Message) []error {
	if f.set {
		return slices.Repeat([]error{port.ErrUnavailable}, len(messages))
	}
	return f.Queue.Send(ctx, messages)
}

// While the dead-letter queue is full, the dead letter waits where it is.
func TestDeadLetterWaitsForRoom(t *testing.T) {
	clock := memory.NewClock(start)
	queues := newQueues(t, clock)
	require.NoError(t, queues.Add(memory.QueueConfig{Name: "dead"}))
	dead := &full{Queue: queue(t, queues, "dead"), set: true}
	require.NoError(t, queues.Add(memory.QueueConfig{Name: "intake", MaxReceives: 1, DeadLetterTo: dead}))
	q := queue(t, queues, "intake")
	send(t, q, "poison")
	for range 5 {
		receive(t, q, time.Second)
		clock.Advance(time.Minute)
	}
	d, _ := q.Depth(t.Context())
	require.Equal(t, 1, d.Visible+d.InFlight, "the dead letter is lost")
	dead.set = false
	receive(t, q, time.Second)
	if d := receive(t, dead, time.Minute); len(d) != 1 || string(d[0].Body) != "poison" {
		t.Errorf("dead letters are %+v", d)
	}
	clock.Advance(time.Hour)
	d, _ = q.Depth(t.Context())
	require.Zero(t, d.Visible+d.InFlight, "it is in both queues")
}

// Next reports when the first message of any queue comes that is delayed or in flight.
func TestNextOfSeveralQueues(t *testing.T) {
	clock := memory.NewClock(start)
	queues, err := memory.NewQueues(clock, []memory.QueueConfig{{Name: "a"}, {Name: "b"}})
	require.NoError(t, err)
	for name, delay := range map[string]time.Duration{"a": time.Minute, "b": 2 * time.Minute} {
		queue(t, queues, name).Send(t.Context(),
			[]port.Message{{Body: []byte("1"), Delay: delay}, {Body: []byte("2")}})
	}
	for _, after := range []time.Duration{time.Minute, 2 * time.Minute} {
		at, some := queues.Next()
		require.True(t, some, "%+v", after)
		require.True(t, at.Equal(start.Add(after)), "%+v", after)
		clock.Advance(start.Add(after).Sub(clock.Now()))
	}
	_, some := queues.Next()
	require.False(t, some, "nothing is hidden")
}
