// Package workflows holds the workflow files that ship with Stepkeeper.
package workflows

import "embed"

// Files holds the workflow files (*.yaml).
//
//go:embed *.yaml
var Files embed.FS
