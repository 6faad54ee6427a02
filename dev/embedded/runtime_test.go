package embedded_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/api"
	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	pause := time.Millisecond
	for end := time.Now().Add(patience); !holds(); pause = min(2*pause, 20*time.Millisecond) {
		require.False(t, time.Now().After(end), "not within %s: %s", patience, what)
		time.Sleep(pause)
	}
}

// An agents' file names services that are called over HTTP, and agents outside, of which this process counts nothing.
func TestAgentsOfAFile(t *testing.T) {
	var mu sync.Mutex
	atOnce := 0
	most := 0
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		atOnce++
		most = max(most, atOnce)
		mu.Unlock()
		time.Sleep(5 * time.Millisecond) // so that calls overlap
		mu.Lock()
		atOnce--
		mu.Unlock()
		fmt.Fprintf(w, `{"path":%q}`, r.URL.Path)
	}))
	defer shop.Close()
	w := newFixture(t, "30s")
	w.options.Operations = nil
	w.agents("shop: {url: '" + shop.URL + "', concurrency: 2, batch: 1, " +
		"operations: {'*': {path: '/do/{operation}'}}}, courier: {external: true}")
	s := w.open()
	defer closeRuntime(t, s)
	for i := range 10 {
		submit(t, s, fmt.Sprintf("o-%d", i), "")
	}
	for i := range 10 {
		task := wait(t, s, fmt.Sprintf("o-%d", i))
		require.Equal(t, core.Processed, task.ProcessState)
		require.Equal(t, `{"first":{"path":"/do/first"}}`, string(task.Output))
	}
	require.Equal(t, 2, most)
	counts := s.Health(t.Context()).Counts
	_, there := counts["agent-courier-done"]
	require.False(t, there, "counts are %v", counts)
	require.EqualValues(t, 20, counts["agent-shop-done"])
	require.Zero(t, counts["agent-shop-failed"])
}

func TestAnAgentGivenTwiceIsRefused(t *testing.T) {
	w := newFixture(t, "5s")
	w.agents("shop: {external: true}")
	_, err := embedded.Open(t.Context(), w.options)
	require.ErrorContains(t, err, "agent shop is given twice")
	w.options.Agents = ""
	closeRuntime(t, w.open()) // the folder is free
}

// What Inside says of an agent in the process counts: how many calls at once, and its retries.
func TestAgentInsideRunsAsAsked(t *testing.T) {
	for _, c := range []struct{ given, want int }{{0, 10}, {3, 3}} {
		w := newFixture(t, "30s")
		w.shop.gate = make(chan struct{})
		w.options.Inside.Concurrency = c.given
		s := w.open()
		for i := range 15 {
			submit(t, s, fmt.Sprintf("o-%d", i), "")
		}
		eventually(t, "calls are made", func() bool { return int(w.shop.at.Load()) == c.want })
		d := depth(t, s, port.Requests("shop"))
		require.Equal(t, c.want, d.InFlight, "%+v", c.given)
		require.Equal(t, 15-c.want, d.Visible, "%+v", c.given)
		require.Equal(t, int64(c.want), s.Health(t.Context()).Counts["agent-shop-in-flight"], "%+v", c.given)
		close(w.shop.gate)
		wait(t, s, "o-14")
		closeRuntime(t, s)
	}
}

func TestRetriesOfAnAgentInside(t *testing.T) {
	w := newFixture(t, "30s")
	var mu sync.Mutex
	tries := 0
	w.options.Operations["shop"] = worker.Operations{
		worker.AnyOperation: {Run: func(context.Context, worker.Call) (any, error) {
			mu.Lock()
			defer mu.Unlock()
			if tries++; tries < 3 {
				return nil, errors.New("try again")
			}
			return nil, nil
		}},
	}
	w.options.Inside.Retry = worker.Retry{Tries: 3, Initial: time.Millisecond, Max: time.Millisecond}
	s := w.open()
	defer closeRuntime(t, s)
	submit(t, s, "one", "")
	task := wait(t, s, "one")
	require.Equal(t, core.Processed, task.ProcessState)
	require.Equal(t, 1, task.Steps[0].Attempt)
	require.Zero(t, task.Steps[0].Failures.Do)
	require.EqualValues(t, 2, s.Health(t.Context()).Counts["agent-shop-retried"])
}

