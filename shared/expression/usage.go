package expression

import (
	"github.com/expr-lang/expr/ast"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Usage states how much of the limits a definition's expressions use.
type Usage struct {
	Parts int // nodes of the largest expression; the limit is MaxNodes
	Steps int // steps of the most expensive evaluation; the limit is MaxSteps
}

// Usage evaluates the templates, except those of child orders, and the conditions in an environment. If an
// evaluation fails, for example because an output is missing, Usage counts the steps before the failure.
func (x *Expressions) Usage(env core.Environment) Usage {
	var u Usage
	for _, t := range append(append([]*template{x.output}, x.inputs...), x.undos...) {
		if t != nil {
			u.add(&env, t.holes...)
		}
	}
	for _, p := range append(append([]*program(nil), x.whens...), x.refusals...) {
		if p != nil {
			u.add(&env, p)
		}
	}
	return u
}

// add counts the nodes and steps of the programs of one evaluation. A plain path counts no steps.
func (u *Usage) add(env *core.Environment, programs ...*program) {
	e := evaluation{env: env}
	for _, p := range programs {
		parts := counter(0)
		ast.Walk(&p.root, &parts)
		u.Parts = max(u.Parts, int(parts))
		if p.path == nil {
			_, _ = e.run(p) // the result is not needed, because add only counts steps
		}
	}
	u.Steps = max(u.Steps, e.meter.steps)
}

type counter int

func (c *counter) Visit(*ast.Node) { *c++ }
