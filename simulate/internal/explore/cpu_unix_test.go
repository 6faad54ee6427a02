//go:build unix

package explore

import (
	"syscall"
	"time"
)

// cpuTime is the processor time that this process has used so far, in user mode and in the kernel,
// by all its threads: the garbage collector's too. It is 0 if the system does not report it.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
