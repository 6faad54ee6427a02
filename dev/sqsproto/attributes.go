package sqsproto

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

type attribute struct {
	DataType    string  `json:"DataType"`
	StringValue *string `json:"StringValue,omitempty"`
	BinaryValue []byte  `json:"BinaryValue,omitempty"`
}

// attributes contains message attributes by name. Stepkeeper's own messages have no attributes. The
// attributes of applications' messages are kept, because tracing libraries use them.
type attributes map[string]attribute

const (
	maxAttributes = 10
	maxText       = port.MaxBody // SQS's limit for a message and for a batch, in bytes
)

// envelope is a message with its attributes, as the handler puts it into a queue in memory. A receiver that
// reads bytes gets only the body.
type envelope struct {
	id         string
	body       []byte
	attributes attributes
	trace      string // AWSTraceHeader; "" means no trace header
}

// Encode returns the body.
func (e *envelope) Encode() ([]byte, error) { return e.body, nil }

var _ port.Value = (*envelope)(nil)

func md5Of(b []byte) string {
	sum := md5.Sum(b)
	return hex.EncodeToString(sum[:])
}

// md5 returns the checksum of the attributes, which AWS SDKs verify. The attributes are sorted by name. For
// each attribute, the checksum covers the name, the type, a byte for the kind of value, and the value. Each
// name, type and value comes after its length.
func (a attributes) md5() string {
	if len(a) == 0 {
		return ""
	}
	var b bytes.Buffer
	put := func(part []byte) {
		_ = binary.Write(&b, binary.BigEndian, uint32(len(part))) // writing to a buffer cannot fail
		b.Write(part)
	}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		v := a[name]
		put([]byte(name))
		put([]byte(v.DataType))
		if kind, _, _ := strings.Cut(v.DataType, "."); kind == "Binary" {
			b.WriteByte(2)
			put(v.BinaryValue)
			continue
		}
		b.WriteByte(1)
		put([]byte(*v.StringValue))
	}
	return md5Of(b.Bytes())
}

// size returns the size of the attributes in bytes, as SQS counts it: names, types and values.
func (a attributes) size() int {
	n := 0
	for name, v := range a {
		n += len(name) + len(v.DataType) + len(v.BinaryValue)
		if v.StringValue != nil {
			n += len(*v.StringValue)
		}
	}
	return n
}

func (a attributes) check() error {
	if len(a) > maxAttributes {
		return invalid("Number of message attributes [%d] exceeds the allowed maximum [%d].", len(a),
			maxAttributes)
	}
	for name, v := range a {
		if len(name) > 256 || !attributeName.MatchString(name) || reserved.MatchString(name) {
			return invalid(
				"The message attribute name %.100q must be 1 to 256 of A-Z a-z 0-9 _ - ., no period "+
					"first, last or twice, and not begin with AWS. or Amazon.", name)
		}
		kind, _, _ := strings.Cut(v.DataType, ".")
		text := kind == "String" || kind == "Number"
		switch {
		case text && (v.StringValue == nil || *v.StringValue == ""):
			return invalid("The message attribute %q of type %q must have a string value.", name, v.DataType)
		case text && !allowedText(*v.StringValue):
			return badCharacters()
		case kind == "Binary" && len(v.BinaryValue) == 0:
			return invalid("The message attribute %q of type %q must have a binary value.", name, v.DataType)
		case !text && kind != "Binary" || len(v.DataType) > 256:
			return invalid(
				"The message attribute %q has the type %.40q; the type must begin with String, Number or "+
					"Binary.", name, v.DataType)
		}
	}
	return nil
}

var (
	attributeName = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
	reserved      = regexp.MustCompile(`^(?i:aws|amazon)\.`)
)

// allowedText reports whether SQS accepts the text. SQS accepts only the characters of XML 1.0.
func allowedText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF
	})
}

func badCharacters() *fail {
	return bad("InvalidMessageContents",
		"The message contains characters outside of the allowed set: #x9 | #xA | #xD | #x20 to #xD7FF | "+
			"#xE000 to #xFFFD | #x10000 to #x10FFFF.")
}

// choose returns the attributes that a receiver requests. A name may be a prefix with ".*", or "All".
func (a attributes) choose(names []string) attributes {
	var out attributes
	for _, want := range names {
		prefix, wild := strings.CutSuffix(want, ".*")
		for name, v := range a {
			if want == "All" || want == name ||
				wild && (strings.HasPrefix(name, prefix+".") || name == prefix || prefix == "") {
				if out == nil {
					out = attributes{}
				}
				out[name] = v
			}
		}
	}
	return out
}
