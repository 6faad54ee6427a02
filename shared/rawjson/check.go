package rawjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits for every JSON value from outside: orders, answers, outputs of agents, responses of services and
// commands.
const (
	// MaxLevels is the number of nested arrays and objects. A deeper value counts as unreadable.
	MaxLevels   = 64
	MaxNumber   = 128 // characters of a number
	MaxExponent = 999 // absolute value of a number's exponent
)

// MaxGrowth is the largest factor by which escapes can lengthen a text: the character < is one byte, and the
// escape \u003c has six. A reader that measures a value in its shortest form reads at most MaxGrowth times the
// limit.
const MaxGrowth = 6

// Kinds of faults for values that exceed a limit.
var (
	ErrNumber = errors.New("a number is out of bounds")
	ErrLevels = errors.New("arrays and objects are nested deeper")
	// ErrAmbiguous means that programs would read the value differently (RFC 7493, I-JSON): it contains bytes
	// that are not UTF-8, a key twice in one object, or half of a surrogate pair.
	ErrAmbiguous = errors.New("programs would read it differently")
)

// Fault is the error of Check.
type Fault struct {
	Place string // path of the wrong member, such as "items.0.name"; "" means the whole value
	text  string
	kind  error // ErrNumber, ErrLevels, ErrAmbiguous, or nil if the value is not JSON
}

// Error returns the path, the fault, its position and the fix.
func (f *Fault) Error() string {
	if f.Place == "" {
		return f.text
	}
	return f.Place + ": " + f.text
}

// Unwrap returns the kind of the fault.
func (f *Fault) Unwrap() error { return f.kind }

// In returns an error of Check for a value that is the member with this name in a larger value.
func In(name string, err error) error {
	f, ok := errors.AsType[*Fault](err)
	if !ok {
		return fmt.Errorf("%s: %w", name, err)
	}
	inner := *f
	inner.Place = name
	if f.Place != "" {
		inner.Place += "." + f.Place
	}
	return &inner
}

// Check returns a *Fault in these cases:
//
//   - data is not exactly one JSON value.
//   - data has more than the given number of levels.
//   - data contains a number that NumberFits refuses.
//   - Programs would read data differently, see ErrAmbiguous.
//
// Every value from outside passes Check or Shortest before it is stored or sent. Stores and queues write and
// read the same values.
func Check(data []byte, levels int) error {
	_, err := check(data, levels)
	return err
}

// Shortest checks a value as Check does, and returns its shortest form. It reads a value that is in this form
// already once, and returns it as it is.
func Shortest(data []byte, levels int) ([]byte, error) {
	length, err := check(data, levels)
	switch {
	case err != nil:
		return nil, err
	case length == len(data) && bytes.IndexByte(data, '\\') < 0:
		return ForQueues(data), nil
	}
	return Compact(data)
}

// check returns the length of the value without white space.
func check(data []byte, levels int) (length int, err error) {
	r := read(data, nil)
	defer readers.Put(r)
	follows := false // a comma or a colon must be before the next value or name
	for {
		kind := r.PeekKind()
		var text []byte
		switch kind {
		case jsontext.KindBeginObject, jsontext.KindBeginArray, jsontext.KindEndObject, jsontext.KindEndArray:
			_, err = r.ReadToken()
			length++
		default:
			text, err = r.ReadValue()
			length += len(text)
		}
		switch depth := r.StackDepth(); {
		case err != nil:
			return 0, complaint(err)
		case kind == jsontext.KindNumber && !NumberFits(text):
			return 0, &Fault{placeOf(r.StackPointer()), fmt.Sprintf("%s: the one at byte %d has more than %d "+
				"characters, or an exponent beyond ±%d; send it as a text", ErrNumber,
				r.InputOffset()-int64(len(text)), MaxNumber, MaxExponent), ErrNumber}
		case depth > levels:
			first, _, _ := strings.Cut(placeOf(r.StackPointer()), ".")
			return 0, &Fault{first, fmt.Sprintf("%s than %d levels at byte %d; flatten it, or send the deep part as "+
				"a text", ErrLevels, min(levels, MaxLevels), r.InputOffset()-1), ErrLevels}
		case depth == 0:
			return length, end(r)
		}
		closes := kind == jsontext.KindEndObject || kind == jsontext.KindEndArray
		if follows && !closes {
			length++
		}
		follows = closes || text != nil
	}
}

