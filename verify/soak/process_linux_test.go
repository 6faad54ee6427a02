package soak_test

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/stepkeeper/stepkeeper/demo/process"
)

// freeze stops the process at any point (SIGSTOP), until thaw.
func freeze(p *process.Process) error { return syscall.Kill(p.Pid(), syscall.SIGSTOP) }

// thaw lets a frozen process continue (SIGCONT).
func thaw(p *process.Process) error { return syscall.Kill(p.Pid(), syscall.SIGCONT) }

// noLimit removes the limit of limitFiles.
const noLimit = unix.RLIM_INFINITY

// limitFiles bounds the size of the files that a process writes from now on, in bytes, as a full disk would.
// It needs no privilege for a process of the same user.
func limitFiles(p *process.Process, bytes uint64) error {
	limit := unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(p.Pid(), unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		return fmt.Errorf("set the limit of process %d's files: %w", p.Pid(), err)
	}
	return nil
}
