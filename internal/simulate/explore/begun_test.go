package explore

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/simulate"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// TestMovedOrdersHoldEveryInvariant takes orders out of runs of drawn workflows where they stop, are undone
// or wait, moves them to another definition, and runs what follows with every fault. A tape of such a run
// plays it again.
func TestMovedOrdersHoldEveryInvariant(t *testing.T) {
	n := uint64(400)
	most := 12
	if testing.Short() {
		n = 150
		most = 6
	}
	begun := map[core.State]int{}
	ends := map[core.State]int{}
	for seed := range n {
		def := drawnWorkflow(seed)
		for _, task := range stopped(def, seed) {
			from := definitionOf(def, task.Definition)
			for _, to := range simulate.Variants(def) {
				sc, err := simulate.MoveTask(task, from, to, simulate.NoContent,
					core.Time(simulate.Noon)+core.Time(core.Hour))
				if err != nil {
					continue
				}
				begun[task.ProcessState]++
				sc.Prepare()
				for k := range uint64(most) {
					r := simulate.Run(sc, simulate.NewSeeded(seed<<8|k))
					require.Nil(t, r.Violation, "%+v", seed)
					for state, n := range r.Ends {
						ends[state] += n
					}
					if k > 0 {
						continue
					}
					again := played(t, simulate.NewTape(sc, r.Choices, nil))
					require.Equal(t, r.Events, again.Events, "%+v", seed)
					require.Equal(t, r.Hash, again.Hash, "%+v", seed)
				}
			}
		}
	}
	t.Log(begun, ends)
	require.GreaterOrEqual(t, begun[core.Error], 20)
	require.GreaterOrEqual(t, begun[core.Processing], 20)
	require.GreaterOrEqual(t, begun[core.Compensated], 20)
	require.GreaterOrEqual(t, ends[core.Processed], 100)
	require.GreaterOrEqual(t, ends[core.Compensated], 20)
}

// played plays a tape that was written and read again.
func played(t *testing.T, tape *simulate.Tape) simulate.Result {
	t.Helper()
	data, err := json.Marshal(tape)
	require.NoError(t, err)
	again, err := simulate.ParseTape(data)
	require.NoError(t, err)
	_, r, err := again.Play(nil)
	require.NoError(t, err)
	return r
}

func definitionOf(def *core.Definition, hash string) *core.Definition {
	sc := simulate.Scenario{Definition: def}
	for _, d := range sc.Definitions() {
		if d.Hash == hash {
			return d
		}
	}
	return nil
}

// stopped are the orders of a run in the first moments in which they rest in Error, are Compensated, or go
// forward with nothing in flight.
func stopped(def *core.Definition, seed uint64) (all []*protocol.Task) {
	sc := simulate.Scenario{Definition: def, Orders: 2}
	sc.Prepare()
	w := simulate.NewSimulation(sc, simulate.NewSeeded(seed))
	simulate.SetUp(w)
	seen := map[string]bool{}
	for w.Violation == nil && len(w.Agenda) > 0 && w.Events < 20_000 {
		w.Events++
		simulate.Next(w)
		for _, o := range w.AllOrders {
			t := w.Store.Task(o.Id)
			if t == nil || t.InFlight() || t.End.ResendAt != 0 {
				continue
			}
			of := o.Id + string(t.ProcessState)
			if s := t.ProcessState; !seen[of] && (s == core.Error || s == core.Compensated ||
				s == core.Processing) {
				seen[of] = true
				all = append(all, t)
			}
		}
	}
	simulate.Stop(w)
	return all
}

// An order that waits for an answer is simulated all the same: without one it cannot end Processed, which is
// no fault of the move.
func TestMovedOrderThatWaitsForAnAnswer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "asking.yaml")
	text := `
workflow: asking
steps:
  a: {agent: mail, operation: ask, timeout: 4s, onFailure: undo, undo: none, grade: idempotent}
  w:
    approval: {question: "may it?", answers: ["yes", "no"], timeout: 40s, onTimeout: undo}
    after: [a]
`
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	def, problems := source.LoadFile(file, source.Options{})
	if def == nil {
		t.Fatal(problems)
	}
	sc := simulate.Scenario{Definition: def}
	to := sc.Definitions()[1]
	for _, task := range stopped(def, 1) {
		sc, err := simulate.MoveTask(task, definitionOf(def, task.Definition), to, simulate.NoContent,
			core.Time(simulate.Noon)+core.Time(core.Second))
		if err != nil || task.ProcessState != core.Processing {
			continue
		}
		sc.Prepare()
		all := simulate.Diagnose(sc)
		require.Len(t, all, 1)
		require.True(t, all[0].Advice, "%+v", all)
		require.Equal(t, "w", all[0].Step)
		return
	}
	t.Error("no order waits")
}

// The state of child orders is not a part of their parent's task.
func TestMovedOrderWithChildren(t *testing.T) {
	for seed := range uint64(2000) {
		def := drawnWorkflow(seed)
		if len(def.WithChildren()) == 1 {
			continue
		}
		for _, task := range stopped(def, seed) {
			_, err := simulate.MoveTask(task, definitionOf(def, task.Definition),
				simulate.Variants(def)[0], simulate.NoContent,
				core.Time(simulate.Noon)+core.Time(core.Hour))
			if err != nil && strings.Contains(err.Error(), "has started child orders") {
				return
			}
		}
	}
	t.Error("no order with children could be moved but for them")
}
