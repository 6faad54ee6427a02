package memory_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// A call whose context has ended changes nothing and says so: on a real adapter it would not have
// been sent.
func TestEndedContext(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	clock := memory.NewClock(start)
	store := memory.NewStore(2)
	defs := memory.NewDefinitions()
	ledger := memory.NewLedger()
	leases := memory.NewLeases()
	queues := newQueues(t, clock)
	require.NoError(t, queues.Add(memory.QueueConfig{Name: "a"}))
	q := queue(t, queues, "a")
	send(t, q, "kept")
	d := receive(t, q, time.Hour)[0]
	write := port.Write{Record: port.Record{
		ID: "o-1", Version: 1, State: "Processing",
		Document: []byte("{}"), Created: start,
	}, Hash: "h", Apart: true, Content: []byte("1")}
	require.NoError(t, store.Commit(t.Context(), []port.Write{write})[0])
	stored := []byte(`{"name":"x"}`)
	require.NoError(t, defs.PutDefinition(t.Context(), core.DefinitionHash(stored), stored))
	second := write
	second.Record.Version = 2
	second.Expected = 1
	second.Content = nil
	other := []byte(`{"name":"y"}`)
	for name, call := range map[string]func() error{
		"Commit":  func() error { return store.Commit(ended, []port.Write{second})[0] },
		"Load":    func() error { _, errs := store.Load(ended, []string{"o-1"}); return errs[0] },
		"Content": func() error { _, err := store.Content(ended, "o-1", "h"); return err },
		"Ended":   func() error { _, err := store.Ended(ended, "o-1"); return err },
		"Due": func() error {
			_, err := store.Due(ended, port.DueBucket, 0, start, nil,
				1)
			return err
		},
		"List":   func() error { _, err := store.List(ended, port.Query{Limit: 1}); return err },
		"Forget": func() error { return store.Forget(ended, []string{"o-1"}) },
		"Definition": func() error {
			_,
				err := defs.Definition(ended, core.DefinitionHash(stored))
			return err
		},
		"PutDefinition": func() error { return defs.PutDefinition(ended, core.DefinitionHash(other), other) },
		"Entry":         func() error { _, err := ledger.Entry(ended, "k"); return err },
		"Move":          func() error { return ledger.Move(ended, port.LedgerEntry{Key: "k"}) },
		"Acquire": func() error {
			_,
				err := leases.Acquire(ended, "l", "me", start, time.Hour)
			return err
		},
		"Send":    func() error { return q.Send(ended, []port.Message{{Body: []byte("x")}})[0] },
		"Receive": func() error { _, err := q.Receive(ended, 1, 0, time.Minute); return err },
		"Delete":  func() error { return q.Delete(ended, []string{d.Receipt})[0] },
		"Extend":  func() error { return q.Extend(ended, []port.Extension{{Receipt: d.Receipt}})[0] },
		"Depth":   func() error { _, err := q.Depth(ended); return err },
	} {
		require.ErrorIs(t, call(), context.Canceled, name)
	}
	records, errs := store.Load(t.Context(), []string{"o-1"})
	require.NoError(t, errs[0])
	require.NotNil(t, records[0], "the store changed: %+v %v", records[0], errs)
	require.EqualValues(t, 1, records[0].Version)
	_, err := defs.Definition(t.Context(), core.DefinitionHash(other))
	require.ErrorIs(t, err, port.ErrNotFound, "the definitions changed")
	e, err := ledger.Entry(t.Context(), "k")
	require.NoError(t, err)
	require.Zero(t, e.Version)
	ours, err := leases.Acquire(t.Context(), "l", "another", start, time.Hour)
	require.True(t, ours, "the lease was taken: %v", err)
	require.NoError(t, err)
	depth, err := q.Depth(t.Context())
	require.NoError(t, err)
	require.Zero(t, depth.Visible)
	require.Equal(t, 1, depth.InFlight)
}

// held is what the model knows of a message.
type held struct {
	visibleAt time.Time
	received  int
	receipt   string
}

