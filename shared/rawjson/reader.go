package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrSyntax: what stands there is not JSON.
var ErrSyntax = errors.New("it is not JSON")

// Reader walks the members of objects and the elements of arrays, with one pass over the text.
type Reader struct {
	Key []byte // of the member that Next found, as it stands, with its quotes
	Err error  // the first complaint about the text

	b       []byte
	i       int
	depth   int
	first   bool // no member or element of what was entered was read
	checked bool
}

// Read makes a Reader that stands before the text. It refuses whatever is no JSON.
func Read(text []byte) Reader { return Reader{b: text} }

// ReadChecked is Read for text that was checked before: what Value skips is not looked at again, so
// that its depth costs nothing.
func ReadChecked(text []byte) Reader { return Reader{b: text, checked: true} }

func (r *Reader) space() { r.i = space(r.b, r.i) }

// Kind is the first byte of the value that stands here, 0 where the text ends.
func (r *Reader) Kind() byte {
	if r.space(); r.i < len(r.b) {
		return r.b[r.i]
	}
	return 0
}

// Pos is how many bytes were read.
func (r *Reader) Pos() int { return r.i }

// Open enters the object that stands here.
func (r *Reader) Open() error {
	if r.Kind() != '{' {
		return fmt.Errorf("%.40q is not an object", r.Value())
	}
	r.Enter()
	return nil
}

// Enter enters the object or the array that Kind found here.
func (r *Reader) Enter() {
	r.i++
	r.depth++
	r.first = true
}

// Next reads the key of the next member and stands before its value, or leaves the object.
func (r *Reader) Next() bool {
	if !r.part('}') {
		return false
	}
	end, value := key(r.b, r.i)
	if value < 0 {
		return r.fail()
	}
	r.Key, r.i = r.b[r.i:end], value
	return true
}

// Element stands before the next element, or leaves the array.
func (r *Reader) Element() bool { return r.part(']') }

func (r *Reader) part(last byte) bool {
	if r.Err != nil {
		return false
	}
	at, more := space(r.b, r.i), true
	if !r.first || at < len(r.b) && r.b[at] == last {
		at, more = next(r.b, at, last)
	}
	if at < 0 {
		return r.fail()
	}
	if r.i, r.first = at, false; !more {
		r.depth--
	}
	return more
}

// Name is Key without quotes and escapes.
func (r *Reader) Name() []byte {
	if bytes.IndexByte(r.Key, '\\') < 0 {
		return r.Key[1 : len(r.Key)-1]
	}
	name, _ := Unquote(r.Key) // its escapes are right, or Next had refused it
	return []byte(name)
}

func (r *Reader) fail() bool {
	r.Err = ErrSyntax
	return false
}

// Value skips one value and returns it; null where there is none.
func (r *Reader) Value() []byte {
	var end int
	start := r.i
	if r.checked {
		end = skip(r.b, start)
	} else {
		end = value(r.b, start, r.depth)
	}
	if end < 0 {
		r.fail()
		return []byte("null")
	}
	r.i = end
	return r.b[start:end]
}

// Null reports whether null stands here, and passes it over.
func (r *Reader) Null() bool {
	end := skipWord(r.b, r.i, "null")
	if end < 0 {
		return false
	}
	r.i = end
	return true
}

// End reports whether nothing but white space is left; otherwise Err says so.
func (r *Reader) End() bool {
	if r.space(); r.Err == nil && r.i != len(r.b) {
		r.fail()
	}
	return r.Err == nil
}

// Unquote reads a JSON string; only one with escapes needs the standard library.
func Unquote(v []byte) (string, error) {
	if len(v) < 2 || v[0] != '"' {
		return "", fmt.Errorf("%.40q is not a string", v)
	}
	if bytes.IndexByte(v, '\\') >= 0 {
		var s string
		err := json.Unmarshal(v, &s)
		return s, err
	}
	return string(v[1 : len(v)-1]), nil
}

const hexDigits = "0123456789abcdef"

// AppendString writes a JSON string with as few escapes as JSON allows; bytes that are not UTF-8
// become U+FFFD.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
			b = append(append(b, s[start:i]...), "\ufffd"...)
		} else {
			b = append(append(b, s[start:i]...), '\\')
			if c == '"' || c == '\\' {
				b = append(b, c)
			} else {
				b = append(b, 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
		}
		i++
		start = i
	}
	return append(append(b, s[start:]...), '"')
}
