package memory_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

var start = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func newQueues(t *testing.T, clock port.Timer) *memory.Queues {
	t.Helper()
	queues, err := memory.NewQueues(clock, nil)
	if err != nil {
		t.Fatal(err)
	}
	return queues
}

func queue(t *testing.T, queues port.Queues, name string) port.Queue {
	t.Helper()
	q, err := queues.Queue(name)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func send(t *testing.T, q port.Queue, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		if err := q.Send(t.Context(), []port.Message{{Body: []byte(body)}})[0]; err != nil {
			t.Fatal(err)
		}
	}
}

func receive(t *testing.T, q port.Queue, visibility time.Duration) []port.Delivery {
	t.Helper()
	got, err := q.Receive(t.Context(), port.MaxBatch, 0, visibility)
	if err != nil {
		t.Fatal(err)
	}
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
		if _, err := memory.NewQueues(memory.NewClock(start), c.configs, replyTo...); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %v, want one with %q", name, err, c.want)
		}
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
	if err := queues.Add(memory.QueueConfig{Name: "dead"}); err != nil {
		t.Fatal(err)
	}
	dead := &full{Queue: queue(t, queues, "dead"), set: true}
	if err := queues.Add(memory.QueueConfig{Name: "intake", MaxReceives: 1, DeadLetterTo: dead}); err != nil {
		t.Fatal(err)
	}
	q := queue(t, queues, "intake")
	send(t, q, "poison")
	for range 5 {
		receive(t, q, time.Second)
		clock.Advance(time.Minute)
	}
	if d, _ := q.Depth(t.Context()); d.Visible+d.InFlight != 1 {
		t.Fatalf("the dead letter is lost: %+v", d)
	}
	dead.set = false
	receive(t, q, time.Second)
	if d := receive(t, dead, time.Minute); len(d) != 1 || string(d[0].Body) != "poison" {
		t.Errorf("dead letters are %+v", d)
	}
	clock.Advance(time.Hour)
	if d, _ := q.Depth(t.Context()); d.Visible+d.InFlight != 0 {
		t.Errorf("it is in both queues: %+v", d)
	}
}

func TestClockRunsWhatIsDueInItsOrder(t *testing.T) {
	clock := memory.NewClock(start)
	var ran []string
	note := func(name string) func() {
		return func() { ran = append(ran, fmt.Sprint(name, " ", clock.Now().Sub(start))) }
	}
	clock.At(start.Add(3*time.Second), note("c"))
	clock.At(start.Add(time.Second), func() {
		note("a")()
		clock.At(start.Add(2*time.Second), note("b")) // set while the clock advances
	})
	stop := clock.At(start.Add(2*time.Second), note("stopped"))
	clock.At(start.Add(5*time.Second), note("later"))
	stop()
	stop()
	clock.Advance(4 * time.Second)
	if want := []string{"a 1s", "b 2s", "c 3s"}; !slices.Equal(ran, want) {
		t.Errorf("ran %v, want %v", ran, want)
	}
	if clock.Waiting() != 1 || !clock.Now().Equal(start.Add(4*time.Second)) {
		t.Errorf("%d wait at %v", clock.Waiting(), clock.Now())
	}
	clock.Set(start) // a clock that jumps back runs nothing
	clock.Set(start.Add(5 * time.Second))
	if len(ran) != 4 {
		t.Errorf("ran %v", ran)
	}
}

// Next reports when the first message of any queue comes that is delayed or in flight.
func TestNextOfSeveralQueues(t *testing.T) {
	clock := memory.NewClock(start)
	queues, err := memory.NewQueues(clock, []memory.QueueConfig{{Name: "a"}, {Name: "b"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, delay := range map[string]time.Duration{"a": time.Minute, "b": 2 * time.Minute} {
		queue(t, queues, name).Send(t.Context(),
			[]port.Message{{Body: []byte("1"), Delay: delay}, {Body: []byte("2")}})
	}
	for _, after := range []time.Duration{time.Minute, 2 * time.Minute} {
		if at, some := queues.Next(); !some || !at.Equal(start.Add(after)) {
			t.Errorf("%s, %t, want after %s", at, some, after)
		}
		clock.Advance(start.Add(after).Sub(clock.Now()))
	}
	if at, some := queues.Next(); some {
		t.Errorf("nothing is hidden, and %s is reported", at)
	}
}
