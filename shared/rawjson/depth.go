package rawjson

import "fmt"

// MaxLevels is how many levels of arrays and objects a value that comes in may have: an order, an answer
// of a service, an agent's output, a command.
const MaxLevels = 64

// CheckDepth refuses a value that is nested deeper than MaxLevels. The error says where, and what to do.
func CheckDepth(value []byte) error { return checkDepth(value, MaxLevels) }

// CheckMessageDepth refuses a message whose value is nested deeper than MaxLevels, in an envelope of that
// many levels more.
func CheckMessageDepth(message []byte, envelope int) error {
	return checkDepth(message, MaxLevels+envelope)
}

func checkDepth(data []byte, limit int) error {
	if at := TooDeep(data, limit); at >= 0 {
		return fmt.Errorf("arrays and objects are nested deeper than %d levels at byte %d; flatten it, or send the deep part as a text",
			MaxLevels, at)
	}
	return nil
}

// TooDeep answers the place of the first bracket that opens a level beyond limit, counted in bytes;
// -1 where there is none. It looks at brackets outside of strings and needs no valid JSON, so that a
// bomb can be refused before it is parsed.
func TooDeep(data []byte, limit int) (at int) {
	depth := 0
	for at, end := Token(data, 0); at < len(data); at, end = Token(data, end) {
		switch data[at] {
		case '{', '[':
			if depth++; depth > limit {
				return at
			}
		case '}', ']':
			depth--
		}
	}
	return -1
}
