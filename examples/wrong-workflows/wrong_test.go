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

	"github.com/stretchr/testify/require"

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
	require.NoError(t, err)
	require.Len(t, files, 2*len(found))
	for name, says := range found {
		_, problems := source.LoadFile(name+".yaml", source.Options{})
		text := problems.Error()
		require.Contains(t, text, says, name)
		require.Equal(t, says == "", text == "", name)
		def, problems := source.LoadFile(name+"-fixed.yaml", source.Options{})
		require.NotNil(t, def, name)
		require.Empty(t, problems, name)
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
	require.Equal(t, 1, cancelledInFlight(t, "cannot-fence.yaml"))
	require.Zero(t, cancelledInFlight(t, "cannot-fence-fixed.yaml"))
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
	require.Equal(t, agenttest.Idempotent, r.Grade)
	require.Contains(t, r.WhyNot(agenttest.Fenced), "do after undo")
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
	waited, attempts, calls := lostOnce(t, "asks-in-vain.yaml")
	require.GreaterOrEqual(t, waited, 10*time.Minute)
	require.Equal(t, 8, attempts)
	require.Equal(t, 1, calls)
	waited, attempts, calls = lostOnce(t, "asks-in-vain-fixed.yaml")
	require.LessOrEqual(t, waited, time.Minute)
	require.Equal(t, calls, attempts)
}
