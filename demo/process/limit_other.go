//go:build !linux

package process

import (
	"errors"
	"fmt"
	"math"
)

// NoLimit removes the limit of LimitFiles.
const NoLimit = math.MaxUint64

// LimitFiles bounds the size of the files that a process writes. It works on Linux only.
func LimitFiles(int, uint64) error {
	return fmt.Errorf("the limit of another process's files can be set on Linux only: %w",
		errors.ErrUnsupported)
}
