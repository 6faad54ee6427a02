package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// checked is for values that Check has accepted. The reader does not look for the same faults again.
var checked = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// Members returns the members of an object. If a name occurs twice, the last member counts, as in
// encoding/json. The values are slices of object.
func Members(object []byte) (map[string]json.RawMessage, error) {
	r := read(object, checked)
	defer readers.Put(r)
	if err := r.enter(jsontext.KindBeginObject); err != nil {
		return nil, err
	}
	members := map[string]json.RawMessage{}
	for {
		name, value, err := r.member(object)
		if name == nil {
			return members, err
		}
		members[string(name)] = value
	}
}

// Member returns the value of one member of an object, or nil if the object has no member with this name. If
// the name occurs twice, the last member counts.
func Member(object []byte, name string) (json.RawMessage, error) {
	members, err := Members(object)
	return members[name], err
}

// Elements yields the elements of a list. It yields an error if the list is not valid JSON, and then stops.
func Elements(list []byte) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		r := read(list, checked)
		defer readers.Put(r)
		if err := r.enter(jsontext.KindBeginArray); err != nil {
			yield(nil, err)
			return
		}
		for r.PeekKind() != jsontext.KindEndArray {
			if value, err := r.value(list); !yield(value, err) || err != nil {
				return
			}
		}
	}
}

// Without returns a copy of an object in which the value of the first member with this name is null. It
// returns nil if there is no such member, or if the text is not JSON. The rest may have any fault of Check.
func Without(object []byte, name string) []byte {
	r := read(object, checked)
	defer readers.Put(r)
	if r.enter(jsontext.KindBeginObject) != nil {
		return nil
	}
	for {
		other, value, err := r.member(object)
		switch {
		case other == nil || err != nil:
			return nil
		case string(other) == name:
			end := int(r.InputOffset())
			return slices.Concat(object[:end-len(value)], []byte("null"), object[end:])
		}
	}
}

func (r *reader) enter(bracket jsontext.Kind) error {
	switch token, err := r.ReadToken(); {
	case err != nil:
		return complaint(err)
	case token.Kind() != bracket:
		return errors.New("it is not an object or a list")
	}
	return nil
}

// member reads the next member of an object. name is nil at the end of the object, or after an error.
func (r *reader) member(object []byte) (name, value []byte, err error) {
	if r.PeekKind() == jsontext.KindEndObject {
		return nil, nil, nil
	}
	key, err := r.value(object)
	if err != nil {
		return nil, nil, err
	}
	value, err = r.value(object)
	if err != nil {
		return nil, nil, err
	}
	name = key[1 : len(key)-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		name, _ = jsontext.AppendUnquote(nil, key)
	}
	return name, value, nil
}

// value reads the next value or key. It returns the part of text that contains the value.
func (r *reader) value(text []byte) ([]byte, error) {
	value, err := r.ReadValue()
	if err != nil {
		return nil, complaint(err)
	}
	end := int(r.InputOffset())
	return text[end-len(value) : end : end], nil
}
