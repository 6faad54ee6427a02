package expression

import (
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/stepkeeper/stepkeeper/shared/schema"
	"github.com/stepkeeper/stepkeeper/shared/suggest"
)

// declared records the schema of a node whose parts were checked, if the node reads the order.
func (c *check) declared(n ast.Node) {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		switch n.Value {
		case "order":
			c.parts[n] = c.scope.Order
		case "item":
			c.parts[n] = c.scope.Element
		}
	case *ast.PointerNode:
		if n.Name == "" && len(c.elements) > 0 {
			c.parts[n] = c.elements[len(c.elements)-1]
		}
	case *ast.MemberNode:
		c.parts[n] = c.memberPart(n)
	case *ast.ChainNode:
		c.parts[n] = c.parts[n.Node]
	case *ast.SliceNode:
		c.parts[n] = c.parts[n.Node]
	case *ast.BuiltinNode:
		if n.Name == "filter" {
			c.parts[n] = c.parts[n.Arguments[0]]
		}
	case *ast.BinaryNode:
		if n.Operator == "??" {
			c.parts[n] = c.parts[n.Left]
		}
	}
}

// memberPart returns the schema of a member. It records a member that its schema does not declare.
func (c *check) memberPart(n *ast.MemberNode) schema.Part {
	base := c.parts[n.Node]
	s, named := n.Property.(*ast.StringNode)
	if !named {
		return base.Element()
	}
	member, known := base.Member(s.Value)
	if !known {
		names := base.Names()
		c.program.unknown = append(c.program.unknown, &Error{
			What: fmt.Sprintf("%s is read, and the schema of the order does not know it",
				shorten(n.String(), maxQuoted)),
			Fix: suggest.DidYouMean(s.Value, names, "the schema declares here: "+
				shorten(strings.Join(names, ", "), maxQuoted)),
		})
	}
	return member
}
