// Package sim tests a workflow with injected faults:
//
//	func TestMyWorkflow(t *testing.T) {
//		sim.Check(t, "workflows/order.yaml", sim.Order(`{"items":[]}`), sim.Seeds(2000))
//	}
//
// A run takes about a millisecond. If a run breaks an invariant, the package shrinks the run and reports its
// story. It also stores the run as a tape in the folder testdata/simulate next to the test. Each later
// execution of the test first plays the tapes in this folder that belong to the workflow.
package sim

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/internal/simulate"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// Report is the result of a check.
type Report = simulate.Report

// Service describes the true behaviour of the remote service behind an agent.
type Service = simulate.Service

// Services maps the names of agents to their services.
type Services = simulate.Services

// Option changes a check.
type Option func(*check)

type check struct {
	scenario simulate.Scenario
	search   simulate.Search
	answers  []string // answers in the form STEP=VALUE
	corpus   string
	wanted   string // invariant that must break; "" means that no invariant may break
}

// Seeds sets the number of seeds. The default is 1,000, or 100 with -short and without Breaks.
func Seeds(n int) Option { return func(c *check) { c.search.Seeds = n } }

// For limits the duration of the check. The number of seeds limits the check too.
func For(d time.Duration) Option { return func(c *check) { c.search.Time = d } }

// From sets the first seed.
func From(seed uint64) Option { return func(c *check) { c.search.First = seed } }

// Order sets the JSON content of every order. The default comes from the workflow's order schema, or is {}.
func Order(content string) Option {
	return func(c *check) { c.scenario.Order = json.RawMessage(content) }
}

// Answer sets the value that people or an event give to a step, or to one in a block or child order, as in card/check.
// The value is JSON, or the text of an approval. The test fails if the step does not accept the value.
func Answer(step, value string) Option {
	return func(c *check) { c.answers = append(c.answers, step+"="+value) }
}

// With sets the true behaviour of services that differ from the workflow's declarations.
func With(s Services) Option { return func(c *check) { c.scenario.Services = s } }

// Only limits the faults to the given kinds. An unknown name fails the test.
func Only(t testing.TB, faults ...string) Option {
	t.Helper()
	return func(c *check) {
		for _, name := range faults {
			f := simulate.Fault(name)
			if !slices.Contains(simulate.Faults(), f) {
				t.Fatalf("there is no fault %q", name)
			}
			c.scenario.Only = append(c.scenario.Only, f)
		}
	}
}

// Corpus sets the folder of the tapes. The default is testdata/simulate. "" means that the check neither
// plays nor stores tapes.
func Corpus(folder string) Option { return func(c *check) { c.corpus = folder } }

// Breaks makes the check fail if this invariant does not break. The check then uses no tapes. Use it in a
// test that demonstrates a defect of a workflow.
func Breaks(invariant string) Option {
	return func(c *check) {
		c.wanted = invariant
		c.corpus = ""
	}
}

// Check reads a workflow file and runs the workflow with faults. If a run breaks an invariant, Check fails
// the test and reports the story of the run.
func Check(t testing.TB, workflow string, options ...Option) *Report {
	t.Helper()
	return CheckDefinition(t, load(t, workflow), options...)
}

func load(t testing.TB, workflow string) *core.Definition {
	t.Helper()
	def, problems := source.LoadFile(workflow, source.Options{})
	if def == nil {
		t.Fatalf("the workflow %s cannot be used:\n%s", workflow, problems.Error())
	}
	return def
}

