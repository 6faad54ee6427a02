package simulate_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/simulate"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// load reads a workflow of the project.
func load(t testing.TB, file string) *core.Definition {
	t.Helper()
	def, problems := source.LoadFile(file, source.Options{})
	if def == nil {
		t.Fatal(problems)
	}
	return def
}

// A rule whose condition cannot be evaluated fails its step, which no invariant forbids: what is found is the
// workflow's, with a fix.
func TestARuleThatCannotBeEvaluated(t *testing.T) {
	file := filepath.Join(t.TempDir(), "order.yaml")
	text := `
workflow: order
steps:
  quote: {agent: pricing, operation: quote, timeout: 5s, onFailure: undo, undo: none, grade: fenced}
  too-large:
    fail: {code: too-large, message: "Orders above 10,000 need an offer."}
    when: steps.quote.output.total > 10000
    after: [quote]
  charge: {agent: payment, operation: charge, after: [too-large], timeout: 5s, onFailure: undo, undo: refund, grade: fenced}
`
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	sc := simulate.Scenario{Definition: load(t, file)}
	all := simulate.Diagnose(sc)
	require.Len(t, all, 1)
	require.Equal(t, simulate.YourWorkflow, all[0].Responsible)
	require.Equal(t, "too-large", all[0].Step)
	require.Contains(t, all[0].Fix, "--services, as in pricing: {quote: {output: {total: …}}}")
	sc.Prepare()
	for seed := range uint64(100) {
		require.Nil(t, simulate.Run(sc, simulate.NewSeeded(seed)).Violation, "%+v", seed)
	}
}

// An operator gives up a child that can never succeed by a command that is accepted: a child takes no undo.
func TestAChildThatAlwaysStops(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"parent.yaml": `
workflow: parent
steps:
  reserve: {agent: shop, operation: reserve, undo: release, grade: idempotent, timeout: 10s, onFailure: undo}
  kids: {workflow: child, each: "${ [1, 2] }", input: {n: "${ item }"}, after: [reserve]}
`,
		"bound.yaml": `
workflow: bound
steps:
  pay: {agent: shop, operation: pay, grade: idempotent, timeout: 10s, pointOfNoReturn: true, onFailure: stop}
  kids: {workflow: child, each: "${ [1, 2] }", input: {n: "${ item }"}, after: [pay], onFailure: stop}
`,
		"turns.yaml": `
workflow: turns
steps:
  turns:
    repeat: {until: index == 5, atMost: 1, onExhausted: stop}
    onFailure: stop
    steps:
      pay: {agent: shop, operation: pay, grade: idempotent, timeout: 10s, pointOfNoReturn: true, onFailure: stop}
`,
		"child.yaml": `
workflow: child
steps:
  send: {agent: mail, operation: send, undo: unsend, grade: idempotent, timeout: 10s, onFailure: stop}
  bad: {fail: {code: never, message: It cannot be.}, when: order.n == 1, after: [send], onFailure: stop}
`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	const never = "It cannot be."
	for name, why := range map[string]string{
		"parent.yaml": never, "bound.yaml": never, "turns.yaml": "after iteration 1",
	} {
		sc := simulate.Scenario{Definition: load(t, filepath.Join(folder, name)), Orders: 2}
		found := simulate.Diagnose(sc)
		require.Len(t, found, 1, name)
		require.Equal(t, simulate.YourWorkflow, found[0].Responsible, name)
		require.Contains(t, found[0].Text, why, name)
		for seed := range uint64(30) {
			require.Nil(t, simulate.Run(sc, simulate.NewSeeded(seed)).Violation, name)
		}
	}
}

// What a service does not have is found by comparison, also of a step of a child order: no seed is needed.
func TestWeakerGradesNeedNoSeed(t *testing.T) {
	sc := simulate.Scenario{Definition: load(t, "../../examples/shipments/shipments.yaml")}
	require.Empty(t, simulate.Overstated(sc), "services as declared")
	strength := []core.Grade{core.Plain, core.Idempotent, core.Fenced}
	for _, agents := range []map[string]core.AgentDefinition{
		sc.Definition.Agents,
		sc.Definition.Steps[slices.IndexFunc(sc.Definition.Steps, func(d core.StepDefinition) bool {
			return d.Each != nil
		})].Each.Child.Agents,
	} {
		for agent := range agents {
			sc.Services = simulate.Services{agent: {Grade: strength[0]}}
			for _, f := range simulate.Overstated(sc) {
				require.Equal(t, agent, f.Agent)
				require.False(t, f.Advice, agent)
				require.Contains(t, f.Text, "is plain", agent)
			}
		}
	}
	require.NotEmpty(t, simulate.Overstated(sc))
}

