package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/demo/process"
	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
	"github.com/stepkeeper/stepkeeper/verify/bench/load"
)

// measureCore measures one decision: a reply that finishes a step and claims the next.
func measureCore(_ context.Context, _ options, _ string, f *figures, w io.Writer) error {
	def, problems := source.Parse("saga.yaml", []byte(saga), source.Options{})
	if def == nil {
		return fmt.Errorf("the bench's workflow: %w", problems)
	}
	at := protocol.At{Now: core.TimeOf(time.Now()), By: "bench"}
	d, err := protocol.Decide(def, []byte(body), nil,
		core.Submitted{OrderID: "one", Workflow: "saga", ContentHash: "x"}, at)
	if err != nil {
		return err
	}
	reply := core.Reply{Step: "reserve", Attempt: 1, Operation: core.Do, Outcome: core.OutcomeDone,
		Output: []byte(`{"ok":true}`)}
	var failed error
	r := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			if _, err := protocol.Decide(def, []byte(body), d.Task, reply, at); err != nil {
				failed = err
			}
		}
	})
	f.DecisionsPerS = 1e9 / float64(r.NsPerOp())
	f.AllocsPerDecision = float64(r.AllocsPerOp())
	fmt.Fprintf(w, "core                    %10.0f decisions/s, %.0f allocations each\n", f.DecisionsPerS,
		f.AllocsPerDecision)
	return failed
}

// measureFloorAndThroughput takes turns, so that both see the same machine.
func measureFloorAndThroughput(ctx context.Context, o options, dir string, f *figures, w io.Writer) error {
	bare, err := startFloor(ctx, o, dir)
	if err != nil {
		return err
	}
	s, err := openRuntime(ctx, dir, operations())
	if err != nil {
		return err
	}
	var floors, ours, ratios []float64
	for rep := range o.repeats + 1 { // the first one warms up
		fl, err := bare.Measure(load.Request{Prefix: fmt.Sprint("f-", rep), Orders: o.orders,
			Concurrency: o.concurrency})
		if err != nil {
			return err
		}
		us, err := load.Run(o.orders, o.concurrency,
			func(i int) error { return one(ctx, s, fmt.Sprintf("o-%d-%d", rep, i)) })
		if err != nil {
			return err
		}
		if rep > 0 {
			floors, ours = append(floors, fl.OrdersPerS), append(ours, us.OrdersPerS)
			ratios = append(ratios, us.OrdersPerS/fl.OrdersPerS)
		}
	}
	f.FloorOrdersPerS, f.OrdersPerS, f.RatioToFloor = load.Median(floors), load.Median(ours),
		load.Median(ratios)
	fmt.Fprintf(w,
		"throughput              %10.0f orders/s, floor %.0f, ratio %.2f (%d orders × %d, "+
			"%d at a time, %v)\n",
		f.OrdersPerS, f.FloorOrdersPerS, f.RatioToFloor, o.orders, o.repeats, o.concurrency, rounded(ours))
	return errors.Join(s.Close(), bare.Close())
}

// startFloor starts the floor on this folder. It is a process of its own, so that it has Go's default
// settings.
func startFloor(ctx context.Context, o options, dir string) (*load.Contestant, error) {
	if o.floor == "" {
		return nil,
			errors.New("the floor's program is missing: give --floor, or run make bench, which builds it")
	}
	return load.Start(ctx, nil, o.floor, dir)
}

func rounded(all []float64) []int {
	out := make([]int, len(all))
	for i, v := range all {
		out[i] = int(v)
	}
	return out
}

// measureHTTP runs the same orders over loopback, through the public client: one request to submit,
// one to wait.
func measureHTTP(ctx context.Context, o options, dir string, f *figures, w io.Writer) error {
	s, err := serve(ctx, dir)
	if err != nil {
		return err
	}
	var all []float64
	for rep := range o.repeats {
		got, err := load.Run(o.orders/3, o.concurrency, func(i int) error {
			return s.one(ctx, fmt.Sprintf("h-%d-%d", rep, i))
		})
		if err != nil {
			return err
		}
		all = append(all, got.OrdersPerS)
	}
	f.HTTPOrdersPerS = load.Median(all)
	fmt.Fprintf(w, "over HTTP               %10.0f orders/s, two requests each, client on the same cores\n",
		f.HTTPOrdersPerS)
	return s.close()
}

