// Package workflow encodes the stored form of a workflow's definition: JSON, named by its hash. So tasks can
// pin their definition, and a deploy never affects them.
//
// Package source reads workflow files (YAML, JSON Schema, checks with file and line), so that functions in
// the cloud contain none of that.
package workflow
