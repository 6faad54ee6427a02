package expression

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	schemakind "github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// MaxSchema is the largest JSON Schema of an event's value, in bytes.
const MaxSchema = 16 << 10

// CheckSchema returns an error if the JSON Schema of an event's value cannot be used.
func CheckSchema(schema json.RawMessage) error {
	_, err := compileSchema(schema)
	return err
}

// CheckValue returns an error if a value does not satisfy a JSON Schema.
func CheckValue(schema, value json.RawMessage) error {
	s, err := compileSchema(schema)
	if err != nil {
		return err
	}
	return s.check(value)
}

// noLoader keeps a schema from reading files and other documents.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to another document, %.80q", url)
}

const schemaName = "mem:///event.json"

func compileSchema(schema json.RawMessage) (*answerSchema, error) {
	if len(schema) > MaxSchema {
		return nil, fmt.Errorf("it has %d bytes, the limit is %d", len(schema), MaxSchema)
	}
	if err := rawjson.Check(schema, rawjson.MaxLevels); err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(compilePattern)
	if err := c.AddResource(schemaName, doc); err != nil {
		return nil, schemaFailure(err)
	}
	s, err := c.Compile(schemaName)
	if err != nil {
		return nil, schemaFailure(err)
	}
	return metered(s)
}

// schemaFailure rewrites an error of the library on one line, without the names of the metaschema.
func schemaFailure(err error) error {
	var wrong *jsonschema.SchemaValidationError
	var e *jsonschema.ValidationError
	if errors.As(err, &wrong) && errors.As(wrong.Err, &e) {
		// the author's regular expression
		if f, ok := leaf(e).ErrorKind.(*schemakind.Format); ok && f.Err != nil {
			return fmt.Errorf("%w: %w", firstFailure(e), f.Err)
		}
		return firstFailure(e)
	}
	return errors.New(strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), schemaName, "")), " "))
}

// check returns the place and the keyword of the first mismatch. It shows no part of the value.
func (s *answerSchema) check(value json.RawMessage) error {
	if err := checkRead(value); err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return errBadJSON
	}
	err = s.validate(v)
	var e *jsonschema.ValidationError
	if errors.As(err, &e) {
		return firstFailure(e)
	}
	return err
}

func leaf(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	for len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	return e
}

func firstFailure(e *jsonschema.ValidationError) error {
	e = leaf(e)
	return fmt.Errorf("at %.120s it does not keep to %s", "/"+strings.Join(e.InstanceLocation, "/"),
		strings.Join(e.ErrorKind.KeywordPath(), "/"))
}

// CheckAnswer returns an error if a value does not satisfy the schema of an event.
func (x *Expressions) CheckAnswer(step int, value json.RawMessage) error {
	if x.schemas[step] == nil {
		return nil
	}
	return x.schemas[step].check(value)
}