// A close lets the calls under way end, and what they did is kept.
func TestACloseLetsCallsEnd(t *testing.T) {
	w := newFixture(t, "30s")
	w.shop.gate = make(chan struct{})
	s := w.open()
	submit(t, s, "one", "")
	eventually(t, "the call is made", func() bool { return w.shop.at.Load() == 1 })
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	eventually(t, "it is not ready any more", func() bool { return !s.Health(t.Context()).Ready })
	select {
	case err := <-closed:
		t.Fatalf("closed with a call under way: %v", err)
	case w.shop.gate <- struct{}{}:
	}
	require.NoError(t, <-closed)
	require.Equal(t, 1, w.shop.standing())
	require.ErrorIs(t, s.Submit(t.Context(), []message.SubmitOrder{order(t, "late", "")})[0].Err, port.ErrUnavailable)
	close(w.shop.gate)
	s = w.open()
	defer closeRuntime(t, s)
	require.Equal(t, core.Processed, wait(t, s, "one").ProcessState)
}

// Ended orders expire with Keep, also in a process that has them in memory, and count as expired then.
func TestEndedOrdersExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, "30s")
		clock := memory.NewClock(time.Now())
		w.options.Clock = clock
		w.options.Keep = 18 * 24 * time.Hour
		s := w.open()
		defer closeRuntime(t, s)
		submit(t, s, "one", "")
		wait(t, s, "one")
		clock.Advance(19 * 24 * time.Hour)
		eventually(t, "the order has expired", func() bool {
			_, _, err := s.Task(t.Context(), "one")
			return errors.Is(err, port.ErrNotFound)
		})
		var refused *core.Refusal
		require.ErrorAs(t, s.Submit(t.Context(), []message.SubmitOrder{order(t, "one", "")})[0].Err, &refused)
		require.Equal(t, "expired", refused.Code)
	})
}

// damage overwrites the file from the offset on.
func damage(t *testing.T, w *fixture, from func(size int64) int64) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(w.options.Data, "stepkeeper.db"), os.O_WRONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(t, err)
	start := from(info.Size())
	_, err = f.WriteAt([]byte(strings.Repeat("\xff", int(info.Size()-start))), start)
	require.NoError(t, err)
}

// A start that finds the tasks under way damaged is refused, though the last end was a clean one.
func TestDamagedTasksUnderWayStopTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, "30s")
		w.shop.hang.Store(true)
		s := w.open()
		for i := range 300 {
			submit(t, s, fmt.Sprintf("o-%d", i), "")
		}
		closeRuntime(t, s)
		damage(t, w, func(size int64) int64 { return size / 3 * 2 })
		_, err := embedded.Open(t.Context(), w.options)
		require.ErrorIs(t, err, sqlite.ErrDamaged, "opened")
	})
}

func TestAStartThatIsCalledOff(t *testing.T) {
	w := newFixture(t, "30s")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := embedded.Open(ctx, w.options)
	require.ErrorIs(t, err, context.Canceled, "opened")
	closeRuntime(t, w.open()) // the folder is free
}

// What Health counts has these names, which dashboards rely on.
func TestNamesOfCounts(t *testing.T) {
	w := newFixture(t, "30s")
	s := w.open()
	defer closeRuntime(t, s)
	submit(t, s, "one", "")
	wait(t, s, "one")
	var names []string
	for name := range s.Health(t.Context()).Counts {
		names = append(names, name)
	}
	slices.Sort(names)
	want := []string{
		"agent-shop-done", "agent-shop-dropped-late", "agent-shop-failed", "agent-shop-in-doubt",
		"agent-shop-in-flight", "agent-shop-retried", "agent-shop-retry-later",
		"ended-Cancelled", "ended-Closed", "ended-Compensated", "ended-Error", "ended-Processed",
		"process-goroutines", "process-heap-bytes", "running",
	}
	require.Equal(t, want, names)
}

