package process

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// NoLimit lifts what LimitFiles has set.
const NoLimit = unix.RLIM_INFINITY

// LimitFiles bounds the size of the files that a process writes from now on, in bytes: its disk is
// full. It needs no privilege if the process is one of the same user.
func LimitFiles(pid int, bytes uint64) error {
	limit := unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		return fmt.Errorf("set the limit of process %d's files: %w", pid, err)
	}
	return nil
}
