package source

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/schedule"
	"github.com/stepkeeper/stepkeeper/shared/schema"
)

// maxSchemaFile is the largest size of a schema file, in bytes, with white space.
const maxSchemaFile = 4 * schema.MaxSize

// orders reads the schema of the workflow's orders. The field contains the schema, or the name of a schema
// file in the same folder.
func (b *builder) orders() {
	given := b.root.get("order").get("schema")
	if given == nil {
		return
	}
	var data json.RawMessage
	var err error
	switch given.shape {
	case isMap:
		data, err = rawjson.Marshal(given.plain())
	case isText:
		data, err = b.schemaFile(given.text)
		if err != nil {
			b.error(given.at, "the schema %s: %v", given, err).
				fix("name a JSON file in the folder of this file, or write the schema here as a mapping")
			return
		}
	default:
		return // the schema check reports the wrong type
	}
	b.def.Order, b.schema = b.compiled(given, data, err)
}

func (b *builder) scheduledOrder() {
	if b.schema == nil || b.def.Schedule == nil {
		return
	}
	order, err := schedule.Order(b.def.Schedule, core.TimeOf(since))
	if err == nil {
		err = b.schema.Check(order)
	}
	if err != nil {
		b.error(b.root.get("schedule").at, "the order of the schedule does not match the schema: %s", err).
			fix("correct its input, or the schema; each order has the field scheduledTime, a text")
	}
}

// schemaFile returns the schema in a file, without white space.
func (b *builder) schemaFile(name string) (json.RawMessage, error) {
	switch {
	case b.opts.beside == nil:
		return nil, fmt.Errorf("it can only be read beside a file")
	case name != filepath.Base(name) || !filepath.IsLocal(name): // `stepkeeper dev` watches only this folder
		return nil, fmt.Errorf("it is not in the workflow's folder; put it beside the workflow")
	}
	data, err := b.opts.beside(name)
	if err != nil {
		return nil, fmt.Errorf("%s", reason(err))
	}
	if len(data) > maxSchemaFile {
		return nil, fmt.Errorf("it has more than %d bytes", maxSchemaFile)
	}
	data, err = rawjson.Compact(WithoutMark(data))
	if err != nil {
		return nil, err
	}
	return data, nil
}

// compiled returns the schema and its compiled form. If the schema is invalid, compiled reports a problem.
func (b *builder) compiled(given *value, data json.RawMessage,
	err error,
) (json.RawMessage, *schema.Schema) {
	var s *schema.Schema
	if err == nil {
		s, err = schema.Compile(data)
	}
	if err != nil {
		b.error(given.at, "schema is no JSON Schema: %s", err).
			fix("write one of draft 2020-12 that refers to no other document, as in {type: object, required: " +
				"[status]}")
		return nil, nil
	}
	return data, s
}
