package shop

import (
	"bytes"
	"encoding/json"
	"strings"
)

// broken lists every kind of broken line once or twice: the valid line of its place, with a member that is
// replaced by other JSON, or left out if there is none. The server must refuse each of these lines, except for
// the lines that are repeated.
var broken = []struct{ member, json string }{
	{"orderId", ""},
	{repeated, ""},
	{"orderId", `""`},
	{"orderId", `"../../etc/passwd"`},
	{otherContent, ""},
	{"orderId", `"` + strings.Repeat("x", 300) + `"`},
	{"orderId", `"bell\u0007"`},
	{"orderId", "4711"},
	{"workflow", `"no-such-workflow"`},
	{repeated, ""},
	{"workflow", `["order"]`},
	{"oder", `{"items":1}`}, // unknown field, as after a typing error
	{"order", ""},
	{"schema", `"1"`},
	{"priority", `"urgent"`},
	{"deadline", `"tomorrow"`},
	{otherContent, ""},
	{"replyTo", `"https://sqs.example.com/1/foreign-queue"`},
	{cutOff, ""},
	{"order", "{\"name\":\"\xff\xfe\"}"},
	{"order", strings.Repeat("[", 9_999) + strings.Repeat("]", 9_999)},
}

// Kinds of broken lines that are no matter of one member.
const (
	repeated     = "repeated"      // the previous line, as after a lost response; nothing happens twice
	otherContent = "other content" // the ID of the previous order, with other content
	cutOff       = "cut off"
)

// spoil makes a broken line for a place in the file, from the lines before and after the place.
func spoil(member, value string, before, after []byte) []byte {
	switch member {
	case repeated:
		return before
	case otherContent:
		return bytes.Replace(before, []byte(`"quantity":`), []byte(`"quantity":1`), 1)
	case cutOff:
		return after[:len(after)/2]
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(after, &fields); err != nil {
		panic(err) // The line was encoded in this package.
	}
	fields["orderId"] = encode("bad-" + member)
	fields[member] = json.RawMessage(value)
	if value == "" {
		delete(fields, member)
	}
	return encode(fields)
}
