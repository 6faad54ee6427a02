package expression

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

var (
	errDepth   = fail(fmt.Sprintf("the JSON it reads is nested deeper than %d levels", MaxDepth), "flatten the order")
	errResult  = fail(fmt.Sprintf("the result is nested deeper than %d levels", rawjson.MaxLevels), "pass fewer levels of the data, or a reference to it")
	errNumber  = fail(fmt.Sprintf("a number has more than %d characters, or an exponent beyond ±%d", rawjson.MaxNumber, rawjson.MaxExponent), "send it as a text")
	errBadJSON = fail("what it reads is not valid JSON", "")
)

const white = " \n\t\r" // between the parts of JSON

// checkRead refuses JSON that is nested too deep or has a number out of bounds, before anything recursive sees it.
func checkRead(data []byte) error { return bounds(data, MaxDepth, errDepth) }

// checkResult applies the bounds of all that is stored and sent to the result of a template.
func checkResult(result []byte) error { return bounds(result, rawjson.MaxLevels, errResult) }

func bounds(data []byte, levels int, deep error) error {
	switch err := rawjson.CheckLevels(data, levels); {
	case err == nil:
		return nil
	case errors.Is(err, rawjson.ErrNumber):
		return errNumber
	}
	return deep
}

// decode turns JSON into values; numbers keep their digits.
func decode(data json.RawMessage) (any, error) {
	if len(data) == 0 {
		return nil, nil
	}
	if err := checkRead(data); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, errBadJSON
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errBadJSON
	}
	return own(v)
}

// own replaces the library's numbers by this package's, in place.
func own(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case json.Number:
		return numberOf(string(v))
	case []any:
		for i := range v {
			if v[i], err = own(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k, e := range v {
			if v[k], err = own(e); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
