// Bench measures the embedded runtime and, in the same run, a floor for comparison. The floor is the smallest
// possible program: SQLite with group commit and the five durable writes that an order with four sequential
// steps needs. The floor runs in a separate process with Go's default settings (verify/bench/floor). Bench
// prints the figures and writes them to bench.json. It has no limits for the figures, because they depend on
// the machine. The ratios to the floor depend less on the machine.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/pprof"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
)

type options struct {
	out, binary, floor, only, profile string
	orders, repeats, stored, finished int
	running, concurrency, timers      int
}

type figures struct {
	OrdersPerS         float64 `json:"orders_per_s"`
	FloorOrdersPerS    float64 `json:"floor_orders_per_s"`
	RatioToFloor       float64 `json:"ratio_to_floor"`
	OrdersPerS1MStored float64 `json:"orders_per_s_1m_stored"`
	RatioStored        float64 `json:"ratio_1m_stored"`
	StoredOrders       int     `json:"stored_orders"`
	HTTPOrdersPerS     float64 `json:"http_orders_per_s"`
	P50MS              float64 `json:"p50_ms"`
	P99MS              float64 `json:"p99_ms"`
	FloorP50MS         float64 `json:"floor_p50_ms"`
	ReadyMS            float64 `json:"ready_ms"`
	Ready10kMS         float64 `json:"ready_10k_running_ms"`
	RSSMB              float64 `json:"rss_mb"`
	Timers             int     `json:"timers"`
	TimerLateP50MS     float64 `json:"timer_late_p50_ms"`
	TimerLateMaxMS     float64 `json:"timer_late_max_ms"`
	TimersRSSMB        float64 `json:"timers_rss_mb"`
	Seconds            float64 `json:"seconds"`
}

var parts = []struct {
	name string
	// measure measures one part. The folder dir is empty.
	measure func(ctx context.Context, o options, dir string, f *figures, w io.Writer) error
}{
	{"throughput", measureFloorAndThroughput},
	{"http", measureHTTP},
	{"alone", measureAlone},
	{"ready", measureReady},
	{"memory", measureMemory},
	{"timers", measureTimers},
	{"stored", measureStored},
}

func main() {
	var o options
	cmd := &cobra.Command{
		Use: "bench", Short: "Measure the embedded runtime", SilenceUsage: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return profiled(o.profile, func() error { return run(cmd.Context(), o, cmd.OutOrStdout()) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.out, "out", "bench.json", "file for the figures")
	f.StringVar(&o.binary, "binary", "",
		"stepkeeper program, for the time until it is ready; empty: that part is left out")
	f.StringVar(&o.floor, "floor", "", "program of the floor, built from ./verify/bench/floor with -pgo=off")
	f.StringVar(&o.only, "only", "",
		"measure one part only: throughput, http, alone, ready, memory, timers, stored")
	f.StringVar(&o.profile, "cpuprofile", "", "file for a CPU profile of the bench; empty means none")
	f.IntVar(&o.orders, "orders", 30_000, "orders of one repetition")
	f.IntVar(&o.repeats, "repeats", 3, "repetitions; the median counts")
	f.IntVar(&o.concurrency, "concurrency", 64, "orders in flight")
	f.IntVar(&o.stored, "stored", 1_000_000, "finished orders stored before the last throughput")
	f.IntVar(&o.finished, "finished", 100_000, "finished tasks for the memory")
	f.IntVar(&o.timers, "timers", 100_000, "orders that wait for the same second")
	f.IntVar(&o.running, "running", 10_000, "running tasks for the memory and the restart")
	cmd.AddCommand(&cobra.Command{ // measureMemory starts this command as a separate process
		Use: "memory FOLDER", Hidden: true, Args: cobra.ExactArgs(1), SilenceUsage: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return restarted(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	})
	cmd.AddCommand(contestantCommand())
	embedded.SetCollector(os.Getenv)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err := cmd.ExecuteContext(ctx); err != nil {
		os.Exit(1)
	}
}

func profiled(file string, do func() error) error {
	if file == "" {
		return do()
	}
	f, err := os.Create(file) //nolint:gosec // the user names the file
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return errors.Join(err, f.Close())
	}
	err = do()
	pprof.StopCPUProfile()
	return errors.Join(err, f.Close())
}

func contestantCommand() *cobra.Command {
	overHTTP := false
	cmd := &cobra.Command{ // make bench-peers runs this command
		Use: "contestant FOLDER", Hidden: true, Args: cobra.ExactArgs(1), SilenceUsage: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return serveContestant(cmd.Context(), args[0], overHTTP, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&overHTTP, "http", false, "submit and wait over HTTP")
	return cmd
}

func run(ctx context.Context, o options, w io.Writer) error {
	start := time.Now()
	var f figures
	for _, part := range parts {
		if o.only != "" && o.only != part.name {
			continue
		}
		dir, err := os.MkdirTemp("", "stepkeeper-bench-")
		if err != nil {
			return err
		}
		err = part.measure(ctx, o, dir, &f, w)
		_ = os.RemoveAll(dir)
		if err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	f.Seconds = time.Since(start).Seconds()
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s\n", data)
	return os.WriteFile(o.out, append(data, '\n'), 0o644) //nolint:gosec // figures are no secret
}