// A file that is damaged while it is in use ends readiness as soon as a read finds it, and the next
// start is refused: nothing is "ready" on it.
func TestADamagedFileIsNotReady(t *testing.T) {
	w := newFixture(t, "30s")
	s := w.open()
	const n = 300 // more than a reader keeps of the file
	for i := range n {
		submit(t, s, fmt.Sprintf("o-%d", i), "")
	}
	for i := range n {
		wait(t, s, fmt.Sprintf("o-%d", i))
	}
	closeRuntime(t, s)
	s = w.open()
	h := s.Health(t.Context())
	require.True(t, h.Ready, "before: %+v", h)
	require.Equal(t, "ok", h.Checks["store"])
	damage(t, w, func(int64) int64 { return 8192 })
	eventually(t, "the damage is found", func() bool {
		_, _, err := s.List(t.Context(), port.Query{Limit: 1000})
		return errors.Is(err, sqlite.ErrDamaged)
	})
	eventually(t, "it is not ready", func() bool {
		h := s.Health(t.Context())
		return !h.Ready && strings.Contains(h.Checks["store"], "damaged") &&
			strings.Contains(h.Checks["store"], "backup")
	})
	_ = s.Close() // it may fail on such a file
	_, err := embedded.Open(t.Context(), w.options)
	require.Error(t, err)
}

func TestCommandsAndReads(t *testing.T) {
	w := newFixture(t, "30s")
	w.shop.gate = make(chan struct{})
	s := w.open()
	defer closeRuntime(t, s)
	_, err := s.Command(t.Context(), message.Control{
		OrderID: "missing",
		Event:   core.Command{Name: core.UndoCommand, ID: "c-1"},
	})
	require.ErrorIs(t, err, port.ErrNotFound, "a command for an unknown order")
	for _, read := range []func() error{
		func() error { _, _, err := s.Task(t.Context(), "missing"); return err },
		func() error {
			_, err := s.Order(t.Context(), &protocol.Task{OrderID: "missing", ContentHash: "h"})
			return err
		},
		func() error { _, err := s.Wait(t.Context(), "missing", atEnd); return err },
	} {
		require.ErrorIs(t, read(), port.ErrNotFound, "an unknown order")
	}
	submit(t, s, "one", "")
	task, def, err := s.Task(t.Context(), "one")
	require.NoError(t, err)
	require.Equal(t, "pair", def.Name)
	require.Equal(t, task.Definition, def.Hash)
	o, err := s.Order(t.Context(), task)
	require.NoError(t, err)
	require.Equal(t, `{"n":12345678901234567890}`, string(o))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	last, err := s.Wait(ctx, "one", atEnd)
	require.ErrorIs(t, err, context.Canceled)
	require.NotNil(t, last, "a wait that ends early: %+v, %v", last, err)
	require.Equal(t, "one", last.OrderID)
	accepted(t, s, "one", core.Command{Name: core.Cancel, ID: "c-2"})
	close(w.shop.gate)
	require.Equal(t, core.Cancelled, wait(t, s, "one").ProcessState)
	accepted(t, s, "coming", core.Command{Name: core.Cancel, ID: "c-3"})
	counts := s.Health(t.Context()).Counts
	require.Zero(t, counts["running"])
	require.EqualValues(t, 2, counts["ended-Cancelled"])
	require.Zero(t, counts["ended-Processed"])
	require.GreaterOrEqual(t, counts["process-goroutines"], int64(5))
	require.GreaterOrEqual(t, counts["process-heap-bytes"], int64(1<<16))
}

// After a signal of a change, what is read is at least as new, up to the last version.
func TestChangesLeadToTheLastVersion(t *testing.T) {
	w := newFixture(t, "30s")
	w.shop.gate = make(chan struct{})
	s := w.open()
	defer closeRuntime(t, s)
	submit(t, s, "one", "")
	changes := s.Changes(t.Context(), "one")
	close(w.shop.gate)
	for last := int64(0); ; {
		select {
		case <-changes:
		case <-time.After(patience):
			t.Fatal("no signal of the last version")
		}
		task, _, err := s.Task(t.Context(), "one")
		require.NoError(t, err)
		require.GreaterOrEqual(t, task.Version, last)
		last = task.Version
		if task.Terminal() && task.Due == 0 {
			return
		}
	}
}

