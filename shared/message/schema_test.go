package message_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// schemas are the JSON Schemas of the messages. The struct tags define them. The messages between tasks have no
// schema, because only the Scheduler writes and reads them.
func schemas() map[string]any {
	return map[string]any{
		"submit-order": object[message.SubmitOrder](false),
		"request":      object[message.Request](true),
		"reply":        object[message.Reply](true),
		"status":       object[message.Status](true),
		"quarantined":  object[message.Quarantined](true),
		"control": map[string]any{"anyOf": []any{
			control[core.Wake](message.Wake),
			control[core.Settle](message.Settle),
			control[core.Command](message.Cancel, message.Undo, message.Resubmit, message.Resolve, message.Close,
				message.Move, message.Erase),
			control[core.Answered](message.Answer),
		}},
	}
}

// object returns the schema of a type. Messages may have unknown members, but for submissions.
func object[T any](open bool) *huma.Schema {
	registry := huma.NewMapRegistry("", huma.DefaultSchemaNamer)
	registry.RegisterTypeAlias(reflect.TypeFor[core.Time](), reflect.TypeFor[time.Time]())
	of := huma.SchemaFromType(registry, reflect.TypeFor[T]())
	for _, member := range of.Properties { // the objects within a message stand where they are used
		for _, within := range []*huma.Schema{member, member.Items} {
			if within != nil && within.Ref != "" {
				description := within.Description
				*within = *registry.SchemaFromRef(within.Ref)
				within.Description = description
				within.AdditionalProperties = nil
			}
		}
	}
	if open {
		of.AdditionalProperties = nil
	}
	return of
}

// control returns the schema of the control messages of these kinds, which have the members of the type E.
func control[E any](kinds ...message.ControlKind) *huma.Schema {
	of := object[message.Head](true)
	event := object[E](true)
	maps.Copy(of.Properties, event.Properties)
	of.Required = append(of.Required, event.Required...)
	for _, kind := range kinds {
		of.Properties["kind"].Enum = append(of.Properties["kind"].Enum, kind)
	}
	return of
}

func TestSchemasArePublished(t *testing.T) {
	for name, schema := range schemas() {
		text, err := json.Marshal(schema)
		require.NoError(t, err)
		head := fmt.Sprintf(`{"$schema":"https://json-schema.org/draft/2020-12/schema",`+
			`"$id":"https://github.com/stepkeeper/stepkeeper/shared/message/schema/%s.json",`, name)
		var indented bytes.Buffer
		require.NoError(t, json.Indent(&indented, append([]byte(head), text[1:]...), "", " "))
		golden.Assert(t, indented.String()+"\n", "../schema/"+name+".json")
	}
}

func compiled(t testing.TB) map[string]*jsonschema.Schema {
	t.Helper()
	all := map[string]*jsonschema.Schema{}
	for name := range schemas() {
		var err error
		compiler := jsonschema.NewCompiler()
		compiler.AssertFormat()
		all[name], err = compiler.Compile("schema/" + name + ".json")
		require.NoError(t, err)
	}
	return all
}

// What the schema of a message from outside refuses, the door refuses too.
func TestTheDoorRefusesWhatTheSchemaRefuses(t *testing.T) {
	values := []string{
		`""`, `" "`, `"a b"`, `"Ü"`, `"` + strings.Repeat("x", 600) + `"`, `"1"`, "-1", "0", "1.5", "101", "true", "{}",
		"[]",
	}
	for _, name := range []string{"submit-order", "reply", "control"} {
		schema := compiled(t)[name]
		for _, text := range examples()[name] {
			for _, member := range append(membersOf(schema), "unknown") {
				without, _ := changed(t, schema, text, member, "")
				for _, value := range values {
					refused, bad := changed(t, schema, text, member, value)
					if !refused || value == `""` && !without { // "" stands for an optional member that is absent
						continue
					}
					_, err := decodeAs(name, bad)
					assert.Error(t, err, "the schema refuses %s with %s: %.80s", name, member, value)
				}
			}
		}
	}
}

// changed gives a member of a message another value, or "" for none. It returns whether the schema refuses the
// message then, and the message.
func changed(t *testing.T, schema *jsonschema.Schema, text []byte, member, value string) (refused bool, _ []byte) {
	t.Helper()
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &members))
	delete(members, member)
	if value != "" {
		members[member] = json.RawMessage(value)
	}
	text, err := json.Marshal(members)
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	return schema.Validate(document) != nil, text
}

func membersOf(schema *jsonschema.Schema) []string {
	all := slices.Collect(maps.Keys(schema.Properties))
	for _, one := range schema.AnyOf {
		all = slices.AppendSeq(all, maps.Keys(one.Properties))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
