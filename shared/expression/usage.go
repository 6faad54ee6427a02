package expression

import (
	"github.com/expr-lang/expr/ast"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Usage states the size and the cost of a definition's expressions, for a comparison with the limits.
type Usage struct {
	Parts int // syntax tree nodes of the largest expression; the limit is MaxNodes
	Steps int // metered steps of the most expensive evaluation; the limit is MaxSteps
}

// Usage evaluates the conditions and the templates with the values of env. If an evaluation fails, Usage counts the
// metered steps before the failure. An evaluation can fail, for example, because env lacks an output or an item.
func (x *Expressions) Usage(env core.Environment) Usage {
	var u Usage
	for t := range x.parts {
		u.add(&env, t.holes...)
	}
	return u
}

func (u *Usage) add(env *core.Environment, programs ...*program) {
	e := evaluation{env: env}
	for _, p := range programs {
		parts := counter(0)
		ast.Walk(&p.root, &parts)
		u.Parts = max(u.Parts, int(parts))
		if p.path == nil {
			_, _ = e.run(p) // the result is not needed; run counts the steps in e.meter
		}
	}
	u.Steps = max(u.Steps, e.meter.steps)
}

type counter int

func (c *counter) Visit(*ast.Node) { *c++ }
