//go:build unix

package simulate

import (
	"syscall"
	"time"
)

// processorTime is what this process has used so far; 0: nobody knows.
func processorTime() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
