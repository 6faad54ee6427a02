// Package source reads workflow files. It checks the YAML against the JSON Schema in schema.json. Then it
// checks the rules that a JSON Schema cannot express. It reports all problems at once, each with file, line
// and fix. It returns a definition only for a file without errors.
package source
