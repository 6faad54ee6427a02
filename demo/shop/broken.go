package shop

import (
	"bytes"
	"encoding/json"
	"strings"
)

// A breaking makes a broken line for a place in the file. Its parameters are the lines before and after the
// place.
type breaking func(before, after []byte) []byte

// broken returns every kind of broken line once or twice. The server must refuse each of these lines, except
// for the lines that again makes.
func broken() []breaking {
	return []breaking{
		without("orderId"),
		again,
		with("orderId", ""),
		with("orderId", "../../etc/passwd"),
		otherContent,
		with("orderId", strings.Repeat("x", 300)),
		with("orderId", "bell\u0007"),
		with("orderId", 4711),
		with("workflow", "no-such-workflow"),
		again,
		with("workflow", []string{"order"}),
		with("oder", map[string]int{"items": 1}), // unknown field, as after a typing error
		without("order"),
		with("schema", "1"),
		with("priority", "urgent"),
		with("deadline", "tomorrow"),
		otherContent,
		with("replyTo", "https://sqs.example.com/1/foreign-queue"),
		cutOff,
		wrongUTF8,
		tooDeep,
	}
}

// again repeats the previous line, as a sender does after a lost response. The server accepts the line, but
// nothing happens twice.
func again(before, _ []byte) []byte { return before }

// otherContent returns an order with the ID of the previous order and different content.
func otherContent(before, _ []byte) []byte {
	return bytes.Replace(before, []byte(`"quantity":`), []byte(`"quantity":1`), 1)
}

func without(field string) breaking {
	return func(_, after []byte) []byte {
		fields := fieldsOf(after)
		delete(fields, field)
		return encode(fields)
	}
}

func with(field string, value any) breaking {
	return func(_, after []byte) []byte {
		fields := fieldsOf(after)
		fields["orderId"] = encode("bad-" + field)
		fields[field] = encode(value)
		return encode(fields)
	}
}

func cutOff(_, after []byte) []byte { return after[:len(after)/2] }

func wrongUTF8(_, after []byte) []byte {
	return bytes.Replace(withID(after, "bad-utf8"), []byte(`"name":"`), []byte("\"name\":\"\xff\xfe"), 1)
}

func tooDeep(_, after []byte) []byte {
	const depth = 10_000
	fields := fieldsOf(withID(after, "bad-depth"))
	fields["order"] = []byte(strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1))
	return encodeRaw(fields)
}

func withID(line []byte, id string) []byte {
	fields := fieldsOf(line)
	fields["orderId"] = encode(id)
	return encode(fields)
}

func fieldsOf(line []byte) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil {
		panic(err) // The line was encoded in this package.
	}
	return fields
}

// encodeRaw encodes fields that are nested too deeply for the standard encoder.
func encodeRaw(fields map[string]json.RawMessage) []byte {
	var b bytes.Buffer
	for _, name := range []string{"schema", "orderId", "workflow", "order"} {
		if b.Len() == 0 {
			b.WriteByte('{')
		} else {
			b.WriteByte(',')
		}
		b.Write(encode(name))
		b.WriteByte(':')
		b.Write(fields[name])
	}
	b.WriteByte('}')
	return b.Bytes()
}
