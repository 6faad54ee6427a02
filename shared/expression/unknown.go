package expression

import (
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"

	"github.com/stepkeeper/stepkeeper/shared/schema"
	"github.com/stepkeeper/stepkeeper/shared/suggest"
)

// Unknown returns an error for each path in an expression that the schema of the order does not declare. It
// also returns the part of the schema that describes the value of the expression. The argument item describes
// the name item, which an expression for a child order can read.
func Unknown(source string, order, item schema.Part) (value schema.Part, unknown []*Error) {
	tree, err := parser.ParseWithConfig(source, settings())
	if err != nil { // Check reports a syntax error
		return schema.Part{}, nil
	}
	r := &reader{order: order, item: item}
	value = r.node(tree.Node)
	return value, r.unknown
}

type reader struct {
	order, item schema.Part
	elements    []schema.Part // schemas of # in the predicates around the node, innermost last
	unknown     []*Error
}

func (r *reader) node(n ast.Node) schema.Part {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		switch n.Value {
		case "order":
			return r.order
		case "item":
			return r.item
		}
	case *ast.PointerNode:
		if n.Name == "" && len(r.elements) > 0 {
			return r.elements[len(r.elements)-1]
		}
	case *ast.MemberNode:
		return r.member(n)
	case *ast.ChainNode:
		return r.node(n.Node)
	case *ast.PredicateNode:
		return r.node(n.Node)
	case *ast.SliceNode:
		r.nodes(n.From, n.To)
		return r.node(n.Node)
	case *ast.BuiltinNode:
		return r.builtin(n)
	case *ast.BinaryNode:
		left := r.node(n.Left)
		r.node(n.Right)
		if n.Operator == "??" {
			return left
		}
	case *ast.UnaryNode:
		r.node(n.Node)
	case *ast.CallNode:
		r.nodes(n.Arguments...)
	case *ast.ConditionalNode:
		r.nodes(n.Cond, n.Exp1, n.Exp2)
	case *ast.ArrayNode:
		r.nodes(n.Nodes...)
	case *ast.MapNode:
		r.nodes(n.Pairs...)
	case *ast.PairNode:
		r.nodes(n.Key, n.Value)
	}
	return schema.Part{}
}

func (r *reader) nodes(nodes ...ast.Node) {
	for _, n := range nodes {
		r.node(n)
	}
}

func (r *reader) member(n *ast.MemberNode) schema.Part {
	base := r.node(n.Node)
	s, named := n.Property.(*ast.StringNode)
	if !named {
		r.node(n.Property)
		return base.Element()
	}
	member, known := base.Member(s.Value)
	if !known {
		names := base.Names()
		r.unknown = append(r.unknown, &Error{
			What: fmt.Sprintf("%s is read, and the schema of the order does not know it",
				shorten(n.String(), maxQuoted)),
			Fix: suggest.DidYouMean(s.Value, names, "the schema declares here: "+
				shorten(strings.Join(names, ", "), maxQuoted)),
		})
	}
	return member
}

// builtin walks the call of a function. In a predicate, the node # is an element of the list.
func (r *reader) builtin(n *ast.BuiltinNode) schema.Part {
	if !iterators[n.Name] {
		r.nodes(n.Arguments...)
		return schema.Part{}
	}
	list := r.node(n.Arguments[0])
	r.elements = append(r.elements, list.Element())
	r.nodes(n.Arguments[1:]...)
	r.elements = r.elements[:len(r.elements)-1]
	if n.Name == "filter" {
		return list
	}
	return schema.Part{}
}
