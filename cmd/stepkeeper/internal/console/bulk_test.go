package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/bulk"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

var why = bulk.Action{Command: "resubmit", By: "ada", Reason: "the bank is back"}

var atCharge = bulk.Where{"step": "charge"}

// list makes a list of the orders that stopped at charge.
func (w *world) list(a bulk.Action, pace bulk.Pace) (file string) {
	w.Helper()
	orders, err := bulk.Select(context.Background(), w.client, atCharge, a, bulk.Unseen)
	require.NoError(w, err)
	file = filepath.Join(w.TempDir(), "list.jsonl")
	require.NoError(w, bulk.Create(file, bulk.Header{
		Bulk: "b-1", Action: a, Where: atCharge, Made: time.Now(), Pace: pace,
	}, orders))
	return file
}

func (w *world) work(ctx context.Context, file string, report func(bulk.Report)) bulk.Report {
	w.Helper()
	l, err := bulk.Open(file)
	require.NoError(w, err)
	r, err := l.Run(ctx, w.client, report)
	err = errors.Join(err, l.Close())
	require.NoError(w, err)
	return r
}

// verdicts returns the verdicts of an order's bulk command.
func (w *world) verdicts(id string) (all []client.Verdict) {
	w.Helper()
	o, err := w.client.Get(context.Background(), id)
	require.NoError(w, err)
	for _, v := range o.Verdicts {
		if strings.HasPrefix(v.ID, "b-1:") {
			all = append(all, v)
		}
	}
	return all
}

// stopped lets some orders stop at charge.
func (w *world) stopped(n int) []string {
	w.Helper()
	close(w.hold)
	w.refusing("charge")
	all := ids("o", n)
	w.submit("order", all...)
	for _, id := range all {
		w.until(id+" stops", w.inState(id, "Error"))
	}
	return all
}

var quick = bulk.Pace{Canary: 3, Rate: 500, StopAt: 0.2, Patience: 20}

// The listed orders are repaired, and are reported as fixed when their step is done. Orders that stop
// meanwhile are left alone, and one that has changed since the list was made is refused. A second run of the
// list changes nothing.
func TestBulkFixes(t *testing.T) {
	w := newWorld(t, nil)
	all := w.stopped(12)
	file := w.list(why, quick)
	w.submit("order", "late")
	w.until("it stops", w.inState("late", "Error"))
	_, err := w.client.Resubmit(context.Background(), all[11]) // another operator
	require.NoError(t, err)
	w.until("it stops again", w.inState(all[11], "Error"))
	w.refusing("")
	r := w.work(context.Background(), file, nil)
	require.ElementsMatch(t, all[:11], r.Fixed)
	require.Equal(t, all[11:], r.Refused)
	require.Empty(t, slices.Concat(r.Again, r.Unknown, r.NotSent))
	require.Empty(t, r.Stopped)
	for _, id := range all[:11] {
		w.until(id+" is processed", w.inState(id, "Processed"))
		v := w.verdicts(id)
		require.Len(t, v, 1, id)
		require.Equal(t, "ada", v[0].By, id)
		require.Equal(t, "the bank is back", v[0].Note, id)
	}
	require.True(t, w.inState("late", "Error")(), "an order that is not in the list was changed")
	require.Empty(t, w.verdicts("late"))
	before, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Len(t, w.work(context.Background(), file, nil).Fixed, 11)
	require.Len(t, w.verdicts(all[0]), 1)
	after, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after), "a list that is done was changed")
}

// An order counts as fixed only when its step is done, not when its command is accepted.
func TestBulkWaitsForTheStep(t *testing.T) {
	w := newWorld(t, nil)
	all := w.stopped(2)
	w.refusing("")
	w.slow.Store(true)
	pace := quick
	pace.Canary = 0
	pace.Patience = 0.3
	r := w.work(context.Background(), w.list(why, pace), nil)
	require.Len(t, r.Unknown, 2)
	require.Empty(t, r.Fixed)
	require.True(t, w.inState(all[0], "Processing")())
}

// Sending stops when too large a share has failed again. The list still waits for the orders that run.
func TestBulkStopsWhereTooManyFailAgain(t *testing.T) {
	w := newWorld(t, nil)
	w.stopped(40)
	pace := quick
	pace.Canary = 0
	pace.Rate = 20
	r := w.work(context.Background(), w.list(why, pace), nil)
	require.GreaterOrEqual(t, len(r.Again), 5)
	require.LessOrEqual(t, len(r.Again), 30)
	require.Len(t, r.NotSent, 40-len(r.Again))
	stopped := regexp.MustCompile(`^([5-9]|[12]\d|30) of ([5-9]|[12]\d|30) failed again$`)
	require.Regexp(t, stopped, r.Stopped)
	require.Empty(t, r.Fixed)
}

