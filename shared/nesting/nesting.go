// Package nesting looks how deep JSON is nested, before anything recursive sees it.
package nesting

// TooDeep answers the place of the first bracket that opens a level beyond limit, counted in bytes;
// -1 where there is none. It looks at brackets outside of strings and needs no valid JSON, so that a
// bomb can be refused before it is parsed.
func TooDeep(data []byte, limit int) (at int) {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > limit {
				return i
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return -1
}
