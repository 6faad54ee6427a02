package source

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
)

// Limits of a workflow file. Most of them are checked before the YAML library parses the file, because the
// library is recursive.
const (
	// MaxFile is the largest size of a file in bytes. It must be a regular file of the folder, or a link to one.
	MaxFile = 1 << 20
	// MaxSteps is the largest number of steps.
	MaxSteps   = 1000
	maxLine    = 10_000  // longest line, in bytes
	maxTokens  = 200_000 // number of YAML tokens
	maxFields  = 2000    // number of fields in one mapping
	maxNesting = 100     // depth of nested lists and mappings
	maxValues  = 50_000  // number of values, after aliases are expanded
)

// read parses YAML into a tree with positions. It returns nil if the YAML is invalid or exceeds a limit.
func read(data []byte, r *report) (root *value) {
	// A bug in the YAML library must not end a process that handles orders.
	defer func() {
		if recover() != nil {
			r.error(position{}, "the YAML library cannot read it").fix("simplify the file")
			root = nil
		}
	}()
	data = WithoutMark(data)
	if what, fix := tooLarge(data); what != "" {
		r.error(position{}, "%s", what).fix("%s", fix)
		return nil
	}
	tokens := lexer.Tokenize(string(data))
	g := guard{}
	if where, what, fix := g.check(tokens); what != "" {
		r.error(where, "%s", what).fix("%s", fix)
		return nil
	}
	if where, what := checkEscapes(data, tokens); what != "" {
		r.error(where, "%s", what).fix(fixEscape)
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		if what, fix := Tab(yamlMessage(err)); what != "" {
			r.error(yamlPosition(err), "%s", what).fix("%s", fix)
			return nil
		}
		r.error(yamlPosition(err), "YAML: %s", yamlMessage(err)).
			fix("check the indentation and the brackets here and in the line before; put a text in quotes if it " +
				"holds a colon, a # or begins with one of {[*&!|>%%@")
		return nil
	}
	var documents []*ast.DocumentNode
	for _, d := range file.Docs {
		if d.Body != nil && d.Body.Type() != ast.CommentType {
			documents = append(documents, d)
		}
	}
	if len(documents) == 0 {
		r.error(position{1, 1}, "the file is empty").fix("start with workflow: NAME and steps:")
		return nil
	}
	if len(documents) > 1 {
		r.error(at(documents[1].Body), "%s", whatSecond).fix(fixSecond)
		return nil
	}
	b := &treeBuilder{report: r, anchors: map[string]*value{}}
	return b.build(documents[0].Body, at(documents[0].Body), 0)
}

// Tab explains the YAML library's error for a line that is indented with a tab. It returns "" for all other
// errors.
func Tab(message string) (what, fix string) {
	if !strings.Contains(message, "'\t'") && !strings.Contains(message, `'\t'`) {
		return "", ""
	}
	return "the line is indented with a tab, and YAML takes only spaces", "replace the tab by spaces"
}

func tooLarge(data []byte) (what, fix string) {
	if len(data) > MaxFile {
		return fmt.Sprintf("the file has more than %d bytes", MaxFile), "split the workflow" // readers stop after the limit
	}
	if !utf8.Valid(data) {
		return "the file is not UTF-8", "save it as UTF-8"
	}
	for i, line := range strings.Split(string(data), "\n") {
		if len(line) > maxLine {
			return fmt.Sprintf("line %d has more than %d bytes", i+1, maxLine), "break the line"
		}
	}
	return "", ""
}

// at returns the position where a node begins. For a mapping it returns the position of the first key,
// because the library gives the position of the first colon.
func at(n ast.Node) position {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return at(n.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return at(n.Key)
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return position{t.Position.Line, t.Position.Column}
	}
	return position{}
}

func yamlPosition(err error) position {
	var e yaml.Error
	if errors.As(err, &e) && e.GetToken() != nil {
		return position{e.GetToken().Position.Line, e.GetToken().Position.Column}
	}
	return position{}
}

func yamlMessage(err error) string {
	var e yaml.Error
	if errors.As(err, &e) {
		return e.GetMessage()
	}
	return "it cannot be read"
}

type treeBuilder struct {
	*report
	anchors map[string]*value
	values  int
	over    *Problem // the limit that was exceeded, reported once; nil means none
}

