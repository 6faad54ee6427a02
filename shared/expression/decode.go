package expression

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

var (
	errDepth   = fail(fmt.Sprintf("the JSON it reads is nested deeper than %d levels", MaxDepth), "flatten the order")
	errResult  = fail(fmt.Sprintf("the result is nested deeper than %d levels", rawjson.MaxLevels), "pass fewer levels of the data, or a reference to it")
	errBadJSON = fail("what it reads is not valid JSON", "")
)

const white = " \n\t\r" // between the parts of JSON

// checkDepth refuses JSON that is nested too deep, before anything recursive sees it.
func checkDepth(data []byte) error {
	if rawjson.TooDeep(data, MaxDepth) >= 0 {
		return errDepth
	}
	return nil
}

// checkResult holds what a template gives to the limit of all that is stored and sent.
func checkResult(result []byte) error {
	if rawjson.CheckDepth(result) != nil {
		return errResult
	}
	return nil
}

// decode turns JSON into values; numbers keep their digits.
func decode(data json.RawMessage) (any, error) {
	if len(data) == 0 {
		return nil, nil
	}
	if err := checkDepth(data); err != nil {
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
	return own(v), nil
}

// own replaces the library's numbers by this package's, in place.
func own(v any) any {
	switch v := v.(type) {
	case json.Number:
		return numberOf(string(v))
	case []any:
		for i := range v {
			v[i] = own(v[i])
		}
	case map[string]any:
		for k, e := range v {
			v[k] = own(e)
		}
	}
	return v
}
