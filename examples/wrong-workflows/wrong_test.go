// Package wrongworkflows_test finds what is wrong with the workflow files here, and holds their
// corrections to be right.
package wrongworkflows_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/agent/agenttest"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
	"github.com/stepkeeper/stepkeeper/workflowtest"
)

// found is what validation says of each wrong file; "" where it cannot know.
var found = map[string]string{
	"forgets-keys":          "",
	"outlives-its-deadline": "longer than the deadline of 5m",
	"no-way-back":           "step reserve declares no undo",
	"cannot-fence":          "",
	"impatient":             "",
	"asks-in-vain":          "",
}

func TestWhatValidationFinds(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) != 2*len(found) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for name, says := range found {
		_, problems := source.LoadFile(name+".yaml", source.Options{})
		if text := problems.Error(); !strings.Contains(text, says) || (text == "") != (says == "") {
			t.Errorf("%s: %q, want %q", name, text, says)
		}
		if def, problems := source.LoadFile(name+"-fixed.yaml", source.Options{}); def == nil ||
			len(problems) > 0 {
			t.Errorf("%s, corrected: %v", name, problems)
		}
	}
}

// calm plays a file with services that are well, and take as long as it says.
func calm(t *testing.T, file string, takes time.Duration) *workflowtest.Run {
	t.Helper()
	w := workflowtest.New(t, file).AllowUnscripted()
	if strings.HasPrefix(file, "impatient") {
		w.Agent("warehouse").On("reserve").Return(nil).After(takes)
	}
	return w.Submit(map[string]any{}).UntilEnd(24 * time.Hour)
}

// With services that are well every order ends Processed: every file that is valid, but for the
// impatient one.
func TestCalmOrdersEndProcessed(t *testing.T) {
	for name := range found {
		calm(t, name+"-fixed.yaml", 4*time.Second).ExpectProcessed()
	}
	calm(t, "impatient.yaml", 4*time.Second).ExpectCompensated()
}

// hotel is a service without a fence, whose bookings take a while to land. Its cancel finds only
// what has landed.
type hotel struct {
	mu     sync.Mutex
	landed map[string]time.Time
	gone   map[string]bool
}

func (h *hotel) book(key string, lands time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, there := h.landed[key]; !there || h.gone[key] {
		h.landed[key] = lands
		h.gone[key] = false
	}
}

func (h *hotel) cancel(key string, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if at, there := h.landed[key]; there && !at.After(now) {
		h.gone[key] = true
	}
}

func (h *hotel) rooms(key string, now time.Time) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if at, there := h.landed[key]; there && !at.After(now) && !h.gone[key] {
		return 1
	}
	return 0
}

// cancelledInFlight cancels an order whose booking lands 8 s after it was sent, and answers how many
// rooms it holds an hour later.
func cancelledInFlight(t *testing.T, file string) int {
	t.Helper()
	w := workflowtest.New(t, file)
	h := &hotel{landed: map[string]time.Time{}, gone: map[string]bool{}}
	w.Agent("hotel").On("book").Func(func(c workflowtest.Call) (any, error) {
		h.book(c.Key, c.At.Add(8*time.Second))
		return nil, nil
	}).After(8 * time.Second)
	w.Agent("hotel").On("cancel").Func(func(c workflowtest.Call) (any, error) {
		h.cancel(c.Key, c.At)
		return nil, nil
	})
	run := w.Submit(map[string]any{})
	w.Advance(2 * time.Second)
	run.Cancel()
	run.UntilEnd(time.Hour).ExpectCancelled()
	w.Advance(time.Hour)
	return h.rooms(core.Key(run.ID(), 0, "book-room"), w.Now())
}

func TestCannotFence(t *testing.T) {
	if n := cancelledInFlight(t, "cannot-fence.yaml"); n != 1 {
		t.Errorf("%d rooms: the example shows nothing", n)
	}
	if n := cancelledInFlight(t, "cannot-fence-fixed.yaml"); n != 0 {
		t.Errorf("%d rooms are taken by a cancelled order", n)
	}
	h := &hotel{landed: map[string]time.Time{}, gone: map[string]bool{}}
	now := time.Now()
	r := agenttest.Find(t, worker.Operations{
		"book": {Run: func(ctx context.Context, c worker.Call) (any, error) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			h.book(c.Key, now)
			return nil, nil
		}},
		"cancel": {Run: func(_ context.Context, c worker.Call) (any, error) {
			h.cancel(c.Key,
				now)
			return nil, nil
		}},
	}, agenttest.Probe{
		Do: "book", Undo: "cancel", Timeout: time.Second,
		Effects: func(key string) int { return h.rooms(key, now) },
	})
	if r.Grade != agenttest.Idempotent || !strings.Contains(r.WhyNot(agenttest.Fenced), "do after undo") {
		t.Errorf("the hotel earns %s", r)
	}
}

// lostOnce loses the answer of the first booking, and reports how long the operator waited for the
// alert, and how many attempts were made of how many calls.
func lostOnce(t *testing.T, file string) (waited time.Duration, attempts, calls int) {
	t.Helper()
	w := workflowtest.New(t, file)
	w.Agent("carrier").On("book").Fail(workflowtest.InDoubt("reset", "the connection was cut")).Return(nil)
	run := w.Submit(map[string]any{}).UntilEnd(24 * time.Hour)
	run.ExpectError("book-parcel")
	return run.Alerts()[0].At.Std().Sub(workflowtest.Start), run.Step("book-parcel").Attempts,
		len(run.Calls("carrier.book"))
}

func TestAsksInVain(t *testing.T) {
	if waited, attempts, calls := lostOnce(t, "asks-in-vain.yaml"); waited < 10*time.Minute ||
		attempts != 8 || calls != 1 {
		t.Errorf("alert after %s, %d attempts, %d calls: the example shows nothing", waited, attempts, calls)
	}
	if waited, attempts, calls := lostOnce(t, "asks-in-vain-fixed.yaml"); waited > time.Minute ||
		attempts != calls {
		t.Errorf("alert after %s, %d attempts, %d calls", waited, attempts, calls)
	}
}
