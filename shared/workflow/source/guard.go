package source

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/token"
)

// guard checks the tokens of a file before the YAML parser reads them. It refuses a file that would make the
// parser recurse deeply or take quadratic time.
type guard struct {
	flow   int     // number of open brackets and braces
	blocks []block // mappings in block style, innermost last
	text   bool    // true if the document has begun
}

// block is a mapping in block style. All its keys begin in the same column.
type block struct{ column, fields int }

const (
	whatSecond = "the file holds a second document"
	fixSecond  = "put each workflow into a file of its own"
)

// check returns the first reason to refuse the file. The result what is "" if there is no reason.
func (g *guard) check(tokens token.Tokens) (where position, what, fix string) {
	if len(tokens) > maxTokens {
		return position{}, fmt.Sprintf("the file has more than %d YAML tokens", maxTokens),
			"split the workflow"
	}
	for _, t := range tokens {
		if what, fix := g.token(t); what != "" {
			return position{t.Position.Line, t.Position.Column}, what, fix
		}
	}
	return position{}, "", ""
}

func (g *guard) token(t *token.Token) (what, fix string) {
	switch t.Type {
	case token.MappingStartType, token.SequenceStartType:
		g.flow++
	case token.MappingEndType, token.SequenceEndType:
		g.flow--
	case token.TagType, token.MergeKeyType, token.MappingKeyType, token.DirectiveType:
		return fmt.Sprintf("YAML's %s is not used in workflows", strings.TrimSpace(t.Value)),
			"write the value out"
	case token.DocumentHeaderType:
		if g.text {
			return whatSecond, fixSecond
		}
	case token.CommentType:
		return "", ""
	case token.SequenceEntryType:
		g.close(t.Position.Column)
	case token.MappingValueType:
		if g.flow > 0 && adjoins(t) {
			return fmt.Sprintf("%.40s:%.40s has no space after its colon", t.Prev.Value, t.Next.Value),
				"quote it, if a text is meant, or write a space after the colon"
		}
		if what, fix := g.field(t); what != "" {
			return what, fix
		}
	}
	g.text = true
	// A deeper block begins further to the right, so its column limits its depth. The limit of 10 columns per
	// level permits wide indents.
	structure := t.Type == token.SequenceEntryType || t.Type == token.MappingValueType
	if g.flow > maxNesting || structure && g.flow == 0 && t.Position.Column > 10*maxNesting {
		return fmt.Sprintf("lists and mappings are nested deeper than %d levels", maxNesting), "flatten it"
	}
	return "", ""
}

// adjoins reports whether a colon directly joins two unquoted values, as in [12:30]. The YAML library reads a
// mapping here, but other YAML programs read a text.
func adjoins(colon *token.Token) bool {
	next := colon.Next
	return colon.Prev != nil && next != nil && plain(colon.Prev) && plain(next) &&
		next.Position.Line == colon.Position.Line && next.Position.Column == colon.Position.Column+1
}

// close removes the mappings that begin to the right of the column, because they have ended.
func (g *guard) close(column int) {
	for len(g.blocks) > 0 && g.blocks[len(g.blocks)-1].column > column {
		g.blocks = g.blocks[:len(g.blocks)-1]
	}
}

// field counts a key of a mapping in block style. It returns a problem if the mapping has too many keys.
func (g *guard) field(colon *token.Token) (what, fix string) {
	if g.flow > 0 || colon.Prev == nil {
		return "", ""
	}
	column := colon.Prev.Position.Column
	g.close(column)
	if n := len(g.blocks); n == 0 || g.blocks[n-1].column < column {
		g.blocks = append(g.blocks, block{column: column})
	}
	top := &g.blocks[len(g.blocks)-1]
	top.fields++
	if top.fields > maxFields {
		return fmt.Sprintf("a mapping has more than %d fields", maxFields),
			fmt.Sprintf("split the workflow: it may have %d steps", MaxSteps)
	}
	return "", ""
}
