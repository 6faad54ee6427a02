package expression

import (
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// fact is a property of a step whose failure does not stop the order (P42, orders can go on after
// failures).
type fact struct{ step, name string }

const (
	factFailed = "failed" // true or false
	factError  = "error"  // the code of its failure; null if it has not failed
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

// reads returns the text for errors that describes a step's property.
func reads(property string) string {
	if property == "output" {
		return property
	}
	return "failure"
}

// fact returns an error if a failure of the step always stops or undoes the order, because the fact would
// then always be false.
func (c *check) fact(n *ast.MemberNode, f fact) error {
	if c.scope.Continues != nil && !c.scope.Continues[f.step] {
		return fail("steps."+strings.ReplaceAll(f.step, "-", "_")+"."+f.name+
			" never changes: the order does not go on without this step",
			"write onFailure: continue in step "+f.step)
	}
	c.program.facts[n] = f
	return nil
}
