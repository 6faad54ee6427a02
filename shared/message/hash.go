package message

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/gowebpki/jcs"

	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// mark begins a text that stands for a number which a double cannot hold. A text of the order
// that begins like it gets a second one, so that the two never meet.
const mark = `\u0000`

// ContentHash shows whether two submissions are the same order (P14): SHA-256 over the canonical
// JSON (RFC 8785) of workflow, order, priority and reply-to, the first 16 bytes in hexadecimal.
// Spelling does not count: white space, the order of keys, 1.0 or 1. RFC 8785 knows only doubles;
// a number that none can hold keeps its digits, so that two such never look the same.
func ContentHash(o SubmitOrder) string {
	priority := cmp.Or(o.Priority, PriorityNormal)
	b := make([]byte, 0, 128+len(o.Order))
	b = append(b, `{"order":`...)
	b = appendExact(b, o.Order)
	for _, m := range [...][2]string{{"priority", priority}, {"replyTo", o.ReplyTo}, {"workflow", o.Workflow}} {
		b = append(b, `,"`+m[0]+`":`...)
		text, _ := json.Marshal(m[1]) // of a string: it cannot fail
		b = append(b, text...)
	}
	b = append(b, '}')
	canonical, err := jcs.Transform(b)
	if err != nil { // no JSON after all: DecodeSubmit refuses that, so only a caller in Go comes here
		canonical = b
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:16])
}

// appendExact copies JSON and writes each number that a double cannot hold as a marked text.
func appendExact(b, data []byte) []byte {
	if len(data) == 0 {
		return append(b, "null"...)
	}
	from := 0
	for at, end := rawjson.Token(data, 0); at < len(data); at, end = rawjson.Token(data, end) {
		text, number := data[at] == '"', data[at] == '-' || data[at] >= '0' && data[at] <= '9'
		switch {
		case text && hasMark(data[at+1:end]):
			b = append(append(append(b, data[from:at+1]...), mark...), data[at+1:end]...)
			from = end
		case number && !exact(string(data[at:end])):
			b = append(append(append(b, data[from:at]...), '"'), mark...)
			b = append(append(b, plainNumber(string(data[at:end]))...), '"')
			from = end
		}
	}
	return append(b, data[from:]...)
}

func hasMark(text []byte) bool { return len(text) >= len(mark) && string(text[:len(mark)]) == mark }
