package examples_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/examples"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
	"github.com/stepkeeper/stepkeeper/simulate/sim"
	"github.com/stepkeeper/stepkeeper/workflowtest"
)

// The test of an example needs the folder of the example and nothing of the other tests, so that one can copy both.
func TestEachTestStandsAlone(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	for _, name := range files {
		t.Run(name, func(t *testing.T) {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			require.NoError(t, err)
			imported := func(name string) bool {
				return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool {
					return path.Base(strings.Trim(i.Path.Value, `"`)) == name
				})
			}
			for _, name := range file.Unresolved {
				require.True(t, imported(name.Name) || types.Universe.Lookup(name.Name) != nil, "%s is declared elsewhere", name)
			}
		})
	}
}

func TestTheListNamesEachExample(t *testing.T) {
	list, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, name := range examples.Names() {
		require.Contains(t, string(list), fmt.Sprintf("- [%s](%s/%s.yaml): ", name, name, name))
	}
}

// answer is what a person or an application says when a step begins to wait.
type answer struct {
	step, by string
	value    any
}

// answers lists what the steps of the examples are answered. The steps of a child order have its name before them.
var answers = map[string][]answer{
	"expense":      {{"approve", "ann", "approve"}},
	"food":         {{"prepared", "", true}, {"picked-up", "", true}, {"delivered", "", true}},
	"insurance":    {{"check~0/ask-clerk", "carl", "accept"}},
	"invoice":      {{"approved~0/approve", "mary", "review"}, {"approved~0/review", "bob", "clarified"}, {"approved~1/approve", "mary", "approve"}},
	"kyc":          {{"checked", "", map[string]any{"status": "passed"}}},
	"papers":       {{"contract", "", true}, {"deed", "", true}, {"receipt-came", "", true}},
	"phone":        {{"typed", "code", 4711}},
	"reminders":    {{"second-week", "", true}},
	"sign-off":     {{"legal", "ann", "sign"}, {"finance", "bob", "sign"}, {"security", "eve", "sign"}},
	"signup":       {{"confirmed", "ann@shop.example", "that is me"}},
	"subscription": {{"period", "", false}},
}

// play is one order of an example. Each call of a service takes a second.
type play struct {
	*workflowtest.Run
	w      *workflowtest.Workflow
	def    *core.Definition
	undone map[string]bool // operations that are reversed by another one
	open   []answer
	refuse bool // true if the services refuse whatever they have not done yet
}

func begin(t *testing.T, name string) *play {
	file := filepath.Join(name, name+".yaml")
	def, problems := source.LoadFile(file, source.Options{})
	require.NotNil(t, def, "%+v", problems)
	p := &play{
		w: workflowtest.New(t, file).AllowUnscripted(), def: def, undone: map[string]bool{}, open: slices.Clone(answers[name]),
	}
	p.script(def, outputsOf(t, name))
	p.Run = p.w.Submit(orderOf(t, name))
	return p
}

func orderOf(t *testing.T, name string) json.RawMessage {
	order, err := examples.Files.ReadFile(name + "/order.json")
	require.NoError(t, err)
	return order
}

