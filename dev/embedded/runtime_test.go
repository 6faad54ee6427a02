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
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", patience, what)
		}
		time.Sleep(pause)
	}
}

// An agents' file names services that are called over HTTP, and agents outside whose requests stay
// in their queues for them.
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
	w.options.Agents = filepath.Join(w.dir, "agents.yaml")
	text := "agents:\n  shop: {url: '" + shop.URL +
		"', concurrency: 2, batch: 1, operations: {'*': {path: '/do/{operation}'}}}\n  courier: " +
		"{external: true}\n"
	if err := os.WriteFile(w.options.Agents, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	outside := strings.ReplaceAll(fmt.Sprintf(pair, "30s"), "workflow: pair", "workflow: outside")
	outside = strings.ReplaceAll(strings.ReplaceAll(outside, "agent: shop", "agent: courier"), "  shop:",
		"  courier:")
	if err := os.WriteFile(filepath.Join(w.dir, "workflows", "outside.yaml"), []byte(outside),
		0o600); err != nil {
		t.Fatal(err)
	}
	s := w.open()
	defer closeRuntime(t, s)
	for i := range 10 {
		submit(t, s, fmt.Sprintf("o-%d", i), "")
	}
	for i := range 10 {
		if task := wait(t, s, fmt.Sprintf("o-%d", i)); task.ProcessState != core.Processed ||
			string(task.Output) != `{"first":{"path":"/do/first"}}` {
			t.Fatalf("ended %s with %s: %s", task.ProcessState, task.Output, task.Reason.Text)
		}
	}
	if most != 2 {
		t.Errorf("%d calls at once, want 2", most)
	}
	counts := s.Health(t.Context()).Counts
	if _, there := counts["agent-courier-done"]; there || counts["agent-shop-done"] != 20 ||
		counts["agent-shop-failed"] != 0 {
		t.Errorf("counts are %v", counts)
	}
	o := order(t, "far", "")
	o.Workflow = "outside"
	if r := s.Submit(t.Context(), []message.SubmitOrder{o})[0]; r.Err != nil {
		t.Fatal(r.Err)
	}
	q, err := s.Queue(port.Requests("courier"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := q.Receive(t.Context(), 1, patience, time.Minute); err != nil || len(got) != 1 {
		t.Errorf("the agent outside receives %v, %v", got, err)
	}
}

func TestAnAgentGivenTwiceIsRefused(t *testing.T) {
	w := newFixture(t, "5s")
	w.options.Agents = filepath.Join(w.dir, "agents.yaml")
	if err := os.WriteFile(w.options.Agents, []byte("agents: {shop: {external: true}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := embedded.Open(t.Context(), w.options); err == nil ||
		!strings.Contains(err.Error(), "agent shop is given twice") {
		t.Errorf("error is %v", err)
	}
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
		if d := depth(t, s, port.Requests("shop")); d.InFlight != c.want || d.Visible != 15-c.want {
			t.Errorf("concurrency %d: the queue is %+v", c.given, d)
		}
		if n := s.Health(t.Context()).Counts["agent-shop-in-flight"]; n != int64(c.want) {
			t.Errorf("concurrency %d: %d in flight", c.given, n)
		}
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
	if task := wait(t, s, "one"); task.ProcessState != core.Processed || task.Steps[0].Attempt != 1 ||
		task.Steps[0].Failures.Do != 0 {
		t.Errorf("ended %s, step %+v", task.ProcessState, task.Steps[0])
	}
	if n := s.Health(t.Context()).Counts["agent-shop-retried"]; n != 2 {
		t.Errorf("%d retries, want 2", n)
	}
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
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if w.shop.standing() != 1 {
		t.Error("the call was cut off")
	}
	if r := s.Submit(t.Context(), []message.SubmitOrder{order(t, "late", "")})[0]; !errors.Is(r.Err,
		port.ErrUnavailable) {
		t.Errorf("submitted after the close: %v, want %v", r.Err, port.ErrUnavailable)
	}
	close(w.shop.gate)
	s = w.open()
	defer closeRuntime(t, s)
	if task := wait(t, s, "one"); task.ProcessState != core.Processed {
		t.Errorf("ended %s", task.ProcessState)
	}
}

// One task that cannot be read keeps neither the process from starting nor the others from going on.
func TestATaskThatCannotBeReadStopsNoOther(t *testing.T) {
	w := newFixture(t, "30s")
	w.shop.hang.Store(true)
	s := w.open()
	submit(t, s, "good", "")
	closeRuntime(t, s)
	store, err := sqlite.Open(t.Context(), w.options.Data, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	bad := port.Record{
		ID: "bad", Version: 1, State: "Processing", Workflow: "pair", Created: time.Now(),
		Bucket: port.DueBucket, IndexAt: time.Now(), Document: []byte(`{}`),
	}
	if err := store.Commit(t.Context(), []port.Write{
		{
			Record: bad,
		},
	})[0]; err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	w.shop.hang.Store(false)
	s = w.open()
	defer closeRuntime(t, s)
	if task := wait(t, s, "good"); task.ProcessState != core.Processed {
		t.Errorf("ended %s", task.ProcessState)
	}
	damaged, _, err := s.Task(t.Context(), "bad")
	require.NoError(t, err)
	require.NotEmpty(t, damaged.Damaged)
}

// Ended orders expire with Keep, and count as expired then; without it they stay.
func TestEndedOrdersExpire(t *testing.T) {
	w := newFixture(t, "30s")
	clock := memory.NewClock(time.Now())
	w.options.Clock = clock
	s := w.open()
	submit(t, s, "one", "")
	wait(t, s, "one")
	closeRuntime(t, s)
	clock.Advance(19 * 24 * time.Hour)
	s = w.open()
	submit(t, s, "young", "")
	wait(t, s, "young")
	closeRuntime(t, s)
	w.options.Keep = 18 * 24 * time.Hour
	s = w.open()
	defer closeRuntime(t, s)
	eventually(t, "the order has expired", func() bool {
		_, _, err := s.Task(t.Context(), "one")
		return errors.Is(err, port.ErrNotFound)
	})
	r := s.Submit(t.Context(), []message.SubmitOrder{order(t, "one", "")})[0]
	var refused *core.Refusal
	if !errors.As(r.Err, &refused) || refused.Code != "expired" {
		t.Errorf("sent again: %+v, want it refused as expired", r)
	}
	if task := wait(t, s, "young"); task.ProcessState != core.Processed {
		t.Errorf("the young one is %s", task.ProcessState)
	}
	w.options.Keep = time.Hour
	w.options.Data = filepath.Join(w.dir, "other")
	if _, err := embedded.Open(t.Context(), w.options); err == nil {
		t.Error("a time too short is taken")
	}
}

// An order expires in a process that has it in memory too.
func TestEndedOrdersExpireMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, "30s")
		w.write(linking)
		sent := w.asked()
		clock := memory.NewClock(time.Now())
		w.options.Clock = clock
		w.options.Keep = 18 * 24 * time.Hour
		s := w.open()
		defer closeRuntime(t, s)
		submit(t, s, "one", "")
		link := <-sent
		untilStep(t, s, "one", "approve", core.Waiting)
		if q, err := s.Question(t.Context(), "one", link.Ann); err != nil || q.Person != "ann" || q.Closed != "" {
			t.Errorf("%+v %v", q, err)
		}
		if q, err := s.Question(t.Context(), "one", "x"+link.Ann); err == nil {
			t.Errorf("another token is taken: %+v", q)
		}
		if v, err := s.Command(t.Context(), message.Control{
			OrderID: "one",
			Event:   core.Command{Name: core.Cancel, ID: "c"},
		}); err != nil || !v.Accepted {
			t.Fatal(v, err)
		}
		wait(t, s, "one")
		clock.Advance(19 * 24 * time.Hour)
		eventually(t, "the order has expired", func() bool {
			_, _, err := s.Task(t.Context(), "one")
			return errors.Is(err, port.ErrNotFound)
		})
		if q, err := s.Question(t.Context(), "one", link.Ann); !errors.Is(err, port.ErrNotFound) {
			t.Errorf("%+v %v", q, err)
		}
	})
}

// damage overwrites the file from the offset on.
func damage(t *testing.T, w *fixture, from func(size int64) int64) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(w.options.Data, "stepkeeper.db"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	start := from(info.Size())
	if _, err := f.WriteAt([]byte(strings.Repeat("\xff", int(info.Size()-start))), start); err != nil {
		t.Fatal(err)
	}
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
		if _, err := embedded.Open(t.Context(), w.options); !errors.Is(err, sqlite.ErrDamaged) {
			t.Errorf("opened: %v, want %v", err, sqlite.ErrDamaged)
		}
	})
}

