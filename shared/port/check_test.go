package port_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// The checks of the adapters' arguments accept everything up to each limit, and their errors name the fault
// of the rest.
func TestArgumentsAreChecked(t *testing.T) {
	write := func(expected, version int64, document int, apart ...int) error {
		w := port.Write{
			Expected: expected, Hash: "h",
			Record: port.Record{ID: "o-1", Version: version, Document: make([]byte, document)},
		}
		for _, n := range apart {
			w.Apart = true
			w.Content = make([]byte, n)
		}
		return port.CheckWrite(&w)
	}
	named := func(hash string, expected int64) error {
		return port.CheckWrite(&port.Write{
			Expected: expected, Hash: hash, Apart: true,
			Record: port.Record{ID: "o-1", Version: expected + 1},
		})
	}
	message := func(body int, delay time.Duration) error {
		return port.CheckMessage(&port.Message{Body: make([]byte, body), Delay: delay})
	}
	for i, c := range []struct {
		err  error
		want string // "" where it is taken
	}{
		{write(0, 1, port.MaxDocument, port.MaxOrder), ""},
		{write(1, 2, 0), ""},
		{named("h", 1), ""},
		{port.CheckWrite(&port.Write{}), "without a task ID"},
		{write(-1, 0, 0), "does not follow"},
		{write(1, 1, 0), "does not follow"},
		{write(1, 2, 0, 0), "never changes"},
		{write(0, 1, 0, 0), "needs its bytes"},
		{named("", 1), "needs its hash"},
		{named("h", 0), "needs its bytes"},
		{write(0, 1, port.MaxDocument+1), port.ErrTooLarge.Error()},
		{write(0, 1, 0, port.MaxOrder+1), port.ErrTooLarge.Error()},
		{port.CheckDefinition(core.DefinitionHash([]byte("{}")), []byte("{}")), ""},
		{port.CheckDefinition("other", []byte("{}")), port.ErrHash.Error()},
		{message(port.MaxBody, 0), ""},
		{message(1, port.MaxDelay), ""},
		{message(0, 0), "without a body"},
		{message(port.MaxBody+1, 0), port.ErrTooLarge.Error()},
		{message(1, -1), "not within"},
		{message(1, port.MaxDelay+1), "not within"},
		{port.CheckReceive(1, 0, 0), ""},
		{port.CheckReceive(1, 0, port.MaxVisibility), ""},
		{port.CheckReceive(0, 0, 0), "at least 1"},
		{port.CheckReceive(1, -1, 0), "negative"},
		{port.CheckReceive(1, 0, -1), "not within"},
		{port.CheckReceive(1, 0, port.MaxVisibility+1), "not within"},
	} {
		if (c.err == nil) != (c.want == "") || c.err != nil && !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%d: %v, want %q", i, c.err, c.want)
		}
	}
}

// Shards and names are the same in every release: a task's row of the due index stands in its shard, a lease
// also excludes a Supervisor of another release, and a file of SQLite holds queues of dead letters.
func TestShardsAndNamesStay(t *testing.T) {
	// as FNV's authors published them
	for id, want := range map[string]int{"": 0x811c9dc5, "a": 0xe40c292c, "foobar": 0xbf9cf968} {
		require.Equal(t, want%(1<<20), port.ShardOf(id, 1<<20), id)
	}
	lease := port.SweepLease(7)
	dead := port.Dead(port.Replies)
	require.Equal(t, "sweep/7", lease)
	require.Equal(t, "dead-replies", dead)
}

// Messages that failed together come back at different times, each at most half of its delay later, and
// within its queue's visibility timeout.
func TestBackoffIsSpread(t *testing.T) {
	seen := map[time.Duration]bool{}
	for i := range 100 {
		for received, least := range map[int]time.Duration{0: 2, 1: 2, 2: 4, 4: 16} {
			d := port.Delivery{ID: fmt.Sprint(i), Received: received}
			got := d.Backoff(time.Minute)
			least *= time.Second
			require.GreaterOrEqual(t, got, least, "%+v", received)
			require.LessOrEqual(t, got, least*3/2, "%+v", received)
			seen[got] = true
		}
		d := port.Delivery{ID: fmt.Sprint(i), Received: 100}
		require.Equal(t, time.Minute, d.Backoff(time.Minute))
	}
	require.GreaterOrEqual(t, len(seen), 200)
}

// Sleep ends with its context, at once where there is nothing to wait for.
func TestSleepEndsWithItsContext(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, d := range []time.Duration{0, time.Hour} {
		require.ErrorIs(t, port.Sleep(ended, d), context.Canceled, "%+v", d)
	}
	err := errors.Join(port.Sleep(context.Background(), 0),
		port.Sleep(context.Background(), time.Millisecond))
	require.NoError(t, err)
}
