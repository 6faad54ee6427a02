package source_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// ordered returns a workflow with a schema of its orders, and an expression.
func ordered(schema, expression string) string {
	return "workflow: shop\norder: {schema: " + schema +
		"}\nsteps:\n  a: {agent: a, operation: run, input: \"${ " +
		expression + " }\", timeout: 1s, onFailure: stop, undo: none, grade: fenced}\n"
}

// The schema of orders is read from a file in the folder, which it cannot leave, and becomes part of the
// definition.
func TestOrderSchemaIsReadFromItsFolder(t *testing.T) {
	outside := t.TempDir()
	dir := t.TempDir()
	write := func(dir, name, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write(outside, "secret.json", `{}`)
	write(dir, "order.json", "\ufeff{ \"required\": [\"total\"] }\n")
	write(dir, "long.json", "{}"+strings.Repeat(" ", 70_000))
	write(dir, "broken.json", `{"required":`)
	write(dir, "remote.json", `{"$ref":"https://a.example/s.json"}`)
	write(dir, "old.json", `{"$schema":"http://json-schema.org/draft-04/schema#"}`)
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret.json"), filepath.Join(dir, "link.json")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder.json"), 0o700))
	for schema, want := range map[string]string{
		"order.json":             "",
		"{required: [total]}":    "",
		"absent.json":            "no such file",
		"long.json":              "it has more than 65536 bytes",
		"broken.json":            "it is not JSON",
		"remote.json":            "it refers to another document",
		"old.json":               "write \"https://json-schema.org/draft/2020-12/schema\"",
		"link.json":              "it is a link that leads out of its directory",
		"folder.json":            "it is a directory",
		"folder/order.json":      "it is not in the workflow's folder",
		"../secret.json":         "it is not in the workflow's folder",
		outside + "/secret.json": "it is not in the workflow's folder",
		"7":                      "schema is a number, it should be a text or a mapping",
		"{type: objekt}":         "at /type it is not one of",
		"{pattern: \"(?=a)\"}":   "schema is no JSON Schema: at /pattern",
		"{$ref: \"#\"}":          "a $ref leads back to itself",
	} {
		write(dir, "shop.yaml", ordered(schema, "order.total"))
		d, problems := source.LoadFile(filepath.Join(dir, "shop.yaml"), source.Options{})
		all, err := source.LoadDir(dir, source.Options{})
		require.NoError(t, err, schema)
		require.Len(t, all, 1, schema)
		require.Equal(t, problems.Error(), all[0].Problems.Error(), schema)
		require.Equal(t, want == "", d != nil, schema)
		require.Contains(t, problems.Error(), want, schema)
		if d == nil {
			continue
		}
		require.Equal(t, `{"required":["total"]}`, string(d.Order), schema)
		require.Error(t, d.Expr.CheckOrder(json.RawMessage(`{}`)), schema)
		require.NoError(t, d.Expr.CheckOrder(json.RawMessage(`{"total":1}`)), schema)
	}
	_, problems := source.Parse("shop.yaml", []byte(ordered("order.json", "order.total")),
		source.Options{})
	require.Contains(t, problems.Error(), "it can only be read beside a file", "without a folder")
}

// The order of a child reads the elements of the list, and a schedule's order matches the schema.
func TestSchemaAppliesToChildrenAndSchedules(t *testing.T) {
	const child = "workflow: child\nsteps: {a: {agent: a, operation: run, timeout: 1s, onFailure: stop, " +
		"undo: none, grade: fenced}}\n"
	dir := t.TempDir()
	for name, text := range map[string]string{
		"child.yaml": child,
		"parent.yaml": "workflow: parent\norder: {schema: {properties: {items: {items: {properties: {sku: " +
			"{}}}}}}}\n" +
			"steps: {a: {each: \"${ order.items }\", workflow: child, input: {s: \"${ item.sku }\", t: " +
			"\"${ item.sk }\"}}}\n",
		"nightly.yaml": "workflow: nightly\norder: {schema: {required: [region], additionalProperties: " +
			"false, " +
			"properties: {region: {}}}}\nschedule: {cron: \"@daily\", input: {region: a}}\n" +
			strings.TrimPrefix(child, "workflow: child\n"),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	_, problems := source.LoadFile(filepath.Join(dir, "parent.yaml"), source.Options{})
	require.Len(t, problems, 1)
	require.Contains(t, problems[0].What, "item.sk is read")
	_, problems = source.LoadFile(filepath.Join(dir, "nightly.yaml"), source.Options{})
	require.Len(t, problems, 1)
	require.Contains(t, problems[0].What, `the unknown field "scheduledTime"`)
}
