// Package schema checks JSON values against JSON Schemas of draft 2020-12. The values are the contents
// of orders and events.
//
// The author of a workflow writes the schema, but anyone may send a value. Therefore a schema cannot refer to
// other documents, each validation has a limit, and errors do not show the value.
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

// MaxSize is the size of the largest schema, in bytes.
const MaxSize = 16 << 10

// Schema is a compiled schema. It limits the work of each validation. It is safe for concurrent use.
type Schema struct {
	mu   sync.Mutex // guards left, which the compiled schema changes during a validation
	left int        // units of work that the validation may still use
	root *jsonschema.Schema
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to another document, %.80q", url)
}

const schemaName = "mem:///schema.json"

// Compile compiles a schema. Its errors are written for the author of the schema.
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

// draft returns an error for a schema of a different draft, because keywords may have other meanings there.
func draft(doc any) error {
	object, _ := doc.(map[string]any)
	id, given := object["$schema"]
	if text, _ := id.(string); !given || strings.TrimSuffix(text, "#") == jsonschema.Draft2020.String() {
		return nil
	}
	return fmt.Errorf("its $schema is %.80q; write %q, or leave it out", fmt.Sprint(id),
		jsonschema.Draft2020.String())
}

// compilation translates an error of the library into one line, without the library's internal names.
func compilation(err error) error {
	var wrong *jsonschema.SchemaValidationError
	var e *jsonschema.ValidationError
	if errors.As(err, &wrong) && errors.As(wrong.Err, &e) {
		faults := faultsOf(e)
		// the author's regular expression is invalid
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

const maxFaults = 3

// Check returns an error if the value does not match the schema. The error names the first mismatches with
// their positions. It shows names of fields, but never the value. A nil Schema matches every value.
func (s *Schema) Check(value json.RawMessage) error {
	if s == nil {
		return nil
	}
	if err := rawjson.Check(value, rawjson.MaxLevels); err != nil {
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
		faults = faults[:maxFaults]
		more = fmt.Sprintf("; and at %d more places", n)
		if n == 1 {
			more = "; and at one more place"
		}
	}
	return errors.New(strings.Join(faults, "; ") + more)
}