// Levels returns the number of nested arrays and objects of a value that Check has accepted.
func Levels(value []byte) (deepest int) {
	levels := 0
	inText := false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '"':
			inText = !inText
		case inText && c == '\\':
			i++
		case inText:
		case c == '[' || c == '{':
			levels++
			deepest = max(deepest, levels)
		case c == ']' || c == '}':
			levels--
		}
	}
	return deepest
}

// end returns an error if anything except white space follows the value.
func end(r *reader) error {
	at := r.InputOffset()
	if _, err := r.ReadToken(); !errors.Is(err, io.EOF) {
		return &Fault{text: fmt.Sprintf("it is not JSON at byte %d: something follows the value", at)}
	}
	return nil
}

// complaint translates an error of the jsontext library.
func complaint(err error) error {
	wrong, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return &Fault{text: "it is not JSON: it is empty"}
	}
	f := &Fault{placeOf(wrong.JSONPointer), "", ErrAmbiguous}
	switch reason := wrong.Err.Error(); {
	case errors.Is(err, jsontext.ErrDuplicateName):
		f.text = "the key stands twice; keep one"
	case strings.Contains(reason, "surrogate"):
		f.text = fmt.Sprintf("half of a surrogate pair at byte %d; send whole characters", wrong.ByteOffset)
	case strings.Contains(reason, "UTF-8"):
		f.text = fmt.Sprintf("byte %d is not UTF-8; send UTF-8", wrong.ByteOffset)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &Fault{text: fmt.Sprintf("it is not JSON at byte %d: it ends in the middle of a value",
			wrong.ByteOffset)}
	default:
		return &Fault{text: fmt.Sprintf("it is not JSON at byte %d: %v", wrong.ByteOffset, wrong.Err)}
	}
	return f
}

// placeOf returns a path for an error text. It shortens a long path, and replaces control characters.
func placeOf(p jsontext.Pointer) string {
	const longest, longestPart = 200, 60
	var b strings.Builder
	for part := range p.Tokens() {
		if b.Len() > longest {
			return b.String() + "…"
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		if len(part) > longestPart {
			part = strings.ToValidUTF8(part[:longestPart], "") + "…"
		}
		b.WriteString(strings.Map(func(r rune) rune {
			if !unicode.IsPrint(r) {
				return '\ufffd'
			}
			return r
		}, part))
	}
	return b.String()
}

// NumberFits reports whether the text of a number is within MaxNumber and MaxExponent. These limits also
// limit the time of computations with the number.
func NumberFits(text []byte) bool {
	if len(text) > MaxNumber {
		return false
	}
	exponent := -1
	digits := 0 // digits of the exponent, without leading zeros
	for i, c := range text {
		switch {
		case c == 'e' || c == 'E':
			exponent = i
		case exponent >= 0 && '0' <= c && c <= '9' && (c != '0' || digits > 0):
			digits++
		}
	}
	return digits <= 3
}

// reader is a jsontext.Decoder with the buffer from which it reads. The pool keeps the decoder and the buffer
// together.
type reader struct {
	jsontext.Decoder
	text bytes.Buffer
}

var readers = sync.Pool{New: func() any { return new(reader) }}

// read returns a reader for data from the pool. The caller must put the reader back. The values that the
// reader returns are slices of data.
func read(data []byte, options []jsontext.Options) *reader {
	r := readers.Get().(*reader)
	r.text = *bytes.NewBuffer(data)
	r.Reset(&r.text, options...)
	return r
}
