package storetest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// reordering is a Store whose documents are compared by their meaning, see Options.Reorders.
type reordering struct{ port.Store }

func (s reordering) Load(ctx context.Context, ids []string) ([]*port.Record, []error) {
	records, errs := s.Store.Load(ctx, ids)
	for i, r := range records {
		if r != nil {
			c := *r // the store may keep the returned record
			c.Document = meaning(r.Document)
			records[i] = &c
		}
	}
	return records, errs
}

func (s reordering) List(ctx context.Context, q port.Query) (port.Page, error) {
	page, err := s.Store.List(ctx, q)
	page.Records = slices.Clone(page.Records)
	for i := range page.Records {
		page.Records[i].Document = meaning(page.Records[i].Document)
	}
	return page, err
}

// sent lists the members with data of people and services, which must return byte for byte.
var sent = []string{"Order", "input", "output", "value"}

// meaning returns a JSON object in one spelling: members sorted, without white space. If a name occurs twice,
// the last one counts. Numbers keep their digits, and sent data keeps its bytes. Everything else stays
// unchanged.
func meaning(document []byte) []byte {
	if !utf8.Valid(document) || !json.Valid(document) || len(document) == 0 || document[0] != '{' {
		return document
	}
	b, err := json.Marshal(meant("", document))
	if err != nil {
		return document
	}
	return b
}

func meant(name string, value json.RawMessage) any {
	if slices.Contains(sent, name) {
		return string(value)
	}
	var members map[string]json.RawMessage
	var elements []json.RawMessage
	switch value[0] {
	case '{':
		_ = json.Unmarshal(value, &members) // it is valid
		all := make(map[string]any, len(members))
		for name, v := range members {
			all[name] = meant(name, v)
		}
		return all
	case '[':
		_ = json.Unmarshal(value, &elements) // it is valid
		all := make([]any, len(elements))
		for i, v := range elements {
			all[i] = meant("", v)
		}
		return all
	}
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	var v any
	_ = d.Decode(&v) // it is valid
	return v
}