func TestAStartThatIsCalledOff(t *testing.T) {
	w := newFixture(t, "30s")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := embedded.Open(ctx, w.options); !errors.Is(err, context.Canceled) {
		t.Errorf("opened: %v, want %v", err, context.Canceled)
	}
	closeRuntime(t, w.open()) // the folder is free
}

// Many may wait for one order, and go, at once.
func TestManyWaitForOneOrder(t *testing.T) {
	w := newFixture(t, "30s")
	w.shop.gate = make(chan struct{})
	s := w.open()
	defer closeRuntime(t, s)
	submit(t, s, "one", "")
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			for range 100 { // they come and go
				if _, err := s.Wait(t.Context(), "one", func(*protocol.Task) bool { return true }); err != nil {
					t.Error(err)
				}
			}
			if task, err := s.Wait(t.Context(), "one", atEnd); err != nil ||
				task.ProcessState != core.Processed {
				t.Errorf("%+v, %v", task, err)
			}
		})
	}
	close(w.shop.gate)
	all.Wait()
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
	if !slices.Equal(names, want) {
		t.Errorf("counts of %v, want %v", names, want)
	}
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
	if h := s.Health(t.Context()); !h.Ready || h.Checks["store"] != "ok" {
		t.Errorf("before: %+v", h)
	}
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
	if _, err := embedded.Open(t.Context(), w.options); err == nil {
		t.Error("the damaged file is opened")
	}
}

