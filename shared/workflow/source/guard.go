package source

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/goccy/go-yaml/token"
)

// guard checks the tokens of a file before the YAML parser reads them. It refuses a file that would make the
// parser recurse deeply or take quadratic time.
type guard struct {
	nesting
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
	return g.tooDeep(t)
}

// nesting is the depth of a file in flow style.
type nesting struct {
	flow int // number of open brackets and braces
}

// tooDeep counts a token. It returns the reason to refuse the file, or "".
func (n *nesting) tooDeep(t *token.Token) (what, fix string) {
	switch t.Type {
	case token.MappingStartType, token.SequenceStartType:
		n.flow++
	case token.MappingEndType, token.SequenceEndType:
		n.flow--
	}
	// A deeper block begins further to the right, so its column limits its depth. The limit of 10 columns per
	// level permits wide indents.
	structure := t.Type == token.SequenceEntryType || t.Type == token.MappingValueType
	if n.flow > maxNesting || structure && n.flow == 0 && t.Position.Column > 10*maxNesting {
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

const fixEscape = `write the character itself, or its code, as in "\u20ac" or "\U0001f600"`

// hexDigits is the number of hexadecimal digits after each kind of escape.
var hexDigits = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// checkEscapes returns the first quoted text with an escape that names no character, such as half of a
// surrogate pair. The YAML library reads such an escape as another character, without an error.
func checkEscapes(data []byte, tokens token.Tokens) (where position, what string) {
	text := string(data)
	here := position{1, 1}
	for _, t := range tokens {
		if t.Type != token.DoubleQuoteType {
			continue
		}
		for text != "" && (here.line < t.Position.Line || here.column < t.Position.Column) {
			c, size := utf8.DecodeRuneInString(text)
			text = text[size:]
			here.column++
			if c == '\n' {
				here = position{here.line + 1, 1}
			}
		}
		if escape := badEscape(text); escape != "" {
			return here, fmt.Sprintf("the text has the escape %q, which is no character", escape)
		}
	}
	return position{}, ""
}

// badEscape returns the first escape that names no character in the quoted text at the beginning of text. It
// returns "" if there is none.
func badEscape(text string) string {
	for i := 1; i < len(text) && text[0] == '"' && text[i] != '"'; i++ {
		if text[i] != '\\' || i+1 == len(text) {
			continue
		}
		n := hexDigits[text[i+1]]
		end := min(i+2+n, len(text))
		c, err := strconv.ParseUint(text[i+2:end], 16, 32)
		second := text[end:min(end+6, len(text))]
		switch {
		case n == 0:
		case err == nil && utf8.ValidRune(rune(c)):
		case err == nil && pair(rune(c), second):
			end += len(second)
		default:
			return text[i:end]
		}
		i = end - 1
	}
	return ""
}

// pair reports whether a surrogate and the escape after it name one character.
func pair(first rune, escape string) bool {
	if len(escape) < 6 || escape[:2] != `\u` {
		return false
	}
	second, err := strconv.ParseUint(escape[2:], 16, 32)
	return err == nil && utf16.DecodeRune(first, rune(second)) != utf8.RuneError
}
