package render

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Clean returns a text from a service or a person in a form that is safe to print. It escapes characters that
// could control the terminal, forge a line or change the direction of text. Examples are \x1b and \u202e.
func Clean(text string) string {
	if !strings.ContainsFunc(text, core.Unprintable) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !core.Unprintable(r):
			b.WriteRune(r)
		case r < 0x80:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// CleanLines cleans each line of a text and keeps the line ends. Use it for texts of this program that
// contain foreign text.
func CleanLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = Clean(lines[i])
	}
	return strings.Join(lines, "\n")
}

// Cleaned returns a deep copy of v in which each string is cleaned. Raw JSON stays unchanged and must be
// cleaned when it is printed.
func Cleaned[T any](v T) T {
	return cleaned(reflect.ValueOf(&v).Elem()).Interface().(T)
}

func cleaned(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	switch v.Kind() {
	case reflect.String:
		c.SetString(Clean(v.String()))
	case reflect.Pointer:
		if !v.IsNil() {
			c.Set(reflect.New(v.Type().Elem()))
			c.Elem().Set(cleaned(v.Elem()))
		}
	case reflect.Slice:
		if v.IsNil() || v.Type().Elem().Kind() == reflect.Uint8 {
			return c
		}
		c.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			c.Index(i).Set(cleaned(v.Index(i)))
		}
	case reflect.Map:
		if v.IsNil() {
			return c
		}
		c.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for _, key := range v.MapKeys() {
			c.SetMapIndex(cleaned(key), cleaned(v.MapIndex(key)))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := c.Field(i); f.CanSet() {
				f.Set(cleaned(v.Field(i)))
			}
		}
	}
	return c
}

// CleanJSON returns a writer of JSON that escapes the characters of Clean. The values stay equal. Each Write
// must contain whole characters.
func CleanJSON(w io.Writer) io.Writer { return jsonWriter{w} }

type jsonWriter struct{ w io.Writer }

// Write writes JSON. Encoders have escaped all control characters below 0x20 in its strings already.
func (j jsonWriter) Write(text []byte) (int, error) {
	unsafe := func(r rune) bool { return r > ' ' && core.Unprintable(r) }
	if !bytes.ContainsFunc(text, unsafe) {
		return j.w.Write(text)
	}
	var clean []byte
	for _, r := range string(text) {
		if unsafe(r) {
			clean = fmt.Appendf(clean, `\u%04x`, r)
		} else {
			clean = utf8.AppendRune(clean, r)
		}
	}
	if _, err := j.w.Write(clean); err != nil {
		return 0, err
	}
	return len(text), nil
}