// build converts n into a value. The parameter where is the value's position if n is nil, a mapping or a
// list.
func (b *treeBuilder) build(n ast.Node, where position, depth int) *value {
	v := &value{at: at(n)}
	b.values++
	if b.values > maxValues || depth > maxNesting {
		b.refuse(v.at, depth)
		return v
	}
	switch n := n.(type) {
	case nil, *ast.NullNode, *ast.CommentNode, *ast.CommentGroupNode:
		if n == nil {
			v.at = where
		}
	case *ast.SequenceNode:
		v.shape = isList
		v.at = where
		for _, e := range n.Values {
			v.list = append(v.list, b.build(e, at(e), depth+1))
		}
	case *ast.MappingNode:
		v.shape = isMap
		v.at = where
		b.mapping(v, n.Values, depth)
	case *ast.MappingValueNode:
		v.shape = isMap
		v.at = where
		b.mapping(v, []*ast.MappingValueNode{n}, depth)
	case *ast.AnchorNode:
		v = b.build(n.Value, where, depth)
		b.anchors[n.Name.String()] = v
	case *ast.AliasNode:
		return b.alias(n, depth)
	default:
		b.scalar(v, n)
	}
	return v
}

// scalar reads a text, a number or a truth value.
func (b *treeBuilder) scalar(v *value, n ast.Node) {
	v.shape = isText
	v.text = n.GetToken().Value
	number, numeric := numberText(v.text)
	what := problemOf(n.GetToken())
	switch n := n.(type) {
	case *ast.LiteralNode:
		v.text = n.Value.Value
		return
	case *ast.StringNode:
		// The library reads some numbers as texts, such as numbers of more than 64 bits.
		numeric = numeric && plain(n.Token)
	case *ast.BoolNode:
		v.shape = isBool
		v.truth = n.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
	default:
		b.error(v.at, "a construct of YAML that workflows do not use").fix("write plain values, lists and mappings")
	}
	switch {
	case what != "":
		b.error(v.at, "%s", what).fix(fixQuote)
		v.shape = isText
	case numeric:
		v.shape = isNumber
		v.text = number
	}
}

func (b *treeBuilder) mapping(v *value, pairs []*ast.MappingValueNode, depth int) {
	seen := make(map[string]position, len(pairs))
	for _, p := range pairs {
		where := at(p.Key)
		key, ok := keyText(p.Key)
		if !ok {
			b.error(where, "a key is not a plain word or text").fix("write the key as a text")
			continue
		}
		if first, dup := seen[key]; dup {
			b.error(where, "%q stands here for the second time, first in line %d", key, first.line).
				fix("remove one of them, or rename it")
			continue
		}
		seen[key] = where
		v.fields = append(v.fields, field{where, key, b.build(p.Value, where, depth+1)})
	}
}

func keyText(n ast.MapKeyNode) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode, *ast.MergeKeyNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// alias returns a copy of the value that its anchor names. Each copy counts towards maxValues. Otherwise a
// few lines could expand to billions of values.
func (b *treeBuilder) alias(n *ast.AliasNode, depth int) *value {
	name := n.Value.String()
	v, ok := b.anchors[name]
	if !ok {
		b.error(at(n), "alias *%s has no anchor before it", name).fix("define &%s further up", name)
		return &value{at: at(n)}
	}
	return b.copy(v, at(n), depth)
}

func (b *treeBuilder) copy(v *value, where position, depth int) *value {
	b.values++
	if b.values > maxValues || depth > maxNesting {
		b.refuse(where, depth)
		return &value{at: where}
	}
	c := *v
	c.at = where
	c.list = nil
	c.fields = nil
	for _, e := range v.list {
		c.list = append(c.list, b.copy(e, where, depth+1))
	}
	for _, f := range v.fields {
		c.fields = append(c.fields, field{where, f.key, b.copy(f.value, where, depth+1)})
	}
	return &c
}

func (b *treeBuilder) refuse(where position, depth int) {
	switch {
	case b.over != nil:
	case depth > maxNesting:
		b.over = b.error(where, "lists and mappings are nested deeper than %d levels", maxNesting)
		b.over.fix("flatten it")
	default:
		b.over = b.error(where, "the file stands for more than %d values", maxValues)
		b.over.fix("use fewer aliases, or split the file")
	}
}
