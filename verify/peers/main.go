// Peers measures Stepkeeper, other engines, and the floor of the bench. All of them run the same workflow
// with the same load driver on the same machine, in turns. Each engine runs with several settings, and the
// table shows its best setting. Peers writes the table in docs/reference/performance.md. It runs only on
// Linux, because it reads the processor time and the memory from /proc.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/stepkeeper/stepkeeper/demo/load"
)

type options struct {
	programs, server, out string
	rounds                int
	share                 float64
}

func main() {
	var o options
	flag.StringVar(&o.programs, "programs", "../../bin",
		"folder of the programs bench, floor, dbos and restate")
	flag.StringVar(&o.server, "server",
		"node_modules/@restatedev/restate-server-linux-x64/bin/restate-server",
		"program of the Restate server")
	flag.StringVar(&o.out, "out", "", "document whose tables are replaced; empty prints them")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds; the medians count")
	flag.Float64Var(&o.share, "share", 1, "share of the orders that each turn runs, for a quick look")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, w io.Writer) error {
	if o.rounds < 1 || o.share <= 0 || o.share > 1 {
		return fmt.Errorf("-rounds is at least 1 and -share above 0 and at most 1, not %d and %g", o.rounds,
			o.share)
	}
	all, err := engines(o)
	if err != nil {
		return err
	}
	for round := range o.rounds {
		for i := range all {
			for k := range all[i].settings {
				s := &all[i].settings[k]
				f, err := turn(ctx, all[i], *s, o.share)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", all[i].name, s.name, err)
				}
				s.turns = append(s.turns, f)
				fmt.Fprintf(os.Stderr, "round %d: %s, %s: %.0f orders/s, p50 %.1f ms, alone %.2f ms\n",
					round+1, all[i].name, s.name, f.ordersPerS, f.loadMS, f.aloneMS)
			}
		}
	}
	text := tables(all, machine())
	if o.out == "" {
		_, err := fmt.Fprint(w, text)
		return err
	}
	return replace(o.out, text)
}

// turnLimit is the longest duration of a turn. After this time Peers kills the processes of the turn.
const turnLimit = 3 * time.Minute

type figures struct {
	ordersPerS, loadMS, aloneMS, cpuMS, memoryMB, diskKB, readyMS float64

	foreign float64 // share of the machine's processor time that other programs used
}

func turn(ctx context.Context, e engine, s setting, share float64) (f figures, err error) {
	ctx, cancel := context.WithTimeout(ctx, turnLimit)
	defer cancel()
	dir, err := os.MkdirTemp("", "stepkeeper-peers-")
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(dir)
	start := time.Now()
	c, err := load.Start(ctx, s.env, e.program, append(s.args, dir)...)
	if err != nil {
		return f, err
	}
	orders := max(s.concurrency, int(share*float64(e.orders)))
	f, err = measure(c, orders, s.concurrency, start)
	f.diskKB = float64(size(dir)) / 1000 / float64(orders+aloneOrders+warmUp(orders, s.concurrency))
	if closed := c.Close(); err == nil {
		err = closed
	}
	return f, err
}

const aloneOrders = 200

func warmUp(orders, concurrency int) int { return max(concurrency, orders/10) }

// measure makes four measurements in sequence: one order, some orders to warm up, orders one after another,
// and many concurrent orders.
func measure(c *load.Contestant, orders, concurrency int, start time.Time) (f figures, err error) {
	if _, err := c.Measure(load.Request{Prefix: "first", Orders: 1, Concurrency: 1}); err != nil {
		return f, err
	}
	f.readyMS = float64(time.Since(start).Microseconds()) / 1000
	warm := load.Request{Prefix: "warm", Orders: warmUp(orders, concurrency), Concurrency: concurrency}
	if _, err := c.Measure(warm); err != nil {
		return f, err
	}
	alone, err := c.Measure(load.Request{Prefix: "alone", Orders: aloneOrders, Concurrency: 1})
	if err != nil {
		return f, err
	}
	began := time.Now()
	before := processorTime(c.PID())
	busy := machineTime()
	got, err := c.Measure(load.Request{Prefix: "load", Orders: orders, Concurrency: concurrency})
	if err != nil {
		return f, err
	}
	cpu := processorTime(c.PID()) - before
	busy = machineTime() - busy
	f.aloneMS = alone.P50MS
	f.ordersPerS = got.OrdersPerS
	f.loadMS = got.P50MS
	f.cpuMS = cpu * 1000 / float64(orders)
	f.memoryMB = peakMemory(c.PID())
	f.foreign = max(0, busy-cpu) / (time.Since(began).Seconds() * float64(processors()))
	return f, nil
}

// size returns the number of bytes of all files in a folder. It ignores a file that is deleted during the
// walk.
func size(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil
		}
		if info, err := entry.Info(); err == nil {
			n += info.Size()
		}
		return nil
	})
	return n
}
