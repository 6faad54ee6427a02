package rawjson

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendCanonical appends the canonical form of a JSON value to dst. The form is that of RFC 8785: members
// sorted by name, no white space, strings with as few escapes as possible, and one spelling for each number.
// Contrary to the RFC, a number that a float64 cannot represent exactly keeps all its digits. Different
// values therefore have different forms.
//
// If the value is not the strict JSON that Check requires, AppendCanonical returns dst unchanged and an
// error. It does not check the limits.
func AppendCanonical(dst, value []byte) ([]byte, error) {
	sorted, err := jsontext.AppendFormat(nil, value, jsontext.ReorderRawObjects(true))
	if err != nil {
		return dst, complaint(err)
	}
	r := read(sorted, checked)
	defer readers.Put(r)
	done := 0
	for {
		if r.PeekKind() != jsontext.KindNumber {
			// The error means the end of the text, because AppendFormat has checked the JSON.
			if _, err := r.ReadToken(); err != nil {
				return append(dst, sorted[done:]...), nil
			}
			continue
		}
		number, _ := r.ReadValue() // cannot fail, because AppendFormat has checked the JSON
		end := int(r.InputOffset())
		dst = append(dst, sorted[done:end-len(number)]...)
		dst = appendNumber(dst, number)
		done = end
	}
}

// surelyExact is a number of digits. A float64 represents every integer with at most this many digits
// exactly, and formats it as the same digits.
const surelyExact = 15

// appendNumber appends a number. It uses the spelling of RFC 8785 if a float64 represents the number exactly.
// Otherwise it uses the spelling of appendExact.
func appendNumber(b, text []byte) []byte {
	if len(text) <= surelyExact && !bytes.ContainsAny(text, "-.eE") {
		return append(b, text...)
	}
	exact := appendExact(nil, text)
	if f, err := strconv.ParseFloat(string(text), 64); err == nil && f != 0 {
		short := jsontext.AppendFloat(nil, f, 64)
		if bytes.Equal(appendExact(nil, short), exact) {
			return append(b, short...)
		}
	}
	return append(b, exact...)
}

// appendExact appends a number as sign, digits without leading and trailing zeros, and exponent. All
// spellings of a number become the same text. If the exponent does not fit into 32 bits, appendExact appends
// the text unchanged.
func appendExact(b, text []byte) []byte {
	mantissa := text
	exponent := int64(0)
	if at := bytes.IndexAny(text, "eE"); at >= 0 {
		var err error
		exponent, err = strconv.ParseInt(string(text[at+1:]), 10, 32)
		if err != nil {
			return append(b, text...)
		}
		mantissa = text[:at]
	}
	whole, fraction, _ := bytes.Cut(bytes.TrimLeft(mantissa, "-"), []byte{'.'})
	digits := append(append(make([]byte, 0, MaxNumber), whole...), fraction...)
	short := bytes.TrimRight(digits, "0")
	exponent += int64(len(digits) - len(short) - len(fraction))
	short = bytes.TrimLeft(short, "0")
	if len(short) == 0 {
		return append(b, '0')
	}
	if text[0] == '-' {
		b = append(b, '-')
	}
	return strconv.AppendInt(append(append(b, short...), 'e'), exponent, 10)
}
