package rawjson

// Valid reports whether data is one JSON value, exactly as json.Valid does. It is made of what Reader
// walks with, so that a text is read and checked in one pass.
func Valid(data []byte) bool {
	i := value(data, space(data, 0), 0)
	return i >= 0 && space(data, i) == len(data)
}

// maxDepth is how deeply values may be nested; the standard library refuses more.
const maxDepth = 10_000

// space answers where the white space that begins at i ends.
func space(b []byte, i int) int {
	const white uint64 = 1<<' ' | 1<<'\n' | 1<<'\t' | 1<<'\r'
	for i < len(b) && b[i] <= ' ' && white>>b[i]&1 != 0 {
		i++
	}
	return i
}

// value answers where the value that begins at i ends, -1 where there is none; depth is how many
// arrays and objects are open around it.
func value(b []byte, i, depth int) int {
	if i >= len(b) {
		return -1
	}
	switch c := b[i]; {
	case c == '"':
		return text(b, i)
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

// skip is value for text that was checked before: it counts brackets.
func skip(b []byte, i int) int {
	depth := 0
	for at, end := Token(b, i); at < len(b) && (depth > 0 || at == i); at, end = Token(b, end) {
		switch b[at] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return -1
			}
		}
		if depth == 0 {
			return end
		}
	}
	return -1
}

// Token answers where the first bracket, string or other scalar from i on begins and ends, len(b) where
// there is none. It needs no valid JSON.
func Token(b []byte, i int) (start, end int) {
	for i < len(b) && kinds[b[i]] == between {
		i++
	}
	if start = i; i == len(b) {
		return i, i
	}
	switch kinds[b[i]] {
	case bracket:
		return start, i + 1
	case quote:
		for i++; i < len(b); i++ {
			switch b[i] {
			case '"':
				return start, i + 1
			case '\\':
				i++
			}
		}
		return len(b), len(b)
	}
	for i < len(b) && kinds[b[i]] == scalar {
		i++
	}
	return start, i
}

const (
	scalar = iota
	between
	bracket
	quote
)

// kinds are what bytes outside of strings are.
var kinds = [256]byte{' ': between, '\n': between, '\t': between, '\r': between, ',': between, ':': between,
	'{': bracket, '}': bracket, '[': bracket, ']': bracket, '"': quote}

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
	if i = space(b, i+1); i < len(b) && b[i] == last {
		return i + 1
	}
	for more := true; more; i, more = next(b, space(b, i), last) {
		if object {
			if _, i = key(b, i); i < 0 {
				return -1
			}
		}
		if i = value(b, i, depth); i < 0 {
			return -1
		}
	}
	return i
}

// next answers where the next member or element begins of the object or array that last closes, or, with
// more false, where that ends, -1 where the text is no JSON. i is behind the white space that follows the one before.
func next(b []byte, i int, last byte) (at int, more bool) {
	if i < len(b) {
		if b[i] == ',' {
			return space(b, i+1), true
		}
		if b[i] == last {
			return i + 1, false
		}
	}
	return -1, false
}

// key answers where the key ends that begins at i, and where its value begins, -1 where there is none.
func key(b []byte, i int) (end, value int) {
	if i >= len(b) || b[i] != '"' {
		return -1, -1
	}
	if end = text(b, i); end < 0 {
		return -1, -1
	}
	if i = space(b, end); i >= len(b) || b[i] != ':' {
		return -1, -1
	}
	return end, space(b, i+1)
}

// text answers where the string that begins at i ends, -1 where it does not.
func text(b []byte, i int) int {
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

// skipNumber skips the number that begins at i, if there is one.
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
