package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

const patience = 60 * time.Second

// pair is a workflow of two steps; the first one can be undone.
const pair = `workflow: pair
notify: [started, step-finished]
grace: 1s
tellAfter: 1s
output: {first: "${ steps.first.output }"}
agents:
  shop: {queueAllowance: %[1]s, clockSkew: 10ms}
steps:
  first: {agent: shop, operation: first, input: {n: "${ order.n }"}, timeout: %[1]s, onFailure: undo, undo: unfirst, grade: fenced, retry: {maxFailures: 3, backoff: {initial: 20ms, max: 100ms}}}
  second: {agent: shop, operation: second, after: [first], timeout: %[1]s, onFailure: undo, undo: unsecond, grade: fenced, retry: {maxFailures: 3, backoff: {initial: 20ms, max: 100ms}}}
`

// shop is an agent inside the process that counts its effects by key.
type shop struct {
	mu      sync.Mutex
	effects map[string]int
	fenced  map[string]bool // keys that were undone
	hang    atomic.Bool
	refuse  atomic.Bool   // the second step, for good
	gate    chan struct{} // a call needs one of these; nil: none
	at      atomic.Int64  // calls at the gate
}

func (s *shop) run(ctx context.Context, c worker.Call) (any, error) {
	if s.hang.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if s.gate != nil {
		s.at.Add(1)
		defer s.at.Add(-1)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.gate:
		}
	}
	if c.Name == "second" && s.refuse.Load() {
		return nil, worker.Permanent(errors.New("no such thing"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Operation == core.UndoOp {
		s.fenced[c.Key] = true
		delete(s.effects, c.Key)
		return nil, nil
	}
	if s.fenced[c.Key] { // a call that began before the undo
		return nil, worker.Permanent(errors.New("it was undone"))
	}
	s.effects[c.Key] = 1
	return map[string]string{"key": c.Key}, nil
}

func (s *shop) standing() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.effects)
}

type fixture struct {
	t       *testing.T
	dir     string
	options embedded.Options
	shop    *shop
}

func newFixture(t *testing.T, timeout string) *fixture {
	t.Helper()
	dir := t.TempDir()
	flows := filepath.Join(dir, "workflows")
	require.NoError(t, os.Mkdir(flows, 0o700))
	w := &fixture{t: t, dir: dir, shop: &shop{effects: map[string]int{}, fenced: map[string]bool{}}}
	w.write(fmt.Sprintf(pair, timeout))
	w.options = embedded.Options{
		Data: filepath.Join(dir, "data"), Workflows: flows, ReplyTo: []string{"shop"},
		SweepEvery: 50 * time.Millisecond,
		Operations: map[string]worker.Operations{"shop": {worker.AnyOperation: {Run: w.shop.run}}},
		Inside:     embedded.Inside{Concurrency: 4, Breaker: worker.Breaker{Off: true}},
		Log:        slog.New(slog.DiscardHandler),
	}
	return w
}

func (w *fixture) write(text string) {
	w.t.Helper()
	w.writeAs("pair.yaml", text)
}

func (w *fixture) writeAs(file, text string) {
	w.t.Helper()
	require.NoError(w.t, os.WriteFile(filepath.Join(w.dir, "workflows", file), []byte(text), 0o600))
}

// agents writes the file of agents. Those inside the process stay.
func (w *fixture) agents(text string) {
	w.t.Helper()
	w.options.Agents = filepath.Join(w.dir, "agents.yaml")
	require.NoError(w.t, os.WriteFile(w.options.Agents, []byte("agents: {"+text+"}\n"), 0o600))
}

// outside makes shop an agent outside this process, which the test takes the place of.
func (w *fixture) outside() {
	w.t.Helper()
	w.options.Operations = nil
	w.agents("shop: {external: true}")
}

// stopping makes the second step of each order fail, for the operator.
func (w *fixture) stopping() {
	w.t.Helper()
	w.write(strings.Replace(fmt.Sprintf(pair, "5s"), "second, after: [first], timeout: 5s, onFailure: undo",
		"second, after: [first], timeout: 5s, onFailure: stop", 1))
	w.shop.refuse.Store(true)
}

// logs returns what runtimes log that are opened from now on.
func (w *fixture) logs() *logged {
	log := &logged{}
	w.options.Log = slog.New(slog.NewTextHandler(log, nil))
	return log
}

// run serves on a port of its own until the test ends, or the returned function is called.
func (w *fixture) run() (server embedded.Started, stop func()) {
	w.t.Helper()
	started := make(chan embedded.Started, 1)
	ended := make(chan error, 1)
	w.options.Listen = "127.0.0.1:0"
	w.options.Ready = func(s embedded.Started) { started <- s }
	ctx, cancel := context.WithCancel(w.t.Context())
	go func() { ended <- embedded.Run(ctx, w.options) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(w.t, <-ended)
	})
	select {
	case server = <-started:
	case err := <-ended:
		w.t.Fatal(err)
	}
	w.t.Cleanup(stop)
	return server, stop
}

func (w *fixture) open() *embedded.Runtime {
	w.t.Helper()
	s, err := embedded.Open(w.t.Context(), w.options)
	require.NoError(w.t, err)
	return s
}

func order(t *testing.T, id, rest string) message.SubmitOrder {
	t.Helper()
	o, err := message.DecodeSubmit(fmt.Appendf(nil,
		`{"schema":1,"orderId":%q,"workflow":"pair","order":{"n":12345678901234567890}%s}`, id, rest))
	require.NoError(t, err)
	return o
}

