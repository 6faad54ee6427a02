// Package schema checks JSON values against JSON Schemas of draft 2020-12: orders, and the values of events.
// The author of a workflow writes the schema, and strangers send the values. So a schema reads no other
// document, a check has a budget of work, and an error shows no part of a value.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// MaxSize is the size of the largest schema, in bytes. Stepkeeper refuses a file with a larger schema.
const MaxSize = 16 << 10

// Schema is a compiled schema whose validations are metered. It is safe for concurrent use.
type Schema struct {
	mu   sync.Mutex // guards left, because the hooks in the compiled schema serve one validation at a time
	left int
	root *jsonschema.Schema
}

// noLoader keeps a schema from reading files and other documents.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to another document, %.80q", url)
}

const schemaName = "mem:///schema.json"

// Compile reads a schema. Its errors are for the author of the schema.
func Compile(text json.RawMessage) (*Schema, error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("it has %d bytes, the limit is %d", len(text), MaxSize)
	}
	if err := rawjson.Check(text, rawjson.MaxLevels); err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	if err := draft(doc); err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(compilePattern)
	if err := c.AddResource(schemaName, doc); err != nil {
		return nil, compilation(err)
	}
	s, err := c.Compile(schemaName)
	if err != nil {
		return nil, compilation(err)
	}
	return metered(s)
}

// draft refuses a schema of another draft, whose keywords can mean something else.
func draft(doc any) error {
	object, _ := doc.(map[string]any)
	id, given := object["$schema"]
	if text, _ := id.(string); !given || strings.TrimSuffix(text, "#") == jsonschema.Draft2020.String() {
		return nil
	}
	return fmt.Errorf("its $schema is %.80q; write %q, or leave it out", fmt.Sprint(id),
		jsonschema.Draft2020.String())
}

// compilation rewrites an error of the library on one line, without the names of the metaschema.
func compilation(err error) error {
	var wrong *jsonschema.SchemaValidationError
	var e *jsonschema.ValidationError
	if errors.As(err, &wrong) && errors.As(wrong.Err, &e) {
		faults := faultsOf(e)
		// the author's regular expression
		if f, ok := leaf(e).ErrorKind.(*kind.Format); ok && f.Err != nil {
			return fmt.Errorf("%s: %w", faults[0], f.Err)
		}
		return errors.New(faults[0])
	}
	return errors.New(strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), schemaName, "")), " "))
}

func leaf(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	for len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	return e
}

// maxFaults is the number of mismatches that one error lists.
const maxFaults = 3

// Check returns an error with the first places at which a value does not match, and why. It shows the names
// of fields, but no part of the value. A nil Schema matches every value.
func (s *Schema) Check(value json.RawMessage) error {
	if s == nil {
		return nil
	}
	if err := rawjson.CheckLoose(value, rawjson.MaxLevels); err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return errors.New("it is not JSON")
	}
	err = s.validate(v, len(value))
	var e *jsonschema.ValidationError
	if !errors.As(err, &e) {
		return err
	}
	faults := faultsOf(e)
	more := ""
	if n := len(faults) - maxFaults; n > 0 {
		faults, more = faults[:maxFaults], fmt.Sprintf("; and at %d more places", n)
		if n == 1 {
			more = "; and at one more place"
		}
	}
	return errors.New(strings.Join(faults, "; ") + more)
}
