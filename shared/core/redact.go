package core

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"regexp"
)

const hiddenToken = "(token)"

// A token consists of these parts:
//   - the ID of a signing key, eight hexadecimal digits
//   - a dot and the encoded claims: run, step and person; they begin with a digit, which is M, N or O in base64
//   - a dot and the MAC, whose end may be missing
//
// Each character may be percent-encoded or escaped in JSON, once or several times.
const (
	encoded = `(?:%(?:25)*|\\+u00)`
	digit64 = `(?:[0-9A-Za-z_-]|` + encoded + `(?:2[dD]|3[0-9]|[46][1-9a-fA-F]|[57][0-9aA]|5[fF]))`
)

var (
	hexDigits   = []byte("0123456789abcdef")
	claimsBegin = []byte(`MNO%\`) // in base64, or encoded
	restOfToken = regexp.MustCompile(`^(` + digit64 + `+)(?:\.|` + encoded + `2[eE])` + digit64 + `{1,22}`)
	tokenClaims = regexp.MustCompile(`^[0-9]{1,9}/[a-z][a-z0-9-]*/`) // decoded
	encodedByte = regexp.MustCompile(encoded + `[0-9a-fA-F]{2}`)
	openEscape  = regexp.MustCompile(`\\(?:u[0-9a-fA-F]{0,3})?$`)
)

const (
	maxTokenClaims = 480 // characters of a token's encoded claims
	tokenMAC       = 22  // characters of its MAC
	// Bytes of a key's ID, and of the rest; they may be encoded several times.
	maxKey   = 10 * KeyIDLength
	maxRest  = 10 * (maxTokenClaims + 1 + tokenMAC)
	minToken = KeyIDLength + 6 // bytes; most texts of events are empty or short
)

// RedactText replaces each token in a text. It finds plain, percent-encoded and JSON-escaped tokens, and
// tokens whose end was cut off. Its time is linear in the length of every text.
func RedactText(text string) string { return string(redact([]byte(text), false)) }

// RedactJSON replaces each token in a JSON value. The result is valid JSON.
func RedactJSON(value json.RawMessage) json.RawMessage { return redact(value, true) }

// HoldsToken reports whether a JSON value holds a token, or the text that replaces one.
func HoldsToken(value json.RawMessage) bool {
	return bytes.Contains(RedactJSON(value), []byte(hiddenToken))
}

func redact(text []byte, isJSON bool) (redacted []byte) {
	if len(text) < minToken {
		return text
	}
	kept := 0
	for start, end := firstDot(text, 0); end > 0; start, end = firstDot(text, max(end, kept)) {
		from := keyBefore(text[kept:start], isJSON)
		length := 0
		if from >= 0 {
			length = claimsAndMAC(text[end:])
		}
		if length > 0 {
			redacted = append(append(redacted, text[kept:kept+from]...), hiddenToken...)
			kept = end + length
		}
	}
	if kept == 0 {
		return text
	}
	return append(redacted, text[kept:]...)
}

// firstDot returns the place of a dot that may be the first one of a token, at the position from or after it. The
// end is 0 if there is none. What is before the claims is compared byte by byte, because expressions are slow on
// a text with many dots.
func firstDot(text []byte, from int) (start, end int) {
	for i := from; i < len(text)-1; i++ {
		start = -1
		switch text[i] {
		case '.':
			start = i
		case 'e', 'E':
			if before, is := bytes.CutSuffix(text[from:i], []byte("2")); is {
				start = encoding(before)
				if start >= 0 {
					start += from
				}
			}
		}
		if start >= 0 && bytes.IndexByte(claimsBegin, text[i+1]) >= 0 {
			return start, i + 1
		}
	}
	return 0, 0
}

// encoding returns where the text before the two hexadecimal digits of an encoded byte begins, or -1.
func encoding(text []byte) int {
	if rest, escaped := bytes.CutSuffix(text, []byte("u00")); escaped {
		before := bytes.TrimRight(rest, `\`)
		if len(before) == len(rest) {
			return -1
		}
		return len(before)
	}
	for bytes.HasSuffix(text, []byte("25")) {
		text = text[:len(text)-len("25")]
	}
	if !bytes.HasSuffix(text, []byte("%")) {
		return -1
	}
	return len(text) - 1
}

// keyBefore returns the start of the key's ID at the end of a text, or -1. In JSON, a key does not begin inside
// an escape, so that no escape is cut.
func keyBefore(text []byte, isJSON bool) int {
	first := max(0, len(text)-maxKey)
	near := bytes.TrimRight(text[first:], `\`)
	for range KeyIDLength {
		switch n := len(near); {
		case n == 0 || bytes.IndexByte(hexDigits, near[n-1]) < 0:
			return -1
		case n > 2 && isEncodedDigit(near[n-2], near[n-1]) && encoding(near[:n-2]) >= 0:
			near = near[:encoding(near[:n-2])]
		default:
			near = near[:n-1]
		}
	}
	start := first + len(near)
	if isJSON && inEscape(text[:start]) {
		return -1
	}
	return start
}

// isEncodedDigit reports whether two hexadecimal digits are a byte that is a hexadecimal digit.
func isEncodedDigit(high, low byte) bool {
	return high == '3' && '0' <= low && low <= '9' || high == '6' && '1' <= low && low <= '6'
}

// inEscape reports whether a part of a JSON value ends inside an escape.
func inEscape(before []byte) bool {
	from := max(0, len(before)-len(`\u000`))
	if bytes.IndexByte(before[from:], '\\') < 0 {
		return false
	}
	escape := openEscape.FindIndex(before[from:])
	if escape == nil {
		return false
	}
	before = before[:from+escape[0]+1]
	return (len(before)-len(bytes.TrimRight(before, `\`)))%2 == 1
}

// claimsAndMAC returns the length of the claims, the dot and the MAC at the beginning of a text, or 0.
func claimsAndMAC(text []byte) int {
	text = text[:min(len(text), maxRest)]
	rest := restOfToken.FindSubmatchIndex(text)
	if rest == nil {
		return 0
	}
	claims := encodedByte.ReplaceAllFunc(text[:rest[3]], func(of []byte) []byte {
		c, _ := hex.DecodeString(string(of[len(of)-2:])) // cannot fail, because the expression has found digits
		return c
	})
	decoded, err := base64.RawURLEncoding.DecodeString(string(claims))
	if err != nil || len(claims) > maxTokenClaims || !tokenClaims.Match(decoded) {
		return 0
	}
	return rest[1]
}
