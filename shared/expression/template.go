package expression

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// Unwrap reads a string of a template. If the whole string is `${ … }`, Unwrap returns the expression between
// the braces. Otherwise it returns the string, with `$${` replaced by `${`. It returns an error if an
// expression is only a part of the string.
func Unwrap(s string) (text string, isExpression bool, err error) {
	if strings.HasPrefix(s, "${") {
		if inner, ok := strings.CutSuffix(strings.TrimRight(s, " \t\n"), "}"); ok {
			return strings.TrimSpace(inner[2:]), true, nil
		}
		if !strings.Contains(s, "}") {
			return "", false, &Error{Expression: s, What: "it has no closing }", Fix: fixComment}
		}
	}
	for i := 0; ; {
		j := strings.Index(s[i:], "${")
		if j < 0 {
			break
		}
		if i+j == 0 || s[i+j-1] != '$' {
			return "", false, &Error{
				Expression: s,
				What:       "it stands inside of a longer text",
				Fix:        fixJoin,
			}
		}
		i += j + 2
	}
	return strings.ReplaceAll(s, "$${", "${"), false, nil
}

const fixJoin = `join in one expression, as in ${ "order " + orderId }, or write $${ for a literal ${`

// template is a JSON document that contains expressions. The text of the document is literals[0], holes[0],
// literals[1], holes[1] and so on. It ends with the last literal.
type template struct {
	literals [][]byte
	holes    []*program
}

func parseTemplate(data json.RawMessage, scope Scope) (*template, error) {
	if err := checkRead(data); err != nil {
		return nil, at(string(data), err)
	}
	src, err := jsontext.AppendFormat(nil, data, checked...)
	if err != nil {
		return nil, errBadJSON
	}
	t := &template{}
	var literal []byte
	from := 0
	for d := jsontext.NewDecoder(bytes.NewBuffer(src), checked...); d.PeekKind() != jsontext.KindInvalid; {
		if d.PeekKind() != jsontext.KindString {
			_, _ = d.ReadToken() // no error, because checkRead has checked the JSON
			continue
		}
		quoted, _ := d.ReadValue()
		here := int(d.InputOffset())
		start := here - len(quoted)
		if here < len(src) && src[here] == ':' || !bytes.ContainsAny(quoted, `$\`) {
			continue // the string is a key, or contains no expression
		}
		plain, _ := jsontext.AppendUnquote(nil, quoted)
		text, isExpression, err := Unwrap(string(plain))
		if err != nil {
			return nil, err
		}
		literal = append(literal, src[from:start]...)
		from = here
		if !isExpression {
			literal = appendString(literal, text)
			continue
		}
		p, err := parse(text, scope)
		if err != nil {
			return nil, err
		}
		t.literals = append(t.literals, literal)
		t.holes = append(t.holes, p)
		literal = nil
	}
	if len(t.holes) > MaxHoles {
		return nil, fmt.Errorf("template has %d expressions, the limit is %d", len(t.holes), MaxHoles)
	}
	t.literals = append(t.literals, rawjson.ForQueues(append(literal, src[from:]...)))
	return t, nil
}

// Plain returns what a template without expressions stands for.
func Plain(data json.RawMessage) (json.RawMessage, error) {
	t, err := parseTemplate(data, Scope{})
	if err != nil {
		return nil, err
	}
	return t.evaluate(&core.Environment{})
}

// evaluate replaces the expressions by their values. A nil template has the value nil. The caller must not change
// the result, because the result may share its bytes with the template.
func (t *template) evaluate(env *core.Environment) (json.RawMessage, error) {
	if t == nil {
		return nil, nil
	}
	if len(t.holes) == 0 {
		return slices.Clip(t.literals[0]), at(string(t.literals[0]), checkResult(t.literals[0]))
	}
	e := &evaluation{env: env}
	var b []byte
	copied := true // true if every value in the result was checked when it came in
	for i, p := range t.holes {
		b = append(b, t.literals[i]...)
		var err error
		if p.path != nil {
			err = e.meter.charge(len(p.path.document(env)) / 128)
			if err == nil {
				b, err = splice(b, p.path, env)
			}
		} else {
			var v any
			v, err = e.run(p)
			copied = false
			if err == nil {
				b, err = appendValue(b, v)
			}
		}
		if err != nil {
			return nil, at(p.source, err)
		}
	}
	b = rawjson.ForQueues(append(b, t.literals[len(t.holes)]...))
	if len(b) > MaxResult {
		return nil, at(t.holes[0].source, errLarge)
	}
	if copied {
		if rawjson.Levels(b) > rawjson.MaxLevels {
			return nil, at(t.holes[0].source, errResult)
		}
		return b, nil
	}
	return b, at(t.holes[0].source, checkResult(b))
}

// splice appends the JSON value at the path p to b. It copies the value, which was checked and got its shortest
// form when it came in.
func splice(b []byte, p *path, env *core.Environment) ([]byte, error) {
	raw, err := p.raw(env)
	if err != nil {
		return nil, err
	}
	raw = bytes.Trim(raw, white)
	if len(raw) == 0 {
		return append(b, "null"...), nil
	}
	if len(b)+len(raw) > MaxResult {
		return nil, errLarge
	}
	return append(b, raw...), nil
}
