package expression

import (
	"github.com/expr-lang/expr/ast"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Usage is how much of their limits the expressions of a definition use.
type Usage struct {
	Parts int // parts of the largest expression; the limit is MaxNodes
	Steps int // steps of the costliest evaluation; the limit is MaxSteps
}

// Usage evaluates all templates and conditions in an environment. If an evaluation fails, for example because
// an output is missing, its steps up to the failure count.
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

// add counts programs that one evaluation runs. A plain path is read without being evaluated.
func (u *Usage) add(env *core.Environment, programs ...*program) {
	e := evaluation{env: env}
	for _, p := range programs {
		parts := counter(0)
		ast.Walk(&p.root, &parts)
		u.Parts = max(u.Parts, int(parts))
		if p.path == nil {
			_, _ = e.run(p) // only the number of steps is needed
		}
	}
	u.Steps = max(u.Steps, e.meter.steps)
}

type counter int

func (c *counter) Visit(*ast.Node) { *c++ }
