package dynamo

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// A value that DynamoDB would not give back byte for byte is kept as its JSON text, in a map with
// this one member: a number with more digits than DynamoDB has, or written in another way than
// DynamoDB writes it; text with unusual escapes; white space between the members.
const textMember = "#json"

// An object whose members do not stand in the order of their names remembers theirs in this member, one
// name after the other, parted by newlines.
const orderMember = "#order"

// maxDepth is how deep maps and lists are shown; DynamoDB's limit is 32, the item included.
const maxDepth = 24

var errForm = errors.New("not to be shown as attributes")

// attributesOf gives a JSON object as an item. JSON writes it again, byte for byte. It fails only
// for what is no JSON object.
func attributesOf(document []byte) (map[string]types.AttributeValue, error) {
	if len(document) == 0 || document[0] != '{' || !utf8.Valid(document) || !json.Valid(document) {
		return nil, errForm
	}
	p := parser{b: document}
	v, err := p.value("", 0)
	if err != nil {
		return nil, err
	}
	m, ok := v.(*types.AttributeValueMemberM)
	if !ok || p.i != len(document) || m.Value[textMember] != nil {
		return nil, errForm
	}
	return m.Value, nil
}

// parser walks JSON that is known to be valid and compact; errForm where it is not compact.
type parser struct {
	b []byte
	i int
}

// value parses one value: that of the member with this name, at the depth of so many levels. What cannot be shown as it is becomes its text.
func (p *parser) value(name string, depth int) (types.AttributeValue, error) {
	start := p.i
	v, err := p.shown(name, depth)
	if err == nil {
		return v, nil
	}
	p.i = start
	if depth == 0 {
		return nil, err
	}
	return asText(p.skip()), nil
}

func asText(raw []byte) types.AttributeValue {
	return &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{textMember: &types.AttributeValueMemberS{Value: string(raw)}}}
}

func (p *parser) shown(name string, depth int) (types.AttributeValue, error) {
	switch p.b[p.i] {
	case '{':
		return p.object(depth)
	case '[':
		return p.list(depth)
	case '"':
		raw := p.skip()
		s, ok := plainText(raw)
		if !ok {
			return nil, errForm
		}
		if b := hashOf(s); b != nil && depth == 1 && !slices.Contains(recorded, name) {
			return blob(b), nil
		}
		return &types.AttributeValueMemberS{Value: s}, nil
	case ' ', '\t', '\n', '\r':
		return nil, errForm
	}
	raw := p.skip()
	switch string(raw) {
	case "null":
		return &types.AttributeValueMemberNULL{Value: true}, nil
	case "true", "false":
		return &types.AttributeValueMemberBOOL{Value: raw[0] == 't'}, nil
	}
	if !survives(string(raw)) {
		return nil, errForm
	}
	return &types.AttributeValueMemberN{Value: string(raw)}, nil
}

func (p *parser) object(depth int) (types.AttributeValue, error) {
	if depth > maxDepth {
		return nil, errForm
	}
	members := map[string]types.AttributeValue{}
	var names []string
	p.i++
	for p.b[p.i] != '}' {
		if p.b[p.i] == ',' {
			p.i++
		}
		if p.b[p.i] != '"' {
			return nil, errForm
		}
		name, ok := plainText(p.skip())
		if !ok || name == "" || len(name) > 255 || strings.HasPrefix(name, "#") || strings.Contains(name, "\n") || members[name] != nil {
			return nil, errForm
		}
		if p.b[p.i] != ':' {
			return nil, errForm
		}
		p.i++
		v, err := p.value(name, depth+1)
		if err != nil {
			return nil, err
		}
		if c := p.b[p.i]; c != ',' && c != '}' {
			return nil, errForm
		}
		members[name] = v
		names = append(names, name)
	}
	p.i++
	if !slices.IsSorted(names) {
		members[orderMember] = &types.AttributeValueMemberS{Value: strings.Join(names, "\n")}
	}
	return &types.AttributeValueMemberM{Value: members}, nil
}

func (p *parser) list(depth int) (types.AttributeValue, error) {
	if depth > maxDepth {
		return nil, errForm
	}
	values := []types.AttributeValue{}
	p.i++
	for p.b[p.i] != ']' {
		if p.b[p.i] == ',' {
			p.i++
		}
		v, err := p.value("", depth+1)
		if err != nil {
			return nil, err
		}
		if c := p.b[p.i]; c != ',' && c != ']' {
			return nil, errForm
		}
		values = append(values, v)
	}
	p.i++
	return &types.AttributeValueMemberL{Value: values}, nil
}

// skip answers the bytes of one value and moves past it.
func (p *parser) skip() []byte {
	start := p.i
	p.i = max(start, rawjson.Skip(p.b, start)) // the document is valid
	return p.b[start:p.i]
}

// hashOf gives the bytes of a hash of 16 bytes, which take half the room of its text; nil for any other text.
func hashOf(s string) []byte {
	if len(s) != 32 {
		return nil
	}
	b, err := hex.DecodeString(s)
	if err != nil || hex.EncodeToString(b) != s {
		return nil
	}
	return b
}

// plainText decodes a JSON string, if we would write it in the same way.
func plainText(raw []byte) (string, bool) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), true
	}
	var s string
	if json.Unmarshal(raw, &s) != nil || !bytes.Equal(rawjson.AppendString(nil, s), raw) {
		return "", false
	}
	return s, true
}

// survives reports whether DynamoDB gives a number back as it is written here. It has 38 digits and
// writes numbers in a normal form; we trust it with fewer digits and short fractions, where every
// implementation agrees on that form.
func survives(number string) bool {
	digits := strings.TrimPrefix(number, "-")
	if len(digits) > 17 || strings.ContainsAny(digits, "eE+") || number == "-0" {
		return false
	}
	whole, fraction, hasFraction := strings.Cut(digits, ".")
	if !hasFraction {
		return true
	}
	return !strings.HasSuffix(fraction, "0") && (whole != "0" || !strings.HasPrefix(fraction, "000"))
}
