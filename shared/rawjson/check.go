package rawjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

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

// Errors of Check and CheckLoose for values that exceed a limit.
var (
	ErrNumber = errors.New("a number is out of bounds")
	ErrLevels = errors.New("arrays and objects are nested deeper")
)

// Check returns an error in these cases:
//
//   - data is not exactly one JSON value.
//   - data has more than the given number of levels.
//   - data contains a number that NumberFits refuses.
//   - Programs would read data differently (RFC 7493): it contains bytes that are not UTF-8, a key twice in
//     one object, or half of a surrogate pair.
//
// The error describes the fault, its position, and the fix.
func Check(data []byte, levels int) error { return check(data, levels) }

// CheckLoose is like Check, but accepts a key that occurs twice in one object, and half of a surrogate pair.
// It is for values whose writer cannot correct them, such as the response of a service.
func CheckLoose(data []byte, levels int) error { return check(data, levels, loose...) }

var loose = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

func check(data []byte, levels int, options ...jsontext.Options) error {
	if at := badByte(data); at >= 0 {
		return fmt.Errorf("byte %d is not UTF-8; send UTF-8", at)
	}
	r := read(data, options)
	defer readers.Put(r)
	for {
		var err error
		if r.PeekKind() == jsontext.KindNumber {
			var number []byte
			if number, err = r.ReadValue(); err == nil && !NumberFits(number) {
				return fmt.Errorf("%w: the one at byte %d has more than %d characters, or an exponent "+
					"beyond ±%d; send it as a text", ErrNumber, r.InputOffset()-int64(len(number)),
					MaxNumber, MaxExponent)
			}
		} else {
			_, err = r.ReadToken()
		}
		switch depth := r.StackDepth(); {
		case err != nil:
			return complaint(err)
		case depth > levels:
			return fmt.Errorf("%w than %d levels at byte %d; flatten it, or send the deep part as a text",
				ErrLevels, min(levels, MaxLevels), r.InputOffset()-1)
		case depth == 0:
			return end(r)
		}
	}
}

// end returns an error if anything except white space follows the value.
func end(r *reader) error {
	at := r.InputOffset()
	if _, err := r.ReadToken(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("it is not JSON at byte %d: something follows the value", at)
	}
	return nil
}

// complaint translates an error of the jsontext library.
func complaint(err error) error {
	var wrong *jsontext.SyntacticError
	if !errors.As(err, &wrong) {
		return errors.New("it is not JSON: it is empty")
	}
	place := placeOf(wrong.JSONPointer)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return fmt.Errorf("the key %s stands twice; keep one", place)
	case strings.Contains(wrong.Err.Error(), "surrogate"):
		return fmt.Errorf("the text %s holds half of a surrogate pair at byte %d; send whole characters",
			place, wrong.ByteOffset)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("it is not JSON at byte %d: it ends in the middle of a value", wrong.ByteOffset)
	}
	return fmt.Errorf("it is not JSON at byte %d: %w", wrong.ByteOffset, wrong.Err)
}

// placeOf returns a path for an error text. It shortens a long path.
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
		b.WriteString(part)
	}
	return b.String()
}

// badByte returns the index of the first byte that is not UTF-8. It returns -1 if data is valid UTF-8.
func badByte(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	at := 0
	for r, n := utf8.DecodeRune(data); r != utf8.RuneError || n > 1; r, n = utf8.DecodeRune(data[at:]) {
		at += n
	}
	return at
}

// NumberFits reports whether the text of a number is within MaxNumber and MaxExponent. These limits also
// limit the time of computations with the number.
func NumberFits(text []byte) bool {
	if len(text) > MaxNumber {
		return false
	}
	exponent, digits := -1, 0 // digits of the exponent, without leading zeros
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