// A message of the SQS edge that is refused is answered where it names a queue for that, else kept in
// quarantine; one of a kind that no client may send is only counted.
func TestRejectedMessages(t *testing.T) {
	w := newFixture(t, "30s")
	s := w.open()
	defer closeRuntime(t, s)
	reject := func(queue, body string, err error) {
		t.Helper()
		require.NoError(t, s.Reject(t.Context(), api.Rejected{Queue: queue, Body: []byte(body), Err: err}))
	}
	refusal := &core.Refusal{Code: "invalid", Text: "no"}
	inQuarantine := func(want int) {
		t.Helper()
		require.Equal(t, want, depth(t, s, port.Quarantine).Visible)
	}
	reject(port.Intake, `not json`, refusal)
	inQuarantine(1)
	reject(port.Control, `not json`, refusal)
	inQuarantine(2)
	require.Contains(t, scraped(s), `stepkeeper_messages_total{reason="control",what="quarantined"} 1`)
	known := `{"schema":1,"orderId":"x","workflow":"pair","order":{}%s}`
	reject(port.Intake, fmt.Sprintf(known, `,"replyTo":"shop"`), refusal) // reported by Submit already
	inQuarantine(2)
	reject(port.Control, `{}`, &core.Refusal{Code: api.CodeForbidden, Text: "no"})
	inQuarantine(2)
	_, _, err := s.Task(t.Context(), "x")
	require.ErrorIs(t, err, port.ErrNotFound, "what was refused is stored")
	// Where there is no queue for its refusal, it is kept.
	reject(port.Intake, fmt.Sprintf(known, `,"replyTo":"nowhere"`), refusal)
	inQuarantine(3)
	require.EqualValues(t, 1, s.Health(t.Context()).Counts["refused: "+api.CodeForbidden])
}

func TestQueuesOfTheStack(t *testing.T) {
	w := newFixture(t, "30s")
	s := w.open()
	defer closeRuntime(t, s)
	got, want := fmt.Sprint(s.QueueNames()), "[control dead-control dead-replies dead-requests-shop dead-tasks quarantine replies "+
		"requests-shop status-shop]"
	require.Equal(t, want, got)
	for _, name := range s.QueueNames() {
		q, err := s.Queue(name)
		require.NoError(t, err, name)
		require.Equal(t, name, q.Name())
	}
	for _, name := range []string{"nowhere", port.Tasks} { // P41: nothing from outside reaches the tasks
		_, err := s.Queue(name)
		require.ErrorIs(t, err, port.ErrNotFound, name)
	}
	r := s.Submit(t.Context(), []message.SubmitOrder{order(t, "one", `,"replyTo":"nowhere"`)})[0]
	require.Error(t, r.Err)
}

// Messages outlive the process where they could not be rebuilt, for as long as the docs say.
func TestHowLongMessagesAreKept(t *testing.T) {
	w := newFixture(t, "30s")
	w.agents("courier: {external: true}")
	clock := memory.NewClock(time.Now())
	w.options.Clock = clock
	s := w.open()
	send := func(name string) {
		t.Helper()
		q := queueOf(t, s, name)
		require.NoError(t, q.Send(t.Context(), []port.Message{{Body: []byte("{}")}})[0])
	}
	for _, name := range []string{"status-shop", "quarantine", "dead-replies"} {
		send(name)
	}
	closeRuntime(t, s)
	const day = 24 * time.Hour
	s = w.open()
	defer closeRuntime(t, s)
	send("requests-courier") // in memory
	for _, c := range []struct {
		after time.Duration
		want  []int
	}{
		{0, []int{1, 1, 1, 1}},
		{4*day - time.Minute, []int{1, 1, 1, 1}},
		{time.Hour, []int{0, 0, 1, 1}},
		{10*day - 2*time.Hour, []int{0, 0, 1, 1}},
		{2 * time.Hour, []int{0, 0, 0, 0}},
	} {
		clock.Advance(c.after)
		var got []int
		for _, name := range []string{"requests-courier", "status-shop", "quarantine", "dead-replies"} {
			got = append(got, depth(t, s, name).Visible)
		}
		require.Equal(t, c.want, got, "%+v", c.after)
	}
}

