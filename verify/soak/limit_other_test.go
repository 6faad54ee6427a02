//go:build !linux

package soak_test

import (
	"errors"
	"fmt"
	"math"
)

// noLimit removes the limit of limitFiles.
const noLimit = math.MaxUint64

// limitFiles bounds the size of the files that a process writes. It works on Linux only.
func limitFiles(int, uint64) error {
	return fmt.Errorf("the limit of another process's files can be set on Linux only: %w",
		errors.ErrUnsupported)
}
