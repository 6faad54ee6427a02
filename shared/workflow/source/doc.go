// Package source reads workflow files: YAML, checked against the JSON Schema in schema.json and then
// for its meaning. Every problem is reported at once, with file, line and what to do; only a file without
// errors gives a definition.
package source
