package runner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/demo/runner"
	"github.com/stepkeeper/stepkeeper/demo/services"
	"github.com/stepkeeper/stepkeeper/demo/shop"
	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/examples"
)

// stuckVariable makes the engine of a test leave its agents to other processes, which there are none.
const stuckVariable = "STEPKEEPER_TEST_STUCK"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "dev" {
		if err := dev(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// dev makes the test's program the engine of the demo.
func dev(args []string) error {
	flags := map[string]string{}
	for i := 0; i+1 < len(args); i += 2 {
		flags[args[i]] = args[i+1]
	}
	if os.Getenv(stuckVariable) != "" {
		if err := os.WriteFile(flags["--agents"], services.AgentsFile("", services.Names()...), 0o600); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return embedded.Run(ctx, embedded.Options{
		Data: flags["--data"], Listen: flags["--listen"], Workflows: flags["--workflows"], Agents: flags["--agents"],
		Ready: func(s embedded.Started) { fmt.Println("ready on", s.Address) },
	})
}

// quick is a demo of a few seconds.
func quick(t *testing.T) runner.Options {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	workflow, err := examples.Files.ReadFile("order/order.yaml")
	require.NoError(t, err)
	dir := t.TempDir()
	return runner.Options{
		// some lines of the demo's file, with many kinds of refusals
		Orders: bytes.Join(bytes.SplitAfter(shop.Orders(), []byte("\n"))[:150], nil), Seed: 5,
		Rates: services.DefaultRates(), Report: filepath.Join(dir, "report.json"), Binary: self, Workflow: workflow,
		Dir: filepath.Join(dir, "run"), Out: &bytes.Buffer{}, PerSec: 200, Outage: 300 * time.Millisecond, Kills: 1,
		Patience: 30 * time.Second,
	}
}

func TestRightEngineIsProven(t *testing.T) {
	o := quick(t)
	r, err := runner.Run(t.Context(), o)
	t.Logf("%s", o.Out)
	require.NoError(t, err)
	sum := r.Processed + r.Undone + r.Refused + r.Repeated + r.Error + r.Unfinished
	require.Equal(t, 150, r.Lines)
	require.Equal(t, 150, sum)
	if r.Processed < 100 || r.Undone < 5 || r.Refused < 2 || r.Repeated != 1 || r.Restarts != 1 ||
		r.Retries == 0 || r.Unfinished != 0 || r.AuditViolations != 0 {
		t.Errorf("report %+v", r)
	}
	if r.UndoneReasons["card-declined"]+r.UndoneReasons["card-expired"]+
		r.UndoneReasons["insufficient-funds"] == 0 {
		t.Errorf("no order was undone for its card: %v", r.UndoneReasons)
	}
	require.Len(t, r.RecoveryMS.Restarts, 1)
	require.NotNil(t, r.RecoveryMS.Restarts[0].AtWork, "recovery %+v", r.RecoveryMS)
	require.NotNil(t, r.RecoveryMS.PaymentOutage, "recovery %+v", r.RecoveryMS)
	var written map[string]any
	text, err := os.ReadFile(o.Report)
	if err == nil {
		err = json.Unmarshal(text, &written)
	}
	require.NoError(t, err)
	for _, name := range []string{
		"submitted", "processed", "undone", "refused", "error", "unfinished",
		"auditViolations", "restarts", "seconds",
	} {
		_, ok := written[name].(float64)
		require.True(t, ok, "the report has no number %q: %s", name, text)
	}
}

// TestLyingServiceIsFound: the whole chain, services to audit, can fail, and says why.
func TestLyingServiceIsFound(t *testing.T) {
	o := quick(t)
	o.Terminal = true // draws the bar
	o.Rates[services.Payment][services.Lie] = 0.3
	r, err := runner.Run(t.Context(), o)
	require.ErrorIs(t, err, runner.ErrNotProven, "%+v", o.Out)
	require.Positive(t, r.AuditViolations)
	for _, v := range r.Violations {
		require.Equal(t, services.Payment, v.Service, "%+v", v)
	}
}

// Time up accuses nobody: orders that are under way when nothing ends any more are no violations. They prove
// nothing either.
func TestOrdersUnderWayAreNoViolations(t *testing.T) {
	t.Setenv(stuckVariable, "1")
	o := quick(t)
	o.Patience = 2 * time.Second
	o.Kills = 0
	r, err := runner.Run(t.Context(), o)
	require.ErrorIs(t, err, runner.ErrNotProven)
	require.Zero(t, r.AuditViolations, "%+v", r.Violations)
	require.Positive(t, r.Unfinished)
	require.Contains(t, fmt.Sprint(o.Out), "is no violation")
}

func TestAnInterruptedDemoLeavesNoFolder(t *testing.T) {
	o := quick(t)
	o.Dir = ""
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := runner.Run(ctx, o)
	require.ErrorIs(t, err, context.Canceled)
	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestCannotRun(t *testing.T) {
	o := quick(t)
	cases := []struct {
		name   string
		change func(o *runner.Options)
		want   error
		text   string
	}{
		{"no program", func(o *runner.Options) { o.Binary += ".absent" }, runner.ErrStack, "start"},
		{"a program that ends at once", func(o *runner.Options) {
			o.Binary = "/bin/false"
		}, runner.ErrStack, "ended before it was ready"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o := o
			o.Dir = t.TempDir()
			c.change(&o)
			_, err := runner.Run(t.Context(), o)
			require.ErrorIs(t, err, c.want, c.text)
			require.ErrorContains(t, err, c.text)
		})
	}
}
