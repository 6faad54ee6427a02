package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strconv"
	"time"

	"github.com/stepkeeper/stepkeeper/demo/load"
	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/functions/supervisor"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

const overdueTasks = 100

// measureSweep measures the sweep of 100 overdue tasks, once with few and once with many other stored tasks.
// The time should not depend on the number of stored tasks.
func measureSweep(ctx context.Context, o options, dir string, f *figures, w io.Writer) error {
	f.SweepMS = map[string]float64{}
	for _, n := range []int{1000, o.stored} {
		took, err := sweepAmong(ctx, filepath.Join(dir, strconv.Itoa(n)), n, o.repeats+2)
		if err != nil {
			return err
		}
		f.SweepMS[fmt.Sprint(n)] = took
		fmt.Fprintf(w, "sweep, %d overdue      %.1f ms among %d stored tasks\n", overdueTasks, took, n)
	}
	return nil
}

func sweepAmong(ctx context.Context, dir string, stored, repeats int) (float64, error) {
	db, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		return 0, err
	}
	def, problems := source.Parse("saga.yaml", []byte(saga), source.Options{})
	if def == nil {
		return 0, fmt.Errorf("the bench's workflow: %w", problems)
	}
	st := state.New(state.Config{
		Store: db, Definitions: db, Compile: workflow.Decode, Encode: workflow.Encode,
		Current: func(string) *core.Definition { return def },
	})
	if _, err := st.Current(ctx, def.Name); err != nil {
		return 0, err
	}
	if err := storeTasks(ctx, st, def, stored-overdueTasks, "ended", true); err != nil {
		return 0, err
	}
	queues, err := memory.NewQueues(port.ClockFunc(time.Now),
		[]memory.QueueConfig{{Name: port.Control}, {Name: port.Requests("shop")}})
	if err != nil {
		return 0, err
	}
	var all []float64
	for rep := range repeats {
		if err := storeTasks(ctx, st, def, overdueTasks, fmt.Sprintf("late-%d", rep), false); err != nil {
			return 0, err
		}
		sup := supervisor.New(supervisor.Config{Parts: engine.Parts{
			State: st, Queues: queues, Leases: memory.NewLeases(), Clock: port.ClockFunc(time.Now),
			Name:   "bench",
			Logger: slog.New(slog.DiscardHandler),
		}})
		start := time.Now()
		report, err := sup.Sweep(ctx)
		if err != nil {
			return 0, err
		}
		if report.HandedBack != overdueTasks {
			return 0, fmt.Errorf("the sweep handed back %d of %d steps", report.HandedBack, overdueTasks)
		}
		all = append(all, ms(time.Since(start)))
	}
	return load.Median(all), db.Close()
}

// storeTasks stores n new tasks. If end is true, the tasks have ended. Otherwise the first step of each task
// is overdue.
func storeTasks(ctx context.Context, st *state.Store, def *core.Definition, n int, prefix string,
	end bool,
) error {
	long := time.Now().Add(-time.Hour)
	if !end {
		long = time.Now().Add(
			-def.Steps[0].Timeout.Std() - def.Agents["shop"].QueueAllowance.Std() - time.Second)
	}
	for from := 0; from < n; from += 500 {
		var changes []state.Change
		for i := from; i < min(n, from+500); i++ {
			id := fmt.Sprintf("%s-%d", prefix, i)
			d, err := protocol.Decide(def, []byte(body), nil, core.Submitted{
				OrderID: id, Workflow: def.Name,
				ContentHash: "x",
			}, protocol.At{Now: core.TimeOf(long), By: "bench"})
			if err != nil {
				return err
			}
			t := *d.Task
			if end {
				t.ProcessState = core.Processed
				t.Due = 0
			}
			t.Version = 1
			changes = append(changes, state.Change{Task: &t, Order: []byte(body)})
		}
		for _, err := range st.Commit(ctx, changes) {
			if err != nil {
				return err
			}
		}
	}
	return nil
}
