package embedded_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// P12a: an order or a command whose client is gone is carried out all the same, with all that it
// sends: nothing would bring it again before its complete-by.
func TestGoneClientsAreServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, "30s")
		s := w.open()
		defer closeRuntime(t, s)
		gone, hangUp := context.WithCancel(t.Context())
		hangUp()
		begun := time.Now()
		require.NoError(t, s.Submit(gone, []message.SubmitOrder{order(t, "one", "")})[0].Err, "submit")
		require.Equal(t, core.Processed, wait(t, s, "one").ProcessState)
		w.shop.hang.Store(true)
		submit(t, s, "two", "")
		v, err := s.Command(gone, message.Control{OrderID: "two", Event: core.Command{Name: core.Cancel, ID: "c-1"}})
		require.NoError(t, err)
		require.True(t, v.Accepted, "cancel: %+v %v", v, err)
		require.LessOrEqual(t, time.Since(begun), 25*time.Second)
	})
}

// gate is a log that blocks the writer of a certain line.
type gate struct {
	text    []byte
	reached chan struct{}
	open    chan struct{}
	once    sync.Once
}

func (g *gate) Write(b []byte) (int, error) {
	if bytes.Contains(b, g.text) {
		g.once.Do(func() { close(g.reached) })
		<-g.open
	}
	return len(b), nil
}

// A submission that is under way when the process shuts down is ended first; one that comes later is
// refused, to come again, and nothing of it is stored.
func TestCloseWaitsForWhatIsCarried(t *testing.T) {
	w := newFixture(t, "5s")
	g := &gate{text: []byte("msg=refused"), reached: make(chan struct{}), open: make(chan struct{})}
	w.options.Log = slog.New(slog.NewTextHandler(g, nil))
	s := w.open()
	bad := order(t, "bad", "")
	bad.Workflow = "unknown"
	good := order(t, "good", "")
	answered := make(chan error, 2)
	go func() {
		for _, r := range s.Submit(t.Context(), []message.SubmitOrder{bad, good}) {
			answered <- r.Err
		}
	}()
	<-g.reached
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	for s.Health(t.Context()).Ready {
		time.Sleep(time.Millisecond)
	}
	select {
	case err := <-closed:
		t.Fatalf("it closed under a submission: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(g.open)
	var refused *core.Refusal
	require.ErrorAs(t, <-answered, &refused, "the refused order")
	require.NoError(t, <-answered, "the order beside it")
	require.NoError(t, <-closed)
	require.ErrorIs(t, s.Submit(t.Context(), []message.SubmitOrder{order(t, "late", "")})[0].Err, port.ErrUnavailable)
	s = w.open()
	defer closeRuntime(t, s)
	require.Equal(t, core.Processed, wait(t, s, "good").ProcessState)
	_, _, err := s.Task(t.Context(), "late")
	require.ErrorIs(t, err, port.ErrNotFound, "late")
}