// outputsOf returns what the operations of an example return, by "agent.operation".
func outputsOf(t *testing.T, name string) map[string][]json.RawMessage {
	outputs := map[string][]json.RawMessage{}
	text, err := examples.Files.ReadFile(name + "/outputs.json")
	if err == nil {
		err = json.Unmarshal(text, &outputs)
	}
	if err != nil {
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	return outputs
}

// child matches the number of a child order in the name of a step.
var child = regexp.MustCompile(`~\d+`)

// Against everything that can go wrong, each example keeps what its workflow promises.
func TestSimulatedExamples(t *testing.T) {
	seeds := 40
	if testing.Short() {
		seeds = 10
	}
	for _, name := range examples.Names() {
		t.Run(name, func(t *testing.T) {
			services := sim.Services{}
			for operation, all := range outputsOf(t, name) {
				agent, operation, _ := strings.Cut(operation, ".")
				s := services[agent]
				if s.Outputs == nil {
					s.Outputs = map[string][]json.RawMessage{}
				}
				s.Outputs[operation] = all
				services[agent] = s
			}
			options := []sim.Option{
				sim.Order(string(orderOf(t, name))), sim.Seeds(seeds), sim.With(services), sim.Corpus(""),
			}
			for _, a := range slices.Backward(answers[name]) { // the first answer to a step counts
				value, isText := a.value.(string)
				if !isText {
					text, err := json.Marshal(a.value)
					require.NoError(t, err)
					value = string(text)
				}
				options = append(options, sim.Answer(child.ReplaceAllString(a.step, ""), value))
			}
			sim.Check(t, filepath.Join(name, name+".yaml"), options...)
		})
	}
}

// script lets each operation of a definition take a second, and return the next of its outputs for each key.
func (p *play) script(def *core.Definition, outputs map[string][]json.RawMessage) {
	for i := range def.Steps {
		s := &def.Steps[i]
		if s.Each != nil {
			p.script(s.Each.Child, outputs)
		}
		if s.Agent == "" {
			continue
		}
		name := s.Agent + "." + s.Operation
		given := map[string]json.RawMessage{}
		p.w.Agent(s.Agent).On(s.Operation).Func(func(c workflowtest.Call) (any, error) {
			out, again := given[c.Key]
			switch all := outputs[name]; {
			case c.Undo || again:
				return out, nil
			case p.refuse:
				return nil, workflowtest.Permanent("refused", "no more of this")
			case len(all) > 0:
				out = all[min(len(given), len(all)-1)]
			}
			given[c.Key] = out
			return out, nil
		}).After(time.Second)
		if s.Undo != nil {
			p.undone[name] = true
			if !does(p.def, s.Agent, s.Undo.Operation) {
				p.w.Agent(s.Agent).On(s.Undo.Operation).Return(nil).After(time.Second)
			}
		}
	}
}

// does reports whether a step of the definition asks for an operation.
func does(def *core.Definition, agent, operation string) bool {
	return slices.ContainsFunc(def.Steps, func(s core.StepDefinition) bool {
		return s.Agent == agent && s.Operation == operation
	})
}

// until moves the clock, and answers what waits, until enough returns true or the order has ended.
func (p *play) until(enough func() bool) {
	for tick := range 3000 {
		p.attend()
		if enough() || p.Ended() {
			return
		}
		p.answer()
		if tick < 120 {
			p.w.Advance(500 * time.Millisecond)
		} else {
			p.w.Advance(time.Hour)
		}
	}
}

// attend states that the call of a plain service has happened, if its reply is lost, and lets the order go on.
func (p *play) attend() {
	if p.State() != workflowtest.Error || p.refuse {
		return
	}
	for _, s := range p.Task().Steps {
		if s.Grade == core.Plain && s.State == workflowtest.Failed {
			p.w.Advance(time.Minute) // until no call can be under way any more
			p.Resolve(s.Name, workflowtest.Happened)
			p.Resubmit()
		}
	}
}

// answer gives the answers that steps wait for. What is not accepted yet is given again at the next tick.
func (p *play) answer() {
	p.open = slices.DeleteFunc(p.open, func(a answer) bool {
		run := p.Run
		step := a.step
		child, inside, nested := strings.Cut(a.step, "/")
		if nested {
			parent, number, _ := strings.Cut(child, "~")
			index := int(number[0] - '0')
			if c := run.Step(parent).Children; c == nil || c.Count <= index {
				return false
			}
			run = run.Child(parent, index)
			step = inside
		}
		if run.Step(step).State != workflowtest.Waiting {
			return false
		}
		if a.by == "" {
			return run.Event(eventOf(p.def, step), "app", a.value).Accepted
		}
		return run.Answer(step, a.by, a.value).Accepted
	})
}

// eventOf returns the event that a step of the definition, or of a block in it, waits for.
func eventOf(def *core.Definition, step string) string {
	for i := range def.Steps {
		s := &def.Steps[i]
		switch {
		case s.Each != nil:
			if event := eventOf(s.Each.Child, step); event != "" {
				return event
			}
		case s.Name == step && s.Answer != nil:
			return s.Answer.Event
		}
	}
	return ""
}

// effects returns how often each operation stands, as the services see it: a fenced service does nothing for a key
// that it has undone.
func (p *play) effects() (all map[string]int, left []string) {
	standing := map[string]string{}
	fenced := map[string]bool{}
	for _, c := range p.Calls("") {
		switch {
		case c.Outcome != core.OutcomeDone || !strings.HasSuffix(c.Key, "/"+c.Step): // a reminder has another key
		case c.Undo:
			delete(standing, c.Key)
			fenced[c.Key] = true
		case !fenced[c.Key]:
			standing[c.Key] = c.Operation
		}
	}
	all = map[string]int{}
	for _, operation := range standing {
		all[operation]++
		if p.undone[operation] {
			left = append(left, operation)
		}
	}
	return all, left
}

// ends returns the kinds of the final statuses.
func (p *play) ends() (kinds []core.StatusKind) {
	for _, s := range p.Statuses() {
		switch s.Kind {
		case core.StatusCompleted, core.StatusUndone, core.StatusCancelled, core.StatusFailed:
			kinds = append(kinds, s.Kind)
		}
	}
	return kinds
}

// interruptions are what happens to an order in its middle.
var interruptions = map[string]func(t *testing.T, name string, p *play){
	"restart": func(_ *testing.T, _ string, p *play) { p.w.Restart() },
	"cancel":  func(_ *testing.T, _ string, p *play) { p.Cancel() },
	"undo": func(_ *testing.T, _ string, p *play) {
		p.refuse = true
		p.until(func() bool { return false })
		switch {
		case p.State() == workflowtest.Error:
			p.Undo()
		case !p.Ended(): // a child order stopped for the operator
			p.Cancel()
		}
	},
	"move": func(t *testing.T, name string, p *play) {
		p.w.Deploy(changed(t, name))
		p.until(func() bool { // it is refused while a step is in flight
			v := p.Move()
			require.True(t, v.Accepted || strings.Contains(v.Reason, "in flight"), v.Reason)
			return v.Accepted
		})
	},
}

// changed returns a copy of an example whose Supervisor waits a second longer.
func changed(t *testing.T, name string) string {
	dir := t.TempDir()
	files, err := fs.Glob(examples.Files, name+"/*.yaml")
	require.NoError(t, err)
	for _, file := range files {
		text, err := examples.Files.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(text), "grace: 2s")
		later := strings.Replace(string(text), "grace: 2s", "grace: 3s", 1)
		require.NoError(t, os.WriteFile(filepath.Join(dir, path.Base(file)), []byte(later), 0o600))
	}
	return filepath.Join(dir, name+".yaml")
}