// measureAlone runs orders one after the other.
func measureAlone(ctx context.Context, o options, dir string, f *figures, w io.Writer) error {
	s, err := openRuntime(ctx, dir, operations())
	if err != nil {
		return err
	}
	bare, err := startFloor(ctx, o, dir)
	if err != nil {
		return err
	}
	var ours, floors []float64
	for i := range 600 {
		start := time.Now()
		if err := one(ctx, s, fmt.Sprintf("alone-%d", i)); err != nil {
			return err
		}
		took := ms(time.Since(start))
		fl, err := bare.Measure(load.Request{Prefix: fmt.Sprint("alone-", i), Orders: 1, Concurrency: 1})
		if err != nil {
			return err
		}
		if i >= 100 {
			ours, floors = append(ours, took), append(floors, fl.P50MS)
		}
	}
	f.P50MS, f.P99MS, f.FloorP50MS = load.Median(ours), load.Percentile(ours, 0.99), load.Median(floors)
	fmt.Fprintf(w, "one order alone         p50 %.2f ms, p99 %.2f ms, floor p50 %.2f ms\n", f.P50MS, f.P99MS,
		f.FloorP50MS)
	return errors.Join(s.Close(), bare.Close())
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// measureReady starts the program on an empty folder.
func measureReady(ctx context.Context, o options, dir string, f *figures, w io.Writer) error {
	if o.binary == "" {
		fmt.Fprintln(w, "ready                   SKIP: no -binary given")
		return nil
	}
	var all []float64
	for i := range 5 {
		took, err := ready(ctx, o.binary, filepath.Join(dir, strconv.Itoa(i)))
		if err != nil {
			return err
		}
		all = append(all, ms(took))
	}
	f.ReadyMS = load.Median(all)
	fmt.Fprintf(w, "ready, empty folder     %.0f ms\n", f.ReadyMS)
	return nil
}

// ready starts `stepkeeper dev` and stops it when it says that it is ready.
func ready(ctx context.Context, binary, dir string) (time.Duration, error) {
	o, err := runtimeOptions(dir, nil, map[string]string{"saga": saga})
	if err != nil {
		return 0, err
	}
	agents := filepath.Join(dir, "agents.yaml")
	if err := os.WriteFile(agents, []byte("agents:\n  shop: {external: true}\n"), 0o600); err != nil {
		return 0, err
	}
	p := process.Process{Name: "stepkeeper dev", Binary: binary, Log: filepath.Join(dir, "log"),
		Args: []string{"dev", "--data", o.Data, "--listen", "127.0.0.1:0", "--workflows", o.Workflows,
			"--agents", agents}}
	took, err := p.Start(ctx)
	if err != nil {
		return 0, err
	}
	return took, p.Stop()
}

// measureMemory fills a folder with ended and running tasks, restarts on it in a process of its own,
// and asks that one for its memory and the time until it was ready.
func measureMemory(ctx context.Context, o options, dir string, f *figures, w io.Writer) error {
	if err := fill(ctx, dir, o.finished, "done"); err != nil {
		return err
	}
	if err := leaveRunning(ctx, dir, o.running); err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, exe, "memory", dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("measuring memory: %w", err)
	}
	if _, err := fmt.Sscan(string(out), &f.RSSMB, &f.Ready10kMS); err != nil {
		return fmt.Errorf("measuring memory: %q: %w", out, err)
	}
	fmt.Fprintf(w,
		"memory                  %.0f MB with %d finished and %d running tasks; taken up in %.0f ms\n",
		f.RSSMB, o.finished, o.running, f.Ready10kMS)
	return nil
}

// fill runs orders to their ends, fast.
func fill(ctx context.Context, dir string, n int, prefix string) error {
	s, err := openRuntime(ctx, dir, operations())
	if err != nil {
		return err
	}
	if _, err := load.Run(n, 512,
		func(i int) error { return one(ctx, s, fmt.Sprintf("%s-%d", prefix, i)) }); err != nil {
		return err
	}
	return s.Close()
}

// leaveRunning submits orders whose agent never answers.
func leaveRunning(ctx context.Context, dir string, n int) error {
	s, err := openRuntime(ctx, dir, hanging())
	if err != nil {
		return err
	}
	if err := submitAll(ctx, s, n, 8, func(k int) []byte {
		return fmt.Appendf(nil, `{"schema":1,"orderId":"running-%d","workflow":"saga","order":%s}`, k, body)
	}); err != nil {
		return err
	}
	return s.Close()
}

func hanging() map[string]worker.Operations {
	return map[string]worker.Operations{"shop": {worker.AnyOperation: {
		Run: func(ctx context.Context, _ worker.Call) (any, error) { <-ctx.Done(); return nil, ctx.Err() },
	}}}
}

// restarted opens the runtime on a filled folder and prints its memory and the time it took.
func restarted(ctx context.Context, dir string, w io.Writer) error {
	start := time.Now()
	s, err := openRuntime(ctx, dir, hanging())
	if err != nil {
		return err
	}
	readyMS := ms(time.Since(start))
	time.Sleep(3 * time.Second) // agents and Supervisor work on what was taken up for a few sweeps
	rssMB, err := peakMemory()
	if err != nil {
		return err
	}
	fmt.Fprintln(w, rssMB, readyMS)
	return s.Close()
}

// peakMemory is the largest resident set so far, in MB.
func peakMemory() (float64, error) {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			return float64(kb) / 1024, err
		}
	}
	return 0, fmt.Errorf("no VmHWM in /proc/self/status")
}

// measureStored repeats the throughput on a store with many finished orders, taking turns with an
// empty one.
func measureStored(ctx context.Context, o options, dir string, f *figures, w io.Writer) error {
	if err := fill(ctx, dir, o.stored, "stored"); err != nil {
		return err
	}
	full, err := openRuntime(ctx, dir, operations())
	if err != nil {
		return err
	}
	bare, err := openRuntime(ctx, filepath.Join(dir, "empty"), operations())
	if err != nil {
		return err
	}
	var fulls, ratios []float64
	for rep := range o.repeats + 1 {
		var got [2]float64
		for k, s := range []*embedded.Runtime{full, bare} {
			r, err := load.Run(o.orders, o.concurrency,
				func(i int) error { return one(ctx, s, fmt.Sprintf("x-%d-%d", rep, i)) })
			if err != nil {
				return err
			}
			got[k] = r.OrdersPerS
		}
		if rep > 0 {
			fulls, ratios = append(fulls, got[0]), append(ratios, got[0]/got[1])
		}
	}
	f.OrdersPerS1MStored, f.RatioStored, f.StoredOrders = load.Median(fulls), load.Median(ratios), o.stored
	fmt.Fprintf(w, "%8d orders stored  %10.0f orders/s, ratio to the empty store %.2f\n", o.stored,
		f.OrdersPerS1MStored, f.RatioStored)
	return errors.Join(full.Close(), bare.Close())
}
