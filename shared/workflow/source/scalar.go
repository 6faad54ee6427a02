package source

import (
	"bytes"
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// An unquoted value has the type that the core schema of YAML 1.2 gives it. A value is refused as ambiguous
// in these cases:
//   - It has a different type in YAML 1.1.
//   - It looks like a number, but it is a text.
//   - It is an infinity or NaN, which JSON does not have.
//   - It has a tab within, which the YAML library drops.
var (
	coreNumber = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	coreOther  = regexp.MustCompile(`^0(o[0-7]+|x[0-9a-fA-F]+)$`)
	ambiguous  = []struct {
		what string
		form *regexp.Regexp
	}{
		{
			"a number with zeros before it, which some readers take for an octal one",
			regexp.MustCompile(`^[-+]?0[0-9_]+(\.[0-9_]*)?([eE][-+]?[0-9]+)?$`),
		},
		{
			"a number with underscores to some readers, and a text to others",
			regexp.MustCompile(
				`^[-+]?([0-9][0-9_]*_[0-9_]*(\.[0-9_]*)?|[0-9]*\.[0-9]+_[0-9_]*)([eE][-+]?[0-9]+)?$`),
		},
		{
			"a number with a base that some readers do not know",
			regexp.MustCompile(`^[-+](0[xo][0-9a-fA-F_]+)$|^[-+]?0b[01_]+$|^0x[0-9a-fA-F]*_[0-9a-fA-F_]*$`),
		},
		{
			"no number of YAML, though it looks like one with a base",
			regexp.MustCompile(`^[-+]?0[xXoObB][0-9a-zA-Z_]*$`),
		},
		{
			"no number of YAML, though it looks like one with an exponent",
			regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?$`),
		},
		{"no finite number, and JSON has no other", regexp.MustCompile(`^[-+]?\.(inf|Inf|INF|nan|NaN|NAN)$`)},
		{
			"a number of base 60 to some readers, and a text to others",
			regexp.MustCompile(`^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$`),
		},
		{
			"true or false to some readers, and a text to others",
			regexp.MustCompile(`^(yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF)$`),
		},
		{
			"a date to some readers, and a text to others",
			regexp.MustCompile(`^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?$`),
		},
	}
)

const fixQuote = `quote it for a text, as in "yes", or write a number, true or false as in JSON`

// CheckScalars returns an error if a YAML file contains an ambiguous value, a number that is too long, an
// escape that names no character, deeper nesting than the YAML library can read, or aliases that stand for too many
// values. The readers of the agents file and of the services file call it. They report other errors.
func CheckScalars(data []byte) error {
	tokens := lexer.Tokenize(string(data))
	if where, what := checkEscapes(data, tokens); what != "" {
		return fmt.Errorf("line %d, column %d: %s; fix: %s", where.line, where.column, what, fixEscape)
	}
	depth := nesting{}
	for _, t := range tokens {
		what, fix := depth.tooDeep(t)
		if what == "" {
			what = problemOf(t)
			fix = fixQuote
		}
		if what != "" {
			return fmt.Errorf("line %d, column %d: %s; fix: %s", t.Position.Line, t.Position.Column, what, fix)
		}
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil
	}
	b := &treeBuilder{report: &report{}, anchors: map[string]*value{}}
	for _, d := range file.Docs {
		if d.Body != nil {
			b.build(d.Body, position{}, 0)
		}
	}
	if b.over != nil {
		return fmt.Errorf("line %d, column %d: %s; fix: %s", b.over.Line, b.over.Column, b.over.What, b.over.Fix)
	}
	return nil
}

// WithoutMark returns the data without the byte order mark that some editors write at the beginning.
func WithoutMark(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\ufeff")) }

// problemOf returns the reason to refuse an unquoted value. It returns "" for a valid value. The type of a key does not
// matter, because a key is always a text.
func problemOf(t *token.Token) string {
	if !plain(t) {
		return ""
	}
	text := strings.TrimSpace(t.Value)
	written := strings.TrimSpace(t.Origin)
	if strings.Contains(written, "\t") {
		return fmt.Sprintf("%.40q has a tab within, which the YAML library drops", written)
	}
	if t.Next != nil && t.Next.Type == token.MappingValueType {
		return ""
	}
	if coreOther.MatchString(text) && rawjson.NumberFits([]byte(text)) {
		return ""
	}
	for _, a := range ambiguous {
		if a.form.MatchString(text) {
			return fmt.Sprintf("%.40s is %s", text, a.what)
		}
	}
	if (coreNumber.MatchString(text) || coreOther.MatchString(text)) && !rawjson.NumberFits([]byte(text)) {
		return fmt.Sprintf("the number %.20s… has more than %d characters, or an exponent beyond ±%d", text,
			rawjson.MaxNumber, rawjson.MaxExponent)
	}
	return ""
}

// plain reports whether a token is an unquoted value.
func plain(t *token.Token) bool {
	switch t.Type {
	case token.StringType, token.IntegerType, token.BinaryIntegerType, token.OctetIntegerType,
		token.HexIntegerType, token.FloatType, token.BoolType,
		token.InfinityType, token.NanType:
	default:
		return false
	}
	if t.Prev == nil {
		return true
	}
	switch t.Prev.Type {
	case token.LiteralType, token.FoldedType, token.AnchorType, token.AliasType, token.TagType:
		return false
	}
	return true
}

var (
	leadingPoint  = regexp.MustCompile(`^(-?)\.`)
	trailingPoint = regexp.MustCompile(`\.([eE]|$)`)
)

// numberText converts an unquoted number of the core schema to JSON. It keeps all digits. It returns false for
// any other value.
func numberText(text string) (number string, ok bool) {
	text = strings.TrimSpace(text)
	if coreOther.MatchString(text) {
		i, ok := new(big.Int).SetString(text, 0)
		return fmt.Sprint(i), ok
	}
	number = leadingPoint.ReplaceAllString(strings.TrimPrefix(text, "+"), "${1}0.")
	return trailingPoint.ReplaceAllString(number, "$1"), coreNumber.MatchString(text)
}
