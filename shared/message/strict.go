package message

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// strictJSON checks what the standard library lets pass: wrong UTF-8, a key that stands twice in
// one object (which of the two was meant?), half a surrogate pair, nesting past the limit.
// The error names the place.
func strictJSON(data []byte) error {
	if i := firstBadByte(data); i >= 0 {
		return fmt.Errorf("byte %d is not UTF-8; send UTF-8", i)
	}
	if err := rawjson.CheckMessageBounds(data, 1); err != nil {
		return err
	}
	r := rawjson.Read(data)
	err := value(&r, "")
	if err == nil && r.End() {
		return nil
	}
	return cmp.Or(syntax(data), err, r.Err)
}

// syntax answers the standard library's complaint with its place.
func syntax(data []byte) error {
	var raw json.RawMessage
	var s *json.SyntaxError
	if !errors.As(json.Unmarshal(data, &raw), &s) {
		return nil
	}
	return fmt.Errorf("it is not JSON at byte %d: %s", s.Offset, s.Error())
}

func firstBadByte(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return -1
}

// value reads the value that stands here, of bounded depth. What is no JSON is left in r.Err.
func value(r *rawjson.Reader, path string) error {
	switch r.Kind() {
	case '{':
		return object(r, path)
	case '[':
		for r.Enter(); r.Element(); {
			if err := value(r, path); err != nil {
				return err
			}
		}
		return nil
	case '"':
		return whole(r.Value(), path)
	}
	r.Value()
	return nil
}

func object(r *rawjson.Reader, path string) error {
	var few [8]string
	seen := few[:0]
	var many map[string]bool
	for r.Enter(); r.Next(); {
		if err := whole(r.Key, path); err != nil {
			return err
		}
		name := string(r.Name())
		twice := many[name]
		if many == nil {
			for _, k := range seen {
				twice = twice || k == name
			}
		}
		if twice {
			return fmt.Errorf("the key %s stands twice; keep one", place(path, name))
		}
		if many == nil && len(seen) == cap(seen) {
			many = make(map[string]bool, 32)
			for _, k := range seen {
				many[k] = true
			}
		}
		if many != nil {
			many[name] = true
		} else {
			seen = append(seen, name)
		}
		if err := value(r, place(path, name)); err != nil {
			return err
		}
	}
	return nil
}

// whole refuses a text with half of a surrogate pair.
func whole(raw []byte, path string) error {
	if half := halfSurrogate(raw); half != "" {
		return fmt.Errorf("the text %s holds half of a surrogate pair (%s); send whole characters", path, half)
	}
	return nil
}

// halfSurrogate finds one half of a surrogate pair without the other, which is no character.
func halfSurrogate(raw []byte) string {
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		if raw[i] != 'u' {
			continue
		}
		half, low := hex4(raw, i+1), rune(0)
		if !utf16.IsSurrogate(half) {
			continue
		}
		if i+6 < len(raw) && raw[i+5] == '\\' && raw[i+6] == 'u' {
			low = hex4(raw, i+7)
		}
		if utf16.DecodeRune(half, low) == utf8.RuneError {
			return string(raw[i-1 : i+5])
		}
		i += 10
	}
	return ""
}

func hex4(raw []byte, at int) rune {
	u, _ := strconv.ParseUint(string(raw[at:min(at+4, len(raw))]), 16, 16) // 0 where it is no number
	return rune(u)
}

// place is a path for people; both parts are shortened, because the text may travel in a message.
func place(path, key string) string {
	if len(key) > 60 {
		key = strings.ToValidUTF8(key[:60], "") + "…"
	}
	if path == "" {
		return key
	}
	if len(path) > 200 {
		return path
	}
	return path + "." + key
}

// plainNumber writes a number literal as sign, digits without zeros at either end, and exponent,
// so that two literals of one value give one text.
func plainNumber(lit string) string {
	sign := ""
	if strings.HasPrefix(lit, "-") {
		sign, lit = "-", lit[1:]
	}
	mantissa, exp := lit, int64(0)
	if i := strings.IndexAny(lit, "eE"); i >= 0 {
		mantissa = lit[:i]
		var err error
		if exp, err = strconv.ParseInt(lit[i+1:], 10, 32); err != nil {
			return sign + lit // an exponent past all reason stands for itself
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	exp -= int64(len(fraction))
	digits := strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(digits, "0")
	exp += int64(len(digits) - len(short))
	if short == "" {
		return "0"
	}
	return sign + short + "e" + strconv.FormatInt(exp, 10)
}

// exact reports whether a double keeps the literal: the shortest text of the double is the same number.
func exact(lit string) bool {
	f, err := strconv.ParseFloat(lit, 64)
	if err != nil {
		return false
	}
	return plainNumber(lit) == plainNumber(strconv.FormatFloat(f, 'e', -1, 64))
}
