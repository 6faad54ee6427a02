package core

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
)

const hiddenToken = "(token)"

// Bounds of a token's parts, in characters.
const (
	maxTokenClaims = 480
	tokenMAC       = 22
)

// tokenClaims matches the beginning of a token's decoded claims: run, step and person.
var tokenClaims = regexp.MustCompile(`^[0-9]{1,9}/[a-z][a-z0-9-]*/`)

// RedactText replaces each token in a text. It finds plain, percent-encoded and JSON-escaped tokens, and
// tokens whose end was cut off.
func RedactText(text string) string {
	if at := nextToken([]byte(text), 0, false); at.end == 0 {
		return text
	}
	return string(redact([]byte(text), false))
}

// RedactJSON replaces each token in a JSON value. The result is valid JSON.
func RedactJSON(value json.RawMessage) json.RawMessage { return redact(value, true) }

// HoldsToken reports whether a JSON value holds a token, or the text that replaces one.
func HoldsToken(value json.RawMessage) bool {
	return bytes.Contains(RedactJSON(value), []byte(hiddenToken))
}

func redact(text []byte, isJSON bool) (redacted []byte) {
	kept := 0
	for {
		at := nextToken(text, kept, isJSON)
		if at.end == 0 {
			break
		}
		redacted = append(append(redacted, text[kept:at.start]...), hiddenToken...)
		kept = at.end
	}
	if kept == 0 {
		return text
	}
	return append(redacted, text[kept:]...)
}

// span is a part of a text. The zero value means that no part was found.
type span struct{ start, end int }

// nextToken finds the first token at or after a position. It reads each character at most twice. A token
// consists of these parts:
//   - the ID of a signing key, eight hexadecimal digits
//   - a dot and the encoded claims
//   - a dot and the MAC, whose end may be missing
func nextToken(text []byte, from int, isJSON bool) span {
	var digits [KeyIDLength]int // starts of the last consecutive hexadecimal digits
	// row is the number of consecutive digits before i. plain is the end of the last JSON escape.
	row := 0
	plain := from
	for i := from; i < len(text); {
		c, size := tokenCharacter(text, i, isJSON)
		if isKeyDigit(c) {
			digits[row%KeyIDLength] = i
			row++
		} else if c == '.' {
			start := i - KeyIDLength
			if row >= KeyIDLength {
				start = digits[row%KeyIDLength]
			}
			if row >= KeyIDLength || start >= plain && isKeyID(text[start:i]) {
				if end := endOfToken(text, i+size, isJSON); end > 0 {
					return span{start, end}
				}
			}
			row = 0
		} else {
			row = 0
		}
		if isJSON && text[i] == '\\' && slashes(text, i)%2 == 1 {
			plain = i + size
		}
		i += size
	}
	return span{}
}

func isKeyDigit(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' }

func isKeyID(text []byte) bool {
	return !slices.ContainsFunc(text, func(c byte) bool { return !isKeyDigit(c) })
}

func slashes(text []byte, from int) (n int) {
	for from+n < len(text) && text[from+n] == '\\' {
		n++
	}
	return n
}

// endOfToken returns the end of a token whose claims and MAC begin at the position from. It returns 0 if
// other text begins there.
func endOfToken(text []byte, from int, isJSON bool) int {
	claims, i := base64At(text, from, maxTokenClaims, isJSON)
	said, err := base64.RawURLEncoding.DecodeString(string(claims))
	if err != nil || !tokenClaims.Match(said) || i == len(text) {
		return 0
	}
	dot, size := tokenCharacter(text, i, isJSON)
	mac, end := base64At(text, i+size, tokenMAC, isJSON)
	if dot != '.' || len(mac) == 0 {
		return 0
	}
	return end
}

func base64At(text []byte, from, most int, isJSON bool) (read []byte, end int) {
	for end = from; end < len(text) && len(read) < most; {
		c, size := tokenCharacter(text, end, isJSON)
		if !inBase64(c) {
			break
		}
		read = append(read, c)
		end = end + size
	}
	return read, end
}

func inBase64(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// tokenCharacter reads one character of a text. The character may be percent-encoded or escaped. It returns 0
// for a % or a backslash that does not begin an encoded byte. In a JSON value it reads a whole escape, so
// that no escape is cut.
func tokenCharacter(text []byte, i int, isJSON bool) (c byte, size int) {
	end := i + 1
	switch text[i] {
	case '%':
		for {
			c, ok := hexByte(text, end)
			_, further := hexByte(text, end+2)
			switch {
			case c == '%' && further:
				end += 2
			case ok:
				return c, end + 2 - i
			default:
				return 0, 1
			}
		}
	case '\\':
		n := slashes(text, i)
		end += n - 1
		c, ok := hexByte(text, end+3)
		switch {
		case ok && string(text[end:end+3]) == "u00":
			return c, n + 5
		case !isJSON || n%2 == 0:
			return 0, n
		case end < len(text) && text[end] == 'u':
			return 0, min(n+5, len(text)-i)
		}
		return 0, min(n+1, len(text)-i)
	}
	return text[i], 1
}

func hexByte(text []byte, at int) (c byte, ok bool) {
	if at+2 > len(text) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[at:at+2]), 16, 8)
	return byte(n), err == nil
}
