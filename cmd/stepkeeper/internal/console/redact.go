package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Redaction lists the fields to hide in orders, inputs and outputs. Each pattern is a path, such as
// payment.card or customer.*. In a pattern, * matches any name or index, and ** matches any number of names
// or indexes.
type Redaction [][]string

const hidden = `"(hidden)"`

// LoadRedaction reads patterns from a file with one pattern on each line. The character # begins a comment. A file
// that would hide nothing, as in another encoding, is refused.
func LoadRedaction(name string) (Redaction, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var r Redaction
	for number, line := range strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n") {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		parts := strings.Split(line, ".")
		unreadable := !utf8.ValidString(line) || strings.ContainsFunc(line, unicode.IsControl)
		// In another notation a path would hide nothing: items[0].card, $.card, or JSON.
		unreadable = unreadable || parts[0] == "$" || strings.ContainsAny(line, `[]{}"`)
		if unreadable || slices.Contains(parts, "") {
			return nil, fmt.Errorf("%s, line %d: %q is no path like payment.card or items.*.card", name,
				number+1, line)
		}
		r = append(r, parts)
	}
	if len(r) == 0 {
		return nil, errors.New("it has no path")
	}
	return r, nil
}

// Apply replaces the hidden fields of a document. If the document is not valid JSON, Apply hides the whole
// document.
func (r Redaction) Apply(doc json.RawMessage) json.RawMessage {
	if len(r) == 0 || len(doc) == 0 {
		return doc
	}
	if !json.Valid(doc) {
		return json.RawMessage(hidden)
	}
	return r.apply(doc, nil)
}

func (r Redaction) apply(doc json.RawMessage, at []string) json.RawMessage {
	for _, pattern := range r {
		if matches(pattern, at) {
			return json.RawMessage(hidden)
		}
	}
	switch first := bytes.TrimLeft(doc, " \t\r\n"); first[0] {
	case '{':
		var members map[string]json.RawMessage
		_ = json.Unmarshal(doc, &members)
		for name, value := range members {
			members[name] = r.apply(value, append(at[:len(at):len(at)], name))
		}
		doc, _ = json.Marshal(members)
	case '[':
		var items []json.RawMessage
		_ = json.Unmarshal(doc, &items)
		for i := range items {
			items[i] = r.apply(items[i], append(at[:len(at):len(at)], fmt.Sprint(i)))
		}
		doc, _ = json.Marshal(items)
	}
	return doc
}

func matches(pattern, at []string) bool {
	switch {
	case len(pattern) == 0:
		return len(at) == 0
	case pattern[0] == "**":
		return matches(pattern[1:], at) || len(at) > 0 && matches(pattern, at[1:])
	case len(at) == 0:
		return false
	}
	return (pattern[0] == "*" || pattern[0] == at[0]) && matches(pattern[1:], at[1:])
}
