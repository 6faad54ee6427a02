package expression

import (
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// fact is the property failed or error of a step with onFailure: continue (P42, orders can go on after
// failures).
type fact struct{ step, name string }

const (
	factFailed = "failed" // true or false
	factError  = "error"  // code of the step's failure; null if the step has not failed
)

func (f fact) of(env *core.Environment) any {
	code := env.Failures[f.step]
	switch {
	case f.name == factFailed:
		return code != ""
	case code == "":
		return nil
	}
	return code
}

func reads(property string) string {
	if property == "output" {
		return property
	}
	return "failure"
}

// fact checks an access to the property failed or error. It refuses the access if the step does not have
// onFailure: continue, because the property would never change.
func (c *check) fact(n *ast.MemberNode, f fact) error {
	if c.scope.Continues != nil && !c.scope.Continues[f.step] {
		return fail("steps."+strings.ReplaceAll(f.step, "-", "_")+"."+f.name+
			" never changes: the order does not go on without this step",
			"write onFailure: continue in step "+f.step)
	}
	c.program.facts[n] = f
	return nil
}
