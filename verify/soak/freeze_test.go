//go:build unix

package soak_test

import (
	"syscall"

	"github.com/stepkeeper/stepkeeper/demo/process"
)

// freeze stops the process at any point (SIGSTOP), until thaw.
func freeze(p *process.Process) error { return syscall.Kill(p.Pid(), syscall.SIGSTOP) }

// thaw lets a frozen process continue (SIGCONT).
func thaw(p *process.Process) error { return syscall.Kill(p.Pid(), syscall.SIGCONT) }
