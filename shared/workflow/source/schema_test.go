package source_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// Editors show the schema's descriptions: every field has one, and no object takes unknown fields.
func TestSchemaIsForEditors(t *testing.T) {
	var root map[string]any
	require.NoError(t, json.Unmarshal(source.Schema, &root))
	definitions := root["$defs"].(map[string]any)
	described := func(s map[string]any) bool {
		if s["description"] != nil {
			return true
		}
		ref, _ := s["$ref"].(string)
		target, _ := definitions[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
		return target["description"] != nil
	}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		object, ok := v.(map[string]any)
		if !ok {
			return
		}
		properties, ok := object["properties"].(map[string]any)
		if ok && object["additionalProperties"] != false {
			t.Errorf("%s takes unknown fields", path)
		}
		for name, p := range properties {
			if !described(p.(map[string]any)) {
				t.Errorf("%s.%s has no description", path, name)
			}
		}
		for key, sub := range object {
			walk(path+"."+key, sub)
		}
	}
	walk("", root)
}
