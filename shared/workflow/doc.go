// Package workflow encodes a workflow's definition in its stored form: JSON, named by its hash. A task pins
// its definition by this hash, so a new version of the workflow does not affect the task.
//
// Package source reads workflow files. It is a separate package, so that cloud functions do not contain the
// YAML parser, the JSON Schema validator and the checks.
package workflow
