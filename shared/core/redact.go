package core

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
)

const hiddenToken = "(token)"

// A token consists of these parts:
//   - the ID of a signing key, eight hexadecimal digits
//   - a dot and the encoded claims: run, step and person; they begin with a digit, which is M, N or O in base64
//   - a dot and the MAC, whose end may be missing
//
// Each character may be percent-encoded or escaped in JSON, once or several times.
const (
	encoded  = `(?:%(?:25)*|\\+u00)`
	keyDigit = `(?:[0-9a-f]|` + encoded + `(?:3[0-9]|6[1-6]))`
	digit64  = `(?:[0-9A-Za-z_-]|` + encoded + `(?:2[dD]|3[0-9]|[46][1-9a-fA-F]|[57][0-9aA]|5[fF]))`
	claims   = `(?:[MNO]|` + encoded + `4[d-fD-F])`
)

var (
	// firstDots match the first dot of a token. Each begins with a literal, so that a search skips other text.
	firstDots = []*regexp.Regexp{
		regexp.MustCompile(`(\.)` + claims),
		regexp.MustCompile(`(%(?:25)*2[eE])` + claims),
		regexp.MustCompile(`(u002[eE])` + claims), // the backslashes belong to what is before
	}
	key         = regexp.MustCompile(`^` + keyDigit + `{8}\\*$`)
	restOfToken = regexp.MustCompile(`^(` + digit64 + `+)(?:\.|` + encoded + `2[eE])` + digit64 + `{1,22}`)
	tokenClaims = regexp.MustCompile(`^[0-9]{1,9}/[a-z][a-z0-9-]*/`) // decoded
	encodedByte = regexp.MustCompile(encoded + `[0-9a-fA-F]{2}`)
	hexDigits   = []byte("0123456789abcdef")
	openEscape  = regexp.MustCompile(`\\(?:u[0-9a-fA-F]{0,3})?$`)
)

const (
	maxTokenClaims = 480              // characters of a token's encoded claims
	maxKey         = 10 * KeyIDLength // bytes of a key's ID; it may be encoded several times
	minToken       = KeyIDLength + 6  // bytes; most texts of events are empty or short
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
	var dots [][]int
	for _, dot := range firstDots {
		literal, _ := dot.LiteralPrefix()
		if bytes.Contains(text, []byte(literal)) {
			dots = append(dots, dot.FindAllSubmatchIndex(text, -1)...)
		}
	}
	if dots == nil {
		return text
	}
	slices.SortFunc(dots, slices.Compare)
	kept := 0
	for _, dot := range dots {
		start := keyBefore(text[kept:max(kept, dot[2])], isJSON)
		length := 0
		if start >= 0 {
			length = claimsAndMAC(text[dot[3]:])
		}
		if length > 0 {
			redacted = append(append(redacted, text[kept:kept+start]...), hiddenToken...)
			kept = dot[3] + length
		}
	}
	return append(redacted, text[kept:]...)
}

// keyBefore returns the start of the key's ID at the end of a text, or -1. In JSON, a key does not begin inside
// an escape, so that no escape is cut.
func keyBefore(text []byte, isJSON bool) int {
	if last := bytes.TrimRight(text, `\`); len(last) == 0 || !bytes.Contains(hexDigits, last[len(last)-1:]) {
		return -1
	}
	for start := len(text) - KeyIDLength; start >= max(0, len(text)-maxKey); start-- {
		if key.Match(text[start:]) && !(isJSON && inEscape(text[:start])) {
			return start
		}
	}
	return -1
}

// inEscape reports whether a part of a JSON value ends inside an escape.
func inEscape(before []byte) bool {
	from := max(0, len(before)-len(`\u000`))
	escape := openEscape.FindIndex(before[from:])
	if escape == nil {
		return false
	}
	before = before[:from+escape[0]+1]
	return (len(before)-len(bytes.TrimRight(before, `\`)))%2 == 1
}

// claimsAndMAC returns the length of the claims, the dot and the MAC at the beginning of a text, or 0.
func claimsAndMAC(text []byte) int {
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