// Sends, receives, extensions and deletions in any order do what a plain list of messages would do.
func TestQueueAgainstAModel(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 7))
			clock := memory.NewClock(start)
			queues := newQueues(t, clock)
			require.NoError(t, queues.Add(memory.QueueConfig{Name: "a"}))
			q := queue(t, queues, "a")
			model := map[string]*held{}
			within := func(n int) time.Duration { return time.Duration(r.IntN(n)) * time.Second }
			any := func(n int) (string, *held) { // one of those before, nil where it is gone
				name := strconv.Itoa(r.IntN(n + 1))
				return name, model[name]
			}
			for n := range 3000 {
				now := clock.Now()
				switch op := r.IntN(10); {
				case op < 4 || n < 1100: // many at once
					name := strconv.Itoa(n)
					delay := within(60) * time.Duration(r.IntN(2))
					require.NoError(t, q.Send(t.Context(), []port.Message{{Body: []byte(name), Delay: delay}})[0])
					model[name] = &held{visibleAt: now.Add(delay)}
				case op < 6:
					takeSome(t, q, model, now, 1+r.IntN(12), within(40))
				case op < 7:
					if name, m := any(n); m != nil && m.receipt != "" {
						extend(t, q, m, now, within(50), name)
					}
				case op < 9:
					if name, m := any(n); m != nil && m.receipt != "" {
						require.NoError(t, q.Delete(t.Context(), []string{m.receipt})[0])
						delete(model, name)
					}
				default:
					clock.Advance(within(5))
				}
				if n%23 == 0 || n > 2900 {
					compare(t, q, model, clock.Now(), n)
				}
			}
		})
	}
}

func takeSome(t *testing.T, q port.Queue, model map[string]*held, now time.Time, most int,
	visibility time.Duration,
) {
	t.Helper()
	visible := 0
	for _, m := range model {
		if !m.visibleAt.After(now) {
			visible++
		}
	}
	ds, err := q.Receive(t.Context(), most, 0, visibility)
	require.NoError(t, err)
	require.Len(t, ds, min(most, visible))
	for _, d := range ds {
		m := model[string(d.Body)]
		require.NotNil(t, m, "%+v", d.Body)
		require.False(t, m.visibleAt.After(now), "%+v", d.Body)
		require.Equal(t, m.received+1, d.Received, "%+v", d.Body)
		m.received = d.Received
		m.receipt = d.Receipt
		m.visibleAt = now.Add(visibility)
	}
}

func extend(t *testing.T, q port.Queue, m *held, now time.Time, by time.Duration, name string) {
	t.Helper()
	err := q.Extend(t.Context(), []port.Extension{{Receipt: m.receipt, For: by}})[0]
	if visible := !m.visibleAt.After(now); visible != errors.Is(err, port.ErrReceipt) || !visible &&
		err != nil {
		t.Fatalf("message %s, visible %t, is extended: %v", name, visible, err)
	}
	if err == nil {
		m.visibleAt = now.Add(by)
	}
}

func compare(t *testing.T, q port.Queue, model map[string]*held, now time.Time, n int) {
	t.Helper()
	var want port.Depth
	for _, m := range model {
		switch {
		case !m.visibleAt.After(now):
			want.Visible++
		case m.received > 0:
			want.InFlight++
		default:
			want.Delayed++
		}
	}
	got, err := q.Depth(t.Context())
	got.Oldest = 0
	require.NoError(t, err, "%+v", n)
	require.Equal(t, want, got, "%+v", n)
}

// What was to happen happens in the order of its times, each while the clock shows its own; what was
// taken back does not.
func TestClockRunsWhatWasToHappen(t *testing.T) {
	clock := memory.NewClock(start)
	var got []string
	at := func(name string, d time.Duration) (stop func()) {
		return clock.At(start.Add(d),
			func() { got = append(got, fmt.Sprintf("%s@%s", name, clock.Now().Sub(start))) })
	}
	stops := map[string]func(){}
	for i, d := range []int{5, 3, 9, 3, 7, 1, 8, 2, 6, 4} {
		name := strconv.Itoa(i)
		stops[name] = at(name, time.Duration(d)*time.Second)
	}
	stops["4"]()
	stops["4"]() // twice is harmless
	stops["2"]()
	require.Equal(t, 8, clock.Waiting())
	clock.Advance(3 * time.Second)
	stops["1"]() // it has run
	clock.Set(start.Add(4 * time.Second))
	require.Len(t, got, 5)
	clock.Set(start.Add(2 * time.Second)) // back: nothing runs
	require.Equal(t, 2*time.Second, clock.Now().Sub(start))
	clock.Advance(20 * time.Second)
	require.Equal(t, []string{"5@1s", "7@2s", "1@3s", "3@3s", "9@4s", "0@5s", "8@6s", "6@8s"}, got)
	got = nil
	at("late", time.Second) // its time has come already
	require.Empty(t, got)
	require.Equal(t, 1, clock.Waiting())
	if clock.Advance(0); len(got) != 1 || clock.Waiting() != 0 {
		t.Errorf("%v", got)
	}
	require.Equal(t, 22*time.Second, clock.Now().Sub(start))
}
