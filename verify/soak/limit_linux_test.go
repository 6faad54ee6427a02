package soak_test

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// noLimit removes the limit of limitFiles.
const noLimit = unix.RLIM_INFINITY

// limitFiles bounds the size of the files that a process writes from now on, in bytes, as a full disk would.
// It needs no privilege for a process of the same user.
func limitFiles(pid int, bytes uint64) error {
	limit := unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		return fmt.Errorf("set the limit of process %d's files: %w", pid, err)
	}
	return nil
}
