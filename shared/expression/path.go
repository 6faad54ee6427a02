package expression

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/expr-lang/expr/ast"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// path is an expression that is only a path, such as order.items[0].sku. The evaluation of a path does not
// decode the whole document.
type path struct {
	root    string // name, such as "order"; "" if the path begins with a property of a step
	of      fact
	members []member
}

// member is one access in a path: a field of an object, or an element of a list.
type member struct {
	name     string
	index    int
	element  bool
	optional bool // the access is written ?., so it returns null if the object is null
}

func pathOf(p *program, n ast.Node) *path {
	if f, ok := p.facts[n]; ok {
		return &path{of: f}
	}
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return &path{root: n.Value}
	case *ast.ChainNode:
		return pathOf(p, n.Node)
	case *ast.MemberNode:
		base := pathOf(p, n.Node)
		if base == nil {
			return nil
		}
		m := member{optional: n.Optional}
		switch property := n.Property.(type) {
		case *ast.StringNode:
			m.name = property.Value
		case *ast.IntegerNode:
			m.index = property.Value
			m.element = true
		default:
			return nil
		}
		base.members = append(base.members, m)
		return base
	}
	return nil
}

// document returns the JSON in which the path begins. nil means null.
func (p *path) document(env *core.Environment) json.RawMessage {
	if p.root == "" {
		return p.of.raw(env)
	}
	return named(p.root, env)
}

// named returns the JSON of a name. nil means null.
func named(name string, env *core.Environment) json.RawMessage {
	switch name {
	case "order":
		return env.Order
	case "orderId":
		return appendString(nil, env.OrderID)
	case "value":
		return env.Value
	case "item", "previous", "result":
		return env.Item
	case "index", "reminder":
		return strconv.AppendInt(nil, int64(env.Index), 10)
	}
	return strconv.AppendInt(nil, int64(env.Run), 10) // name is "run", because the check refuses all other names
}

// raw returns the JSON of the value at the path. nil means null.
func (p *path) raw(env *core.Environment) (json.RawMessage, error) {
	at := p.document(env)
	for _, m := range p.members {
		at = bytes.Trim(at, white)
		if len(at) == 0 || string(at) == "null" {
			if m.optional {
				return nil, nil
			}
			return nil, fail("it reads "+m.String()+" of null", fixNull)
		}
		var err error
		at, err = m.of(at)
		if err != nil {
			return nil, err
		}
	}
	return at, nil
}

func (m member) String() string {
	if m.element {
		return "[" + strconv.Itoa(m.index) + "]"
	}
	return "." + m.name
}

const (
	fixNull     = "write ?. if the part before it may be absent; otherwise provide the data"
	fixPosition = "test the length first, as in len(order.items) > 2 ? order.items[2] : nil"
)

func wrongBase(m member, kind string) error {
	return fail("it reads "+m.String()+" of "+kind, fixValue)
}

// of returns the member's part of the JSON data. If an object has a field twice, the last field counts, as in
// encoding/json.
func (m member) of(data json.RawMessage) (json.RawMessage, error) {
	switch data[0] {
	case '{':
		if m.element {
			return nil, wrongBase(m, "an object")
		}
		found, err := rawjson.Member(data, m.name)
		if err != nil {
			return nil, errBadJSON
		}
		return found, nil
	case '[':
		if !m.element {
			return nil, wrongBase(m, "a list")
		}
		return element(data, m.index)
	case '"':
		return nil, wrongBase(m, "a text")
	case 't', 'f':
		return nil, wrongBase(m, "a boolean")
	}
	return nil, wrongBase(m, "a number")
}

func element(data []byte, index int) (json.RawMessage, error) {
	at := 0
	for value, err := range rawjson.Elements(data) {
		if err != nil {
			return nil, errBadJSON
		}
		if at == index {
			return value, nil
		}
		at++
	}
	return nil, fail(fmt.Sprintf("the list has no element [%d]", index), fixPosition)
}