// The queue of an agent outside is reported when it has had no receiver for five seconds, since the last one.
func TestAQueueWithoutAReceiver(t *testing.T) {
	w := newFixture(t, "30s")
	clock := memory.NewClock(time.Date(2026, 3, 29, 0, 59, 0, 0, time.UTC))
	w.options.Clock = clock
	w.outside()
	s := w.open()
	defer closeRuntime(t, s)
	q := queueOf(t, s, port.Requests("shop"))
	clock.Advance(10 * time.Second)
	_, err := q.Receive(t.Context(), 1, 0, time.Minute)
	require.NoError(t, err)
	require.NoError(t, errors.Join(q.Send(t.Context(),
		[]port.Message{{Body: []byte("now")}, {Body: []byte("later"), Delay: time.Minute}})...))
	since := clock.Now()
	for _, x := range []struct {
		by    time.Duration
		found int
	}{{0, 0}, {4999 * time.Millisecond, 0}, {time.Millisecond, 1}} {
		clock.Advance(x.by)
		all := s.Unattended(t.Context())
		if len(all) != x.found || x.found > 0 && all[0] != (view.Unattended{
			Queue: q.Name(), Agent: "shop",
			Since: core.TimeOf(since), Waiting: 2,
		}) {
			t.Errorf("%s after the last receiver: %+v", clock.Now().Sub(since), all)
		}
	}
}

// What an agent outside returns again and again ends in the dead letters, not before the 40th time.
func TestDeadLetters(t *testing.T) {
	w := newFixture(t, "30s")
	w.outside()
	s := w.open()
	defer closeRuntime(t, s)
	submit(t, s, "one", "")
	q := queueOf(t, s, port.Requests("shop"))
	for n := 1; n <= 40; n++ {
		got, err := q.Receive(t.Context(), 1, patience, 0)
		require.NoError(t, err, "%+v", n)
		require.Len(t, got, 1, "%+v", n)
		require.Equal(t, n, got[0].Received)
	}
	got, err := q.Receive(t.Context(), 1, 0, 0)
	require.NoError(t, err)
	require.Empty(t, got)
	require.Equal(t, 1, depth(t, s, "dead-requests-shop").Visible, "dead letters")
}

// Run serves the stack over HTTP, says when it is ready, and ends with its context.
func TestRunServes(t *testing.T) {
	w := newFixture(t, "30s")
	s, stop := w.run()
	require.Equal(t, 1, s.Workflows)
	require.Equal(t, 1, s.Agents)
	get := func(path string, status int) (body map[string]any) {
		t.Helper()
		res, err := http.Get(s.Address + path)
		require.NoError(t, err)
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.Equal(t, status, res.StatusCode)
		require.NoError(t, json.Unmarshal(data, &body))
		return body
	}
	body := get("/readyz", http.StatusOK)
	require.EqualValues(t, true, body["ready"])
	require.Equal(t, "map[intake:ok store:ok]", fmt.Sprint(body["checks"]))
	status, answer := post(t, s.Address+"/v1/orders", "application/json", "",
		`{"schema":1,"orderId":"one","workflow":"pair","order":{"n":1}}`)
	require.Equal(t, 202, status, answer)
	require.EqualValues(t, "Processed", get("/v1/orders/one?wait=30s", http.StatusOK)["state"])
	second := w.options
	second.Listen = strings.TrimPrefix(s.Address, "http://")
	require.Error(t, embedded.Run(t.Context(), second))
	second.Listen = "127.0.0.1:0"
	require.ErrorIs(t, embedded.Run(t.Context(), second), sqlite.ErrLocked, "a second one on the folder")
	w.write("not a workflow")
	eventually(t, "the broken file is reported", func() bool {
		checks, _ := get("/healthz", http.StatusOK)["checks"].(map[string]any)
		return checks["workflow pair"] != nil
	})
	stop()
	closeRuntime(t, w.open()) // the folder is free
}

// Two files of one workflow: the first one, by name, is in force, and the other is reported. A file that
// goes takes its workflow along.
func TestFilesOfOneWorkflow(t *testing.T) {
	w := newFixture(t, "5s")
	second := filepath.Join(w.dir, "workflows", "second.yml")
	require.NoError(t, os.WriteFile(second, fmt.Appendf(nil, pair, "6s"), 0o600))
	s := w.open()
	defer closeRuntime(t, s)
	infos := s.Workflows(t.Context())
	require.Len(t, infos, 2)
	first := infos[0].Hash
	require.Equal(t, view.WorkflowInfo{Name: "pair", Hash: first}, infos[0])
	require.Equal(t, "second", infos[1].Name)
	require.Empty(t, infos[1].Hash)
	require.Len(t, infos[1].Problems, 1)
	require.Contains(t, infos[1].Problems[0],
		"second.yml: workflow pair is defined in pair.yaml already; fix: give one of them another name")
	require.NoError(t, os.Remove(filepath.Join(w.dir, "workflows", "pair.yaml")))
	now := until(t, s, func(i view.WorkflowInfo) bool { return i.Hash != first })
	require.Equal(t, "pair", now.Name)
	require.Empty(t, now.Problems)
	require.NoError(t, os.Remove(second))
	eventually(t, "no workflow is left", func() bool { return len(s.Workflows(t.Context())) == 0 })
	require.Error(t, s.Submit(t.Context(), []message.SubmitOrder{order(t, "one", "")})[0].Err)
}

