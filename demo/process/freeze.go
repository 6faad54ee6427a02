//go:build unix

package process

import (
	"fmt"
	"syscall"
)

// Freeze stops the process in the middle of whatever it does (SIGSTOP), until Thaw.
func (s *Process) Freeze() error { return s.signal(syscall.SIGSTOP) }

// Thaw lets a frozen process go on (SIGCONT).
func (s *Process) Thaw() error { return s.signal(syscall.SIGCONT) }

func (s *Process) signal(sig syscall.Signal) error {
	if err := s.now().cmd.Process.Signal(sig); err != nil {
		return fmt.Errorf("%w: %s: %w", s.err(), sig, err)
	}
	return nil
}
