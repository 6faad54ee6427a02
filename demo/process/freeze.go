//go:build unix

package process

import (
	"fmt"
	"syscall"
)

// Freeze stops the process at any point (SIGSTOP), until Thaw.
func (s *Process) Freeze() error { return s.signal(syscall.SIGSTOP) }

// Thaw lets a frozen process continue (SIGCONT).
func (s *Process) Thaw() error { return s.signal(syscall.SIGCONT) }

func (s *Process) signal(sig syscall.Signal) error {
	if err := s.now().cmd.Process.Signal(sig); err != nil {
		return fmt.Errorf("%w: %s: %w", s.err(), sig, err)
	}
	return nil
}
