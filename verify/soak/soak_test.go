package soak_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/demo/services"
)

// Flags of the long run, after -args. The working folder is that of this package, so paths are absolute.
var (
	minutes = flag.Float64("minutes", 0, "how long things go wrong in TestSoak, at least 1; 0 skips it")
	seed    = flag.Uint64("seed", 1, "what the faults are drawn from")
	rate    = flag.Int("rate", 10, "orders a second")
	report  = flag.String("report", "", "where the report is written")
	keep    = flag.String("keep", "", "folder to work in and keep")
)

// program is the program under test: that of STEPKEEPER_PROGRAM, which make sets, or one that the tests build.
var program = os.Getenv("STEPKEEPER_PROGRAM")

func TestMain(m *testing.M) {
	if isAgent() { // this process is to be one
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		err := serveAgent(ctx, os.Stdout)
		stop()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	if program != "" {
		os.Exit(m.Run())
	}
	os.Exit(buildAndRun(m))
}

// TestSoak is the long run of `make soak`.
func TestSoak(t *testing.T) {
	const week = 7 * 24 * 60
	if *minutes == 0 {
		t.Skip("run make soak")
	}
	if !(*minutes >= 1 && *minutes <= week) { // false for NaN too
		t.Fatalf("-minutes is %v: each fault needs time to happen; give 1 to %d", *minutes, week)
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	_, err := Run(ctx, Options{
		Seed: *seed, Rate: *rate, Report: *report, Dir: *keep, Out: os.Stdout,
		Length: time.Duration(*minutes * float64(time.Minute)),
	})
	require.NoError(t, err)
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "stepkeeper-soak-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program = filepath.Join(dir, "stepkeeper")
	build := exec.Command("go", "build", "-o", program, "../../cmd/stepkeeper")
	build.Stdout = os.Stderr
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "the program under test cannot be built:", err)
		return 1
	}
	return m.Run()
}

// short is a soak of a few seconds: services and network misbehave, nothing happens to processes.
func short(t *testing.T) Options {
	t.Helper()
	return Options{
		Seed: 3, Length: 5 * time.Second, Rate: 20,
		Dir:    filepath.Join(t.TempDir(), "soak"),
		Report: filepath.Join(t.TempDir(), "soak.json"), Out: t.Output(), Quiet: true,
	}
}

func TestHonestServicesPass(t *testing.T) {
	o := short(t)
	r, err := Run(t.Context(), o)
	require.NoError(t, err)
	require.True(t, r.Passed, "report %+v", r)
	require.GreaterOrEqual(t, r.Lines, 50)
	require.NotZero(t, r.Processed)
	require.NotZero(t, r.Effects)
	require.NotZero(t, r.Rest.Goroutines)
	text, err := os.ReadFile(o.Report)
	require.NoError(t, err)
	require.Contains(t, string(text), `"passed": true`)
}

// TestCheatingServiceIsNoticed: the whole chain, services to verdict, can fail. What is found is the lie.
func TestCheatingServiceIsNoticed(t *testing.T) {
	o := short(t)
	o.Lie = 0.2
	r, err := Run(t.Context(), o)
	require.ErrorIs(t, err, errFailed)
	require.False(t, r.Passed)
	require.NotEmpty(t, r.Violations)
	for _, v := range r.Violations {
		require.Equal(t, services.Payment, v.Service, v)
	}
}
