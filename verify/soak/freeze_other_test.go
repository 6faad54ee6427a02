//go:build !unix

package soak_test

import (
	"errors"

	"github.com/stepkeeper/stepkeeper/demo/process"
)

// freeze is for Unix only.
func freeze(*process.Process) error { return errors.ErrUnsupported }

// thaw is for Unix only.
func thaw(*process.Process) error { return nil }
