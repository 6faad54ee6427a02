package rawjson

import "strings"

// Valid reports whether data is one JSON value, exactly as json.Valid does. It is made of what Reader
// walks with, so that a text is read and checked in one pass.
func Valid(data []byte) bool {
	i := Value(data, Space(data, 0), 0)
	return i >= 0 && Space(data, i) == len(data)
}

// maxDepth is how deeply values may be nested; the standard library refuses more.
const maxDepth = 10_000

// Space answers where the white space that begins at i ends.
func Space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// Value answers where the value that begins at i ends, -1 where there is none; depth is how many
// arrays and objects are open around it.
func Value(b []byte, i, depth int) int {
	if i >= len(b) {
		return -1
	}
	switch c := b[i]; {
	case c == '"':
		return Text(b, i)
	case c == '{' || c == '[':
		if depth == maxDepth {
			return -1
		}
		return skipMembers(b, i, depth+1)
	case c == '-' || '0' <= c && c <= '9':
		return skipNumber(b, i)
	case c == 't':
		return skipWord(b, i, "true")
	case c == 'f':
		return skipWord(b, i, "false")
	case c == 'n':
		return skipWord(b, i, "null")
	}
	return -1
}

// Skip is Value for text that was checked before: it counts brackets, so that depth costs nothing.
func Skip(b []byte, i int) int {
	for depth, start := 0, i; i < len(b); {
		switch b[i] {
		case '"':
			if i = Text(b, i); i < 0 {
				return -1
			}
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth--; depth < 0 {
				return -1
			}
			i++
		default:
			for i < len(b) && strings.IndexByte("\",:{}[] \n\t\r", b[i]) < 0 {
				i++
			}
			switch {
			case depth == 0 && i == start:
				return -1
			case depth > 0 && i < len(b) && strings.IndexByte(",: \n\t\r", b[i]) >= 0:
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
	return -1
}

func skipWord(b []byte, i int, word string) int {
	if end := i + len(word); end <= len(b) && string(b[i:end]) == word {
		return end
	}
	return -1
}

// skipMembers skips the object or the array that begins at i.
func skipMembers(b []byte, i, depth int) int {
	object := b[i] == '{'
	last := b[i] + 2 // in ASCII both brackets close two after they open
	if i = Space(b, i+1); i < len(b) && b[i] == last {
		return i + 1
	}
	for {
		if object {
			if i >= len(b) || b[i] != '"' {
				return -1
			}
			if i = Text(b, i); i < 0 {
				return -1
			}
			if i = Space(b, i); i >= len(b) || b[i] != ':' {
				return -1
			}
			i = Space(b, i+1)
		}
		if i = Value(b, i, depth); i < 0 {
			return -1
		}
		if i = Space(b, i); i >= len(b) {
			return -1
		}
		switch b[i] {
		case last:
			return i + 1
		case ',':
			i = Space(b, i+1)
		default:
			return -1
		}
	}
}

// Text answers where the string that begins at i ends, -1 where it does not.
func Text(b []byte, i int) int {
	for i++; i < len(b); i++ {
		c := b[i]
		if !special[c] {
			continue
		}
		switch c {
		case '"':
			return i + 1
		case '\\':
			if i = skipEscape(b, i+1); i < 0 {
				return -1
			}
		default:
			return -1
		}
	}
	return -1
}

// special are the bytes that do not stand for themselves in a string.
var special = func() (s [256]bool) {
	for c := range ' ' {
		s[c] = true
	}
	s['"'], s['\\'] = true, true
	return s
}()

// skipEscape answers the place of the last byte of an escape.
func skipEscape(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i
	case 'u':
		for range 4 {
			if i++; i >= len(b) || !isHex(b[i]) {
				return -1
			}
		}
		return i
	}
	return -1
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// skipNumber skips the number that begins at i.
func skipNumber(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	switch {
	case i < len(b) && b[i] == '0':
		i++
	default:
		if i = skipDigits(b, i); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i] == '.' {
		if i = skipDigits(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if i = skipDigits(b, i); i < 0 {
			return -1
		}
	}
	return i
}

// skipDigits skips one digit or more.
func skipDigits(b []byte, i int) int {
	first := i
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	if i == first {
		return -1
	}
	return i
}