// After a crash the list continues: no order gets a second command, and none is left out. The rest is sent at the
// rate of the list, like its first part.
func TestBulkGoesOnAfterACrash(t *testing.T) {
	w := newWorld(t, nil)
	all := w.stopped(20)
	w.refusing("")
	pace := quick
	pace.Canary = 2
	pace.Rate = 50
	file := w.list(why, pace)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := w.work(ctx, file, func(n bulk.Report) {
		if len(n.Fixed) == 5 {
			cancel()
		}
	})
	require.NotEqual(t, 20, len(r.Fixed))
	require.Equal(t, "it was interrupted", r.Stopped)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	// The crashed process has not written the last results, and has written only half of a line.
	lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	cut := strings.Join(lines[:len(lines)-3], "") + `{"orderId":"o-0` + strings.Repeat("0", 10_000)
	require.NoError(t, os.WriteFile(file, []byte(cut), 0o600))
	least := time.Duration(20-len(r.Fixed)) * time.Second / 50
	began := time.Now()
	r = w.work(context.Background(), file, nil)
	require.GreaterOrEqual(t, time.Since(began), least)
	require.Len(t, r.Fixed, 20)
	require.Empty(t, r.Stopped)
	text, err = os.ReadFile(file)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		require.True(t, json.Valid([]byte(line)), "the file has a line that is not JSON")
	}
	for _, id := range all {
		v := w.verdicts(id)
		require.Len(t, v, 1, id)
		require.True(t, v[0].Accepted, id)
	}
}

// For each kind of command and of order: what the plan shows as accepted is accepted and has its effect, and a resubmit
// works for all of them.
func TestBulkOfEachKind(t *testing.T) {
	long := strings.Repeat("x", 128)
	for command, want := range map[string]client.State{
		"resubmit": "Processed", "undo": "Compensated", "cancel": "Cancelled", "close": "Closed", "resolve": "Error",
		"move": "Error",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			close(w.hold)
			kinds := []string{"o.1_a-Z", "tenant:7", long, "p~all~0", "nested~inner~0~all~0", "again~all~0.1"}
			w.refusing("ship")
			w.submit("many", "again")
			w.until("it is undone", w.inState("again", "Compensated"))
			w.refusing("charge")
			v, err := w.client.Resubmit(context.Background(), "again")
			require.NoError(t, err)
			require.True(t, v.Accepted)
			w.submit("one", kinds[:3]...)
			w.submit("many", "p")
			w.submit("nested", "nested")
			for _, id := range kinds {
				w.until(id+" stops", w.inState(id, "Error"))
			}
			w.refusing("")
			a := bulk.Action{Command: command, By: "ada", Reason: "settled by hand"}
			switch command {
			case "move":
				a.Definition = "latest"
			case "resolve":
				a.Step = "charge"
				a.Fact = core.NotHappened
				w.ahead.Add(int64(time.Hour)) // no call can take effect any more
			}
			file := w.list(a, bulk.Pace{Rate: 1000, StopAt: 1, Patience: 60})
			l, err := bulk.Open(file)
			require.NoError(t, err)
			plan := l.Report()
			require.NoError(t, l.Close())
			require.Equal(t, len(kinds), plan.Orders)
			r := w.work(context.Background(), file, nil)
			require.ElementsMatch(t, plan.NotSent, r.Fixed)
			require.Empty(t, slices.Concat(r.Unknown, r.NotSent, r.Again))
			for _, id := range r.Fixed {
				w.until(id+" is "+string(want), func() bool {
					o, err := w.client.Get(context.Background(), id)
					return err == nil && o.State == want
				})
				require.Equal(t, "settled by hand", w.verdicts(id)[0].Note)
			}
			if command == "resubmit" {
				require.Len(t, r.Fixed, len(kinds))
			}
		})
	}
}

// A Cancel is sent to an order in any state, but is refused by an order that got another command since the
// list was made.
func TestBulkCancel(t *testing.T) {
	w := newWorld(t, nil)
	all := w.stopped(2)
	file := w.list(bulk.Action{Command: "cancel", By: "ada", Reason: "sold out"}, quick)
	v, err := w.client.Undo(context.Background(), all[0])
	require.NoError(t, err)
	require.True(t, v.Accepted)
	r := w.work(context.Background(), file, nil)
	require.Equal(t, all[:1], r.Refused)
	require.Equal(t, all[1:], r.Fixed)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), "the order got another command after the list was made")
}

