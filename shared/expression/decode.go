package expression

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

var (
	errDepth = fail(fmt.Sprintf("the data that it reads is nested deeper than %d levels", MaxDepth),
		"flatten the data")
	errResult = fail(fmt.Sprintf("the result is nested deeper than %d levels", rawjson.MaxLevels),
		"pass fewer levels of the data, or a reference to it")
	errNumber = fail(fmt.Sprintf("a number has more than %d characters, or an exponent beyond ±%d",
		rawjson.MaxNumber, rawjson.MaxExponent), "send it as a text")
	errBadJSON = fail("the data that it reads is not valid JSON", fixValue)
)

const white = " \n\t\r" // white space in JSON

// checkRead refuses JSON that is nested too deeply, or contains a number out of range. It must come before
// recursive code reads the JSON.
func checkRead(data []byte) error { return bounds(data, MaxDepth, errDepth) }

// checkResult checks the result of a template against the limits for stored and sent values.
func checkResult(result []byte) error { return bounds(result, rawjson.MaxLevels, errResult) }

func bounds(data []byte, levels int, deep error) error {
	switch err := rawjson.Check(data, levels); {
	case err == nil:
		return nil
	case errors.Is(err, rawjson.ErrNumber):
		return errNumber
	case errors.Is(err, rawjson.ErrLevels):
		return deep
	}
	return errBadJSON
}

// checked is for JSON that checkRead has accepted. The decoder does not look for the same faults again.
var checked = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// decode decodes JSON into values. Numbers keep their digits. Empty data is null.
func decode(data []byte) (any, error) {
	if len(data) == 0 {
		return nil, nil
	}
	if err := checkRead(data); err != nil {
		return nil, err
	}
	return readValue(jsontext.NewDecoder(bytes.NewBuffer(data), checked...))
}

// readValue decodes the next value. The caller has checked the JSON with checkRead.
func readValue(d *jsontext.Decoder) (any, error) {
	switch d.PeekKind() {
	case jsontext.KindBeginObject:
		return readObject(d)
	case jsontext.KindBeginArray:
		return readList(d)
	}
	t, err := d.ReadToken()
	if err != nil {
		return nil, errBadJSON
	}
	switch t.Kind() {
	case jsontext.KindNull:
		return nil, nil
	case jsontext.KindNumber:
		return numberOf(t.String())
	case jsontext.KindString:
		return t.String(), nil
	}
	return t.Bool(), nil
}

func readList(d *jsontext.Decoder) (any, error) {
	_, _ = d.ReadToken() // the bracket that PeekKind has seen
	list := []any{}
	for d.PeekKind() != jsontext.KindEndArray {
		v, err := readValue(d)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := d.ReadToken()
	return list, err
}

func readObject(d *jsontext.Decoder) (any, error) {
	_, _ = d.ReadToken() // the brace that PeekKind has seen
	object := map[string]any{}
	for d.PeekKind() != jsontext.KindEndObject {
		name, err := d.ReadToken()
		if err != nil {
			return nil, errBadJSON
		}
		key := name.String() // copied, because name is valid only until the next read
		object[key], err = readValue(d)
		if err != nil {
			return nil, err
		}
	}
	_, err := d.ReadToken()
	return object, err
}
