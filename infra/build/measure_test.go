package build_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/agentsfile"
	"github.com/stepkeeper/stepkeeper/functions/agent/settings"
	"github.com/stepkeeper/stepkeeper/infra/build"
	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

var measure = flag.Bool("measure", false,
	"hold the functions to their limits of size and start, which takes an idle machine")

// Limits of each function, and how it is measured.
const (
	maxBinary = 15_200_000 // 800 kB of them check values by their schemas, and 600 kB put events on buses
	maxZip    = 5_400_000
	maxStart  = 40 * time.Millisecond
	starts    = 15 // of each function; the median counts
)

// measured is one of our functions, with what stands beside its binary, and its environment.
type measured struct {
	name, pkg   string
	files       map[string][]byte
	environment map[string]string
}

// TestFunctionsKeepTheirLimits builds the functions as they are deployed and prints the size of binary and
// package, and the time from the start of the process to its first request for work.
func TestFunctionsKeepTheirLimits(t *testing.T) {
	if !*measure {
		t.Skip("SKIPPED: make lambda-size measures")
	}
	aws := awsstub.New(t)
	dir := t.TempDir()
	t.Logf("%-12s binary MB  zip MB  start ms", "")
	for _, f := range measuredFunctions(t, aws) {
		binary, packed := sizes(t, dir, f)
		var all []time.Duration
		program := forThisMachine(t, dir, f)
		for range starts {
			all = append(all, started(t, aws, program, f))
		}
		slices.Sort(all)
		start := all[len(all)/2]
		t.Logf("%-12s %9.1f %7.1f %9.1f", f.name, mega(binary), mega(packed), float64(start.Microseconds())/1000)
		require.LessOrEqual(t, binary, int64(maxBinary), f.name)
		require.LessOrEqual(t, packed, int64(maxZip), f.name)
		require.LessOrEqual(t, start, maxStart, f.name)
	}
	t.Logf("sizes of arm64 as deployed; starts of %s on this machine, median of %d", runtime.GOARCH, starts)
}

func mega(bytes int64) float64 { return float64(bytes) / 1e6 }

func measuredFunctions(t *testing.T, aws *awsstub.Stub) []measured {
	t.Helper()
	d, problems := source.LoadFile("../../examples/order/order.yaml", source.Options{})
	require.NoError(t, problems.Err())
	flow, err := workflow.Encode(d)
	require.NoError(t, err)
	raw, err := agentsfile.Read([]byte("agents: {payment: {url: " + aws.URL + "/service}}"))
	require.NoError(t, err)
	compiled, err := settings.Encode(raw)
	require.NoError(t, err)
	queues := aws.Queues("intake", "replies", "control", "quarantine", "requests-inventory",
		"requests-payment", "requests-shipping", "requests-notification", "requests-coats")
	engine := map[string]string{
		deployment.VarOrders: "orders", deployment.VarDefinitions: "definitions", deployment.VarShards: "8",
		deployment.VarAlerts: "arn:aws:sns:eu-central-1:1:alerts", deployment.VarQueues: queues,
		deployment.VarStack: "measured",
	}
	return []measured{
		{"scheduler", build.Scheduler, map[string][]byte{"workflows/order.json": flow}, engine},
		{
			"agent", build.HTTPAgent,
			map[string][]byte{deployment.AgentFile: compiled},
			map[string]string{deployment.VarAgent: "payment", deployment.VarQueues: queues},
		},
		{
			"agent in Go", "github.com/stepkeeper/stepkeeper/examples/agent-go", nil,
			map[string]string{
				deployment.VarAgent: "coats", deployment.VarQueues: queues, deployment.VarLedger: "ledger",
			},
		},
		{"supervisor", build.Supervisor, nil, engine},
	}
}

// sizes builds a function as it is deployed, and packs it as CDK does.
func sizes(t *testing.T, dir string, f measured) (binary, packed int64) {
	t.Helper()
	folder := filepath.Join(dir, f.name+"-deployed")
	program := filepath.Join(folder, "bootstrap")
	archive := folder + ".zip"
	for name, text := range f.files {
		placeFile(t, folder, name, string(text))
	}
	require.NoError(t, errors.Join(os.MkdirAll(folder, 0o755), build.Go(build.Binary{Package: f.pkg, Out: program}),
		build.ZipFile(archive, folder)))
	size := func(file string) int64 {
		info, err := os.Stat(file)
		require.NoError(t, err)
		return info.Size()
	}
	return size(program), size(archive)
}

// forThisMachine builds a function in a folder with its files.
func forThisMachine(t *testing.T, dir string, f measured) (program string) {
	t.Helper()
	folder := filepath.Join(dir, f.name)
	for name, text := range f.files {
		placeFile(t, folder, name, string(text))
	}
	program = filepath.Join(folder, "bootstrap")
	require.NoError(t, build.Go(build.Binary{Package: f.pkg, X86: runtime.GOARCH == "amd64", Out: program}))
	return program
}

// started returns the time from the start of the process to its first request for work.
func started(t *testing.T, aws *awsstub.Stub, program string, f measured) time.Duration {
	t.Helper()
	env := aws.Variables(f.environment)
	env["LAMBDA_TASK_ROOT"] = filepath.Dir(program)
	env["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] = "128"
	began := time.Now()
	function := awsstub.Start(t, program, env)
	defer function.Kill()
	function.Asks()
	return time.Since(began)
}
