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
	"time"

	"github.com/stepkeeper/stepkeeper/demo/load"
	"github.com/stepkeeper/stepkeeper/demo/process"
	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
)

// contestant runs the orders of one measurement and returns the result.
type contestant func(load.Request) (load.Result, error)

func inProcess(ctx context.Context, s *embedded.Runtime) contestant {
	return func(r load.Request) (load.Result, error) {
		return load.Run(ctx, r, func(i int) error { return one(ctx, s, r.ID(i)) })
	}
}

func ordersPerS(r load.Result) float64 { return r.OrdersPerS }

// turns runs the contestants in turns, so that all of them have the same conditions. For each contestant it
// returns one figure per turn. The parameter warm is the number of first turns that it omits.
func turns(o options, warm int, figure func(load.Result) float64, all ...contestant) ([][]float64, error) {
	found := make([][]float64, len(all))
	for turn := range warm + o.repeats {
		for k, run := range all {
			r, err := run(load.Request{
				Prefix: fmt.Sprint("turn-", turn), Orders: o.orders,
				Concurrency: o.concurrency,
			})
			if err != nil {
				return nil, err
			}
			if turn >= warm {
				found[k] = append(found[k], figure(r))
			}
		}
	}
	return found, nil
}

func ratio(a, b []float64) float64 {
	var all []float64
	for i := range a {
		all = append(all, a[i]/b[i])
	}
	return load.Median(all)
}

func measureFloorAndThroughput(ctx context.Context, o options, dir string, f *figures, w io.Writer) error {
	bare, err := startFloor(ctx, o, dir)
	if err != nil {
		return err
	}
	s, err := openRuntime(ctx, dir, operations())
	if err != nil {
		return err
	}
	got, err := turns(o, 1, ordersPerS, bare.Measure, inProcess(ctx, s))
	if err != nil {
		return err
	}
	f.FloorOrdersPerS = load.Median(got[0])
	f.OrdersPerS = load.Median(got[1])
	f.RatioToFloor = ratio(got[1], got[0])
	fmt.Fprintf(w,
		"throughput              %10.0f orders/s, floor %.0f, ratio %.2f (%d orders × %d, "+
			"%d at a time, %.0f)\n",
		f.OrdersPerS, f.FloorOrdersPerS, f.RatioToFloor, o.orders, o.repeats, o.concurrency, got[1])
	return errors.Join(s.Close(), bare.Close())
}

// startFloor starts the floor in the folder dir. The floor is a program that makes only the writes of an
// order, with the SQLite library alone. It is a separate process, so that it has Go's default settings.
func startFloor(ctx context.Context, o options, dir string) (*load.Contestant, error) {
	if o.floor == "" {
		return nil,
			errors.New("the floor's program is missing: give --floor, or run make bench, which builds it")
	}
	return load.Start(ctx, nil, o.floor, dir)
}

func measureHTTP(ctx context.Context, o options, dir string, f *figures, w io.Writer) error {
	s, err := serve(ctx, dir)
	if err != nil {
		return err
	}
	o.orders /= 3
	got, err := turns(o, 0, ordersPerS, s.measure(ctx))
	if err != nil {
		return err
	}
	f.HTTPOrdersPerS = load.Median(got[0])
	fmt.Fprintf(w, "over HTTP               %10.0f orders/s, one request each, client on the same cores\n",
		f.HTTPOrdersPerS)
	return s.close()
}

func measureAlone(ctx context.Context, o options, dir string, f *figures, w io.Writer) error {
	s, err := openRuntime(ctx, dir, operations())
	if err != nil {
		return err
	}
	bare, err := startFloor(ctx, o, dir)
	if err != nil {
		return err
	}
	o.orders = 1
	o.concurrency = 1
	o.repeats = 500
	got, err := turns(o, 100, func(r load.Result) float64 { return r.P50MS }, inProcess(ctx, s), bare.Measure)
	if err != nil {
		return err
	}
	f.P50MS = load.Median(got[0])
	f.P99MS = load.Percentile(got[0], 0.99)
	f.FloorP50MS = load.Median(got[1])
	fmt.Fprintf(w, "one order alone         p50 %.2f ms, p99 %.2f ms, floor p50 %.2f ms\n", f.P50MS, f.P99MS,
		f.FloorP50MS)
	return errors.Join(s.Close(), bare.Close())
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

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

func ready(ctx context.Context, binary, dir string) (time.Duration, error) {
	o, err := runtimeOptions(dir, nil, map[string]string{"saga": saga})
	if err != nil {
		return 0, err
	}
	agents := filepath.Join(dir, "agents.yaml")
	if err := os.WriteFile(agents, []byte("agents:\n  shop: {external: true}\n"), 0o600); err != nil {
		return 0, err
	}
	p := process.Process{
		Name: "stepkeeper dev", Binary: binary, Log: filepath.Join(dir, "log"),
		Args: []string{
			"dev", "--data", o.Data, "--listen", "127.0.0.1:0", "--workflows", o.Workflows,
			"--agents", agents,
		},
	}
	took, err := p.Start(ctx)
	if err != nil {
		return 0, err
	}
	return took, p.Stop()
}

// measureMemory fills a folder with ended and running tasks. A separate process then opens the folder, and
// prints the memory that it uses and how long its start took.
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

func fill(ctx context.Context, dir string, n int, prefix string) error {
	s, err := openRuntime(ctx, dir, operations())
	if err != nil {
		return err
	}
	if _, err := inProcess(ctx, s)(load.Request{Prefix: prefix, Orders: n, Concurrency: 512}); err != nil {
		return err
	}
	return s.Close()
}

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

func restarted(ctx context.Context, dir string, w io.Writer) error {
	start := time.Now()
	s, err := openRuntime(ctx, dir, hanging())
	if err != nil {
		return err
	}
	readyMS := ms(time.Since(start))
	time.Sleep(3 * time.Second) // the agents and the Supervisor work on the tasks in this time
	rssMB, err := peakMemory()
	if err != nil {
		return err
	}
	fmt.Fprintln(w, rssMB, readyMS)
	return s.Close()
}

// peakMemory returns the largest resident set of this process so far, in MB.
func peakMemory() (float64, error) {
	bytes := load.Status(os.Getpid())["VmHWM"]
	if bytes == 0 {
		return 0, errors.New("the system does not report the memory of this process")
	}
	return float64(bytes) / (1 << 20), nil
}

// measureStored measures the throughput with many ended orders in the store. It measures this store and
// an empty one in turns.
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
	got, err := turns(o, 1, ordersPerS, inProcess(ctx, full), inProcess(ctx, bare))
	if err != nil {
		return err
	}
	f.OrdersPerS1MStored = load.Median(got[0])
	f.RatioStored = ratio(got[0], got[1])
	f.StoredOrders = o.stored
	fmt.Fprintf(w, "%8d orders stored  %10.0f orders/s, ratio to the empty store %.2f\n", o.stored,
		f.OrdersPerS1MStored, f.RatioStored)
	return errors.Join(full.Close(), bare.Close())
}