// CheckDefinition is like Check, but takes a compiled workflow.
func CheckDefinition(t testing.TB, def *core.Definition, options ...Option) *Report {
	t.Helper()
	c := &check{scenario: simulate.Scenario{Definition: def}, corpus: filepath.Join("testdata", "simulate")}
	for _, set := range options {
		set(c)
	}
	if c.search.Seeds == 0 {
		c.search.Seeds = 1000
		if testing.Short() && c.wanted == "" { // an expected violation may need all seeds
			c.search.Seeds = 100
		}
	}
	answers, err := simulate.ParseAnswers(c.answers, def)
	if err != nil {
		t.Fatal(err)
	}
	c.scenario.Answers = answers
	fitted, err := simulate.Fitted(c.scenario)
	if err != nil {
		t.Fatal(err)
	}
	c.scenario = fitted
	c.replay(t)
	search := simulate.Examine
	if c.wanted != "" {
		search = simulate.Find
	}
	r := search(c.scenario, c.search)
	for _, f := range r.Findings {
		report := t.Errorf
		if f.Advice {
			report = t.Logf
		}
		report("%s\nFix: %s.", f.Title(), f.Fix)
	}
	switch {
	case c.wanted != "" && (r.Violation == nil || r.Violation.Invariant != c.wanted):
		t.Errorf("invariant %s should break; found was: %s", c.wanted, r.Statement())
	case c.wanted != "":
		t.Logf("as it must: %s\n%s", r.Statement(), storyOf(r.Story, r.Violation))
	case r.Violation != nil:
		t.Errorf("%s\n%s\nfound by seed %d\n%s%s", r.Statement(), r.Violation.Describe(c.scenario), r.Seed,
			storyOf(r.Story, r.Violation), c.keep(r))
	default:
		t.Logf("%s (%d orders, %d faults in %d cells)", r.Statement(), r.Orders, sum(r.Faults), len(r.Cells))
	}
	return r
}

// Replay plays a tape with the present workflow file. The tape is JSON. Replay fails the test if the run
// still breaks an invariant. `stepkeeper simulate` writes tapes.
func Replay(t testing.TB, workflow, tape string) {
	t.Helper()
	def := load(t, workflow)
	recorded, err := simulate.ParseTape([]byte(tape))
	if err != nil {
		t.Fatal(err)
	}
	sc, r, err := recorded.Play(def)
	if err != nil {
		t.Fatal(err)
	}
	if r.Violation != nil {
		t.Errorf("invariant %v\n%s\n%s", r.Violation, r.Violation.Describe(sc), storyOf(r.Story, r.Violation))
	}
}

func (c *check) replay(t testing.TB) {
	t.Helper()
	if c.corpus == "" {
		return
	}
	files, err := filepath.Glob(filepath.Join(c.corpus, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		tape, err := simulate.ReadTape(file)
		if err != nil {
			t.Error(err)
			continue
		}
		sc := c.scenario
		if sc.Definition.Name != nameOf(tape) {
			continue
		}
		if r := simulate.Run(sc, simulate.NewPlayer(tape.Choices)); r.Violation != nil {
			t.Errorf("the tape %s: invariant %v", file, r.Violation)
		}
	}
}

func nameOf(tape *simulate.Tape) string {
	var d struct{ Name string }
	_ = json.Unmarshal(tape.Workflow, &d) // a tape without a name matches no workflow
	return d.Name
}

// keep stores the tape of a finding. It returns the command that plays the tape, or the reason why the tape
// was not stored. Without a folder it stores and returns nothing.
func (c *check) keep(r *Report) string {
	if c.corpus == "" || r.Tape == nil {
		return ""
	}
	file := filepath.Join(c.corpus, fmt.Sprintf("%s-%s-%d.json", r.Workflow, r.Violation.Invariant, r.Seed))
	if err := os.MkdirAll(c.corpus, 0o750); err != nil {
		return "the tape was not kept: " + err.Error()
	}
	if err := r.Tape.Write(file); err != nil {
		return "the tape was not kept: " + err.Error()
	}
	return "replay: stepkeeper simulate --replay " + file
}

func storyOf(story []simulate.Line, v *simulate.Violation) string {
	var b strings.Builder
	for _, l := range simulate.About(story, v) {
		fmt.Fprintln(&b, l)
	}
	return b.String()
}

func sum(m map[simulate.Fault]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}
