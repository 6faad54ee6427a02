package explore

import (
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/simulate"
)

// shrunk is a counterexample after shrinking.
type shrunk struct {
	Workflow  string `json:"workflow"`
	Wrong     string `json:"wrong"`
	Invariant string `json:"invariant"`
	Choices   int    `json:"choices"`
}

// wrong are services that are not what their workflow says of them.
var wrong = []struct {
	what string
	is   simulate.Service
}{
	{"not fenced", simulate.Service{Grade: core.Idempotent}},
	{"neither fenced nor idempotent", simulate.Service{Grade: core.Plain}},
	{"forgets keys", simulate.Service{Forgets: 2 * core.Second}},
}

// shrink looks for counterexamples with wrong services in small workflows, and counts what is left
// of each after shrinking.
func (f *figures) shrink() {
	const definitions, seeds = 12, 150
	for n := range uint64(definitions) {
		def := scenario(n).Definition
		for _, w := range wrong {
			services := simulate.Services{}
			for name := range def.Agents {
				services[name] = w.is
			}
			r := simulate.Find(simulate.Scenario{Definition: def, Services: services},
				simulate.Search{Seeds: seeds, Shrink: 1500})
			if r.Violation != nil {
				f.Shrunk = append(f.Shrunk,
					shrunk{def.Name, w.what, r.Violation.Invariant, len(r.Tape.Choices)})
			}
		}
	}
	var all []int
	for _, s := range f.Shrunk {
		all = append(all, s.Choices)
	}
	if slices.Sort(all); len(all) > 0 {
		f.ShrunkMedian = all[len(all)/2]
	}
}
