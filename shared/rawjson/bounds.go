package rawjson

import (
	"errors"
	"fmt"
)

// Bounds of each value that comes in: an order, an answer, the output of an agent, the response of a service, a command.
const (
	MaxLevels   = 64  // nested arrays and objects
	MaxNumber   = 128 // characters of one number
	MaxExponent = 999 // exponent of one number, of either sign
)

// ErrNumber is in the chain of an error that refuses a number.
var ErrNumber = errors.New("a number is out of bounds")

// CheckBounds refuses a value that exceeds a bound of this package. The error says where, and what to do. It
// needs no valid JSON, so that a hostile value can be refused before it is parsed.
func CheckBounds(value []byte) error { return CheckLevels(value, MaxLevels) }

// CheckMessageBounds is CheckBounds for the value of a message, in an envelope of that many levels more.
func CheckMessageBounds(message []byte, envelope int) error {
	return CheckLevels(message, MaxLevels+envelope)
}

// CheckLevels is CheckBounds for JSON that may have more or fewer levels.
func CheckLevels(data []byte, levels int) error {
	depth := 0
	for at, end := Token(data, 0); at < len(data); at, end = Token(data, end) {
		switch c := data[at]; {
		case c == '{' || c == '[':
			if depth++; depth > levels {
				return fmt.Errorf("arrays and objects are nested deeper than %d levels at byte %d; flatten it, or send the deep part as a text",
					min(levels, MaxLevels), at)
			}
		case c == '}' || c == ']':
			depth--
		case (c == '-' || '0' <= c && c <= '9') && !NumberFits(data[at:end]):
			return fmt.Errorf("%w: the one at byte %d has more than %d characters, or an exponent beyond ±%d; send it as a text",
				ErrNumber, at, MaxNumber, MaxExponent)
		}
	}
	return nil
}

// NumberFits reports whether the text of a number keeps to the bounds, so that work with the number is bounded too.
func NumberFits(text []byte) bool {
	if len(text) > MaxNumber {
		return false
	}
	exponent, digits := -1, 0 // digits of the exponent without leading zeros
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
