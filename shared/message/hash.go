package message

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/gowebpki/jcs"

	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// mark begins a text that stands for a number which a double cannot hold. A text of the order
// that begins like it gets a second one, so that the two never meet.
const mark = `\u0000`

// ContentHash tells whether two submissions are the same order (P14): SHA-256 over the canonical
// JSON (RFC 8785) of workflow, order, priority and reply-to, the first 16 bytes in hexadecimal.
// Spelling does not count: white space, the order of keys, 1.0 or 1. RFC 8785 knows only doubles;
// a number that none can hold keeps its digits, so that two such never look the same.
func ContentHash(o SubmitOrder) string {
	priority := o.Priority
	if priority == "" {
		priority = PriorityNormal
	}
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
	for i := 0; i < len(data); {
		c := data[i]
		switch {
		case c == '"':
			end := rawjson.Text(data, i) - 1
			if end < 0 { // no JSON
				return append(b, data[i:]...)
			}
			b = append(b, '"')
			if hasMark(data[i+1 : end]) {
				b = append(b, mark...)
			}
			b = append(append(b, data[i+1:end]...), '"')
			i = end + 1
		case c == '-' || c >= '0' && c <= '9':
			end := i + 1
			for end < len(data) && isNumber(data[end]) {
				end++
			}
			if lit := string(data[i:end]); exact(lit) {
				b = append(b, lit...)
			} else {
				b = append(b, '"')
				b = append(b, mark...)
				b = append(append(b, plainNumber(lit)...), '"')
			}
			i = end
		default:
			b = append(b, c)
			i++
		}
	}
	return b
}

func isNumber(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'
}

func hasMark(text []byte) bool { return len(text) >= len(mark) && string(text[:len(mark)]) == mark }
