//go:build !unix

package process

import (
	"errors"
	"fmt"
)

// Freeze is for Unix only.
func (s *Process) Freeze() error {
	return fmt.Errorf("a process cannot be frozen here: %w", errors.ErrUnsupported)
}

// Thaw is for Unix only.
func (s *Process) Thaw() error { return nil }
