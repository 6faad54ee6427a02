// Package workflow knows the stored form of a workflow's definition: JSON, named by its hash, so
// that tasks can pin the one they started with and a deploy never disturbs them.
//
// Reading workflow files (YAML, JSON Schema, checks that name file and line) is in package source,
// so that what runs in the cloud carries none of it.
package workflow