// A wrong list is refused before anything is sent. While one process works on a list, another one does not
// start it.
func TestBulkRefuses(t *testing.T) {
	w := newWorld(t, nil)
	w.stopped(1)
	orders, err := bulk.Select(context.Background(), w.client, bulk.Where{"older": "1h"}, why, bulk.Unseen)
	require.NoError(t, err)
	require.Empty(t, orders)
	good := bulk.Header{
		Action: why, Where: bulk.Where{"step": "charge"},
		Pace: bulk.Pace{Rate: 1000, StopAt: 1, Patience: 0.1},
	}
	resolve := bulk.Action{
		Command: "resolve", Step: "charge", Fact: core.Undone,
		By: strings.Repeat("b", message.MaxBy), Reason: strings.Repeat("r", core.MaxMessage),
	}
	for want, change := range map[string]func(*bulk.Header){
		"":                             func(*bulk.Header) {},
		" ":                            func(h *bulk.Header) { h.Action = resolve },
		"canary is -1":                 func(h *bulk.Header) { h.Canary = -1 },
		"rate is 0;":                   func(h *bulk.Header) { h.Rate = 0 },
		"rate is 1e-10;":               func(h *bulk.Header) { h.Rate = 1e-10 },
		"rate is NaN;":                 func(h *bulk.Header) { h.Rate = math.NaN() },
		"the share to stop at is NaN;": func(h *bulk.Header) { h.StopAt = math.NaN() },
		"the time to wait for an order is 1e+300 s;": func(h *bulk.Header) { h.Patience = 1e300 },
		"rate is 1000.5;":                       func(h *bulk.Header) { h.Rate = 1000.5 },
		"the share to stop at is -0.5;":         func(h *bulk.Header) { h.StopAt = -0.5 },
		"the share to stop at is 1.5;":          func(h *bulk.Header) { h.StopAt = 1.5 },
		"the time to wait for an order is 0 s;": func(h *bulk.Header) { h.Patience = 0 },
		`"answer" cannot be sent`:               func(h *bulk.Header) { h.Command = "answer" },
		`definition "" must be`:                 func(h *bulk.Header) { h.Command = "move" },
		`definition "new" must be`:              func(h *bulk.Header) { h.Definition = "new" },
		"step is missing":                       func(h *bulk.Header) { h.Action = resolve; h.Step = "" },
		"fact \"perhaps\" must be":              func(h *bulk.Header) { h.Action = resolve; h.Fact = "perhaps" },
		"by has 0 bytes":                        func(h *bulk.Header) { h.By = "" },
		"by has 129 bytes":                      func(h *bulk.Header) { h.By = strings.Repeat("b", message.MaxBy+1) },
		"reason has 0 bytes":                    func(h *bulk.Header) { h.Reason = "" },
		"reason has 513 bytes": func(h *bulk.Header) {
			h.Reason = strings.Repeat("r",
				core.MaxMessage+1)
		},
		"no orders are selected": func(h *bulk.Header) { h.Where = nil },
	} {
		h := good
		change(&h)
		if strings.TrimSpace(want) == "" {
			require.NoError(t, h.Check())
			continue
		}
		require.ErrorContains(t, h.Check(), want)
	}
	file := w.list(why, quick)
	first, err := bulk.Open(file)
	require.NoError(t, err)
	_, err = bulk.Open(file)
	require.ErrorIs(t, err, bulk.ErrBusy)
	require.NoError(t, first.Close())
	over, cancel := context.WithCancel(t.Context())
	cancel()
	r := w.work(over, file, nil)
	require.Equal(t, "it was interrupted", r.Stopped)
	require.Len(t, r.NotSent, 1)
	require.ErrorIs(t, bulk.Create(file, first.Header, nil), os.ErrExist, "a list was written over another one")
	require.Error(t, bulk.Create(filepath.Join(t.TempDir(), "list"), bulk.Header{}, nil))
	for i, text := range []string{
		"", "{}\n", "5\n", `{"bulk":"b","command":"resubmit","where":{"step":"x"},"orders":2,"by":"a","reason":"b","rate":1,"patience":1}` + "\n" + `{"orderId":"a"}` + "\n",
		`{"bulk":"b","command":"delete","where":{"step":"x"},"orders":0,"by":"a","reason":"b","rate":1,"patience":1}` + "\n",
	} {
		bad := filepath.Join(t.TempDir(), fmt.Sprint(i))
		require.NoError(t, os.WriteFile(bad, []byte(text), 0o600))
		_, err := bulk.Open(bad)
		require.Error(t, err, text)
	}
}
