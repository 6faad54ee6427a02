package sim_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/simulate"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/simulate/sim"
)

const transfer = "../../examples/simulate/transfer.yaml"

// recorder is a test of a user.
type recorder struct {
	testing.TB
	errors, logs []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}
func (r *recorder) Error(args ...any) { r.errors = append(r.errors, fmt.Sprint(args...)) }
func (r *recorder) Logf(format string, args ...any) {
	r.logs = append(r.logs, fmt.Sprintf(format, args...))
}

// TestCheckFails checks that a user's test fails with the shrunk story and a tape, which the next run plays
// first.
func TestCheckFails(t *testing.T) {
	folder := t.TempDir()
	forgets := sim.With(sim.Services{"creditor": {Forgets: 2 * core.Second}})
	first := &recorder{TB: t}
	report := sim.Check(first, transfer, forgets, sim.Seeds(2000), sim.Corpus(folder))
	require.Len(t, first.errors, 1)
	require.Contains(t, first.errors[0], "invariant 3 is broken")
	require.Contains(t, first.errors[0], "/0/credit")
	require.Contains(t, first.errors[0], "stepkeeper simulate --replay "+folder)
	require.LessOrEqual(t, len(report.Tape.Choices), 10)
	again := &recorder{TB: t}
	sim.Check(again, transfer, forgets, sim.Seeds(1), sim.Corpus(folder))
	require.NotEmpty(t, again.errors)
	require.Contains(t, again.errors[0], "the tape "+folder)
	corrected := &recorder{TB: t}
	sim.Check(corrected, transfer, sim.Seeds(50), sim.Corpus(folder))
	require.Empty(t, corrected.errors)
	require.Len(t, corrected.logs, 1)
	require.Contains(t, corrected.logs[0], "No violation in 50 seeds")
}

// TestCheckWithoutFaults checks that a test fails, as the command does, if an order does not end Processed although
// nothing goes wrong. Advice fails no test.
func TestCheckWithoutFaults(t *testing.T) {
	r := &recorder{TB: t}
	report := sim.Check(r, "../../examples/order/order.yaml", sim.Seeds(50), sim.Corpus(""))
	require.Len(t, r.errors, 1)
	require.Contains(t, r.errors[0], "your workflow: with nothing going wrong an order does not end Processed")
	require.Contains(t, r.errors[0], "sim.Order in a test")
	require.Zero(t, report.Seeds)
	r = &recorder{TB: t}
	sim.Check(r, "../../examples/wrong-workflows/asks-in-vain.yaml", sim.Seeds(50), sim.Corpus(""))
	require.Empty(t, r.errors)
	require.Contains(t, r.logs[0], "advice: when one answer of the plain service behind carrier is lost")
}

// TestBreaks checks that a test that demonstrates a wrong workflow fails if nothing breaks.
func TestBreaks(t *testing.T) {
	r := &recorder{TB: t}
	sim.Check(r, transfer, sim.Seeds(50), sim.Breaks("3"))
	require.Len(t, r.errors, 1)
	require.Contains(t, r.errors[0], "invariant 3 should break")
}

// TestReplay plays one tape with the workflow as its file is now.
func TestReplay(t *testing.T) {
	folder := t.TempDir()
	bad := filepath.Join(folder, "transfer.yaml")
	text, err := os.ReadFile(transfer)
	require.NoError(t, err)
	keep(t, bad, string(text))
	found := &recorder{TB: t}
	sim.Check(found, bad, sim.With(sim.Services{"debtor": {Grade: core.Idempotent}}), sim.Seeds(2000),
		sim.Corpus(folder))
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	tape, err := os.ReadFile(files[0])
	require.NoError(t, err)
	r := &recorder{TB: t}
	if sim.Replay(r, bad, string(tape)); len(r.errors) != 1 ||
		!strings.Contains(r.errors[0], "invariant 11") {
		t.Errorf("the bad workflow: %q", r.errors)
	}
	keep(t, bad, strings.Replace(string(text), "grade: fenced", "grade: idempotent", 1))
	r = &recorder{TB: t}
	if sim.Replay(r, bad, string(tape)); len(r.errors) > 0 {
		t.Errorf("the corrected workflow: %q", r.errors)
	}
}

func keep(t *testing.T, file, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
}

// Which seeds are run, for how long at most, and with which faults, is said by options.
func TestWhatIsRun(t *testing.T) {
	first := sim.Check(t, transfer, sim.Seeds(40), sim.Corpus(""))
	other := sim.Check(t, transfer, sim.Seeds(40), sim.Corpus(""), sim.From(1000))
	require.Equal(t, 40, first.Seeds)
	require.Equal(t, 40, other.Seeds)
	require.NotEqual(t, other.Faults, first.Faults)
	often := func(a, b simulate.Fault) int { return first.Faults[a] - first.Faults[b] }
	name := slices.MaxFunc(slices.Sorted(maps.Keys(first.Faults)), often)
	only := sim.Check(t, transfer, sim.Seeds(40), sim.Corpus(""),
		sim.Only(t, string(name)))
	require.Len(t, only.Faults, 1)
	require.NotZero(t, only.Faults[name])
	require.LessOrEqual(t, sim.Check(t, transfer, sim.Seeds(1_000_000), sim.Corpus(""), sim.For(time.Nanosecond)).Seeds,
		1000)
}
