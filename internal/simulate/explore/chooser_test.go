package explore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/simulate"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// TestShrinkToTheOrdersThatMatter checks that a run of several orders shrinks to one, or to the orders
// without which nothing breaks.
func TestShrinkToTheOrdersThatMatter(t *testing.T) {
	for _, c := range []struct {
		workflow, first uint64
		service         simulate.Service
		orders          int
	}{
		{1, 0, simulate.Service{Grade: core.Plain}, 1},           // order 3 alone
		{6, 0, simulate.Service{Forgets: 2 * core.Second}, 1},    // a crash at the call of another order
		{24, 0, simulate.Service{Forgets: 2 * core.Second}, 1},   // the second message of a queue
		{8, 2000, simulate.Service{Forgets: 2 * core.Second}, 1}, // one seed of nine
		{50, 540, simulate.Service{Grade: core.Plain}, 3},        // the third order of a batch
	} {
		sc := simulate.Scenario{Definition: drawnWorkflow(c.workflow), Services: simulate.Services{}}
		for i := range sc.Definition.Steps {
			if a := sc.Definition.Steps[i].Agent; a != "" {
				sc.Services[a] = c.service
			}
		}
		found := simulate.Find(sc, simulate.Search{First: c.first, Seeds: 60, Workers: 1})
		if found.Violation == nil {
			t.Errorf("workflow %d: nothing was found", c.workflow)
			continue
		}
		_, r, err := found.Tape.Play(nil)
		require.NoError(t, err, "%+v", c.workflow)
		require.NotNil(t, r.Violation, "%+v", c.workflow)
		require.Equal(t, c.orders, r.Orders, "%+v", c.workflow)
	}
}

// TestFaultsOutlastWaits checks that faults also happen after a wait of days, so that the run finds a service
// behind it that differs from its workflow.
func TestFaultsOutlastWaits(t *testing.T) {
	sc := simulate.Scenario{
		Definition: load(t, "../../../examples/trial/trial.yaml"),
		Order:      []byte(`{"email":"a@b","trialEnds":"2026-01-13T12:00:00Z","amount":5}`),
		Services:   simulate.Services{"payment": {Grade: core.Plain}},
	}
	r := simulate.Find(sc, simulate.Search{Seeds: 3000, Workers: 1})
	require.NotNil(t, r.Violation, "%v after %d seeds", r.Violation, r.Seeds)
	require.Equal(t, "3", r.Violation.Invariant)
	require.GreaterOrEqual(t, r.Violation.At, int64(11*core.Day))
}

// TestOnlyRestarts checks that every order is done if only processes fail and no commands are given.
func TestOnlyRestarts(t *testing.T) {
	var faults []simulate.Fault
	for _, name := range []string{
		"crash-before", "crash-after", "timeout-after", "frozen", "zombie",
		"fresh-copy",
		"redelivery",
	} {
		faults = append(faults, simulate.Fault(name))
	}
	for seed := range uint64(300) {
		d := calm(t, seed, 10_000, func(d *core.Definition, i int) {
			d.Steps[i].Retry.MaxFailures = 1000
			d.Steps[i].Grade = core.Idempotent
		})
		r := simulate.Run(simulate.Scenario{
			Definition: d, Alone: true,
			Only: faults,
		}, simulate.NewSeeded(seed))
		require.Nil(t, r.Violation, "%+v", seed)
		require.Equal(t, r.Orders, r.Ends[core.Processed], "%+v", seed)
		require.LessOrEqual(t, len(r.Ends), 1, "%+v", seed)
	}
}

// FuzzRun lets a fuzzer choose.
func FuzzRun(f *testing.F) {
	f.Add([]byte{}, uint64(1))
	f.Add([]byte("0000000010000000030000000"), uint64(3))
	f.Fuzz(func(t *testing.T, data []byte, workflow uint64) {
		r := simulate.Run(simulate.Scenario{Definition: drawnWorkflow(workflow)}, &bytesChooser{data})
		require.Nil(t, r.Violation)
	})
}

// bytesChooser chooses by the bytes of a fuzzer: one for each choice, and 0 when they are used up.
type bytesChooser struct{ data []byte }

func (b *bytesChooser) Choose(_ simulate.Point, n int, _ float64) int {
	if len(b.data) == 0 {
		return 0
	}
	v := int(b.data[0]) % n
	b.data = b.data[1:]
	return v
}

func load(t testing.TB, file string) *core.Definition {
	t.Helper()
	def, problems := source.LoadFile(file, source.Options{})
	if def == nil {
		t.Fatal(problems)
	}
	return def
}