// Every example is interrupted after each of its calls, half a second later while the call is under way, and two and a
// half later while the order waits for whatever comes next. It ends done, with the effects that it has without an
// interruption, or undone, with none that could be undone.
func TestInterruptedExamples(t *testing.T) {
	for _, name := range examples.Names() {
		whole := begin(t, name)
		whole.until(func() bool { return false })
		whole.UntilEnd(time.Minute)
		whole.ExpectProcessed()
		want, _ := whole.effects()
		for _, what := range slices.Sorted(maps.Keys(interruptions)) {
			for _, at := range moments(len(whole.Calls(""))) {
				t.Run(fmt.Sprintf("%s/%s/%s", name, what, at), func(t *testing.T) {
					p := begin(t, name)
					p.until(func() bool { return len(p.Calls("")) >= at.calls })
					p.w.Advance(at.later)
					if p.Ended() {
						t.Skip("it has ended by then")
					}
					interruptions[what](t, name, p)
					p.until(func() bool { return false })
					p.UntilEnd(40 * 24 * time.Hour)
					audit(t, name, p, want)
				})
			}
		}
	}
}

// moment is a time after the call with this number.
type moment struct {
	calls int
	later time.Duration
}

func (m moment) String() string { return fmt.Sprintf("%s after call %d", m.later, m.calls) }

// moments returns the middle of each of the calls of an order, of some of them, and a time after it.
func moments(calls int) (all []moment) {
	most := 6
	if testing.Short() {
		most = 1
	}
	most = min(calls, most)
	for n := range most {
		at := 1 + (2*n+1)*calls/(2*most)
		all = append(all, moment{at, 500 * time.Millisecond}, moment{at, 2500 * time.Millisecond})
	}
	return all
}

// races names the examples whose first to end differs if one of them comes late.
var races = map[string]bool{"either-or": true, "quote": true}

func audit(t *testing.T, name string, p *play, want map[string]int) {
	t.Helper()
	all, left := p.effects()
	switch p.State() {
	case workflowtest.Processed:
		switch {
		case p.refuse: // it went on without what was refused
			for operation, times := range all {
				require.LessOrEqual(t, times, want[operation], "%s\n%s", operation, p.Timeline())
			}
		case races[name]:
			require.Equal(t, total(want), total(all), "%v\n%s", all, p.Timeline())
		default:
			require.Equal(t, want, all, p.Timeline())
		}
	case workflowtest.Compensated, workflowtest.Cancelled:
		require.Empty(t, left, p.Timeline())
	default:
		t.Fatalf("it is %s:\n%s", p.State(), p.Timeline())
	}
	final := slices.DeleteFunc(p.ends(), func(k core.StatusKind) bool { return k == core.StatusFailed })
	require.Len(t, final, 1, p.Timeline())
}

func total(effects map[string]int) (n int) {
	for _, of := range effects {
		n += of
	}
	return n
}
