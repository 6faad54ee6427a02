package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
)

const transfer = "../../../../examples/simulate/transfer.yaml"

func TestSimulate(t *testing.T) {
	r := call{}.run(t, "simulate", transfer, "--seeds", "50")
	r.want(t, failure.OK, "transfer: 50 seeds", "faults injected: ", "No violation in 50 seeds",
		"fewer than 0.06")
	require.NotContains(t, r.err, "nothing broken so far", "a search of a moment reports its progress")
}

// TestSimulateReportsWhatWasDone: an interrupted search reports its results so far.
func TestSimulateReportsWhatWasDone(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	r := call{ctx: ctx}.run(t, "simulate", transfer, "--for", "1h")
	r.want(t, failure.General, "stopped early", "transfer: ", "invariants checked")
}

// TestReplayWithAnotherWorkflow: a tape can be played with the corrected file, but not with another workflow.
func TestReplayWithAnotherWorkflow(t *testing.T) {
	folder := t.TempDir()
	tape := filepath.Join(folder, "tape.json")
	corrected := filepath.Join(folder, "corrected.yaml")
	unfenced := filepath.Join(filepath.Dir(transfer), "unfenced.yaml")
	call{}.run(t, "simulate", transfer, "--services", unfenced, "--tape", tape).want(t, failure.NotProcessed,
		"invariant 11", "sequenceDiagram", "stepkeeper simulate --replay "+tape)
	call{}.run(t, "simulate", "--replay", tape).want(t, failure.NotProcessed, "VIOLATION of 11")
	call{}.run(t, "simulate", "--replay", tape, "--output", "json").want(t, failure.NotProcessed, `"invariant": "11"`)
	put(t, corrected, strings.Replace(read(t, transfer), "grade: fenced", "grade: idempotent", 1))
	call{}.run(t, "simulate", corrected, "--replay", tape).want(t, failure.OK, "no violation")
	call{}.run(t, "simulate", "../../../../examples/order/order.yaml", "--replay", tape).want(t, failure.Usage,
		"recorded of the workflow transfer")
	r := call{}.run(t, "simulate", transfer, "--services", unfenced, "--tape", folder)
	r.want(t, failure.General, "invariant 11", "the tape cannot be written")
	require.NotContains(t, r.out, "replay: ", "a tape that there is not")
	put(t, tape, read(t, tape)[:200])
	call{}.run(t, "simulate", "--replay", tape).want(t, failure.Usage, "damaged")
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(data)
}

func put(t *testing.T, file, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
}

// TestServicesAreReadAsWorkflowsAre: the same rules of YAML hold for services and workflows.
func TestServicesAreReadAsWorkflowsAre(t *testing.T) {
	file := filepath.Join(t.TempDir(), "services.yaml")
	const services = "services:\n  debtor: {grade: fenced, latency: 20ms}\n"
	run := func(text string) result {
		put(t, file, text)
		return call{}.run(t, "simulate", transfer, "--services", file, "--seeds", "1")
	}
	for _, x := range []struct{ text, want string }{
		{services + "---\n" + services, "second document"},
		{strings.Replace(services, "latency", "latencies", 1), "latencies"},
	} {
		run(x.text).want(t, failure.Usage, x.want)
	}
	run("\ufeff"+services).want(t, failure.OK, "")
}
