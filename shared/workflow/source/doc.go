// Package source reads workflow files: YAML, checked against the JSON Schema in schema.json and then for its
// meaning. It reports all problems at once, with file, line and fix. Only a file without errors yields a
// definition.
package source
