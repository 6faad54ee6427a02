package expression

import (
	"strconv"

	"github.com/expr-lang/expr/ast"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// evaluation is the state while one template or condition is evaluated. It decodes each document at most
// once.
type evaluation struct {
	meter   meter
	env     *core.Environment
	program *program
	decoded map[string]any // decoded documents by name, such as "order" or "steps.charge.output"
	element []item         // current elements of the predicates around the node; the last is the innermost
}

type item struct {
	value any
	index int
}

func (e *evaluation) run(p *program) (any, error) {
	e.program = p
	e.element = e.element[:0]
	return e.eval(p.root)
}

func (e *evaluation) eval(n ast.Node) (any, error) {
	if err := e.meter.charge(1); err != nil {
		return nil, err
	}
	switch n := n.(type) {
	case *ast.NilNode:
		return nil, nil
	case *ast.BoolNode:
		return n.Value, nil
	case *ast.IntegerNode:
		return int64(n.Value), nil
	case *ast.FloatNode:
		return numberOf(strconv.FormatFloat(n.Value, 'g', -1, 64))
	case *ast.StringNode:
		return n.Value, nil
	case *ast.IdentifierNode:
		return e.document(n.Value, named(n.Value, e.env))
	case *ast.PointerNode:
		return e.pointer(n)
	case *ast.MemberNode, *ast.ChainNode:
		v, _, err := e.chain(n)
		return v, err
	case *ast.UnaryNode:
		return e.unary(n)
	case *ast.BinaryNode:
		return e.binary(n)
	case *ast.BuiltinNode:
		return e.builtin(n)
	case *ast.PredicateNode:
		return e.eval(n.Node)
	default:
		return e.compound(n)
	}
}

func (e *evaluation) compound(n ast.Node) (any, error) {
	switch n := n.(type) {
	case *ast.SliceNode:
		return e.slice(n)
	case *ast.ConditionalNode:
		yes, err := e.boolean("a condition", n.Cond)
		if err != nil {
			return nil, err
		}
		if yes {
			return e.eval(n.Exp1)
		}
		return e.eval(n.Exp2)
	case *ast.ArrayNode:
		list := make([]any, len(n.Nodes))
		for i := range n.Nodes {
			var err error
			list[i], err = e.eval(n.Nodes[i])
			if err != nil {
				return nil, err
			}
		}
		return list, nil
	case *ast.MapNode:
		return e.object(n)
	case *ast.CallNode: // the parser uses this node for functions that the library does not define
		return e.call(n.Callee.String(), n.Arguments)
	}
	return nil, fail("it uses a construct that workflows do not have", "")
}

func (e *evaluation) object(n *ast.MapNode) (any, error) {
	object := make(map[string]any, len(n.Pairs))
	for _, p := range n.Pairs {
		pair := p.(*ast.PairNode)
		key, err := typed[string](e, "a key", "a text", pair.Key)
		if err != nil {
			return nil, err
		}
		if err := e.meter.charge(len(key) / 8); err != nil {
			return nil, err
		}
		object[key], err = e.eval(pair.Value)
		if err != nil {
			return nil, err
		}
	}
	return object, nil
}

func (e *evaluation) document(name string, data []byte) (any, error) {
	if v, ok := e.decoded[name]; ok {
		return v, nil
	}
	if err := e.meter.charge(len(data) / 4); err != nil {
		return nil, err
	}
	v, err := decode(data)
	if err != nil {
		return nil, err
	}
	if e.decoded == nil {
		e.decoded = map[string]any{}
	}
	e.decoded[name] = v
	return v, nil
}

func (e *evaluation) pointer(n *ast.PointerNode) (any, error) {
	top := e.element[len(e.element)-1] // not empty, because # is valid only in a predicate
	if n.Name == "index" {
		return int64(top.index), nil
	}
	return top.value, nil
}

// chain evaluates an access to a member, including all accesses before it, such as a.b?.c. short reports
// whether a ?. was applied to null. In this case the whole chain is null.
func (e *evaluation) chain(n ast.Node) (v any, short bool, err error) {
	switch n := n.(type) {
	case *ast.ChainNode:
		return e.chain(n.Node)
	case *ast.MemberNode:
		if f, ok := e.program.facts[n]; ok {
			v, err = e.document("steps."+f.step+"."+f.name, f.raw(e.env))
			return v, false, err
		}
		base, short, err := e.chain(n.Node)
		if err != nil || short {
			return nil, short, err
		}
		if base == nil && n.Optional {
			return nil, true, nil
		}
		property, err := e.eval(n.Property)
		if err != nil {
			return nil, false, err
		}
		if name, ok := property.(string); ok {
			if err := e.meter.charge(len(name) / 8); err != nil {
				return nil, false, err
			}
		}
		v, err = memberOf(base, property)
		return v, false, err
	}
	v, err = e.eval(n)
	return v, false, err
}

// memberOf returns a member of an object or a list. Its errors do not show the name of the member, because a
// computed name may be data of the order.
func memberOf(base, property any) (any, error) {
	switch base := base.(type) {
	case map[string]any:
		if name, ok := property.(string); ok {
			return base[name], nil
		}
		return nil, fail("a field of an object is read by "+kind(property)+", not by its name",
			"give the name as a text; string(…) converts a number")
	case []any:
		index, ok := integer(property)
		if !ok {
			return nil, fail("an element of a list is read by "+kind(property)+", not by its position",
				"give the position as a whole number; the first is 0")
		}
		if index < 0 {
			index += int64(len(base))
		}
		if index < 0 || index >= int64(len(base)) {
			return nil, fail("the list has no element at this position", fixPosition)
		}
		return base[index], nil
	case nil:
		return nil, fail("it reads a member of null", fixNull)
	}
	return nil, fail("it reads a member of "+kind(base), fixValue)
}

// typed evaluates a node whose value has to be of one type.
func typed[T any](e *evaluation, doing, want string, n ast.Node) (of T, err error) {
	v, err := e.eval(n)
	if err != nil {
		return of, err
	}
	of, ok := v.(T)
	if !ok {
		return of, mismatch(doing, want, v)
	}
	return of, nil
}

func (e *evaluation) boolean(doing string, n ast.Node) (bool, error) {
	return typed[bool](e, doing, "true or false", n)
}

// position evaluates an end of a slice.
func (e *evaluation) position(n ast.Node, absent int64) (int64, error) {
	if n == nil {
		return absent, nil
	}
	v, err := e.eval(n)
	if err != nil {
		return 0, err
	}
	i, ok := integer(v)
	if !ok {
		return 0, mismatch("[from:to]", "a whole number", v)
	}
	return i, nil
}

// slice cuts a list or a text. A negative position counts from the end. A position outside the list or text
// means its start or its end.
func (e *evaluation) slice(n *ast.SliceNode) (any, error) {
	base, err := e.eval(n.Node)
	if err != nil {
		return nil, err
	}
	var list []any
	var runes []rune
	switch base := base.(type) {
	case []any:
		list = base
	case string:
		if err := e.meter.charge(len(base)); err != nil {
			return nil, err
		}
		runes = []rune(base)
	default:
		return nil, mismatch("[from:to]", "a list or a text", base)
	}
	length := int64(len(list) + len(runes))
	from, err := e.position(n.From, 0)
	if err != nil {
		return nil, err
	}
	to, err := e.position(n.To, length)
	if err != nil {
		return nil, err
	}
	from = clamp(from, length)
	to = clamp(to, length)
	from = min(from, to)
	if _, ok := base.(string); ok {
		return string(runes[from:to]), nil
	}
	return list[from:to:to], nil
}

func clamp(i, length int64) int64 {
	if i < 0 {
		i += length
	}
	return max(0, min(i, length))
}
