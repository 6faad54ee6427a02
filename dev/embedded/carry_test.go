package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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
		if r := s.Submit(gone, []message.SubmitOrder{order(t, "one", "")})[0]; r.Err != nil {
			t.Fatalf("submit: %v", r.Err)
		}
		if task := wait(t, s, "one"); task.ProcessState != core.Processed {
			t.Errorf("it ended %s", task.ProcessState)
		}
		w.shop.hang.Store(true)
		submit(t, s, "two", "")
		v, err := s.Command(gone, message.Control{OrderID: "two", Event: core.Command{Name: core.Cancel, ID: "c-1"}})
		if err != nil || !v.Accepted {
			t.Fatalf("cancel: %+v %v", v, err)
		}
		if d := time.Since(begun); d > 25*time.Second {
			t.Errorf("it took %v: only the Supervisor carried it on", d)
		}
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
	if err := <-answered; !errors.As(err, &refused) {
		t.Errorf("the refused order: %v", err)
	}
	if err := <-answered; err != nil {
		t.Errorf("the order beside it: %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if r := s.Submit(t.Context(), []message.SubmitOrder{order(t, "late", "")})[0]; !errors.Is(r.Err,
		port.ErrUnavailable) {
		t.Errorf("after the end: %v", r.Err)
	}
	s = w.open()
	defer closeRuntime(t, s)
	if task := wait(t, s, "good"); task.ProcessState != core.Processed {
		t.Errorf("%+v", task)
	}
	if _, _, err := s.Task(t.Context(), "late"); !errors.Is(err, port.ErrNotFound) {
		t.Errorf("late: %v", err)
	}
}