// An order that has left child orders behind ends well: those that were overtaken, tolerated or gone on without.
func TestChildrenThatAreLeftBehind(t *testing.T) {
	const rule = `{no: {fail: {code: x, message: No.}, when: "true"}}`
	for name, step := range map[string]string{
		"overtaken of a list": "{each: [{}, {}, {}], enough: 2, steps: {pause: {wait: 1m}}}",
		"overtaken member":    "{any: {slow: {steps: {pause: {wait: 1h}}}, quick: {wait: 1s}}}",
		"tolerated":           "{each: [{}, {}], tolerate: 2, steps: " + rule + "}",
		"gone on without":     "{onFailure: continue, steps: " + rule + "}",
	} {
		file := filepath.Join(t.TempDir(), "flow.yaml")
		text := "workflow: flow\nsteps:\n  leaves: " + step + "\n"
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		require.Empty(t, simulate.Diagnose(simulate.Scenario{Definition: load(t, file)}), name)
	}
}

// A step without effect that the order goes on without has none to stand either, also after a point of no return.
func TestNothingToUndoAfterNoReturn(t *testing.T) {
	const call = "agent: a, operation: run, timeout: 2s, undo: none, grade: idempotent, after: [pay]"
	for name, step := range map[string]string{
		"continues": "{" + call + ", onFailure: continue}",
		"is late":   "{" + call + ", onFailure: stop, deadline: 1m, onDeadline: continue}",
	} {
		file := filepath.Join(t.TempDir(), "flow.yaml")
		text := "workflow: flow\nsteps:\n  pay: {agent: a, operation: pay, timeout: 2s, onFailure: stop, " +
			"grade: fenced, pointOfNoReturn: true}\n  mail: " + step + "\n"
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		sc := simulate.Scenario{Definition: load(t, file), Only: []simulate.Fault{
			simulate.Fault("contradictory-reply"), simulate.Fault("hang"),
		}}
		r := simulate.Find(sc, simulate.Search{Seeds: 300, First: 1})
		require.Nil(t, r.Violation, name)
	}
}

// The undo of a child that has ended begins anew, also for a step that was undone alone before, and whose undo failed.
func TestAnOvertakenMemberOfAChild(t *testing.T) {
	file := filepath.Join(t.TempDir(), "flow.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`workflow: flow
steps:
  child:
    steps:
      race:
        any:
          late: {agent: slow, operation: run, timeout: 5s, undo: stop, grade: fenced}
          soon: {wait: 1s}
  no: {fail: {code: nope, message: No.}, when: "true", after: [child]}
`), 0o600))
	sc := simulate.Scenario{
		Definition: load(t, file),
		Services:   simulate.Services{"slow": {Latency: 1500, Failures: 0.3}},
	}
	require.Nil(t, simulate.Find(sc, simulate.Search{Seeds: 40, First: 1}).Violation)
}

// What is found without faults about a step is also found in a block, and names the step by its path.
func TestFindingsInABlock(t *testing.T) {
	def, problems := source.Parse("shipping.yaml", []byte(`workflow: shipping
steps:
  ship:
    onFailure: undo
    steps:
      label: {agent: printer, operation: print, timeout: 1s, onFailure: undo, undo: none, grade: idempotent}
      book:
        {agent: carrier, operation: book, after: [label], timeout: 5s, retry: {maxFailures: 4}, onFailure: undo,
         undo: cancel, grade: plain}
`), source.Options{})
	require.NotNil(t, def, problems)
	all := simulate.Diagnose(simulate.Scenario{Definition: def})
	require.Len(t, all, 1)
	require.True(t, all[0].Advice)
	require.Contains(t, all[0].Text, "step ship/book asks again in vain")
	slow := simulate.Services{"printer": {Latency: 4 * core.Second}}
	all = simulate.Diagnose(simulate.Scenario{Definition: def, Services: slow})
	require.NotEmpty(t, all)
	require.Contains(t, all[0].Text, "the service behind printer takes 4s, and the timeout of step ship/label is 1s")
}

// What a list or a condition lacks because simulated services return little is said with the option that states it.
func TestOutputsThatAreNotSimulated(t *testing.T) {
	for file, want := range map[string]string{
		"backup":  "only if they are in --services, as in files: {list: {output: {names: …}}}",
		"visible": "only if they are in --services",
	} {
		def := load(t, "../../examples/"+file+"/"+file+".yaml")
		order, err := os.ReadFile("../../examples/" + file + "/order.json")
		require.NoError(t, err)
		all := simulate.Diagnose(simulate.Scenario{Definition: def, Order: order})
		require.Len(t, all, 1, file)
		require.Contains(t, all[0].Fix, want, file)
	}
}
