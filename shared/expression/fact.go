package expression

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/suggest"
)

// fact is a property of a step: its output, or more if the step has onFailure: continue (P42, orders can go on after
// failures) or is an Any (P54, the first of several decides).
type fact struct{ step, name string }

const (
	factOutput  = "output"
	factFailed  = "failed"  // true or false
	factError   = "error"   // code of the step's failure; null if the step has not failed
	factFirst   = "first"   // name of the member that has decided an Any first; null if none has
	factWon     = "won"     // names of the members that have decided an Any
	factOutputs = "outputs" // their outputs, by name
)

// raw returns the JSON of a fact. nil means null.
func (f fact) raw(env *core.Environment) json.RawMessage {
	code := env.Failures[f.step]
	won := env.Won[f.step]
	switch {
	case f.name == factOutput:
		return env.Outputs[f.step]
	case f.name == factFailed:
		return strconv.AppendBool(nil, code != "")
	case f.name == factError && code != "":
		return appendString(nil, code)
	case f.name == factFirst && len(won) > 0:
		return appendString(nil, won[0])
	case f.name == factWon:
		names, _ := rawjson.Marshal(append([]string{}, won...)) // cannot fail
		return names
	case f.name == factOutputs:
		outputs := map[string]json.RawMessage{}
		for _, member := range won {
			if output := env.Outputs[core.MemberName(f.step, member)]; output != nil {
				outputs[strings.ReplaceAll(member, "-", "_")] = output
			}
		}
		all, _ := rawjson.Marshal(outputs) // cannot fail for outputs that were stored
		return all
	}
	return nil
}

// outputOf returns the step whose output a node reads, or "".
func (p *program) outputOf(n ast.Node) string {
	if f := p.facts[unchain(n)]; f.name == factOutput {
		return f.step
	}
	return ""
}

func reads(property string) string {
	if property == factFailed || property == factError {
		return "failure"
	}
	return property
}

// fact checks an access to a property. It refuses the access if the step has no such property, or if the property
// would never change.
func (c *check) fact(n *ast.MemberNode, f fact) error {
	failure := f.name == factFailed || f.name == factError
	if !failure && f.name != factOutput && c.scope.Members != nil && c.scope.Members[f.step] == nil {
		return fail("only a step with any has "+f.name+", and "+f.step+" has none",
			"read steps."+strings.ReplaceAll(f.step, "-", "_")+".output")
	}
	if failure && c.scope.Continues != nil && !c.scope.Continues[f.step] {
		return fail("steps."+strings.ReplaceAll(f.step, "-", "_")+"."+f.name+
			" never changes: the order does not go on without this step",
			"write onFailure: continue in step "+f.step)
	}
	c.program.facts[n] = f
	return nil
}

// ofMember returns an error if a name is that of a member of an Any, which an expression reads through the Any.
func (c *check) ofMember(written string) error {
	for _, step := range slices.Sorted(maps.Keys(c.scope.Members)) {
		for _, m := range c.scope.Members[step] {
			name := core.MemberName(step, m)
			if written == name || written == strings.ReplaceAll(name, "-", "_") {
				return fail("it reads member "+m+" of step "+step,
					"write steps."+strings.ReplaceAll(step, "-", "_")+".outputs."+strings.ReplaceAll(m, "-", "_")+
						", which is null unless "+m+" has decided")
			}
		}
	}
	return nil
}

// outputs checks what n reads of the outputs of an Any: a member by its name, and the parts of its output with ?.,
// because it is null unless the member has decided.
func (c *check) outputs(n *ast.MemberNode) error {
	s, named := n.Property.(*ast.StringNode)
	if f, ok := c.program.facts[unchain(n.Node)]; ok && f.name == factOutputs && named {
		members := underscored(c.scope.Members[f.step])
		if c.scope.Members != nil && !slices.Contains(members, s.Value) {
			return fail("step "+f.step+" has no member "+s.Value,
				suggest.DidYouMean(s.Value, members, "its members are "+strings.Join(members, ", ")))
		}
		return nil
	}
	of, ok := unchain(n.Node).(*ast.MemberNode)
	if !ok || n.Optional {
		return nil
	}
	if f, ok := c.program.facts[unchain(of.Node)]; ok && f.name == factOutputs {
		return fail("it reads a part of the output of a member of step "+f.step+", which is null unless that member has "+
			"decided", "write ?. before the part")
	}
	return nil
}
