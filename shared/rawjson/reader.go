package rawjson

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrSyntax: what stands there is not JSON.
var ErrSyntax = errors.New("it is not JSON")

// Reader walks the members of objects, with one pass over the text. It refuses whatever is no JSON.
type Reader struct {
	Name []byte // of the member that Next found, without quotes and escapes
	Err  error  // the first complaint about the text

	b     []byte
	i     int
	depth int
	first bool // no member of the object was read
}

// Read makes a Reader that stands before the text.
func Read(text []byte) Reader { return Reader{b: text} }

// at reports whether that byte stands here.
func (r *Reader) at(c byte) bool { return r.i < len(r.b) && r.b[r.i] == c }

func (r *Reader) space() { r.i = Space(r.b, r.i) }

// Open enters the object that stands here.
func (r *Reader) Open() error {
	if r.space(); !r.at('{') {
		return fmt.Errorf("%.40q is not an object", r.Value())
	}
	r.i++
	r.depth++
	r.first = true
	return nil
}

// Next reads the name of the next member and stands before its value, or leaves the object.
func (r *Reader) Next() bool {
	first := r.first
	r.first = false
	if r.space(); r.at('}') && r.Err == nil {
		r.i++
		r.depth--
		return false
	}
	if !first {
		if !r.at(',') {
			return r.fail()
		}
		r.i++
		r.space()
	}
	start, end := r.i, -1
	if r.at('"') {
		end = Text(r.b, start)
	}
	if end < 0 || r.Err != nil {
		return r.fail()
	}
	if r.Name = r.b[start+1 : end-1]; bytes.IndexByte(r.Name, '\\') >= 0 {
		var name string
		if name, r.Err = Unquote(r.b[start:end]); r.Err != nil {
			return false
		}
		r.Name = []byte(name)
	}
	r.i = end
	if r.space(); !r.at(':') {
		return r.fail()
	}
	r.i++
	r.space()
	return true
}

func (r *Reader) fail() bool {
	r.Err = cmp.Or(r.Err, ErrSyntax)
	return false
}

// Value skips one value and returns it; null where there is none.
func (r *Reader) Value() []byte {
	start, end := r.i, Value(r.b, r.i, r.depth)
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