func TestCommandsAndReads(t *testing.T) {
	w := newFixture(t, "30s")
	w.shop.gate = make(chan struct{})
	s := w.open()
	defer closeRuntime(t, s)
	if _, err := s.Command(t.Context(), message.Control{
		OrderID: "missing",
		Event:   core.Command{Name: core.UndoCommand, ID: "c-1"},
	}); !errors.Is(err, port.ErrNotFound) {
		t.Errorf("a command for an unknown order: %v, want %v", err, port.ErrNotFound)
	}
	for _, read := range []func() error{
		func() error { _, _, err := s.Task(t.Context(), "missing"); return err },
		func() error {
			_, err := s.Order(t.Context(), &protocol.Task{OrderID: "missing", ContentHash: "h"})
			return err
		},
		func() error { _, err := s.Wait(t.Context(), "missing", atEnd); return err },
		func() error { _, err := s.Follow(t.Context(), "missing", 0); return err },
	} {
		if err := read(); !errors.Is(err, port.ErrNotFound) {
			t.Errorf("an unknown order: %v, want %v", err, port.ErrNotFound)
		}
	}
	submit(t, s, "one", "")
	task, def, err := s.Task(t.Context(), "one")
	if err != nil || def.Name != "pair" || def.Hash != task.Definition {
		t.Errorf("task %+v of %+v, %v", task, def, err)
	}
	if o, err := s.Order(t.Context(), task); err != nil || string(o) != `{"n":12345678901234567890}` {
		t.Errorf("order %s, %v", o, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if last, err := s.Wait(ctx, "one", atEnd); !errors.Is(err, context.Canceled) || last == nil ||
		last.OrderID != "one" {
		t.Errorf("a wait that ends early: %+v, %v", last, err)
	}
	v, err := s.Command(t.Context(), message.Control{OrderID: "one", Event: core.Command{Name: core.Cancel, ID: "c-2"}})
	if err != nil || !v.Accepted {
		t.Errorf("cancel: %+v, %v", v, err)
	}
	close(w.shop.gate)
	if task := wait(t, s, "one"); task.ProcessState != core.Cancelled {
		t.Errorf("ended %s", task.ProcessState)
	}
	if v, err := s.Command(t.Context(), message.Control{
		OrderID: "coming",
		Event:   core.Command{Name: core.Cancel, ID: "c-3"},
	}); err != nil || !v.Accepted {
		t.Errorf("cancel of an order that comes later: %+v, %v", v, err)
	}
	counts := s.Health(t.Context()).Counts
	for _, field := range []struct {
		name      string
		got, want any
	}{
		{`counts["running"]`, counts["running"], int64(0)},
		{`counts["ended-Cancelled"]`, counts["ended-Cancelled"], int64(2)},
		{`counts["ended-Processed"]`, counts["ended-Processed"], int64(0)},
		{`counts["process-goroutines"] >= 5`, counts["process-goroutines"] >= 5, true},
		{`counts["process-heap-bytes"] >= 1<<16`, counts["process-heap-bytes"] >= 1<<16, true},
	} {
		if field.got != field.want {
			t.Errorf("%s is %v, want %v: counts are %v", field.name, field.got, field.want, counts)
		}
	}
}

// A follower gets each version once, in order, from the one after that it has, and the last one.
func TestFollow(t *testing.T) {
	w := newFixture(t, "30s")
	w.shop.gate = make(chan struct{})
	s := w.open()
	defer closeRuntime(t, s)
	submit(t, s, "one", "")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	panics := port.Panics()
	all, err := s.Follow(ctx, "one", 0)
	if err != nil {
		t.Fatal(err)
	}
	newer, err := s.Follow(ctx, "one", 1)
	if err != nil {
		t.Fatal(err)
	}
	if first := <-all; first.Version != 1 {
		t.Errorf("the first version is %d", first.Version)
	}
	close(w.shop.gate)
	for _, f := range []<-chan *protocol.Task{all, newer} {
		for last := int64(1); ; {
			task := <-f
			if task.Version <= last {
				t.Fatalf("version %d after %d", task.Version, last)
			}
			last = task.Version
			if task.Terminal() && task.Due == 0 {
				break
			}
		}
	}
	cancel()
	for range all { //nolint:revive // it ends with its context
	}
	if n := port.Panics() - panics; n > 0 {
		t.Errorf("it ended by %d panics", n)
	}
}

func TestListGoesOn(t *testing.T) {
	w := newFixture(t, "30s")
	s := w.open()
	defer closeRuntime(t, s)
	for i := range 5 {
		submit(t, s, fmt.Sprintf("o-%d", i), "")
		wait(t, s, fmt.Sprintf("o-%d", i))
	}
	var ids []string
	for q := (port.Query{Limit: 2, Workflow: "pair", State: "Processed"}); ; {
		tasks, next, err := s.List(t.Context(), q)
		if err != nil || len(tasks) > 2 {
			t.Fatalf("%d tasks, %v", len(tasks), err)
		}
		for _, task := range tasks {
			ids = append(ids, task.OrderID)
		}
		q.Cursor = next
		if next == "" {
			break
		}
	}
	slices.Sort(ids)
	if fmt.Sprint(ids) != "[o-0 o-1 o-2 o-3 o-4]" {
		t.Errorf("listed %v", ids)
	}
	if _, _, err := s.List(t.Context(), port.Query{Limit: 0}); err == nil {
		t.Error("a list of none is answered")
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
		if err := s.Reject(t.Context(),
			api.Rejected{Queue: queue, Body: []byte(body), Err: err}); err != nil {
			t.Fatal(err)
		}
	}
	refusal := &core.Refusal{Code: "invalid", Text: "no"}
	inQuarantine := func(want int) {
		t.Helper()
		if d := depth(t, s, port.Quarantine); d.Visible != want {
			t.Errorf("%d messages in quarantine, want %d", d.Visible, want)
		}
	}
	reject(port.Intake, `not json`, refusal)
	inQuarantine(1)
	reject(port.Control, `not json`, refusal)
	inQuarantine(2)
	known := `{"schema":1,"orderId":"x","workflow":"pair","order":{}%s}`
	reject(port.Intake, fmt.Sprintf(known, `,"replyTo":"shop"`), refusal) // reported by Submit already
	inQuarantine(2)
	reject(port.Control, `{}`, &core.Refusal{Code: api.CodeForbidden, Text: "no"})
	inQuarantine(2)
	if _, _, err := s.Task(t.Context(), "x"); !errors.Is(err, port.ErrNotFound) {
		t.Errorf("what was refused is stored: %v", err)
	}
	// Where there is no queue for its refusal, it is kept.
	reject(port.Intake, fmt.Sprintf(known, `,"replyTo":"nowhere"`), refusal)
	inQuarantine(3)
	if counts := s.Health(t.Context()).Counts; counts["refused: "+api.CodeForbidden] != 1 {
		t.Errorf("counts are %v", counts)
	}
}

func TestQueuesOfTheStack(t *testing.T) {
	w := newFixture(t, "30s")
	s := w.open()
	defer closeRuntime(t, s)
	if got, want := fmt.Sprint(s.QueueNames()),
		"[control dead-control dead-replies dead-requests-shop dead-tasks quarantine replies "+
			"requests-shop status-shop]"; got != want {
		t.Errorf("queues %s, want %s", got, want)
	}
	for _, name := range s.QueueNames() {
		if q, err := s.Queue(name); err != nil || q.Name() != name {
			t.Errorf("queue %s: %v", name, err)
		}
	}
	for _, name := range []string{"nowhere", port.Tasks} { // P41: nothing from outside reaches the tasks
		if _, err := s.Queue(name); !errors.Is(err, port.ErrNotFound) {
			t.Errorf("queue %s: %v", name, err)
		}
	}
	r := s.Submit(t.Context(), []message.SubmitOrder{order(t, "one", `,"replyTo":"nowhere"`)})[0]
	if r.Err == nil {
		t.Error("a reply-to that is not deployed is taken")
	}
}

// Messages outlive the process where they could not be rebuilt, for as long as the docs say.
func TestHowLongMessagesAreKept(t *testing.T) {
	w := newFixture(t, "30s")
	w.options.Agents = filepath.Join(w.dir, "agents.yaml")
	if err := os.WriteFile(w.options.Agents, []byte("agents: {courier: {external: true}}"),
		0o600); err != nil {
		t.Fatal(err)
	}
	clock := memory.NewClock(time.Now())
	w.options.Clock = clock
	s := w.open()
	send := func(name string) {
		t.Helper()
		q, err := s.Queue(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Send(t.Context(), []port.Message{{Body: []byte("{}")}})[0]; err != nil {
			t.Fatal(err)
		}
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
		if !slices.Equal(got, c.want) {
			t.Errorf("after %s more: %v, want %v", c.after, got, c.want)
		}
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
	q, err := s.Queue(port.Requests("shop"))
	if err != nil {
		t.Fatal(err)
	}
	clock.Advance(10 * time.Second)
	if _, err := q.Receive(t.Context(), 1, 0, time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(q.Send(t.Context(),
		[]port.Message{{Body: []byte("now")}, {Body: []byte("later"), Delay: time.Minute}})...); err != nil {
		t.Fatal(err)
	}
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
	q, err := s.Queue(port.Requests("shop"))
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 40; n++ {
		if got, err := q.Receive(t.Context(), 1, patience, 0); err != nil || len(got) != 1 ||
			got[0].Received != n {
			t.Fatalf("receive %d: %+v, %v", n, got, err)
		}
	}
	if got, err := q.Receive(t.Context(), 1, 0, 0); err != nil || len(got) != 0 {
		t.Errorf("received once more: %+v, %v", got, err)
	}
	if d := depth(t, s, "dead-requests-shop"); d.Visible != 1 {
		t.Errorf("dead letters: %+v", d)
	}
}

// Run serves the stack over HTTP, says when it is ready, and ends with its context.
func TestRunServes(t *testing.T) {
	w := newFixture(t, "30s")
	w.options.Listen = "127.0.0.1:0"
	started := make(chan embedded.Started, 1)
	w.options.Ready = func(s embedded.Started) { started <- s }
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- embedded.Run(ctx, w.options) }()
	var s embedded.Started
	select {
	case s = <-started:
	case err := <-ended:
		t.Fatal(err)
	}
	if s.Workflows != 1 || s.Agents != 1 {
		t.Errorf("started as %+v", s)
	}
	get := func(path string, status int) (body map[string]any) {
		t.Helper()
		res, err := http.Get(s.Address + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != status || json.Unmarshal(data, &body) != nil {
			t.Fatalf("GET %s: %s, %s (%v)", path, res.Status, data, err)
		}
		return body
	}
	if body := get("/readyz", http.StatusOK); body["ready"] != true ||
		fmt.Sprint(body["checks"]) != "map[intake:ok store:ok]" {
		t.Errorf("readiness %v", body)
	}
	res, err := http.Post(s.Address+"/v1/orders", "application/json",
		strings.NewReader(`{"schema":1,"orderId":"one","workflow":"pair","order":{"n":1}}`))
	if err != nil || res.StatusCode/100 != 2 {
		t.Fatalf("submit: %v, %v", res, err)
	}
	_ = res.Body.Close()
	if body := get("/v1/orders/one?wait=30s", http.StatusOK); body["state"] != "Processed" {
		t.Errorf("the order is %v", body)
	}
	second := w.options
	second.Listen = strings.TrimPrefix(s.Address, "http://")
	if err := embedded.Run(t.Context(), second); err == nil {
		t.Error("two serve on one address")
	}
	second.Listen = "127.0.0.1:0"
	if err := embedded.Run(t.Context(), second); !errors.Is(err, sqlite.ErrLocked) {
		t.Errorf("a second one on the folder: %v", err)
	}
	w.write("not a workflow")
	eventually(t, "the broken file is reported", func() bool {
		checks, _ := get("/healthz", http.StatusOK)["checks"].(map[string]any)
		return checks["workflow pair"] != nil
	})
	stop()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
	closeRuntime(t, w.open()) // the folder is free
}

// Two files of one workflow: the first one, by name, is in force, and the other is reported. A file that
// goes takes its workflow along.
func TestFilesOfOneWorkflow(t *testing.T) {
	w := newFixture(t, "5s")
	second := filepath.Join(w.dir, "workflows", "second.yml")
	if err := os.WriteFile(second, fmt.Appendf(nil, pair, "6s"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := w.open()
	defer closeRuntime(t, s)
	infos := s.Workflows(t.Context())
	if len(infos) != 2 || infos[0].Name != "pair" || len(infos[0].Problems) != 0 ||
		infos[1].Name != "second" || infos[1].Hash != "" ||
		len(infos[1].Problems) != 1 || !strings.HasSuffix(infos[1].Problems[0],
		"second.yml: workflow pair is defined in pair.yaml already; fix: give one of them another name") {
		t.Fatalf("workflows are %+v", infos)
	}
	first := infos[0].Hash
	if err := os.Remove(filepath.Join(w.dir, "workflows", "pair.yaml")); err != nil {
		t.Fatal(err)
	}
	now := until(t, s, func(i view.WorkflowInfo) bool { return i.Hash != first })
	if now.Name != "pair" || len(now.Problems) != 0 {
		t.Errorf("the workflow is %+v", now)
	}
	if err := os.Remove(second); err != nil {
		t.Fatal(err)
	}
	eventually(t, "no workflow is left", func() bool { return len(s.Workflows(t.Context())) == 0 })
	if r := s.Submit(t.Context(), []message.SubmitOrder{order(t, "one", "")})[0]; r.Err == nil {
		t.Error("an order of a workflow that is gone is taken")
	}
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
			if _, err := s.Wait(t.Context(), id, func(x *protocol.Task) bool {
				return atEnd(x) && x.End.ResendAt == 0
			}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		want := 0
		if replyTo[0] != core.Events {
			want = 1
		}
		text := log.String()
		if n := strings.Count(text, "start with --reply-to events\" workflow=pair"); n != want ||
			strings.Count(text, "\n") != want {
			t.Errorf("with %v, want %d lines: %s", replyTo, want, text)
		}
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

func (l *logged) line(with string) string {
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, with) {
			return line
		}
	}
	return ""
}

// An order that needs the operator has one line of the log, with what it takes to find it.
func TestAnAlertIsLogged(t *testing.T) {
	w := newFixture(t, "5s")
	log := &logged{}
	w.options.Log = slog.New(slog.NewTextHandler(log, nil))
	w.write(strings.Replace(fmt.Sprintf(pair, "5s"), "onFailure: undo, undo: unsecond, grade: fenced",
		"onFailure: stop, undo: unsecond, grade: fenced", 1))
	w.shop.refuse.Store(true)
	s := w.open()
	defer closeRuntime(t, s)
	submit(t, s, "one", "")
	if task := wait(t, s, "one"); task.ProcessState != core.Error {
		t.Fatalf("ended %s", task.ProcessState)
	}
	eventually(t, "the alert", func() bool { return log.line("ALERT") != "" })
	for _, want := range []string{
		"level=ERROR", "order=one", "workflow=pair", "phase=forward", "step=second", "code=", "run=0",
		"attempts=1", "one/0/second", "no such thing", "stepkeeper show one",
	} {
		if line := log.line("ALERT"); !strings.Contains(line, want) {
			t.Errorf("the alert does not say %s: %s", want, line)
		}
	}
	eventually(t, "it is settled", func() bool {
		tasks, _, err := s.List(t.Context(), port.Query{State: string(core.Error), Limit: 10})
		return err == nil && len(tasks) == 1 && s.Health(t.Context()).Counts["running"] == 0
	})
}

// Where nothing is wrong the log has no warnings, from the start to the end.
func TestNoWarningsWhereNothingIsWrong(t *testing.T) {
	w := newFixture(t, "30s")
	log := &logged{}
	w.options.Log = slog.New(slog.NewTextHandler(log, nil))
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
	if text := log.String(); strings.Contains(text, "level=WARN") || strings.Contains(text, "level=ERROR") ||
		strings.Contains(text, "taken up again") {
		t.Error(text)
	}
}

// The workflows in force stay while their folder cannot be read.
func TestAFolderOfWorkflowsThatGoes(t *testing.T) {
	w := newFixture(t, "30s")
	log := &logged{}
	w.options.Log = slog.New(slog.NewTextHandler(log, nil))
	s := w.open()
	defer closeRuntime(t, s)
	other := strings.Replace(fmt.Sprintf(pair, "5s"), "workflow: pair", "workflow: other", 1)
	if err := os.WriteFile(filepath.Join(w.options.Workflows, "other.yaml"), []byte(other),
		0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another workflow is in force", func() bool { return log.line("workflow=other") != "" })
	if n := strings.Count(log.String(), `msg="workflow in force" workflow=pair`); n != 1 {
		t.Errorf("the log reports %d times that workflow pair is in force, want once", n)
	}
	if err := os.Rename(w.options.Workflows, w.options.Workflows+"-away"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is noticed", func() bool { return log.line("cannot read the workflows") != "" })
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
	if all := s.Workflows(t.Context()); len(all) != 1 ||
		!strings.Contains(strings.Join(all[0].Problems, "\n"),
			"there is no agent shpo; fix: did you mean shop?") {
		t.Errorf("%+v", all)
	}
}

func TestAFolderOfWorkflowsThatIsMissing(t *testing.T) {
	w := newFixture(t, "5s")
	w.options.Workflows = filepath.Join(w.dir, "nowhere")
	if _, err := embedded.Open(t.Context(), w.options); err == nil ||
		!strings.Contains(err.Error(), "nowhere") {
		t.Errorf("error is %v", err)
	}
}