func submit(t *testing.T, s *embedded.Runtime, id, rest string) {
	t.Helper()
	require.NoError(t, s.Submit(t.Context(), []message.SubmitOrder{order(t, id, rest)})[0].Err, id)
}

func atEnd(task *protocol.Task) bool { return task.Terminal() || task.ProcessState == core.Error }

func wait(t *testing.T, s *embedded.Runtime, id string) *protocol.Task {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	task, err := s.Wait(ctx, id, atEnd)
	require.NoError(t, err, id)
	return task
}

func queueOf(t *testing.T, s *embedded.Runtime, name string) port.Queue {
	t.Helper()
	q, err := s.Queue(name)
	require.NoError(t, err)
	return q
}

// accepted sends a command or an answer, which must be accepted.
func accepted(t *testing.T, s *embedded.Runtime, id string, ev core.Event) {
	t.Helper()
	v, err := s.Command(t.Context(), message.Control{OrderID: id, Event: ev})
	require.NoError(t, err)
	require.True(t, v.Accepted, v.Reason)
}

// settled waits until the end of an order was reported (P11).
func settled(t *testing.T, s *embedded.Runtime, id string, state core.State) {
	t.Helper()
	_, err := s.Wait(t.Context(), id, func(x *protocol.Task) bool {
		return x.ProcessState == state && x.End.ResendAt == 0
	})
	require.NoError(t, err)
}

func closeRuntime(t *testing.T, s *embedded.Runtime) {
	t.Helper()
	require.NoError(t, s.Close())
}

func TestAnOrderIsDoneAndReported(t *testing.T) {
	w := newFixture(t, "5s")
	s := w.open()
	defer closeRuntime(t, s)
	submit(t, s, "one", `,"replyTo":"shop"`)
	task := wait(t, s, "one")
	require.Equal(t, core.Processed, task.ProcessState)
	require.Equal(t, `{"first":{"key":"one/0/first"}}`, string(task.Output))
	want := []string{"received", "started", "step-finished", "step-finished", "completed"}
	eventually(t, "all statuses are sent", func() bool {
		return depth(t, s, embedded.Status("shop")).Visible == len(want)
	})
	require.Equal(t, want, statuses(t, s, len(want)))
	eventually(t, "what was handled is deleted",
		func() bool { return !busy(t, s) && depth(t, s, port.Requests("shop")) == port.Depth{} })
}

// statuses takes n messages from the application's queue, in the order of their numbers.
func statuses(t *testing.T, s *embedded.Runtime, n int) []string {
	t.Helper()
	byOrder := make([]string, n)
	deliveries, err := queueOf(t, s, embedded.Status("shop")).Receive(t.Context(), n, patience, time.Minute)
	require.NoError(t, err)
	require.Len(t, deliveries, n)
	for _, d := range deliveries {
		m, err := message.Of[message.Status](d)
		require.NoError(t, err)
		byOrder[m.Seq%n] = string(m.Kind) // received has no number
	}
	return byOrder
}

// P27: what was under way goes on after a restart, within a second of readiness, nothing twice.
func TestARestartTakesUpWhatWasUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, "30s")
		w.shop.hang.Store(true)
		s := w.open()
		const n = 50
		for i := range n {
			submit(t, s, fmt.Sprintf("o-%d", i), "")
		}
		closeRuntime(t, s)
		w.shop.hang.Store(false)
		s = w.open()
		defer closeRuntime(t, s)
		ready := time.Now()
		for i := range n {
			require.Equal(t, core.Processed, wait(t, s, fmt.Sprintf("o-%d", i)).ProcessState)
		}
		require.LessOrEqual(t, time.Since(ready), 20*time.Second)
		require.Equal(t, 2*n, w.shop.standing())
	})
}

func TestAChangedWorkflowCountsForNewOrders(t *testing.T) {
	w := newFixture(t, "5s")
	s := w.open()
	defer closeRuntime(t, s)
	first := s.Workflows(t.Context())[0]
	w.write("workflow: pair\nsteps:\n" +
		"  nap: {approval: {question: Go?, answers: [a, b], timeout: 1h, onTimeout: undo}}\n  last: {agent: absent}\n")
	broken := until(t, s, func(i view.WorkflowInfo) bool { return len(i.Problems) > 0 })
	require.Equal(t, first.Hash, broken.Hash)
	require.NotContains(t, strings.Join(broken.Problems, "\n"), "warning", "it did not refuse the file")
	submit(t, s, "old", "")
	w.write(fmt.Sprintf(pair, "4s"))
	corrected := until(t, s, func(i view.WorkflowInfo) bool {
		return len(i.Problems) == 0 &&
			i.Hash != first.Hash
	})
	submit(t, s, "new", "")
	old, new := wait(t, s, "old"), wait(t, s, "new")
	require.Equal(t, first.Hash, old.Definition)
	require.Equal(t, corrected.Hash, new.Definition)
}

func until(t *testing.T, s *embedded.Runtime, ok func(view.WorkflowInfo) bool) view.WorkflowInfo {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if i := s.Workflows(t.Context()); len(i) == 1 && ok(i[0]) {
			return i[0]
		}
	}
	t.Fatalf("the workflows stayed %+v", s.Workflows(t.Context()))
	return view.WorkflowInfo{}
}
