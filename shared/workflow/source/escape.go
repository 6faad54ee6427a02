package source

import (
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/goccy/go-yaml/token"
)

const fixEscape = `write the character itself, or its code, as in "\u20ac" or "\U0001f600"`

// hexDigits is the number of hexadecimal digits after each kind of escape.
var hexDigits = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// checkEscapes returns the first quoted text with an escape that names no character, such as half of a
// surrogate pair. The YAML library reads such an escape as another character, without an error.
func checkEscapes(data []byte, tokens token.Tokens) (where position, what string) {
	text := string(data)
	here := position{1, 1}
	for _, t := range tokens {
		if t.Type != token.DoubleQuoteType {
			continue
		}
		for text != "" && (here.line < t.Position.Line || here.column < t.Position.Column) {
			c, size := utf8.DecodeRuneInString(text)
			text = text[size:]
			here.column++
			if c == '\n' {
				here = position{here.line + 1, 1}
			}
		}
		if escape := badEscape(text); escape != "" {
			return here, fmt.Sprintf("the text has the escape %q, which is no character", escape)
		}
	}
	return position{}, ""
}

// badEscape returns the first escape that names no character in the quoted text at the beginning of text. It
// returns "" if there is none.
func badEscape(text string) string {
	for i := 1; i < len(text) && text[0] == '"' && text[i] != '"'; i++ {
		if text[i] != '\\' || i+1 == len(text) {
			continue
		}
		n := hexDigits[text[i+1]]
		end := min(i+2+n, len(text))
		c, err := strconv.ParseUint(text[i+2:end], 16, 32)
		second := text[end:min(end+6, len(text))]
		switch {
		case n == 0:
		case err == nil && utf8.ValidRune(rune(c)):
		case err == nil && pair(rune(c), second):
			end += len(second)
		default:
			return text[i:end]
		}
		i = end - 1
	}
	return ""
}

// pair reports whether a surrogate and the escape after it name one character.
func pair(first rune, escape string) bool {
	if len(escape) < 6 || escape[:2] != `\u` {
		return false
	}
	second, err := strconv.ParseUint(escape[2:], 16, 32)
	return err == nil && utf16.DecodeRune(first, rune(second)) != utf8.RuneError
}
