package worker

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// counted is a queue that counts sends, and refuses the body "bad", and everything once its context has
// ended.
type counted struct {
	port.Queue
	mu        sync.Mutex
	sends     [][]port.Message
	deadlines []time.Time
}

var errBad = errors.New("refused")

func (q *counted) Send(ctx context.Context, messages []port.Message) []error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sends = append(q.sends, messages)
	deadline, _ := ctx.Deadline()
	q.deadlines = append(q.deadlines, deadline)
	errs := make([]error, len(messages))
	for i := range messages {
		errs[i] = ctx.Err()
		if string(messages[i].Body) == "bad" {
			errs[i] = errBad
		}
	}
	return errs
}

// long is a linger that no test waits for.
const long = time.Hour

func text(body string) []port.Message { return []port.Message{{Body: []byte(body)}} }

func TestGatherSendsTogether(t *testing.T) {
	q := &counted{}
	g := gather(q, long)
	var all sync.WaitGroup
	bodies := []string{"a", "b", "bad", "c"}
	for range len(bodies) + 1 { // one of them will have nothing to send
		g.begin()
	}
	all.Go(g.end)
	for _, body := range bodies {
		all.Go(func() {
			defer g.end()
			if err := g.Send(t.Context(), text(body))[0]; errors.Is(err, errBad) != (body == "bad") {
				t.Errorf("%s: %v", body, err)
			}
		})
	}
	all.Wait()
	require.Len(t, q.sends, 1)
	require.Len(t, q.sends[0], len(bodies))
}

func TestGatherSendsAFullBatch(t *testing.T) {
	q := &counted{}
	g := gather(q, long)
	g.begin()
	g.begin() // it never comes
	var messages []port.Message
	for range port.MaxBatch {
		messages = append(messages, text("x")...)
	}
	g.Send(t.Context(), messages)
	require.Len(t, q.sends, 1)
}

// A sender waits until the last of those that may send has ended, or for the linger: its own, and not an
// earlier one's.
func TestGatherWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &counted{}
		g := gather(q, time.Second)
		sent := func(after time.Duration, want int) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			q.mu.Lock()
			defer q.mu.Unlock()
			require.Len(t, q.sends, want)
		}
		g.begin()
		g.begin()
		go g.Send(t.Context(), text("first"))
		sent(500*time.Millisecond, 0)
		g.end()
		sent(0, 1)
		g.begin()
		go g.Send(t.Context(), text("second"))
		sent(999*time.Millisecond, 1)
		sent(time.Millisecond, 2)
	})
}

// What is sent for several does not end with the context of one; the first one's deadline counts.
func TestGatherOutlivesOneSender(t *testing.T) {
	q := &counted{}
	g := gather(q, long)
	deadline := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(t.Context(), deadline)
	cancel()
	require.NoError(t, g.Send(ctx, text("x"))[0])
	require.Len(t, q.sends, 1)
	require.True(t, q.deadlines[0].Equal(deadline))
	require.NoError(t, g.Send(t.Context(), text("x"))[0])
	require.True(t, q.deadlines[1].IsZero())
	past, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	require.ErrorIs(t, g.Send(past, text("x"))[0], context.DeadlineExceeded)
	require.Empty(t, g.Send(t.Context(), nil))
}

// A send that panics ends the wait of every sender.
func TestGatherSurvivesAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gather(panicking{}, time.Second)
		g.begin()
		g.begin()
		failed := make(chan error, 2)
		for range 2 {
			go func() {
				_ = port.Guard(nil, "the sender", func() error {
					failed <- g.Send(t.Context(), text("x"))[0]
					return nil
				})
			}()
		}
		require.ErrorIs(t, <-failed, errSend)
	})
}

type panicking struct{ port.Sender }

func (panicking) Send(context.Context, []port.Message) []error { panic("poison") }