// A workflow whose events go nowhere is named once, with the flag that gives them a queue.
func TestEventsWithoutAQueue(t *testing.T) {
	for _, replyTo := range [][]string{{"shop"}, {core.Events}} {
		w := newFixture(t, "5s")
		w.write("events: true\n" + fmt.Sprintf(pair, "5s"))
		var log logged
		w.options.ReplyTo = replyTo
		w.options.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		s := w.open()
		for _, id := range []string{"o-1", "o-2"} {
			submit(t, s, id, "")
			_, err := s.Wait(t.Context(), id, func(x *protocol.Task) bool {
				return atEnd(x) && x.End.ResendAt == 0
			})
			require.NoError(t, err)
		}
		require.NoError(t, s.Close())
		want := 0
		if replyTo[0] != core.Events {
			want = 1
		}
		text := log.String()
		require.Equal(t, want, strings.Count(text, "start with --reply-to events\" workflow=pair"), "%+v", replyTo)
		require.Equal(t, want, strings.Count(text, "\n"), "%+v", replyTo)
	}
}

// logged is the log, as text.
type logged struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// count returns the number of lines with a text.
func (l *logged) count(text string) (n int) {
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// Where nothing is wrong the log has no warnings, from the start to the end.
func TestNoWarningsWhereNothingIsWrong(t *testing.T) {
	w := newFixture(t, "30s")
	log := w.logs()
	w.options.SweepEvery = 2 * time.Millisecond
	w.options.StatisticsEvery = 5 * time.Millisecond
	s := w.open()
	submit(t, s, "one", "")
	wait(t, s, "one")
	eventually(t, "there were sweeps and samples", func() bool {
		x, err := s.Statistics(t.Context())
		return err == nil && len(x.Series) > 0 && len(x.Series[0].Values) > 2 && *x.Agents[0].Done == 2 &&
			*x.Agents[0].Failed == 0
	})
	closeRuntime(t, s)
	text := log.String()
	require.NotContains(t, text, "level=WARN")
	require.NotContains(t, text, "level=ERROR")
	require.NotContains(t, text, "taken up again")
}

// The workflows in force stay while their folder cannot be read.
func TestAFolderOfWorkflowsThatGoes(t *testing.T) {
	w := newFixture(t, "30s")
	log := w.logs()
	s := w.open()
	defer closeRuntime(t, s)
	other := strings.Replace(fmt.Sprintf(pair, "5s"), "workflow: pair", "workflow: other", 1)
	require.NoError(t, os.WriteFile(filepath.Join(w.options.Workflows, "other.yaml"), []byte(other), 0o600))
	eventually(t, "another workflow is in force", func() bool { return log.count("workflow=other") > 0 })
	require.Equal(t, 1, log.count(`msg="workflow in force" workflow=pair`))
	require.NoError(t, os.Rename(w.options.Workflows, w.options.Workflows+"-away"))
	eventually(t, "it is noticed", func() bool { return log.count("cannot read the workflows") > 0 })
	submit(t, s, "one", "")
	wait(t, s, "one")
}

// A workflow that names an agent which this process does not have is refused, as its orders would wait for
// ever.
func TestAWorkflowWithAnUnknownAgent(t *testing.T) {
	w := newFixture(t, "5s")
	w.write(strings.Replace(fmt.Sprintf(pair, "5s"), "agent: shop", "agent: shpo", 1))
	s := w.open()
	defer closeRuntime(t, s)
	all := s.Workflows(t.Context())
	require.Len(t, all, 1)
	require.Contains(t, strings.Join(all[0].Problems, "\n"), "there is no agent shpo; fix: did you mean shop?")
}

func TestAFolderOfWorkflowsThatIsMissing(t *testing.T) {
	w := newFixture(t, "5s")
	w.options.Workflows = filepath.Join(w.dir, "nowhere")
	_, err := embedded.Open(t.Context(), w.options)
	require.ErrorContains(t, err, "nowhere")
}
