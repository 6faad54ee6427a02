//go:build !linux

package process

import (
	"errors"
	"fmt"
	"math"
)

// NoLimit lifts what LimitFiles has set.
const NoLimit = math.MaxUint64

// LimitFiles bounds the size of the files that the process writes: on Linux only.
func (s *Process) LimitFiles(uint64) error {
	return fmt.Errorf("the limit of another process's files can be set on Linux only: %w",
		errors.ErrUnsupported)
}
